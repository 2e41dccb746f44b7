# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's commands, with scripts in its place: what is read meanwhile, how one ends, what its words mean."""

from __future__ import annotations

import json
import os
import socket
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.command import Commands

LOCK = (
    "error: the stack is currently locked by 1 lock(s)\n  file:///x: created by ann@{} (pid {}) at 2026-01-01T00:00:00Z"
)
STEP = {"op": "create", "type": "a:b:C", "urn": "urn:pulumi:dev::small::a:b:C::one", "new": {"inputs": {}}}
BAD = {"urn": "urn:pulumi:dev::small::a:b:C::one", "severity": "error", "message": "<{%fg 1%}>it is full<{%reset%}>\n"}
ECHO = {"severity": "error", "message": "update failed"}


@pytest.fixture
def commands(tmp_path: Path) -> t.Callable[..., Commands]:
    def make(script: str, said: list[str] | None = None, seconds: float = 300.0) -> Commands:
        engine = tmp_path / "pulumi"
        engine.write_text(f"#!/bin/sh\n{script}\n")
        engine.chmod(0o755)
        places = {"program": tmp_path, "workspace": tmp_path}
        heard = [] if said is None else said
        given = {"environ": {"PATH": "/usr/bin:/bin"}, "seconds": seconds, "say": heard.append, "grace": 0.5}
        return Commands(pulumi=engine, stack="dev", **places, **given)

    return make


def refused(call: t.Callable[[], object]) -> FleetError:
    with pytest.raises(FleetError) as found:
        call()
    return found.value


def test_what_goes_on_is_told_and_errors_are_named_by_their_resources(commands, tmp_path):
    events = [{"resourcePreEvent": {"metadata": STEP}}, {"diagnosticEvent": BAD}, {"diagnosticEvent": ECHO}]
    (tmp_path / "given").write_text("".join(json.dumps(event) + "\n" for event in events))
    said: list[str] = []
    failing = commands(f"cat {tmp_path}/given > {tmp_path}/up.events; exit 1", said)
    found = refused(lambda: failing.run_with_events("up"))
    assert said == ["create one (a:b:C)"]
    assert [(each.code, each.message, each.where) for each in found.problems] == [
        ("stack-failed", "it is full", "stack dev: one")
    ]


@pytest.mark.parametrize("look", [("preview",), ("refresh", "--preview-only"), ("destroy", "--preview-only")])
def test_who_only_looks_is_not_told_that_anything_is_done(commands, tmp_path, look):
    """A look comes before each change, too: that something is deleted is not told of what is refused for it."""
    (tmp_path / "given").write_text(json.dumps({"resourcePreEvent": {"metadata": {**STEP, "op": "delete"}}}) + "\n")
    said: list[str] = []
    refused(lambda: commands(f"cat {tmp_path}/given > {tmp_path}/{look[0]}.events", said).run_with_events(*look))
    assert said == ["would delete one (a:b:C)"]


def test_one_that_takes_too_long_is_asked_to_end_twice_and_then_killed(commands):
    found = refused(lambda: commands("trap '' INT; while :; do sleep 0.1; done", seconds=0.5).output_of("up"))
    assert found.code == "stack-timeout" and "timeout" in found.hint


def test_who_is_told_to_end_asks_the_engine_to_end_and_waits_for_that(commands, tmp_path):
    """Left alone it would go on with what it was told to do, a deletion of everything perhaps."""
    works = f"trap 'echo > {tmp_path}/ended; exit 1' INT; echo > {tmp_path}/began; while :; do sleep 0.05; done"
    came = replace(commands(works), told=lambda: "interrupted" if (tmp_path / "began").exists() else "", grace=60.0)
    found = refused(lambda: came.run_with_events("destroy"))
    assert (found.code, (tmp_path / "ended").exists()) == ("interrupted", True) and "asked to end" in found.message
    found = refused(lambda: replace(commands(f"echo > {tmp_path}/more"), told=lambda: "interrupted").output_of("stack"))
    assert (found.code, (tmp_path / "more").exists()) == ("interrupted", False)


def test_input_reaches_it_and_no_argument(commands, tmp_path):
    assert commands('echo "$@"; cat').output_of("config", "set", given="hidden").endswith("hidden")
    assert "hidden" not in commands('echo "$@"').output_of("config", "set", given="hidden")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (LOCK.format(socket.gethostname(), 4194304), "stack-locked", "which has ended without giving it back"),
        (LOCK.format("elsewhere", 1), "stack-locked", "ann on elsewhere since 2026-01-01T00:00:00Z (process 1)"),
        ("error: no stack named 'dev' found", "no-such-stack", "the backend has no stack dev"),
        ("error: failed to load checkpoint: EOF", "stack-unreadable", "*.attrs"),
        ("error: the passphrase is wrong", "stack-failed", "the passphrase is wrong"),
        (
            "error: get stack secrets manager: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or"
            " PULUMI_CONFIG_PASSPHRASE_FILE environment variables",
            "no-passphrase",
            "passphrase_file; variables of the shell are not used",
        ),
        (
            "error: failed to decrypt: incorrect passphrase, please set PULUMI_CONFIG_PASSPHRASE to the correct one",
            "no-passphrase",
            "is not the one that encrypts",
        ),
        ("", "stack-failed", "the engine failed"),
    ],
)
def test_what_its_words_mean(commands, tmp_path, words, code, told):
    (tmp_path / "words").write_text(words)
    found = refused(lambda: commands(f"cat {tmp_path}/words; exit 1").output_of("export"))
    assert found.code == code and told in str(found)


