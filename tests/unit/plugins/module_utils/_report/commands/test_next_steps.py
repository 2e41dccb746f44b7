# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Each command that is printed is one that can be typed: its playbook is there, and takes every variable."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.foreign import TEXT
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import PLACEMENT_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRun,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.run_needs import RunNeed
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import RunStanding
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import as_answered
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Approval, MemberBlocker
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import FAILED, UNREACHABLE
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.showing import said
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.next_steps import (
    NAMED,
    NextStep,
    after_join,
    after_maintenance,
    after_reading,
    after_rotation,
    after_rotation_stop,
    after_run,
    after_staged,
    after_status,
    approval_lines,
    next_lines,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.playbook_command import playbook_command
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import PLAYBOOKS
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    Play,
    at,
    changed,
    gate,
    laid,
    played,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._report.commands.typed import told, typed
from ansible_collections.gitops.fleet.tools import playbooks

HUB = {"type": "hub", "kubeconfig": "/home/it's me/config", "context": "hub"}
BY_PATTERN = {"kubeconfig": "/k", "context_pattern": "p-*"}
GIVES = "give them one (local, cluster_api, command, role)"
DIGEST = "sha256:0123456789abcdef0123"
# A text that says by itself with which marks its template is written.
OTHER_MARKS = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'id') ]]"


def run(play: Play) -> UpdateRun:
    made = read(update_run({"type": "Full", "kubernetesVersion": "1.28.3"})).object
    assert isinstance(made, UpdateRun)
    return replace(made, status=status_of(play.run, derive(play.run), UpdateRunStatus(digest=DIGEST)))


@pytest.mark.parametrize(
    "value",
    [
        *(
            "a",
            "a b",
            "it's",
            'a"b',
            "$(id)",
            "a;b",
            "a\\b",
            "@file",
            "{x",
            "[x]",
            "a=b",
            "-x",
            "#",
            "\n",
            "\u202e",
            "",
            "007",
        )
    ]
    + [["a", "b c"], ["x"], {"a": {"b": "c"}}],
    ids=repr,
)
def test_a_value_comes_through_a_shell_and_ansible_as_it_was(value: t.Any) -> None:
    """Names are what others have given."""
    command = playbook_command("retry", {"run": value})
    assert typed(command) == ("retry", {"run": value}) and "\n" not in command and "\u202e" not in command


@pytest.mark.parametrize(
    "value",
    [
        *("{{ lookup('pipe', 'id') }}", "{% x %}", "{# x #}", ["{{ x }}"], {"{{ x }}": 1}),
        *(OTHER_MARKS, [OTHER_MARKS], {"x": OTHER_MARKS}),
    ],
)
def test_what_ansible_would_take_for_a_template_is_no_command(value: t.Any) -> None:
    assert playbook_command("retry", {"run": value}) == ""
    assert next_lines([NextStep(to="go on", playbook="retry", variables={"run": value})], {}) == []


def test_words_of_others_begin_no_line_and_steer_no_terminal() -> None:
    """A gate may be called anything; where a task fails the lines are its message, which is printed as it is."""
    name = "it\nto go on: ansible-playbook other.verb\x1b[2K"
    (line,) = next_lines([NextStep(to=f"approve {name}", playbook="approve", variables={"run": "r"})], {})
    assert line == (
        r"to approve it to go on: ansible-playbook other.verb\x1b[2K: ansible-playbook gitops.fleet.approve -e run=r"
    )


def test_a_command_that_would_be_cut_where_it_is_printed_is_not_printed() -> None:
    step = NextStep(to="go on", playbook="update", variables={"run": "r" * TEXT})
    assert next_lines([step], {}) == []
    (whole,) = next_lines([replace(step, variables={"run": "r" * (TEXT - 100)})], {})
    assert said(whole) == whole


def test_records_elsewhere_are_named_and_what_has_to_be_given_again() -> None:
    steps = [NextStep(to="go on", playbook="update", variables={"run": "r", "restart": True})]
    assert told(steps, HUB) == [("to go on", "update", {"run": "r", "restart": "true", "records": HUB})]
    given = {"drivers": {"role": {"role": "x"}}, "operations": "/srv/ops", "allow_self_approval": False}
    (line,) = next_lines(steps, {}, given)
    assert line == (
        "to go on, with drivers as now: ansible-playbook gitops.fleet.update -e run=r -e restart=true "
        "-e operations=/srv/ops -e allow_self_approval=false"
    )


def after(run: UpdateRun, resumes: datetime | None = None) -> list[NextStep]:
    return after_run(run, T0, resumes)


