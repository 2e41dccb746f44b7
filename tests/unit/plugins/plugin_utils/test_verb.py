# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of everything that a verb gives back, says, or falls over."""

from __future__ import annotations

import gc
import json
import os
import typing as t
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from unittest import mock

import pytest
from ansible.errors import AnsibleAction
from ansible.plugins.action import ActionBase
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.keeping import INTERRUPTED
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.next_steps import NextStep
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import folded, table
from ansible_collections.gitops.fleet.plugins.plugin_utils import _verb, _voice
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import PLAYBOOKS
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Answer, Run, Verb

EVIL = "\x1b[2J\n::error::x"


def carried_out(
    monkeypatch: pytest.MonkeyPatch,
    work: t.Callable[[Run], Answer],
    no_log: bool = False,
    spec: t.Mapping[str, t.Any] | None = None,
    **arguments: t.Any,
) -> tuple[dict[str, t.Any], list[str]]:
    """The result of a verb that does ``work``, and what was said; ``arguments`` are those of its task."""

    class Working(Verb):
        def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
            return work(run)

        def validate_argument_spec(self, *_arguments: t.Any, **_named: t.Any) -> t.Any:
            return None, {}

        def _task_environment(self) -> dict[str, str]:
            return {}

    heard: list[str] = []
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(_verb, "argument_spec", lambda _name: spec or {})
    monkeypatch.setattr(_verb, "check_extra_variables", lambda *_arguments: None)
    monkeypatch.setattr(_voice.DISPLAY, "display", lambda text, **_named: heard.append(text))
    task = mock.Mock(check_mode=False, diff=True, args=arguments, no_log=no_log)
    return Working(task, None, None, None, None, None).run(None, {}), heard


