# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a newer run gave and an older one has taken back, which KubeFleet's own controller does; by what is held."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.taken_back import no_longer_held_text
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import held
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    Play,
    resources,
    run,
    stage,
    strategy,
    world,
)

AGAIN = "make a new run to give it again"
STAGES = (stage("us", {"at": "us"}), stage("eu", {"at": "eu"}, beforeStageTasks=[{"type": "Approval"}]))
LABELS = {"a": {"at": "us"}, "b": {"at": "eu"}, "c": {"at": "eu"}}


def overtaken() -> tuple[Play, Play]:
    """An older run that waits for an approval, and a newer one that has given snapshot 2 to all clusters since."""
    older = Play(world("abc", *STAGES, labels=LABELS), run(metadata={"name": "older"}), upstream=True)
    older.steps()
    older.report("a").steps()
    at_once = strategy(stage("all", ALL, maxConcurrency="100%"))
    there = replace(older.world, strategy=at_once, resource_snapshots=(resources(1), resources(2, latest=True)))
    newer = Play(there, run(metadata={"name": "newer"}, resourceSnapshotIndex="2"), upstream=True)
    newer.now = older.now
    newer.after(minutes=1).steps()
    newer.report("abc").steps()
    assert newer.succeeded == "True"
    older.now, older.world = newer.now, replace(older.world, bindings=newer.world.bindings, runs=(newer.run,))
    return older, newer


def told(of: Play, *others: Play) -> str:
    """What is told of the run, by the bindings as the last of the ``others`` has left them."""
    return no_longer_held_text(of.run, [of.run, *(each.run for each in others)], (others or (of,))[-1].world.bindings)


def test_a_newer_run_whose_clusters_an_older_one_has_taken_back_says_what_they_hold_now() -> None:
    older, newer = overtaken()
    assert told(newer, older) == ""
    (asked,) = older.world.approvals
    older.after(minutes=1).approve(asked.metadata.name).steps()
    older.report("b").steps()
    there = [each.content.resource_snapshot for each in older.world.bindings]
    assert there == ["web-2-snapshot", "web-1-snapshot", "web-1-snapshot"]
    lost = f"b, c no longer hold what it gave, but snapshot 1, which run older gave; {AGAIN}"
    assert told(newer, older) == lost
    assert told(older, older) == ""  # it has not ended; of that its own message tells


def test_what_a_run_gave_that_began_later_is_no_loss() -> None:
    older, newer = overtaken()
    there = replace(newer.world, resource_snapshots=(resources(1), resources(2), resources(3, latest=True)))
    last = Play(there, run(metadata={"name": "last"}, resourceSnapshotIndex="3"), upstream=True)
    last.now = newer.now
    last.after(minutes=1).steps()
    assert told(newer, older, last) == ""


def test_by_whom_is_told_only_where_a_run_is_known_and_who_holds_nothing_has_lost_nothing() -> None:
    _older, newer = overtaken()
    there = [held("a", content="web-0-snapshot"), held("b", content=""), held("c", state="Unscheduled")]
    lost = f"a no longer holds what it gave, but snapshot 0; {AGAIN}"
    assert no_longer_held_text(newer.run, [newer.run], there) == lost
    assert no_longer_held_text(newer.run, [newer.run], []) == ""
    spec = replace(newer.world.bindings[0].binding.spec, cluster_resource_override_snapshots=("o-0",))
    other = RolloutBinding(binding=replace(newer.world.bindings[0].binding, spec=spec))
    assert no_longer_held_text(newer.run, (), [other]).startswith(
        "a no longer holds what it gave, but snapshot 2 with other ov"
    )
