# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is printed to be typed next after placements: the commands come through a shell and Ansible as they were."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.going_on.ways_on import WaysOn
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.looked import Looked
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.next_run import NextRun
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.next_steps import (
    next_lines,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.placement_steps import (
    after_placement,
    after_unfinished,
)
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import PLAYBOOKS
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._report.commands.typed import told
from ansible_collections.gitops.fleet.tools import playbooks

DIGEST = "sha256:0123456789abcdef0123"
# Of what failed and of what Ctrl-C has kept from being begun.
NOT_DONE = "to go on with what is not done"
GIVEN = {
    "state": "planned",
    "src": ["p"],
    "resources": ["r", "s"],
    "facts": "f.json",
    "names": ["web"],
    "allow_empty": True,
    "max_removals": "50%",
    "fail_on": ["drifted"],
    "holder": "x",
    "result_file": "y",
}
SAME = {"placements": "p", "resources": ["r", "s"], "names": "web", "allow_empty": "true", "max_removals": "50%"}


def test_a_plan_says_how_just_that_is_carried_out() -> None:
    assert told(after_placement(GIVEN, "planned", True, DIGEST)) == [
        ("to carry out just this", "apply", {**SAME, "digest": DIGEST[7:23]})
    ]
    kept = told(after_placement({**GIVEN, "write_plan": "plan.json"}, "planned", True, DIGEST))
    assert kept[0][2] == {**SAME, "approved_plan": "plan.json"}
    nodes = {"nodes_file": "nodes.json", "max_replaced_nodes": "10%"}
    braked = told(after_placement({**GIVEN, **nodes, "wait": True}, "waiting", True, DIGEST))
    assert braked == [("to go on", "rollout", {**SAME, **nodes})]
    assert set(braked[0][2]) <= set(playbooks.variables(Path(PLAYBOOKS) / "rollout.yml"))
    assert after_placement(GIVEN, "planned", False, DIGEST) == []


@pytest.mark.parametrize(
    ("outcome", "wait", "playbook"),
    [("waiting", False, "apply"), ("waiting", True, "rollout"), ("partial", True, "rollout")],
)
def test_what_waits_or_failed_is_gone_on_with(outcome: str, wait: bool, playbook: str) -> None:
    ((_to, found, variables),) = told(after_placement({**GIVEN, "wait": wait}, outcome, True, DIGEST))
    assert (found, variables) == (playbook, SAME)


def test_a_version_that_holds_its_own_rollout_up_can_be_gone_back_from() -> None:
    ways = WaysOn(back=("web",))
    steps = told(after_placement({**GIVEN, "wait": True}, "waiting", True, DIGEST, None, ways))
    assert steps == [("to go on", "rollout", SAME), ("to go back", "rollback", {"placement": "web"})]
    secrets = WaysOn(back=("web", "shop/web"), with_secrets=True)
    (found,) = told(after_placement({**GIVEN, "definition": [{}]}, "waiting", True, DIGEST, None, secrets))
    back = {"placement": ["web", "shop/web"], "resources": ["r", "s"]}
    assert found == ("to go back", "rollback", back)


@pytest.mark.parametrize(("outcome", "to"), [("waiting", "to go on"), ("partial", NOT_DONE)])
def test_a_roll_back_that_is_not_at_its_end_is_asked_for_again(outcome: str, to: str) -> None:
    given = {**GIVEN, "src": None, "state": "rolled_back", "to": 3}
    (found,) = told(after_placement(given, outcome, True, DIGEST, None, WaysOn(back=("web",))))
    same = {"placement": "web", "to": "3", "resources": ["r", "s"], "allow_empty": "true", "max_removals": "50%"}
    assert found == (to, "rollback", same)
    assert set(same) <= set(playbooks.variables(Path(PLAYBOOKS) / "rollback.yml"))
    assert after_placement(given, "done", True, DIGEST) == []


def test_an_external_placement_is_given_by_a_run_that_people_name() -> None:
    steps = after_placement(GIVEN, "done", True, DIGEST, None, WaysOn(staged=True))
    (line,) = next_lines(steps, {})
    assert line.startswith("to give it to its clusters: ansible-playbook gitops.fleet.staged_update -e ")
    assert line.endswith(" -e runs=FOLDER -e run=NAME") and not {"<", ">"} & set(line), "a shell takes these"
    assert set(steps[0].blanks) <= set(playbooks.variables(Path(PLAYBOOKS) / "staged_update.yml"))


def test_a_run_that_is_known_stands_in_the_command() -> None:
    one, two = NextRun(placement="web", run="web-1"), NextRun(placement="till", run="till-3", definition={"a": "b"})
    given = {"src": ["it's mine"], "resources": ["r"]}
    step = told(after_placement(given, "done", True, DIGEST, None, WaysOn(staged=True, runs=(one,))))
    words = {"run": "web-1", "runs": "it's mine", "resources": "r"}
    assert step == [("to give it to its clusters", "staged_update", words)]
    both = told(after_placement(given, "done", True, DIGEST, None, WaysOn(staged=True, runs=(one, two))))
    assert [each[0] for each in both] == ["to give web to its clusters", "to give till to its clusters, by a new run"]
    assert both[1][2] == {**words, "run": "till-3", "definition": {"a": "b"}}


@pytest.mark.parametrize(
    "more", [{"src": None, "state": "rolled_back", "to": 3}, {"state": "present", "evacuate": "west", "src": None}]
)
def test_what_a_roll_back_or_an_evacuation_recorded_is_given_by_such_a_run(more: dict[str, object]) -> None:
    given = {**GIVEN, "state": "present", **more}
    (step,) = after_placement(given, "done", True, DIGEST, None, WaysOn(staged=True))
    assert (step.to, step.playbook) == ("give it to its clusters", "staged_update")
    assert after_placement(given, "done", True, DIGEST, None, WaysOn()) == []
    assert after_placement({**given, "state": "absent"}, "done", True, DIGEST, None, WaysOn(staged=True)) == []


def test_what_was_applied_without_waiting_is_waited_for_by_a_rollout() -> None:
    late = WaysOn(late=True)
    assert told(after_placement(GIVEN, "done", True, DIGEST, None, late)) == [
        ("to wait until it is available", "rollout", SAME)
    ]
    assert after_placement({**GIVEN, "wait": True}, "done", True, DIGEST, None, late) == []
    assert after_placement(GIVEN, "done", True, DIGEST, None, WaysOn()) == []


@pytest.mark.parametrize(
    ("src", "on_hub", "variables", "blanks"),
    [
        ((), True, {}, ()),
        ((), False, {}, ("placements", "resources")),
        (("p",), True, {"placements": "p"}, ("resources",)),
        (("p", "q"), False, {"placements": ["p", "q"]}, ("resources",)),
    ],
)
def test_an_unfinished_placement_goes_on_by_a_rollout_with_what_is_not_recorded(
    src: tuple[str, ...], on_hub: bool, variables: dict[str, object], blanks: tuple[str, ...]
) -> None:
    step = after_unfinished("web", src, deleting=False, on_hub=on_hub)
    assert (step.to, step.playbook, step.variables) == ("go on", "rollout", {"names": "web", **variables})
    assert tuple(step.blanks) == blanks
    ended = after_unfinished("web", src, deleting=True, on_hub=on_hub)
    assert (ended.playbook, ended.variables, ended.blanks) == ("end", {"names": "web"}, {})


REPAIR = "to repair what drifted (it writes)"
BOTH = "to repair what drifted, and write what is due (it writes)"
UNSEEN = {"us": Problem("unreachable", "no route")}
AGAIN = ("to look again", "drift", {"placements": "p", "resources": ["r", "s"], "names": "web", "result_file": "y"})


@pytest.mark.parametrize(
    ("outcome", "looked", "to"),
    [
        ("drifted", Looked(drifted=("eu",)), [REPAIR]),
        ("drifted", Looked(drifted=("eu",), due=("eu",)), [BOTH]),
        ("drifted", Looked(due=("eu",)), ["to write what is due"]),
        ("partial", Looked(drifted=("eu",), unseen=UNSEEN), ["to look again", REPAIR]),
        ("partial", Looked(due=("eu",), unseen=UNSEEN), ["to look again"]),
        ("partial", Looked(), []),
        ("planned", Looked(unseen=UNSEEN), ["to look again"]),
    ],
)
def test_after_a_look_one_looks_again_or_repairs(outcome: str, looked: Looked, to: list[str]) -> None:
    """What failed is only reading: nothing is tried again that writes."""
    steps = told(after_placement({**GIVEN, "state": "present"}, outcome, False, DIGEST, looked))
    assert [each[0] for each in steps] == to
    assert all(each == AGAIN for each in steps if each[1] == "drift")
    assert all(each[1:] == ("apply", SAME) for each in steps if each[1] != "drift")


@pytest.mark.parametrize(
    "more",
    [{"state": "absent"}, {"to": 3}, {"definition": [{}]}, {"src": []}],
)
def test_where_another_playbook_would_have_to_be_told_more_nothing_is_said(more: dict[str, t.Any]) -> None:
    assert after_placement({**GIVEN, **more}, "waiting", True, DIGEST) == []


@pytest.mark.parametrize(
    "moves", [{"evacuate": "region=west"}, {"readmit": "region=west"}, {"evacuate": "a", "empty_first": "true"}]
)
def test_what_moves_placements_is_carried_out_by_the_playbook_that_evacuates(moves: dict[str, t.Any]) -> None:
    given = {**GIVEN, **moves, "wait": True}
    own = {**SAME, **moves, "wait": "true"}
    approved = {**own, "digest": DIGEST.removeprefix("sha256:")[:16]}
    planned = after_placement({**given, "state": "planned"}, "planned", True, DIGEST)
    assert told(planned) == [("to carry out just this", "evacuate", approved)]
    assert told(after_placement(given, "waiting", True, DIGEST)) == [("to go on", "evacuate", own)]
    assert set(approved) <= set(playbooks.variables(Path(PLAYBOOKS) / "evacuate.yml"))


@pytest.mark.parametrize("src", [["p"], None])
def test_after_a_readmission_what_would_come_back_and_who_holds_what(src: list[str] | None) -> None:
    given = {**GIVEN, "state": "present", "readmit": "region=west", "src": src}
    plan = ("plan", {"placements": "FOLDER", "resources": "FOLDER"})
    assert told(after_placement(given, "done", True, DIGEST)) == [
        ("to see which other placements would come back", *plan),
        ("to see what each cluster holds", "status", {}),
    ]
    assert after_placement({**given, "evacuate": "a", "readmit": ""}, "done", True, DIGEST) == []
    looked = told(after_placement({**given, "src": ["p"]}, "planned", True, DIGEST, Looked()))
    assert [each[0] for each in looked] == ["to carry out just this"]


def test_who_looks_before_clusters_are_emptied_is_not_sent_to_look_for_drift() -> None:
    assert after_placement({**GIVEN, "evacuate": "a"}, "planned", False, DIGEST, Looked(unseen=UNSEEN)) == []