def test_a_run_that_failed_is_started_again_or_without_what_failed() -> None:
    assert told(after(run(played("s{g:a,b}").start().fails("a")))) == [
        ("to try again what failed, and go on", "update", {"run": "release-7", "restart": "true"}),
        ("to leave out what failed, before that", "skip", {"run": "release-7", "targets": "Member:a", "reason": ""}),
    ]
    two = changed(changed(laid("s{g:a,b}"), "g", max_concurrency=2), "s", max_concurrency=2)
    skip = told(after(run(Play(two).start().fails("a", "b"))))[1]
    assert skip[2]["targets"] == ["Member:a", "Member:b"]


def test_a_run_that_failed_and_for_which_a_newer_one_stands_names_that_alone() -> None:
    failed = run(played("s{g:a,b}").start().fails("a"))
    going, ended = (
        replace(each, metadata=replace(each.metadata, name="release-8", creation_timestamp=at(60)))
        for each in (run(played("s{g:a}").start()), run(played("s{g:a}").start().ends("a")))
    )
    since = "run release-8, made after it at 2026-08-17T00:01:00Z for the same members"
    (on,), (over,) = (told(after_run(failed, T0, newer=each)) for each in (going, ended))
    assert on == (f"to go on with {since}", "update", {"run": "release-8"})
    assert over == (f"to see {since}", "status", {"run": "release-8"})
    assert after_run(ended, T0, newer=going) == [], "it has not failed"


def test_a_finished_run_that_left_somebody_behind_is_repeated_for_those() -> None:
    tolerant = changed(changed(laid("s{g:a,b}"), "g", max_allowed_failures=1), "s", max_allowed_failures=1)
    ended = run(Play(tolerant).start().fails("a").ends("b"))
    assert told(after(ended)) == [
        ("to make a run that repeats what failed or was skipped", "retry", {"run": "release-7"})
    ]
    assert after(run(played("s{g:a}").start().ends("a"))) == []


def test_a_run_goes_on_from_each_other_state() -> None:
    assert told(after(run(played("s{g:a}")))) == [("to start it", "update", {"run": "release-7"})]
    assert told(after(run(played("s{g:a}").start()))) == [("to go on", "update", {"run": "release-7"})]
    stopped = played("s{g:a,b}").start().stop()
    assert told(after(run(stopped))) == [
        ("to follow what is in flight to its end, unless it is being conducted", "update", {"run": "release-7"})
    ]
    assert told(after(run(stopped.ends("a")))) == [
        ("to take it up again", "update", {"run": "release-7", "restart": "true"})
    ]


@pytest.mark.parametrize(
    ("seconds", "to"),
    [
        (172801, "to go on from Wed 2026-08-19 00:01 UTC"),
        (172800.5, "to go on from Wed 2026-08-19 00:01 UTC"),
        (172800, "to go on from Wed 2026-08-19 00:00 UTC"),
        (30, "to go on"),
    ],
)
def test_a_run_that_waits_for_a_window_says_from_when_it_goes_on(seconds: float, to: str) -> None:
    waiting = run(played("s{g:a}").sees("a", windows=((at(seconds), at(400000)),)).start())
    (line,) = next_lines(after(waiting, at(seconds)), {})
    assert line == f"{to}: ansible-playbook gitops.fleet.update -e run=release-7"


def test_one_that_a_person_may_bring_on_before_is_carried_on_at_any_time() -> None:
    gone = MemberBlocker(reason=UNREACHABLE)
    waiting = run(played("s{g:a; h:b}").sees("a", windows=((at(5000), at(9000)),)).sees("b", obstacles=(gone,)).start())
    assert [each.to for each in after(waiting, at(5000))] == ["go on"]


def test_each_open_gate_has_its_whole_command() -> None:
    gated = changed(changed(laid("s{g:a}"), "s", before_gates=gate("ticket")), "g", before_gates=gate("tests"))
    found = after(run(Play(gated).start()))
    assert told(found) == [
        (
            "to approve ticket (before s)",
            "approve",
            {"run": "release-7", "gate": "id-ticket", "digest": DIGEST[7:23], "reason": ""},
        ),
        ("to go on then", "update", {"run": "release-7"}),
    ]


def test_an_approval_has_room_for_a_reason_and_can_be_pasted_without_one() -> None:
    gated = changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))
    for steps in (after(run(Play(gated).start())), after_staged(staged(), "Waiting", [("s", "Before")], {})):
        approve, *others = next_lines(steps, {})
        assert approve.endswith(""" -e '{"reason": ""}'""") and not any("reason" in each for each in others)
        given = approve.partition(": ")[2].replace('""', '"no errors for a day, it\u2019s fine"')
        assert typed(given)[1]["reason"] == "no errors for a day, it\u2019s fine"


