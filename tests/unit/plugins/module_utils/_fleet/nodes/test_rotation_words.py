# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people read of a rotation while it goes on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Blocker, HeldBack
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import (
    NodeRotation,
    NodeRotationSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import RunLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotating import RotationReport
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_report import (
    kept_nodes,
    rotation_verdict,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_words import (
    RotationTelling,
    folding,
    waits_lines,
)

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_who_ended_is_told_before_who_began_by_that_and_in_80_columns() -> None:
    """Or a budget of one would seem to be exceeded."""
    said: list[str] = []
    events: list[tuple[str, str]] = []
    telling = RotationTelling("west-1", said.append, lambda *each: events.append(each), lambda: ())
    first = NodeProgress(name="west-1/west-1-default-1", phase="Returning", attempts=1)
    telling.begin(RotationState(nodes=(NodeProgress(name="west-1/west-1-default-0"), first)), NOW)
    came = "west-1/west-1-default-1-66c92"
    nodes = (
        NodeProgress(name="west-1/west-1-default-0", phase="Draining", attempts=1),
        NodeProgress(name="west-1/west-1-default-1", phase="Rotated", attempts=1, replacement=came),
    )
    for _twice in range(2):
        telling.stored(RotationState(nodes=nodes), NOW)
    assert said == [
        "west-1: west-1/west-1-default-1 replaced by west-1-default-1-66c92",
        "west-1: west-1/west-1-default-0 draining",
    ]
    assert max(map(len, said)) <= 80
    assert [reason for reason, _text in events] == ["Disrupted", "DisruptionBegun"]


def test_a_rotation_that_is_over_is_not_done_while_a_node_stays_cordoned() -> None:
    gone = NodeProgress(name="m/a", phase="Rotated", attempts=1)
    held = (HeldBack("m/b", (Blocker("release", "it stays cordoned: nodes is forbidden"),)),)
    rotation = NodeRotation(metadata=ObjectMeta(name="r"), spec=NodeRotationSpec())
    report = RotationReport(rotation=rotation, state=RotationState(nodes=(gone,)), changed=True)
    assert rotation_verdict(report)[0] == "done"
    outcome, code, message = rotation_verdict(replace(report, waits=held))
    assert (outcome, code, message) == ("partial", "nodes-left", "m/b: it stays cordoned: nodes is forbidden")


def test_what_is_waited_for_is_folded_behind_the_name_of_the_rotation() -> None:
    why = Blocker("pdb", "pod shop/checkout-7d9c is held by PodDisruptionBudget shop/checkout (0 disruptions allowed)")
    held = tuple(HeldBack(f"prod-eu-1/prod-eu-1-work-{number}", (why,)) for number in range(3))
    said: list[str] = []
    stays = RunLimits(holder="one").stays
    telling = RotationTelling("cve", folding(said.append, "cve:"), lambda *_each: None, lambda: held, stays)
    for _twice in range(2):
        telling.waiting(RotationState(), None, NOW)
    telling.end(RotationState(), "waiting", NOW)
    assert [line for line in said if "stays" in line] == [said[-1]] and "120 s" in said[-1]
    assert all(len(line) <= 80 and line.startswith("cve: ") for line in said)
    assert said[0] == "cve: prod-eu-1/prod-eu-1-work-0 and 2 more wait:" and said[2].startswith("cve:     ")
    rotation = NodeRotation(metadata=ObjectMeta(name="cve"), spec=NodeRotationSpec())
    waiting = RotationState(nodes=tuple(NodeProgress(name=each.name) for each in held))
    report = RotationReport(rotation=rotation, state=waiting, changed=True, waits=held)
    assert all(len(line) <= 80 for line in rotation_verdict(report)[2].split("\n"))


def test_what_many_nodes_wait_for_is_one_short_line() -> None:
    why = (Blocker("budget", "no room"),)
    held = [HeldBack(f"prod-eu-1/prod-eu-1-work-{number}-157dd", why) for number in range(8)]
    assert waits_lines(held, short=True) == ["prod-eu-1/prod-eu-1-work-0-157dd and 7 more: no room"]
    assert waits_lines(held)[0].count("prod-eu-1/") == 8
    assert waits_lines([HeldBack("m/a", why), HeldBack("m/b", why)], short=True) == ["m/a, m/b: no room"]


def test_nodes_that_bear_an_annotation_of_their_own_are_those_that_people_let_go() -> None:
    held = {"east/a": ("node-annotation", "pdb"), "east/b": ("pdb",), "west/c": ("budget", "node-annotation")}
    waits = tuple(HeldBack(name, tuple(Blocker(code, code) for code in codes)) for name, codes in held.items())
    rotation = NodeRotation(metadata=ObjectMeta(name="blue"), spec=NodeRotationSpec())
    report = RotationReport(rotation=rotation, state=RotationState(), changed=False, waits=waits)
    assert kept_nodes(report) == ["east/a", "west/c"]
