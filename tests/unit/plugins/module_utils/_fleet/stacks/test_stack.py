# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which commands the engine is given for a state, with a script in its place that says what it was asked."""

from __future__ import annotations

import json
import os
import signal
import typing as t
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import showing
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks import stack as stack_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.alone import stack_held
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.events import StackStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.place import place
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.stack import StackReport, carry_out_stack
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import KnownSecrets

# Each resource is new; ``known`` are the stacks that there are. A file with the name of a command is run with it.
ENGINE = """#!/bin/sh
here=$(dirname "$0")
case "$1" in version) echo v3.259.0; exit ;; esac
verb=$1
echo "$1 $2" >> "$here/asked"
case "$1 $2" in
  "stack ls") cat "$here/known" ;;
  "stack export") cat "$here/state" ;;
  "stack output") echo '{}' ;;
  "config set") cat > "$here/secret" ;;
esac
echo "${PULUMI_CONFIG_PASSPHRASE:-}" > "$here/passphrase"
while [ $# -gt 0 ]; do
  if test "$1" = --event-log; then
    if test -e "$here/$verb"; then . "$here/$verb"; fi
    echo '{"summaryEvent": {"resourceChanges": {"create": 1}}}' >> "$2"
  fi
  shift
done
"""
STATE = '{{"deployment": {{"manifest": {{"time": "{}"}}, "resources": [{{"urn": "{}"}}]}}}}'
PREVIEW, UP = "preview --stack", "up --yes"
QUESTIONS = ("stack ls", "stack output", "stack export", "config set")