def test_a_gate_is_named_by_where_it_stands_unless_that_means_another_one_too() -> None:
    alone = changed(changed(laid("s{g:a}"), "s", before_gates=gate("")), "g", after_gates=gate("tests"))
    (approve, _on) = told(after(run(Play(alone).start())))
    where = {"run": "release-7", "stage": "s", "timing": "Before", "digest": DIGEST[7:23], "reason": ""}
    assert approve == ("to approve what comes before s", "approve", where)
    of_group = changed(laid("s{g:a}"), "g", before_gates=gate("tests"))
    (approve, _on) = told(after(run(Play(of_group).start())))
    assert approve[0] == "to approve tests (before s/g)"
    where = {"run": "release-7", "stage": "s", "group": "g", "timing": "Before", "digest": DIGEST[7:23], "reason": ""}
    assert approve[2] == where


def test_what_was_approved_is_carried_on_and_not_approved_once_more() -> None:
    play = Play(changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))).start()
    shown = as_answered(run(play), {"id-ticket": Approval(gate="id-ticket", by="carol", at=play.now)})
    assert told(after(shown)) == [("to go on", "update", {"run": "release-7"})]


def test_an_approval_says_who_carries_the_run_on() -> None:
    def line(*arguments: str, usual: bool = True) -> str:
        return "".join(approval_lines(*arguments, usual=usual))

    on = "whoever conducts r goes on with it, unless that is under way"
    assert line("r", "update", "Pending") == f"{on}: ansible-playbook gitops.fleet.update -e run=r"
    assert line("r", "update", "Pending", usual=False) == on, "an approver's login is not the conductor's"
    assert line("r", "update", "Stopped").endswith(
        "takes it up again: ansible-playbook gitops.fleet.update -e run=r -e restart=true"
    )
    assert line("a/r", "staged_update", "").endswith(
        ", with the options it was begun with: ansible-playbook gitops.fleet.staged_update -e run=a/r"
    )
    assert line("{{ r }}", "update", "") == on.replace(" r ", " {{ r }} ")


def staged(name: str = "r", namespace: str = "", index: str = "") -> ClusterStagedUpdateRun:
    kind = "StagedUpdateRun" if namespace else "ClusterStagedUpdateRun"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "resourceSnapshotIndex": index}
    cls = StagedUpdateRun if namespace else ClusterStagedUpdateRun
    return decode(cls, {"apiVersion": PLACEMENT_API, "kind": kind, "metadata": metadata, "spec": spec})


def test_a_staged_run_is_approved_carried_on_and_taken_up() -> None:
    again = {"resources": ["a", "b"]}
    assert told(after_staged(staged(), "Waiting", [("prod", "Before")], again)) == [
        (
            "to approve what comes before prod",
            "approve",
            {"run": "r", "kind": "ClusterStagedUpdateRun", "stage": "prod", "timing": "Before", "reason": ""},
        ),
        ("to go on then", "staged_update", {"run": "r", **again}),
    ]
    assert [each[2].get("state") for each in told(after_staged(staged(), "Stopped", [], {}))] == ["started", None]
    assert after_staged(staged(), "Succeeded", [], again, before="0", late=True) == []


@pytest.mark.parametrize("namespace", ["", "shop"])
def test_the_way_back_from_a_staged_run_is_a_run_that_the_command_defines(namespace: str) -> None:
    """Nothing is left to be filled in: the manifest stands in it, with the index of the snapshot from before."""
    run, again, beside = staged(namespace=namespace), {"resources": "a"}, {"runs": "it's mine"}
    steps = after_staged(run, "Running", [], {"resources": ["a"]}, {"runs": ["it's mine"]}, before="3", late=True)
    on, mended, back = told(steps)
    assert mended[:2] == ("to bring what you have mended and applied, by a new run", "staged_update")
    latest = mended[2].pop("definition")
    assert mended[2] == {"run": f"{run.key}-mended", **again, **beside}
    assert "resourceSnapshotIndex" not in latest["spec"] and not read(latest).findings
    assert on == ("to go on", "staged_update", {"run": str(run.key), **again})
    assert back[:2] == ("to go back to snapshot 3, by a new run", "staged_update")
    made = back[2].pop("definition")
    assert back[2] == {"run": f"{run.key}-back", **again, **beside}
    found = read(made)
    assert not found.findings and isinstance(found.object, ClusterStagedUpdateRun)
    assert str(found.object.key) == f"{run.key}-back" and found.object.spec.resource_snapshot_index == "3"
    assert (
        found.object.placement_key == run.placement_key
        and found.object.strategy_record_name == run.strategy_record_name
    )
    assert len(after_staged(run, "Running", [], again, beside, late=True)) == 2
    assert not any(each.blanks for each in steps)