def test_everything_goes_through_one_door(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(run: Run) -> Answer:
        run.say(f"said {EVIL}")
        diff = [{"before": f"a{EVIL}", "after": "b\n", "before_header": EVIL}]
        return Answer(changed=True, outcome="partial", message=f"m {EVIL}", data={EVIL: [{"a": (EVIL,)}]}, diff=diff)

    result, heard = carried_out(monkeypatch, work)
    assert heard == ["said \\x1b[2J\n  | : :error::x"]
    assert "\x1b" not in repr(result) and "\n::" not in json.dumps(result).replace("\\n", "\n")
    assert result["diff"][0]["after"] == "b\n" and result["failed"] and result["changed"]


@pytest.mark.parametrize("no_log", [False, True])
def test_a_task_with_no_log_says_nothing(monkeypatch: pytest.MonkeyPatch, no_log: bool) -> None:
    """Ansible keeps the result of such a task from people and logs; what a verb says beside it, nobody would."""

    def work(run: Run) -> Answer:
        run.say("canary")
        return Answer(changed=True, code=INTERRUPTED, message="canary", next_lines=["canary"])

    last: list[t.Sequence[str]] = []
    warned: list[str] = []
    monkeypatch.setattr(_verb, "wait_until_heard", last.append)
    monkeypatch.setattr(_verb, "take_connection_notes", lambda: {"m1": ["a note"]})
    monkeypatch.setattr(_voice.DISPLAY, "warning", warned.append)
    result, heard = carried_out(monkeypatch, work, no_log)
    assert result["changed"] and result["connection_notes"] == {"m1": ["a note"]}
    assert (bool(heard), bool(warned), bool(last[0])) == (not no_log,) * 3


def test_a_refusal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(_run: Run) -> Answer:
        raise FleetError("code", EVIL, EVIL, EVIL)

    result, _heard = carried_out(monkeypatch, work)
    assert result["failed"] and result["fleet"]["code"] == "code"
    assert "\x1b" not in repr(result) and "\n::" not in result["msg"]


@pytest.mark.parametrize(
    "code, sought",
    [
        ("not-a-member", True),
        ("no-such-run", True),
        ("no-such-placement", True),
        ("foreign-applyset", True),
        ("no-such-file", False),
        ("no-such-date", False),
    ],
)
def test_a_refusal_of_what_was_not_found_says_in_which_records(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, sought: bool
) -> None:
    """A run from another folder looks at other records; in none of them is a file, or what stands in one."""
    path = str(tmp_path / "records.db")

    def work(run: Run) -> Answer:
        with run.open({"records": {"path": path}}, writes=False):
            raise FleetError(code, "it is not there", "x")

    result, _heard = carried_out(monkeypatch, work)
    assert result["place"] == path and (path in result["msg"]) is sought


def test_a_result_says_which_records_it_is_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = str(tmp_path / "records.db")

    def work(run: Run) -> Answer:
        with run.open({"records": {"path": path}}, writes=False):
            return Answer(changed=False, data={"runs": []})

    result, _heard = carried_out(monkeypatch, work)
    assert result["place"] == path


def test_what_we_fall_over_ourselves_is_told_by_type_and_place_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(_run: Run) -> Answer:
        raise KeyError("canary")

    result, _heard = carried_out(monkeypatch, work)
    assert result["failed"] and result["fleet"] == {"outcome": "failed", "code": "fault", "resume_at": ""}
    assert "unexpected KeyError" in result["msg"] and "please report" in result["msg"]
    assert "canary" not in repr(result)


def test_an_interrupt_is_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(_run: Run) -> Answer:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carried_out(monkeypatch, work)


@pytest.mark.parametrize("falls", [False, True])
def test_cycles_are_looked_for_seldom_while_a_verb_works_and_as_before_after_it(
    monkeypatch: pytest.MonkeyPatch, falls: bool
) -> None:
    """Reading a large fleet makes millions of objects, none of them in a cycle."""
    before, during = gc.get_threshold(), []

    def work(_run: Run) -> Answer:
        during.append(gc.get_threshold())
        if falls:
            raise KeyError("canary")
        return Answer(changed=False)

    carried_out(monkeypatch, work)
    assert gc.get_threshold() == before
    assert during[0][0] >= 10 * before[0] > 0
    assert gc.isenabled()


def test_a_file_for_the_next_step_of_a_pipeline_has_what_the_task_returns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "result.json"

    def waits(_run: Run) -> Answer:
        return Answer(changed=True, outcome="waiting", resume_at="2026-01-01T00:00:00Z", data={"a": [1]})

    result, _heard = carried_out(monkeypatch, waits, result_file=str(file))
    told = json.loads(file.read_text())
    assert told == result and told["fleet"] == {"outcome": "waiting", "code": "", "resume_at": "2026-01-01T00:00:00Z"}


def test_a_refusal_and_a_fault_are_in_the_file_and_a_run_that_is_killed_leaves_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What an earlier run wrote is never read as what this one came to."""
    file = tmp_path / "result.json"
    file.write_text('{"fleet": {"outcome": "done"}}')
    there: list[bool] = []

    def refuses(_run: Run) -> Answer:
        there.append(file.exists())
        raise FleetError("brake-max-removals", "no", "x")

    def falls(_run: Run) -> Answer:
        there.append(file.exists())
        raise KeyError(EVIL)

    carried_out(monkeypatch, refuses, result_file=str(file))
    assert json.loads(file.read_text())["fleet"]["outcome"] == "stopped"
    carried_out(monkeypatch, falls, result_file=str(file))
    told = json.loads(file.read_text())
    assert told["failed"] and told["fleet"]["outcome"] == "failed" and "Traceback" not in told["msg"]
    assert there == [False, False]


@pytest.mark.parametrize("content", ["precious", '{"digest": "x"}', "[1]", '{"fleet": "done"}', "{" * 5000])
def test_a_file_that_is_no_result_is_neither_taken_away_nor_written_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    """The approved plan, or the records, whose name was given by mistake."""
    file = tmp_path / "plan.json"
    file.write_text(content)
    done: list[Run] = []

    def work(run: Run) -> Answer:
        done.append(run)
        return Answer(changed=True)

    result, _heard = carried_out(monkeypatch, work, result_file=str(file))
    assert result["failed"] and result["fleet"]["code"] == "unwritable-file" and not done
    assert file.read_text() == content


def test_a_credential_that_a_server_gives_back_is_in_no_line_and_no_part_of_it_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A token is longer than a line; of one that was cut or wrapped before, nobody would know it again."""
    token = "".join(f"{number:03}x" for number in range(250))
    SHOWN.add(token)

    def work(run: Run) -> Answer:
        lines = [*table(("NODE", "HELD BY"), [(token, f"pod {token}")]), *folded(f"note: {token}")]
        for line in lines:
            run.say(line)
        return Answer(changed=False, data={"table": lines})

    result, heard = carried_out(monkeypatch, work)
    shown = json.dumps([result, heard])
    assert shown.count("(hidden)") >= 6 and not any(token[at : at + 8] in shown for at in range(len(token) - 8))


def test_what_the_task_itself_writes_there_is_not_written_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plan and its result, for example, whose names are the same by mistake."""
    file = tmp_path / "plan.json"

    def work(_run: Run) -> Answer:
        file.write_text('{"digest": "x"}')
        return Answer(changed=True, message="as planned")

    result, _heard = carried_out(monkeypatch, work, result_file=str(file))
    assert result["failed"] and "as planned" in result["msg"] and "no result of ours" in result["msg"]
    assert file.read_text() == '{"digest": "x"}'


def test_an_empty_file_is_written_and_behind_a_link_only_the_link_goes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    empty, link = tmp_path / "empty.json", tmp_path / "link.json"
    empty.touch()
    link.symlink_to(empty)
    carried_out(monkeypatch, lambda _run: Answer(changed=False), result_file=str(link))
    assert not link.is_symlink() and json.loads(link.read_text())["fleet"]["outcome"] == "done"
    assert empty.read_text() == ""
    carried_out(monkeypatch, lambda _run: Answer(changed=False), result_file=str(empty))
    assert empty.read_text() == link.read_text()


def test_the_path_of_the_file_may_have_variables_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As every other path of an option."""
    monkeypatch.setenv("OUT", str(tmp_path))
    carried_out(monkeypatch, lambda _run: Answer(changed=False), result_file="$OUT/result.json")
    assert (tmp_path / "result.json").exists()


@pytest.mark.parametrize("key", [date(2026, 1, 1), (1, 2), b"a"])
def test_a_mapping_with_keys_that_are_no_texts_is_refused(monkeypatch: pytest.MonkeyPatch, key: t.Any) -> None:
    """YAML makes a date of ``2026-01-01`` without quotes."""
    result, _heard = carried_out(monkeypatch, lambda _run: Answer(changed=False), definition=[{key: "x"}])
    assert result["failed"] and result["fleet"]["code"] == "bad-option" and "put keys in quotes" in result["msg"]


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a-file").touch()
    done: list[Run] = []

    def work(run: Run) -> Answer:
        done.append(run)
        return Answer(changed=True)

    for place in (tmp_path, tmp_path / "a-file" / "below"):
        result, _heard = carried_out(monkeypatch, work, result_file=str(place))
        assert result["failed"] and result["fleet"]["code"] == "unwritable-file" and not done


@pytest.mark.parametrize("refuses", [False, True])
def test_a_file_that_cannot_be_written_at_the_end_hides_nothing_of_what_came_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refuses: bool
) -> None:
    """Who has to wait and go on, or to lift a brake, is told so all the same."""
    place = tmp_path / "out" / "result.json"

    def work(_run: Run) -> Answer:
        place.parent.write_text("no folder any more")
        if refuses:
            raise FleetError("brake-max-removals", "too many go", "web")
        return Answer(changed=True, outcome="waiting", message="for approval", resume_at="2026-01-01T00:00:00Z")

    result, _heard = carried_out(monkeypatch, work, result_file=str(place))
    first, lost = result["msg"].split("\n", 1)
    assert result["failed"] and str(place) in lost and "cannot be written" in lost
    codes = [each["code"] for each in result["problems"]]
    if refuses:
        assert result["fleet"]["outcome"] == "stopped" and "too many go" in first
        assert codes == ["brake-max-removals", "unwritable-file"]
    else:
        assert result["fleet"]["outcome"] == "waiting" and first == "for approval"
        assert codes == ["unwritable-file"] and result["changed"]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"threads": 1, "max_idle": 0, "removal_timeout": 0, "time_limit": None}, []),
        ({"threads": 0, "time_limit": 0}, ["threads", "time_limit"]),
        ({"max_idle": -1, "removal_timeout": -5, "interval": 3}, ["max_idle", "removal_timeout"]),
        ({"command_timeout": 0, "node_timeout": -1}, ["command_timeout", "node_timeout"]),
        ({"look_again": -1, "lost_after": 10**14}, ["look_again", "lost_after"]),
        (
            {"look_again": 0, "time_limit": 5 * 10**9, "timeout": 5 * 10**9 + 1, "max_idle": 10**400},
            ["timeout", "max_idle"],
        ),
    ],
)
def test_numbers_beyond_what_has_a_meaning_are_refused_for_all_verbs(
    options: dict[str, t.Any], wrong: list[str]
) -> None:
    try:
        _verb._refuse_too_small(options)
        found = []
    except FleetError as error:
        found = [each.where for each in error.problems]
        assert {each.code for each in error.problems} == {"bad-option"}
    assert found == wrong


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, ""),
        ({"digest": None, "approved_plan": "plan.json"}, ""),
        ({"digest": "0123456789ab"}, ""),
        ({"digest": " "}, "digest"),
        ({"digest": "", "approved_plan": ""}, "digest approved_plan"),
        ({"digest": "0123456789ab", "approved_plan": "plan.json"}, "digest, approved_plan"),
    ],
)
def test_an_approval_that_lost_its_content_never_lets_any_plan_through(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, t.Any], wrong: str
) -> None:
    """As ``-e digest=$DIGEST`` in a pipeline that does not set it; of two only one would be looked at."""
    result, _heard = carried_out(monkeypatch, lambda _run: Answer(changed=True), **given)
    assert result.get("failed", False) is bool(wrong)
    assert " ".join(each["where"] for each in result.get("problems", ())) == wrong
    assert result["fleet"]["code"] == ("bad-option" if wrong else "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 3, 28, 12, tzinfo=UTC), "2026-03-28T12:00:00Z"),
        (datetime(2026, 3, 28, 12, tzinfo=timezone(timedelta(hours=2))), "2026-03-28T10:00:00Z"),
        (datetime(2026, 3, 28, 12), "2026-03-28T12:00:00Z"),
        (date(2026, 3, 28), "2026-03-28"),
    ],
)
def test_instants_are_texts_as_kubernetes_writes_them(value: t.Any, text: str) -> None:
    """YAML makes instants of what looks like one; without a zone it is in UTC."""
    assert _verb._plain({"now": [value]}) == {"now": [text]}