def test_the_process_of_another_user_has_not_ended_where_proc_hides_it(commands, tmp_path, monkeypatch):
    """Whoever takes its lock away has two engines write one state (``hidepid``)."""
    (tmp_path / "words").write_text(LOCK.format(socket.gethostname(), os.getpid()))
    locked = commands(f"cat {tmp_path}/words; exit 1")
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: not str(path).startswith("/proc/") and exists(path))
    found = refused(lambda: locked.output_of("export"))
    assert found.code == "stack-locked" and "has ended" not in found.message


@pytest.mark.parametrize("pid", [4194304, 10**19])
def test_that_a_process_has_ended_is_said_of_this_machine_alone(commands, tmp_path, pid):
    """A lock names its host and no more: containers and machines of one name see different processes."""
    (tmp_path / "words").write_text(LOCK.format(socket.gethostname(), pid))
    found = refused(lambda: commands(f"cat {tmp_path}/words; exit 1").output_of("export"))
    assert "which has ended without giving it back, unless another machine or container" in found.message


def test_a_stack_is_known_by_its_name_alone_or_whole(commands, tmp_path):
    (tmp_path / "names").write_text(json.dumps([{"name": "organization/small/dev2"}, {"name": "x"}], indent=1))
    assert not commands(f"cat {tmp_path}/names").known()
    (tmp_path / "names").write_text(json.dumps([{"name": "organization/small/dev"}], indent=1))
    assert commands(f"cat {tmp_path}/names").known()


def test_a_warning_is_no_part_of_an_answer(commands):
    """The engine warns of whatever it wants to, beside what it was asked for."""
    talkative = commands("""echo 'warning: a new version' >&2; echo '{"a": 1}'""")
    assert talkative.json_of("stack", "output", "--json") == {"a": 1}
    assert commands("echo 'warning: none' >&2").json_of("stack", "history", empty=[]) == []
    assert commands("""echo 'warning: x' >&2; echo '[{"name": "dev"}]'""").known()


@pytest.mark.parametrize("printed", ["warning: none", "{", "[" * 100_000])
def test_an_answer_that_is_no_json_is_an_error(commands, tmp_path, printed):
    (tmp_path / "printed").write_text(printed)
    broken = commands(f"cat {tmp_path}/printed")
    for call in (lambda: broken.json_of("stack", "export"), broken.known):
        assert refused(call).code == "stack-unreadable"


@pytest.mark.parametrize("printed", ["7", "[7]", "{}"])
def test_what_is_no_list_of_stacks_does_not_say_that_there_is_none(commands, printed):
    assert refused(commands(f"echo '{printed}'").known).code == "stack-unreadable"


@pytest.mark.parametrize(
    "event",
    [
        "{",
        "7",
        '{"resourcePreEvent": {}}',
        '{"resourcePreEvent": {"metadata": {"op": ["delete"], "type": "a:b:C", "urn": "u"}}}',
        '{"summaryEvent": {"resourceChanges": 7}}',
        "[" * 100_000,
    ],
)
def test_an_event_that_is_not_understood_is_not_passed_over(commands, tmp_path, event):
    """It could be a deletion. The engine comes to its end all the same."""
    (tmp_path / "given").write_text(f"{event}\n" + json.dumps({"resourcePreEvent": {"metadata": STEP}}) + "\n")
    said: list[str] = []
    strange = commands(f"cat {tmp_path}/given > {tmp_path}/up.events; touch {tmp_path}/done", said)
    assert refused(lambda: strange.run_with_events("up")).code == "stack-unreadable"
    assert said == ["create one (a:b:C)"] and (tmp_path / "done").exists()


@pytest.mark.parametrize(
    "told", ["", '{"resourcePreEvent": {"metadata": {"op": "dele', json.dumps({"preludeEvent": {}})]
)
def test_events_that_are_cut_short_do_not_say_that_nothing_was_done(commands, tmp_path, told):
    """The engine says that all is well, though it could not write them; what is lost could be a deletion."""
    (tmp_path / "given").write_text(f"{told}\n"[: len(told)])
    found = refused(lambda: commands(f"cat {tmp_path}/given > {tmp_path}/up.events").run_with_events("up"))
    assert found.code == "stack-unreadable" and "full?" in found.hint


def test_each_resource_is_told_once_of_very_many(commands, tmp_path):
    """A refresh tells what it found only at the end of each."""
    rows = [{**STEP, "op": "update", "urn": f"urn:pulumi:dev::small::a:b:C::{number}"} for number in range(2_000)]
    events = [{kind: {"metadata": row}} for row in rows for kind in ("resourcePreEvent", "resOutputsEvent")]
    lines = [json.dumps(event) for event in (*events, {"summaryEvent": {"resourceChanges": {"update": len(rows)}}})]
    (tmp_path / "given").write_text("\n".join(lines) + "\n")
    story = commands(f"cat {tmp_path}/given > {tmp_path}/up.events").run_with_events("up")
    assert [step.urn for step in story.steps] == [row["urn"] for row in rows] and story.changed


def test_one_that_does_not_read_its_input_is_ended_too(commands):
    found = refused(lambda: commands("sleep 60", seconds=0.5).output_of("config", "set", given="x" * 1_000_000))
    assert found.code == "stack-timeout"


def test_words_that_no_program_can_be_given_are_refused(commands):
    assert refused(lambda: commands("true").output_of("import", "a\0b")).code == "stack-failed"
