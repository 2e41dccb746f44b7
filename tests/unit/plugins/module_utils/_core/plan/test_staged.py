# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The plan of a staged update run: what one snapshot brings to the clusters that are recorded, and what leaves them."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.digest import document_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Moves, PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.staged import staged_plan
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

DATA = ObjectId("", "v1", "PersistentVolumeClaim", "test", "data")
FLEET = made.facts("a", "b")


def staged(hubs: t.Container[str] = ()) -> PlacementPlan:
    """The run that brings a snapshot without the claim to two clusters that hold it."""
    known = made.placed(None, FLEET, (made.rendered(made.CONFIG), made.rendered(DATA)))
    wish = made.wanted(None, (made.rendered(made.CONFIG, "2"),))
    assert known.policy_snapshot is not None
    return staged_plan(wish, known, known.policy_snapshot, "web-1-snapshot", FLEET.index, made.NOW, made.LIMITS, hubs)


def test_what_leaves_a_snapshot_is_deleted_on_each_cluster() -> None:
    plan = staged()
    assert [(each.prune, each.release) for each in plan.clusters] == [((DATA,), ())] * 2 and not plan.moves


def test_what_may_have_been_selected_on_the_hub_stays_there_where_the_hub_is_a_member() -> None:
    """It is what its author wrote. The member keeps in mind that it is, for what an eviction does later."""
    plan = staged(hubs=("a",))
    assert [(each.prune, each.release) for each in plan.clusters] == [((), (DATA,)), ((DATA,), ())]
    assert plan.moves == {"a": Moves(handed=frozenset({DATA.key}), originals=True)}
    assert [each.code for each in plan.findings] == ["originals-stay"]
    assert document_digest(plan.as_dict()) == plan.digest