def failing(
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    work: t.Callable[[Run], Answer],
    failed_when: t.Any = (),
    no_log: bool = False,
    **arguments: t.Any,
) -> dict[str, t.Any]:
    """What a failed task at ``path`` gives back, and Ansible prints."""

    class Failing(Verb):
        def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
            return work(run)

        def validate_argument_spec(self, *_arguments: t.Any, **_named: t.Any) -> t.Any:
            return None, {}

        def _task_environment(self) -> dict[str, str]:
            return {}

    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(_verb, "argument_spec", lambda _name: {})
    monkeypatch.setattr(_verb, "check_extra_variables", lambda *_arguments: None)
    task = mock.Mock(
        check_mode=False, diff=True, args=arguments, failed_when=failed_when, no_log=no_log, get_path=lambda: path
    )
    try:
        return Failing(task, None, None, None, None, None).run(None, {})
    except AnsibleAction as error:
        return {"error": error.message, **error.result}


OURS = f"{PLAYBOOKS}/apply.yml:12"


def lost(_run: Run) -> Answer:
    return Answer(changed=True, outcome="partial", code="c", message="why\nto go on: x", data={"members": ["m"] * 99})


def test_a_failure_in_a_playbook_of_ours_is_its_message_and_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ansible prints the text of the error, and the result behind it."""
    told = failing(monkeypatch, OURS, lost, result_file=str(tmp_path / "result.json"))
    fleet = {"outcome": "partial", "code": "c", "resume_at": ""}
    assert told == {"error": "why\nto go on: x", "changed": True, "msg": "why", "fleet": fleet}
    kept = json.loads((tmp_path / "result.json").read_text())
    assert len(kept["members"]) == 99 and kept["msg"] == "why\nto go on: x"


def test_a_failure_with_no_log_is_left_to_ansible(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failing(monkeypatch, OURS, lost, no_log=True)["members"] == ["m"] * 99


def test_what_stands_above_it_is_not_said_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(_run: Run) -> Answer:
        brief, message = "1 failed: a\nto go on: x", "a: etcd is down\nto go on: x"
        return Answer(changed=True, outcome="partial", message=message, brief=brief)

    told = failing(monkeypatch, OURS, fails, result_file=str(tmp_path / "result.json"))
    assert told["error"] == "1 failed: a\nto go on: x" and told["msg"] == "1 failed: a"
    assert json.loads((tmp_path / "result.json").read_text())["msg"] == "a: etcd is down\nto go on: x"
    assert failing(monkeypatch, "/home/user/site.yml:3", fails)["msg"].startswith("a: etcd is down")


def test_one_without_a_message_is_told_by_its_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    told = failing(monkeypatch, OURS, lambda _run: Answer(changed=False, outcome="partial"))
    assert told["error"] == told["msg"] == "it ended as partial"


def test_so_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_run: Run) -> Answer:
        raise FleetError.of([Problem("a", "one"), Problem("b", "two")])

    told = failing(monkeypatch, OURS, refuses)
    assert told["error"] == "2 problems:\n  - one [a]\n  - two [b]" and told["msg"] == "2 problems:"
    assert "problems" not in told and told["fleet"]["code"] == "a"


@pytest.mark.parametrize(
    ("path", "failed_when", "verbosity", "callback"),
    [
        ("/home/user/site.yml:3", (), 0, "default"),
        (OURS, (False,), 0, "default"),
        (OURS, (), 1, "default"),
        (OURS, (), 0, "ansible.posix.json"),
    ],
    ids=["a play of a user", "one that looks at it itself", "-v", "for machines"],
)
def test_elsewhere_the_whole_result_is_there(
    monkeypatch: pytest.MonkeyPatch, path: str, failed_when: t.Any, verbosity: int, callback: str
) -> None:
    monkeypatch.setattr(_voice.DISPLAY, "verbosity", verbosity)
    monkeypatch.setattr(_voice.constants, "DEFAULT_STDOUT_CALLBACK", callback, raising=False)
    told = failing(monkeypatch, path, lost, failed_when)
    assert "error" not in told and told["failed"] and len(told["members"]) == 99


def test_what_succeeds_is_whole_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    told = failing(monkeypatch, OURS, lambda _run: Answer(changed=False, data={"a": 1}))
    assert told["a"] == 1 and not told.get("failed")


def test_what_to_type_next_is_said_or_stands_behind_why_it_failed() -> None:
    said: list[str] = []
    run = Run(check_mode=False, say=said.append, environ={}, given={"records": {"path": "a b"}, "drivers": {"x": 1}})
    steps = [NextStep(to="go on", playbook="update", variables={"run": "r"})]
    command = """ansible-playbook gitops.fleet.update -e run=r -e '{"records": {"path": "a b"}}'"""
    line = f"to go on, with drivers as now: {command}"
    failed = run.with_next(Answer(changed=True, outcome="failed", message="why"), steps, fails=True)
    assert failed.message == f"why\n{line}" and said == []
    assert run.with_next(Answer(changed=True, message="why"), steps, fails=False).message == "why" and said == [line]


def test_a_named_pipe_that_nobody_reads_is_known(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert _voice._without_reader(str(pipe))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert not _voice._without_reader(str(pipe))
    finally:
        os.close(reader)


def test_a_list_that_was_given_as_a_text_is_a_list_in_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """``names: web,db`` rolls both back, and the command that goes on with it named one placement ``web,db``."""
    spec = {"names": {"type": "list", "elements": "str"}, "reason": {"type": "str"}, "to": {"type": "int"}}
    given: list[t.Mapping[str, t.Any]] = []

    def work(run: Run) -> Answer:
        given.append(run.given)
        return Answer(changed=False)

    carried_out(monkeypatch, work, spec=spec, names="web,db", reason="a, b", to=3)
    carried_out(monkeypatch, work, spec=spec, names=["a,b"], unknown="a,b")
    assert given == [{"names": ["web", "db"], "reason": "a, b", "to": 3}, {"names": ["a,b"], "unknown": "a,b"}]