def test_a_staged_run_that_failed_is_tried_once_more_or_left_for_what_was_there() -> None:
    same, back = told(after_staged(staged(index="4"), FAILED, [], {}, before="3"))
    assert (same[0], back[0]) == ("to try it once more, by a new run", "to go back to snapshot 3, by a new run")
    assert same[2]["run"] == "r-again" and same[2]["definition"]["spec"]["resourceSnapshotIndex"] == "4"
    ((_to, _playbook, latest),) = told(after_staged(staged(), FAILED, [], {}))
    assert "resourceSnapshotIndex" not in latest["definition"]["spec"]


@pytest.mark.parametrize(("state", "word"), [("Stuck", "go on with"), ("Failed", "see"), ("Succeeded", "see")])
def test_a_staged_run_that_failed_and_that_a_newer_one_came_after_names_that_alone(state: str, word: str) -> None:
    """To try it once more, or to go back from it, would take the clusters from the newer one."""
    begun = datetime(2026, 3, 1, 9, tzinfo=UTC)
    newer = RunStanding(name="r-back", placement="web", state=state, begun_at=begun)
    steps = after_staged(staged(index="4"), FAILED, [], {"resources": ["a"]}, {}, before="3", newer=newer)
    to = f"to {word} run r-back, which has begun after it at 2026-03-01T09:00:00Z"
    assert told(steps) == [(to, "staged_update", {"run": "r-back", "resources": "a"})]
    waits = after_staged(staged(), "Running", [], {}, newer=newer)
    assert waits == after_staged(staged(), "Running", [], {}), "one that goes on ends by itself"


def test_a_rebuilt_cluster_is_accepted_by_joining_it_again() -> None:
    steps = after_reading(["b", "a"])
    line, _second = next_lines(steps, {"path": "/r"})
    assert line.startswith("to accept the other cluster as a, if it was rebuilt: ansible-playbook gitops.fleet.join")
    assert steps[0].variables == {"members": [{"name": "a", "rebuilt": True}]}
    assert {"members", "records"} <= set(playbooks.variables(Path(PLAYBOOKS) / "join.yml"))
    assert "records" in line and len(after_reading(map(str, range(9)))) == 5


@pytest.mark.parametrize(
    ("given", "lacking", "others", "typed", "asked"),
    [
        (BY_PATTERN, "ab", False, {"kubeconfig": "/k", "pattern": "p-*"}, {"driver"}),
        ({"members": [{"name": "a", "kubeconfig": "/a"}]}, "a", True, {"members": [{"name": "a"}]}, {"driver"}),
        (BY_PATTERN, "abcdef", False, {"kubeconfig": "/k", "pattern": "p-*"}, {"driver"}),
        ({"members": ["as they were given"]}, "abcdef", False, {}, {"members", "driver"}),
        (BY_PATTERN, "ab", True, {"members": [{"name": "a"}, {"name": "b"}]}, {"driver"}),
        (BY_PATTERN, "abcdef", True, {}, {"members", "driver"}),
    ],
)
def test_members_without_a_driver_are_given_one_by_joining_them_again(
    given: dict[str, t.Any], lacking: str, others: bool, typed: dict[str, t.Any], asked: set[str]
) -> None:
    """A pattern would give it to ``others`` that have a driver, too."""
    (step,) = after_join(given, tuple(lacking), others)
    assert (step.to, step.playbook, step.variables, set(step.blanks)) == (GIVES, "join", typed, asked)
    assert {*typed, *asked} <= set(playbooks.variables(Path(PLAYBOOKS) / "join.yml"))
    (line,) = next_lines([step], {})
    assert line.endswith(" -e driver=DRIVER") and after_join(given, (), others) == []


def test_a_rotation_that_waits_is_carried_on() -> None:
    assert told(after_rotation("nodes", "waiting")) == [("to go on", "rotate", {"rotation": "nodes"})]
    assert after_rotation("nodes", "partial") == []
    freeze_ends = datetime(2026, 11, 28, 21, 0, 1, tzinfo=UTC)
    later, sharp = (after_rotation("nodes", "waiting", freeze_ends - timedelta(seconds=each)) for each in (0, 1))
    assert [each[0] for each in told([*later, *sharp])] == [
        "to go on from Sat 2026-11-28 21:01 UTC",
        "to go on from Sat 2026-11-28 21:00 UTC",
    ], "a minute in which it is closed yet is too early"
    assert [each[0] for each in told(after_rotation("nodes", "waiting", datetime.max.replace(tzinfo=UTC)))] == [
        "to go on from Fri 9999-12-31 23:59 UTC"
    ]


