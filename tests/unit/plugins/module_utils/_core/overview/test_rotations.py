# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation as it went, wave by wave, by its record alone."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import (
    RotationInput,
    RotationNode,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    RotationSettings,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import (
    NodeRotation,
    NodeRotationStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.rotations import rotation_chart
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import RunChart
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.clocks import LAST
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import NOW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.rotation_made import (
    MINUTE,
    a_pool_of,
    everything,
)


def charted(state: RotationState, **status: object) -> RunChart:
    """After a journey through the records."""
    document = {"metadata": {"name": "patch"}, "spec": {}, "status": {"state": encode(state), **status}}
    rotation = decode(NodeRotation, document)
    return rotation_chart(rotation, decode(RotationState, rotation.status.state))


def shown(chart: RunChart) -> list[tuple[str, str, str]]:
    return [(each.what, each.name, each.status.state) for each in chart.bars]


def replaced(sight: RotationInput, *names: str) -> RotationInput:
    new = [RotationNode(name=f"new-{name}", uid=f"new-{name}", pool="p") for name in names]
    return dataclasses.replace(sight, nodes=(*(each for each in sight.nodes if each.name not in names), *new))


def test_a_pause_at_the_end_of_the_calendar_raises_nothing() -> None:
    sight = RotationInput(nodes=a_pool_of(4))
    found = everything(sight, RotationSettings(soak=600))
    found = decide(found.state, replaced(sight, "p-0"), NOW + 5 * MINUTE)
    wave = dataclasses.replace(found.state.wave, ended_at=LAST)
    (pause,) = (each for each in charted(dataclasses.replace(found.state, wave=wave)).bars if each.what == "wait")
    assert pause.due == LAST


def test_waves_with_a_pause_between_them() -> None:
    sight = RotationInput(nodes=a_pool_of(4))
    found = everything(sight, RotationSettings(soak=600))
    sight = replaced(sight, "p-0")
    now = NOW + 5 * MINUTE
    found = decide(found.state, sight, now)
    chart = charted(found.state, phase="Waiting")
    assert (chart.kind, chart.state, chart.over, chart.progress) == ("rotation", "Waiting", False, "1/4 nodes")
    assert shown(chart) == [
        ("run", "patch", "Waiting"),
        ("wave", "1", "Completed"),
        ("node", "p-0", "Rotated"),
        ("wait", "600 s", "Pending"),
        ("wave", "not begun", "Waiting"),
        *(("node", f"p-{number}", "Waiting") for number in (1, 2, 3)),
    ]
    first, wave, pause = chart.bars[2], chart.bars[1], chart.bars[3]
    for each in (first, wave):
        assert (each.status.start_time, each.status.completed_time) == (NOW, now)
    assert first.why == "new-p-0 has come for it" and wave.why == "nodes: 1 of up to 1"
    assert (pause.status.start_time, pause.due) == (now, now + timedelta(minutes=10))

    found = decide(found.state, sight, now + 10 * MINUTE)
    chart = charted(found.state, phase="Running")
    assert [each.name for each in chart.bars if each.what == "wave"] == ["1", "2", "not begun"]
    begun = [each for each in chart.bars if each.status.state == "Draining"]
    assert [each.name for each in begun] == ["p-1", "p-2"]
    assert {each.status.start_time for each in begun} == {now + 10 * MINUTE}
    assert not any(each.status.completed_time for each in begun)


def test_a_rotation_to_its_end() -> None:
    sight = RotationInput(nodes=a_pool_of(3))
    found, now = everything(sight, RotationSettings()), NOW
    while not found.state.done:
        sight, now = replaced(sight, *(each.node for each in found.acts)), now + 5 * MINUTE
        found = decide(found.state, sight, now)
    chart = charted(found.state, phase="Done")
    assert chart.over and chart.progress == "3/3 nodes" and chart.bars[0].status.completed_time == now
    assert {each.status.state for each in chart.bars} == {"Done", "Completed", "Rotated"}


def test_a_node_that_is_tried_again_began_at_its_first_try_and_says_what_failed() -> None:
    sight = RotationInput(nodes=a_pool_of(1))
    found = everything(sight, RotationSettings(attempts=2, node_timeout=60, retry_after=300))
    found = decide(found.state, sight, NOW + 2 * MINUTE)
    node = charted(found.state).bars[-1]
    assert node.status.state == "Waiting" and node.status.start_time == NOW and "tried again after" in node.why
    found = decide(found.state, sight, NOW + 10 * MINUTE)
    assert charted(found.state).bars[-1].status.start_time == NOW
    found = decide(found.state, sight, NOW + 20 * MINUTE)
    chart = charted(found.state, phase="Done")
    node = chart.bars[-1]
    assert node.status.state == "GivenUp" and node.why and chart.progress == "0/1 node, 1 left as it was"
    assert found.state.in_hand and not chart.over, "it is still to be let go"


def test_one_that_has_not_begun_or_is_to_stop_says_so() -> None:
    rotation = decode(NodeRotation, {"metadata": {"name": "patch"}, "spec": {}})
    chart = rotation_chart(rotation, RotationState())
    assert shown(chart) == [("run", "patch", "NotStarted")] and not chart.over
    stopping = dataclasses.replace(rotation, status=NodeRotationStatus(phase="Running", stop_requested=True))
    assert "to stop" in rotation_chart(stopping, RotationState()).message
