# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of evictions and of the disruption budgets that hold them back (``two-limits``, ``eviction-never-permitted``),
alone and with the placement that they are for (``budget-for-pick-all``, ``eviction-from-pick-fixed``; KubeFleet's CRD
rules and admission webhooks)."""

from __future__ import annotations

import typing as t

from ...schema.finding import Finding
from ...schema.metadata_rules import check_reference
from ...schema.rules import Found
from .cluster_resource_placement import ClusterResourcePlacement
from .disruption_budget import ClusterResourcePlacementDisruptionBudget
from .eviction import ClusterResourcePlacementEviction
from .policy import PICK_ALL, PICK_FIXED


def check_eviction(eviction: ClusterResourcePlacementEviction) -> t.Iterator[Found]:
    """What is wrong with the names of an eviction's placement and cluster, as of ``check_reference``."""
    yield from check_reference(eviction.spec.placement_name, "spec.placementName")
    yield from check_reference(eviction.spec.cluster_name, "spec.clusterName")


def check_eviction_update(
    old: ClusterResourcePlacementEviction, new: ClusterResourcePlacementEviction
) -> t.Iterator[Found]:
    """The problem ``spec-fixed`` if an update changes the spec of an eviction, which is carried out once."""
    if old.spec != new.spec:
        yield Found("spec-fixed", "spec", "the spec of an eviction cannot be changed", "make a new eviction")


def check_disruption_budget(budget: ClusterResourcePlacementDisruptionBudget) -> t.Iterator[Found]:
    """The problem ``two-limits`` if the disruption budget of a placement gives both limits, of whatever value."""
    if budget.spec.max_unavailable is not None and budget.spec.min_available is not None:
        yield Found("two-limits", "spec", "maxUnavailable and minAvailable are both given", "keep one of them")


def warn_disruption_budget(budget: ClusterResourcePlacementDisruptionBudget) -> t.Iterator[Finding]:
    """The finding ``eviction-never-permitted`` if the disruption budget of a placement gives no limit: it refuses every
    eviction then."""
    if budget.spec.max_unavailable is None and budget.spec.min_available is None:
        reason = "with neither maxUnavailable nor minAvailable every eviction is refused"
        yield Finding("eviction-never-permitted", "spec", "spec", None, None, reason)


def check_budget_for(
    budget: ClusterResourcePlacementDisruptionBudget, placement: ClusterResourcePlacement
) -> t.Iterator[Found]:
    """The problem ``budget-for-pick-all`` if a budget gives the PickAll placement which it guards maxUnavailable, or
    minAvailable as text (KubeFleet's admission webhook); none for other placements. Names are not compared."""
    if placement.spec.placement_type != PICK_ALL:
        return
    hint = "write minAvailable as a number"
    if budget.spec.max_unavailable is not None:
        message = "PickAll asks for no number of clusters, of which some could be unavailable"
        yield Found("budget-for-pick-all", "spec.maxUnavailable", message, hint)
    elif isinstance(budget.spec.min_available, str):
        message = "PickAll asks for no number of clusters, of which this could be a share"
        yield Found("budget-for-pick-all", "spec.minAvailable", message, hint)


def check_eviction_from(placement: ClusterResourcePlacement) -> t.Iterator[Found]:
    """The problem ``eviction-from-pick-fixed``, at ``spec.placementName`` of an eviction, if the placement that it
    names is PickFixed (KubeFleet's admission webhook)."""
    if placement.spec.placement_type == PICK_FIXED:
        message = f"{placement.name} names its clusters"
        hint = "take the cluster off the list of the placement"
        yield Found("eviction-from-pick-fixed", "spec.placementName", message, hint)