def test_nodes_that_only_people_let_go_are_told_with_the_command_that_does() -> None:
    found = told(after_rotation("nodes", "waiting", kept=["west/c", "east/b", "east/a"]))
    assert found == [
        (
            "to let east have its annotated nodes replaced",
            "disrupt",
            {"member": "east", "state": "unprotected", "nodes": ["a", "b"]},
        ),
        (
            "to let west have its annotated nodes replaced",
            "disrupt",
            {"member": "west", "state": "unprotected", "nodes": "c"},
        ),
        ("to go on", "rotate", {"rotation": "nodes"}),
    ]
    crowd = after_rotation("nodes", "waiting", kept=[f"east/{number:04}" for number in range(NAMED + 1)])
    (line, _on) = next_lines(crowd, {})
    assert line.endswith("gitops.fleet.disrupt -e member=east -e state=unprotected -e nodes=NODES")
    many = [f"m{number}/a" for number in range(9)]
    assert len(after_rotation("nodes", "waiting", kept=many)) == 6
    assert after_rotation("nodes", "done", kept=many) == []


def test_a_rotation_that_left_young_nodes_says_how_they_are_replaced_too() -> None:
    again = ("to replace all of them again", "rotate", {"rotation": "nodes", "again": "true"})
    assert [told(after_rotation("nodes", each, young=3)) for each in ("done", "planned")] == [[again], [again]]
    assert [each[0] for each in told(after_rotation("nodes", "waiting", young=3))] == ["to go on"]


def test_a_rotation_that_was_stopped_is_followed_to_its_end_or_begun_anew() -> None:
    command = ("rotate", {"rotation": "nodes"})
    assert told(after_rotation_stop("nodes", in_hand=True, ended=False)) == [
        ("to follow what is in flight to its end, unless it is being conducted", *command)
    ]
    assert told(after_rotation_stop("nodes", in_hand=False, ended=True)) == [("to begin it anew", *command)]
    assert after_rotation_stop("nodes", in_hand=False, ended=False) == []


def test_after_the_state_of_the_fleet_who_is_read_anew_and_what_nobody_conducts() -> None:
    since = datetime(2026, 3, 1, 9, tzinfo=UTC)
    left = [
        RunNeed(kind=kind, name="r", needs="conductor", since=since)
        for kind in ("update run", "staged run", "rotation")
    ]
    assert told(after_status([*left, RunNeed(kind="rotation", name="x", needs="nodes")], is_behind=True)) == [
        ("to read members anew", "facts", {}),
        (
            "to go on with staged run r, which nobody seems to conduct since 2026-03-01T09:00:00Z, with the"
            " options it was begun with",
            "staged_update",
            {"run": "r"},
        ),
        (
            "to go on with rotation r, which nobody seems to conduct since 2026-03-01T09:00:00Z",
            "rotate",
            {"rotation": "r"},
        ),
    ]
    assert after_status((), is_behind=False) == []


def test_how_drift_is_looked_for_is_a_command_with_what_no_record_tells() -> None:
    """Where the manifests are, a person fills in; the records are named as in every command."""
    steps = after_status((), is_behind=False, unlooked=True)
    files = {"placements": "FOLDER", "resources": "FOLDER"}
    assert told(steps, HUB) == [
        ("to see here what drifted", "drift", {"result_file": "drift.json", "records": HUB, **files}),
        ("to have that shown", "status", {"drift": "drift.json", "records": HUB}),
    ]


def test_a_staged_run_with_overrides_in_files_says_that_its_files_are_needed_again() -> None:
    runs = [RunNeed(kind="staged run", name="r", needs="conductor", overridden=True)]
    (step,) = told(after_status(runs, is_behind=False, in_files=True))
    assert step[1:] == ("staged_update", {"run": "r", "runs": "FOLDER"})
    (step,) = told(after_status(runs, is_behind=False))
    assert step[1:] == ("staged_update", {"run": "r"})


def test_after_windows_changed_when_clusters_may_be_touched_and_who_may_go_on() -> None:
    assert told(after_maintenance(True), HUB) == [
        ("to see when clusters may be touched now", "when", {"records": HUB}),
        ("to see which runs may go on by that, and how", "status", {"records": HUB}),
    ]
    assert after_maintenance(False) == []
