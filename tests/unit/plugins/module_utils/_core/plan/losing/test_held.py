# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the brakes on objects count where a write was begun on a cluster, and is not known to have ended."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import HELD_BEFORE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    OBJECTS,
    carried_out,
    changes,
    facts,
    placed,
    plan,
    rendered,
    wanted,
)

FLEET = facts("a", "b")
VOLUME = rendered(ObjectId("", "v1", "PersistentVolumeClaim", "test", "data"))
MANY = tuple(rendered(ObjectId("apps", "v1", "Deployment", "test", f"web-{number}")) for number in range(50))
STRAY = ObjectId("", "v1", "ConfigMap", "test", "only-in-0")


def begun(known: RecordedState, before: str, to: str = "") -> RecordedState:
    """Writes of a snapshot have begun everywhere, that of ``to`` if it is given, and did not end."""
    bindings = tuple(
        replace(
            each,
            spec=replace(each.spec, resource_snapshot_name=to or each.spec.resource_snapshot_name),
            metadata=replace(each.metadata, annotations={HELD_BEFORE: before}),
        )
        for each in known.bindings
    )
    return replace(known, bindings=bindings)


def stopping(made: PlacementPlan) -> dict[str, str]:
    """What would lift the brakes that stop the plan."""
    return {each.name: each.option for each in made.brakes if each.stops}


def test_an_object_that_does_not_go_away_does_not_hide_from_the_brake_what_is_put_there_since() -> None:
    """For as long as something of an earlier snapshot is there, the cluster is recorded as holding that one."""
    zero = placed(None, FLEET, (*OBJECTS, VOLUME))
    one = begun(carried_out(plan(wanted(objects=(*OBJECTS, *MANY)), FLEET, zero), zero), "web-0-snapshot")
    made = plan(wanted(), FLEET, one)
    assert stopping(made) == {"max_object_removals": "max_object_removals: 51"}
    assert [(len(each.prune), len(each.leftover), each.counted) for each in made.clusters] == [(1, 50, 51)] * 2
    lifted = plan(wanted(), FLEET, one, BrakeLimits(max_object_removals=51))
    assert stopping(lifted) == {} and [each.name for each in lifted.brakes if each.lifted] == ["max_object_removals"]


def test_what_a_first_write_that_was_cut_short_may_have_put_there_is_counted() -> None:
    first = begun(carried_out(plan(wanted(objects=(*OBJECTS, *MANY)), FLEET)), "")
    assert stopping(plan(wanted(objects=(*OBJECTS, *MANY)), FLEET, first)) == {}
    assert list(stopping(plan(wanted(), FLEET, first))) == ["max_object_removals"]
    assert list(stopping(plan(wanted(objects=()), FLEET, first))) == ["max_object_removals", "allow_no_objects"]


def test_a_write_that_was_cut_short_permits_no_more_than_before_it() -> None:
    """Of ten objects four are too many, whatever else the write was to bring."""
    ten = (*OBJECTS, *MANY[:8])
    zero = placed(None, FLEET, ten)
    wish = wanted(objects=(*ten[:-4], *MANY[8:]))
    fresh = plan(wish, FLEET, zero)
    cut_short = plan(wish, FLEET, begun(carried_out(fresh, zero), "web-0-snapshot"))
    assert stopping(cut_short) == stopping(fresh) == {"max_object_removals": "max_object_removals: 4"}


def test_the_brake_counts_a_cluster_once() -> None:
    zero = placed(None, FLEET, (*OBJECTS, *MANY[:8]))
    one = begun(carried_out(plan(wanted(objects=(*OBJECTS, *MANY[8:])), FLEET, zero), zero), "web-0-snapshot")
    (brake,) = (each for each in plan(wanted(), FLEET, one).brakes if each.stops)
    assert brake.message.startswith("web: 50 of 52 objects would be deleted on a (and 1 more cluster loses too many)")


def test_what_a_run_back_to_an_older_snapshot_may_have_put_there_leaves_by_the_plan() -> None:
    """A staged run to an earlier index has begun on the clusters, and was killed."""
    zero = placed(None, FLEET, (*OBJECTS, rendered(STRAY)))
    one = carried_out(plan(wanted(), FLEET, zero), zero)
    back = begun(one, "web-1-snapshot", to="web-0-snapshot")
    made = plan(wanted(), FLEET, back)
    assert changes(made) == dict.fromkeys(("a", "b"), ("kept", "content-changed"))
    assert [(each.prune, each.leftover) for each in made.clusters] == [((), (STRAY,))] * 2
    assert [each.leaving for each in plan(wanted(), FLEET, one).clusters] == [(), ()]
    everything = plan(wanted(objects=()), FLEET, back).clusters[0]
    assert (everything.prune, everything.leftover, everything.counted) == ((CONFIG,), (STRAY,), 2)
