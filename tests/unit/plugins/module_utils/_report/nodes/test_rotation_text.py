# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation as a table: who waits for what, and what became of nodes that are done."""

from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Blocker, HeldBack
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.rotation_text import rotation_text, young_text

NIGHT = Blocker("budget", "budget 2 (0 nodes, 21:00-04:00 UTC) until Fri 04:00 UTC")
POD = Blocker("pod-annotation", "pod night/batch is protected")


def test_nodes_of_a_cluster_that_wait_for_the_same_have_one_row() -> None:
    names = [f"{cluster}/n{number}" for cluster in ("eu", "us") for number in range(3)]
    state = RotationState(nodes=tuple(NodeProgress(name=each) for each in names))
    waits = [HeldBack(each, (POD,) if each == "eu/n1" else (NIGHT,)) for each in names]
    lines = rotation_text("cve", state, dict.fromkeys(names, "its image is Linux-1.1"), (), waits)
    assert lines[1:] == [
        "  NODE        NOW      WHY",
        "  eu 2 nodes  Waiting  budget 2 (0 nodes, 21:00-04:00 UTC) until Fri 04:00 UTC",
        "  eu/n1       Waiting  pod night/batch is protected",
        "  us 3 nodes  Waiting  budget 2 (0 nodes, 21:00-04:00 UTC) until Fri 04:00 UTC",
    ]


def test_nodes_that_begin_and_those_that_are_done_have_a_row_each() -> None:
    """One that is done does not tell why it was due, which would read as what is there now."""
    became = "had Linux-1.1; n9 has Linux-1.2"
    nodes = (
        NodeProgress(name="eu/a", phase="Rotated", text=became),
        NodeProgress(name="eu/b", phase="Rotated"),
        NodeProgress(name="eu/c"),
        NodeProgress(name="eu/d"),
    )
    due = {each.name: "its image is Linux-1.1" for each in nodes}
    lines = rotation_text("cve", RotationState(nodes=nodes), due, ("eu/c", "eu/d"), ())
    assert [line.split(None, 2) for line in lines[2:]] == [
        ["eu/a", "Rotated", became],
        ["eu/b", "Rotated"],
        ["eu/c", "begins", "its image is Linux-1.1"],
        ["eu/d", "begins", "its image is Linux-1.1"],
    ]


def test_nodes_that_were_not_begun_when_it_was_stopped_have_one_row_and_the_rotation_is_not_named_again() -> None:
    halted = "the rotation was stopped"
    nodes = [NodeProgress(name=f"eu/{each}", phase="GivenUp", code="halted", text=halted) for each in "ab"]
    closed = HeldBack("us/c", (Blocker("budget", "NodeRotation cve on us: budget 2 (0 nodes) until Fri 04:00 UTC"),))
    state = RotationState(nodes=(*nodes, NodeProgress(name="us/c")), halted=halted)
    headline = rotation_text("cve", state, {}, (), (closed,))[0]
    assert headline == "cve: 3 nodes to replace (1 Waiting, 2 not begun); the rotation was stopped"
    assert [" ".join(line.split()) for line in rotation_text("cve", state, {}, (), (closed,))[2:]] == [
        f"eu 2 nodes not begun {halted}",
        "us/c Waiting budget 2 (0 nodes) until Fri 04:00 UTC",
    ]


def test_nodes_that_stay_because_they_came_later_are_told_in_lines_of_a_terminal() -> None:
    since = datetime(2026, 1, 15, 12, tzinfo=UTC)
    lines = young_text("cve", 3, since)
    assert " ".join(lines) == "cve: 3 nodes that came since it began, on Thu 2026-01-15 12:00 UTC, stay"
    assert max(map(len, lines)) <= 80
    assert young_text("cve", 1, since)[0].endswith("UTC, stays") and young_text("cve", 0, since) == []


def test_one_node_is_no_nodes() -> None:
    (headline, *_rows) = rotation_text("cve", RotationState(nodes=(NodeProgress(name="eu/a"),)), {}, (), ())
    assert headline.startswith("cve: 1 node to replace")
