# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of evictions and of the budgets that hold them back (KubeFleet's CRD rules)."""

from __future__ import annotations

import typing as t

from .disruption_budget import ClusterResourcePlacementDisruptionBudget
from .eviction import ClusterResourcePlacementEviction
from .finding import Finding
from .metadata_rules import check_reference
from .rules import Found


def check_eviction(eviction: ClusterResourcePlacementEviction) -> t.Iterator[Found]:
    yield from check_reference(eviction.spec.placement_name, "spec.placementName")
    yield from check_reference(eviction.spec.cluster_name, "spec.clusterName")


def check_eviction_update(
    old: ClusterResourcePlacementEviction, new: ClusterResourcePlacementEviction
) -> t.Iterator[Found]:
    if old.spec != new.spec:
        yield Found("spec-fixed", "spec", "the spec of an eviction cannot be changed", "make a new eviction")


def check_disruption_budget(budget: ClusterResourcePlacementDisruptionBudget) -> t.Iterator[Found]:
    if budget.spec.max_unavailable is not None and budget.spec.min_available is not None:
        yield Found("two-limits", "spec", "maxUnavailable and minAvailable are both given", "keep one of them")


def warn_disruption_budget(budget: ClusterResourcePlacementDisruptionBudget) -> t.Iterator[Finding]:
    if budget.spec.max_unavailable is None and budget.spec.min_available is None:
        reason = "with neither maxUnavailable nor minAvailable every eviction is refused"
        yield Finding("eviction-never-permitted", "spec", "spec", None, None, reason)
