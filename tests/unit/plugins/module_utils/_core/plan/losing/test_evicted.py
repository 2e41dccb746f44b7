# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a disruption budget counts of a cluster that was looked at."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import LEFT_OUT
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import Earlier
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.losing.evicted import (
    holders_plan,
    with_available_seen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.conditions import set_condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import find_condition
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NAMESPACE,
    NOW,
    OBJECTS,
    facts,
    pick_all,
    placed,
    placement,
)

KNOWN = placed(pick_all(), facts("a", "b"))
(HOLDER, _OTHER) = KNOWN.bindings
ALL_THERE = {NAMESPACE: "Available", CONFIG: "Available"}
SINCE = NOW - timedelta(days=14)


@pytest.mark.parametrize(
    ("before", "outcome", "after", "why"),
    [
        ("True", MemberOutcome(cluster="a", availability=ALL_THERE), "True", ""),
        ("False", MemberOutcome(cluster="a", availability=ALL_THERE), "True", ""),
        ("True", MemberOutcome(cluster="a", availability={**ALL_THERE, CONFIG: "NotTrackable"}), "True", ""),
        ("True", MemberOutcome(cluster="a", availability={NAMESPACE: "Available"}), "False", "is not there"),
        (
            "True",
            MemberOutcome(
                cluster="a",
                availability={**ALL_THERE, CONFIG: "ManifestNotAvailableYet"},
                lacks={CONFIG: "has 1 of 3 replicas available"},
            ),
            "False",
            "ConfigMap test/test-1 has 1 of 3 replicas available",
        ),
        ("True", MemberOutcome(cluster="a", error=Problem("timeout", "no answer", "a")), "Unknown", "no answer"),
        ("False", MemberOutcome(cluster="a", error=Problem("timeout", "no answer", "a")), "Unknown", ""),
    ],
)
def test_a_cluster_is_available_if_it_answers_and_has_all_of_it(
    before: str, outcome: MemberOutcome, after: str, why: str
) -> None:
    """F1: what was seen of it long ago says nothing of today."""
    row = (before, "AllWorkAreAvailable", "")
    conditions = set_condition((), "Available", row, HOLDER.metadata.generation, SINCE)
    held = replace(HOLDER, status=replace(HOLDER.status, conditions=conditions))
    seen, told = with_available_seen(held, OBJECTS, outcome, NOW)
    found = find_condition(seen.status.conditions, "Available")
    assert found is not None and found.status == after and (found.last_transition_time == NOW) == (before != after)
    assert why in told and bool(why) == bool(told)


def test_without_a_record_of_what_it_holds_an_answer_changes_nothing() -> None:
    assert with_available_seen(HOLDER, (), MemberOutcome(cluster="a"), NOW) == (HOLDER, "")


def test_a_look_asks_each_cluster_for_what_it_holds() -> None:
    """Without what overrides leave out there; and for nothing where no record has its snapshot."""
    manifests: tuple[dict[str, t.Any], ...] = tuple(dict(each.manifest) for each in OBJECTS)
    known = replace(KNOWN, earlier={KNOWN.resource_snapshot: Earlier(manifests=manifests)})
    metadata = replace(HOLDER.metadata, annotations={LEFT_OUT: '[["","ConfigMap","test","test-1"]]'})
    lost = replace(_OTHER, spec=replace(_OTHER.spec, resource_snapshot_name="web-7-snapshot"))
    plan = holders_plan(placement(pick_all()), known, (replace(HOLDER, metadata=metadata), lost))
    assert [each.id for each in plan.objects_on("a")] == [NAMESPACE] and plan.objects_on("b") == ()
    assert [(each.cluster, each.change) for each in plan.clusters] == [("a", "kept"), ("b", "kept")]