@pytest.fixture
def asked(tmp_path: Path) -> t.Callable[..., list[str]]:
    """What the engine is asked to do, but for questions."""
    folder = tmp_path / "engine"
    folder.mkdir()
    for name in ("pulumi", "pulumi-language-python"):
        (folder / name).write_text(ENGINE)
        (folder / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: small\nruntime: python\n")

    def ask(known: bool, check: bool = False, changes: bool = True, **given: t.Any) -> list[str]:
        (folder / "known").write_text('[{"name": "dev"}]' if known else "[]")
        (folder / "asked").write_text("")
        (folder / "state").write_text(STATE.format(1, "one"))
        where = {"project_dir": str(project), "stack": "dev", "backend_url": f"file://{tmp_path}/state"}
        options = {**where, "state": "present", "allow_delete": False, "home": str(tmp_path / "home"), **given}
        assert (
            carry_out_stack(options, check, {"PATH": f"{folder}:/usr/bin:/bin"}, lambda _text: None).changed is changes
        )
        words = (folder / "asked").read_text().splitlines()
        return [each for each in words if each not in QUESTIONS]

    return ask


def test_a_stack_that_is_new_has_nothing_to_delete_and_is_made_in_one_go(asked):
    assert asked(known=False) == ["stack init", UP]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("state", ["", "Present", "present ", None])
def test_a_state_that_is_not_known_takes_nothing_down(asked, tmp_path, check, state):
    with pytest.raises(FleetError) as refused:
        asked(known=True, check=check, state=state)
    assert (refused.value.code, refused.value.where) == ("bad-option", "state")
    assert not (tmp_path / "engine" / "asked").read_text()


def test_what_is_there_is_previewed_for_deletions_before_it_is_changed(asked):
    assert asked(known=True) == [PREVIEW, UP]
    assert asked(known=True, allow_delete=True) == [UP]


@pytest.mark.parametrize(("known", "first"), [(True, []), (False, ["stack init"])])
def test_check_mode_previews(asked, known, first):
    assert asked(known=known, check=True) == [*first, PREVIEW]


@pytest.mark.parametrize(("value", "then"), [("there", []), ({"4dabf1": "1b4706", "ciphertext": "[secret]"}, [UP])])
def test_an_output_that_is_secret_may_be_another_one_though_the_preview_tells_of_no_change(
    asked, tmp_path, value, then
):
    outputs = {"outputs": {"token": value}}
    told = {"metadata": {"op": "same", "type": "pulumi:pulumi:Stack", "urn": "s", "old": outputs, "new": outputs}}
    events = (
        json.dumps(each) for each in ({"resOutputsEvent": told}, {"summaryEvent": {"resourceChanges": {"same": 1}}})
    )
    said = "".join(f"echo '{each}' >> \"$2\"\n" for each in events)
    (tmp_path / "engine" / "preview").write_text(f"{said}exit\n")
    assert asked(known=True, changes=bool(then)) == [PREVIEW, *then]


@pytest.mark.parametrize("check", [True, False])
def test_targets_that_are_gone_already_keep_nobody_from_the_others(asked, check):
    """The engine refuses all of them if it does not know one: a task that is run again would fail."""
    only = "--preview-only" if check else "--yes"
    assert asked(known=True, check=check, state="absent", targets=["one", "two"]) == [f"destroy {only}"]
    assert asked(known=True, check=check, state="absent", targets=["**one"]) == [f"destroy {only}"], "a pattern"
    assert asked(known=True, check=check, changes=False, state="absent", targets=["two"]) == []
    assert asked(known=False, check=check, changes=False, state="absent", targets=["one"]) == []


@pytest.mark.parametrize("targets", [[], [""], ["one", " "]])
@pytest.mark.parametrize("state", ["absent", "present", "refreshed"])
def test_targets_of_a_variable_that_lost_its_content_are_never_the_whole_stack(asked, tmp_path, state, targets):
    with pytest.raises(FleetError) as refused:
        asked(known=True, state=state, targets=targets)
    assert refused.value.code == "bad-option" and (tmp_path / "engine" / "asked").read_text() == ""
    if state == "absent":
        assert asked(known=True, state=state) == ["destroy --yes", "stack rm"], "without the option it is"


def test_what_another_run_has_written_since_the_preview_is_not_undone(asked, tmp_path):
    """It was not seen by the look for deletions; that somebody wrote the same again is nothing."""
    (tmp_path / "engine" / "preview").write_text(f"echo '{STATE.format(2, 'one')}' > \"$here/state\"")
    assert asked(known=True) == [PREVIEW, UP]
    (tmp_path / "engine" / "preview").write_text(f"echo '{STATE.format(2, 'two')}' > \"$here/state\"")
    with pytest.raises(FleetError) as refused:
        asked(known=True)
    assert refused.value.code == "stack-moved" and UP not in (tmp_path / "engine" / "asked").read_text()
    assert asked(known=True, allow_delete=True) == [UP]


@pytest.mark.parametrize("state", ["present", "absent", "refreshed"])
def test_two_runs_never_pass_each_other_between_a_preview_and_what_follows_it(asked, tmp_path, state):
    """What the second one were to write by then, the first one would take for something to be deleted."""
    engine = tmp_path / "engine"
    wait = 'echo > "$here/previews"; while ! test -e "$here/second"; do sleep 0.05; done'
    (engine / "preview").write_text(wait)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(asked, known=True)
        try:
            while not (engine / "previews").exists() and not first.done():
                first_ended(first, 0.05)
            with pytest.raises(FleetError) as refused:
                asked(known=True, state=state)
            assert (engine / "asked").read_text() == "", "the engine is asked for nothing"
        finally:
            (engine / "second").write_text("")
        assert UP in first.result()
    assert refused.value.code == "stack-locked" and f"(process {os.getpid()}) since 20" in refused.value.message
    (engine / "preview").unlink()
    assert asked(known=True) == [PREVIEW, UP]


def first_ended(first: Future[t.Any], seconds: float) -> None:
    """Waits until it has ended, at most so long."""
    wait_for([first], timeout=seconds)


def test_who_only_looks_is_not_kept_from_it_by_a_run(asked, tmp_path):
    where = {"project_dir": str(tmp_path / "project"), "stack": "dev", "backend_url": f"file://{tmp_path}/state"}
    with stack_held(place({**where, "home": str(tmp_path / "home")})):
        assert asked(known=True, check=True) == [PREVIEW]
    other = place({**where, "stack": "prod", "home": str(tmp_path / "home")})
    with stack_held(other):
        assert asked(known=True) == [PREVIEW, UP]


def test_a_deletion_that_no_preview_has_shown_ends_the_engine(asked, tmp_path):
    gone = {"op": "delete", "type": "a:b:C", "urn": "urn:pulumi:dev::small::a:b:C::theirs"}
    event = json.dumps({"resourcePreEvent": {"metadata": gone}})
    ended = "trap 'exit 0' INT; while :; do sleep 0.05; done"
    (tmp_path / "engine" / "up").write_text(f'echo \'{event}\' > "$2"; {ended}; echo > "$here/went-on"')
    with pytest.raises(FleetError) as refused:
        asked(known=True, timeout=60)
    assert refused.value.code == "deletions" and "theirs (a:b:C)" in refused.value.message
    assert not (tmp_path / "engine" / "went-on").exists()


def test_ctrl_c_ends_the_engine_too(asked, tmp_path):
    """ansible-playbook ends the process of the task by SIGTERM then, and leaves what that has started."""
    ended = f"trap 'echo > {tmp_path}/ended; exit 1' INT; kill -TERM {os.getpid()}; while :; do sleep 0.05; done"
    (tmp_path / "engine" / "destroy").write_text(ended)
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: came.append(number))
    try:
        with pytest.raises(FleetError) as refused:
            asked(known=True, state="absent", timeout=60)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (refused.value.code, came, (tmp_path / "ended").exists()) == ("interrupted", [], True)
    assert "stack rm" not in (tmp_path / "engine" / "asked").read_text()


@pytest.mark.parametrize("value", ["KEY\n", "KEY", ""])
def test_a_secret_keeps_its_end_though_the_engine_takes_a_line_break_away(asked, tmp_path, value):
    asked(known=True, secret_config={"key": value})
    assert (tmp_path / "engine" / "secret").read_text() == f"{value}\n"


def test_a_secret_that_holds_no_characters_is_refused_and_not_shown(asked):
    with pytest.raises(FleetError) as refused:
        asked(known=True, secret_config={"key": "hidden\ud800"})
    assert (refused.value.code, refused.value.where) == ("bad-config", "secret_config.key")
    assert "hidden" not in str(refused.value)


def test_a_secret_setting_is_shown_in_nothing_that_a_program_makes_of_it(asked, tmp_path, monkeypatch):
    """The engine masks it as it is, and in an input only if the program says that this is secret."""
    secrets = KnownSecrets()
    monkeypatch.setattr(showing, "SHOWN", secrets)
    monkeypatch.setattr(stack_module, "SHOWN", secrets)
    value = "first-canary\nsecond-canary"
    event = {"diagnosticEvent": {"severity": "error", "message": f"ValueError: bad key {value!r}, s3cret-word, eu"}}
    (tmp_path / "engine" / "event").write_text(json.dumps(event) + "\n")
    (tmp_path / "engine" / "preview").write_text('cat "$here/event" >> "$2"; exit 1\n')
    with pytest.raises(FleetError) as found:
        asked(known=True, secret_config={"key": value, "login": {"words": ["s3cret-word", "eu", 7]}})
    told = showing.said(str(found.value))
    assert "ValueError: bad key" in told and ", eu" in told
    assert "canary" not in told and "s3cret" not in told


@pytest.mark.parametrize(("backend", "has"), [("https://pulumi.example", True), ("s3://states", False)])
def test_a_look_needs_no_passphrase_where_a_service_encrypts(asked, tmp_path, backend, has):
    asked(known=False, check=True, backend_url=backend)
    assert bool((tmp_path / "engine" / "passphrase").read_text().strip()) is has


def step(op: str, kind: str, name: str, **differs: t.Any) -> StackStep:
    urn = f"urn:pulumi:dev::small::{kind}::{name}"
    before, after = ({key: value[side] for key, value in differs.items()} for side in (0, 1))
    return StackStep(op=op, urn=urn, before=before, after=after)


def diff(*steps: StackStep) -> dict[str, t.Any]:
    return StackReport(changed=True, counts={}, steps=steps, outputs={}, warnings=()).diff()


def test_resources_of_one_name_are_told_apart_by_their_urns():
    net, rule, other = (
        step("update", "a:Network", "east", cidr=(1, 2)),
        step("delete", "a:Rule", "east"),
        step("update", "a:Network", "west", cidr=(3, 4)),
    )
    assert diff(net, rule, other) == {
        "before": {net.urn: {"cidr": 1}, rule.urn: {}, "west": {"cidr": 3}},
        "after": {net.urn: {"cidr": 2}, "west": {"cidr": 4}},
    }


def test_what_is_replaced_keeps_what_differs_though_the_old_one_is_deleted_after():
    steps = [step("create-replacement", "a:Network", "east", cidr=(1, 2)), step("delete-replaced", "a:Network", "east")]
    assert diff(*steps) == {"before": {"east": {"cidr": 1}}, "after": {"east": {"cidr": 2}}}


@pytest.mark.parametrize(
    "backend",
    [
        "postgres://ann:s3cret%2Fword@db.example:5432/state",
        "postgres://db.example/state?user=ann&password=s3cret%2Fword&sslmode=require",
    ],
)
def test_what_the_engine_logs_in_with_is_in_nothing_that_is_shown(tmp_path, monkeypatch, backend):
    """Where it cannot reach a state in PostgreSQL it tells the whole URL."""
    secrets = KnownSecrets()
    monkeypatch.setattr(showing, "SHOWN", secrets)
    monkeypatch.setattr(stack_module, "SHOWN", secrets)
    (tmp_path / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    words = "unable to open state database $PULUMI_BACKEND_URL by $PULUMI_ACCESS_TOKEN, or s3cret/word"
    script = f'#!/bin/sh\ncase "$1" in version) echo v3.259.0; exit ;; esac\necho "error: {words}" >&2\nexit 1\n'
    for name in ("pulumi", "pulumi-language-python"):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    options = {"project_dir": str(tmp_path), "stack": "dev", "backend_url": backend, "home": str(tmp_path / "home")}
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PULUMI_ACCESS_TOKEN": "pul-canary"}
    with pytest.raises(FleetError) as found:
        carry_out_stack({**options, "state": "present", "allow_delete": False}, False, environ, lambda _text: None)
    told = showing.said(str(found.value))
    assert "unable to open state database" in told and "db.example" in told
    assert "s3cret" not in told and "canary" not in told
    assert "s3cret" not in repr(place(options))
