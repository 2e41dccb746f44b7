# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``spec.policy`` of a placement: who may get the resources (KubeFleet ``PlacementPolicy``): placement type (PickAll,
PickN, PickFixed), affinity by labels and properties, topology spread, tolerations."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.prop import MAX_INT32, prop
from ...values.selector import LabelSelector
from .cel import PREFERENCE_RULES, REQUIRED_TERM_RULES, TOLERATION_RULES

PICK_ALL, PICK_FIXED, PICK_N = "PickAll", "PickFixed", "PickN"


@dataclass(frozen=True, kw_only=True)
class PropertyRequirement:
    name: str = prop("Name of the property.")
    operator: str = prop("Gt, Ge, Eq, Ne, Lt or Le.")
    values: tuple[str, ...] = prop("Exactly one quantity.", max_items=1)


@dataclass(frozen=True, kw_only=True)
class PropertySelector:
    match_expressions: tuple[PropertyRequirement, ...] = prop("Requirements that must all hold.")


@dataclass(frozen=True, kw_only=True)
class PropertySorter:
    name: str = prop("Name of the property.")
    sort_order: str = prop("Which end is preferred.", enum=("Ascending", "Descending"))


@dataclass(frozen=True, kw_only=True)
class ClusterSelectorTerm:
    label_selector: LabelSelector | None = prop("Labels that the cluster must carry.", default=None)
    property_selector: PropertySelector | None = prop("Properties that the cluster must have.", default=None)
    property_sorter: PropertySorter | None = prop("Order by a property; for preferred terms only.", default=None)


@dataclass(frozen=True, kw_only=True)
class ClusterSelector:
    cluster_selector_terms: tuple[ClusterSelectorTerm, ...] = prop(
        "Alternatives.", max_items=10, rules=REQUIRED_TERM_RULES
    )


@dataclass(frozen=True, kw_only=True)
class PreferredClusterSelector:
    weight: int = prop("Weight of the preference.", minimum=-100, maximum=100)
    preference: ClusterSelectorTerm = prop("What is preferred.", rules=PREFERENCE_RULES)


@dataclass(frozen=True, kw_only=True)
class ClusterAffinity:
    required: ClusterSelector | None = prop(
        "Hard conditions.", default=None, json="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredClusterSelector, ...] = prop(
        "Weighted wishes.", default=(), json="preferredDuringSchedulingIgnoredDuringExecution"
    )


@dataclass(frozen=True, kw_only=True)
class Affinity:
    cluster_affinity: ClusterAffinity | None = prop("Affinity to clusters.", default=None)


@dataclass(frozen=True, kw_only=True)
class TopologySpreadConstraint:
    topology_key: str = prop("Label key whose values are the domains.")
    max_skew: int = prop("Largest difference between two domains.", default=1, minimum=1, maximum=MAX_INT32)
    when_unsatisfiable: str = prop(
        "What happens to a cluster that would break it.",
        default="DoNotSchedule",
        enum=("DoNotSchedule", "ScheduleAnyway"),
    )


@dataclass(frozen=True, kw_only=True)
class Toleration:
    key: str = prop("Key of the taint; empty with Exists covers every taint.", default="")
    operator: str = prop("Equal or Exists.", default="Equal", enum=("Equal", "Exists"))
    value: str = prop("Value of the taint, for Equal.", default="")
    effect: str = prop("Effect of the taint; empty covers any.", default="", enum=("NoSchedule",))


@dataclass(frozen=True, kw_only=True)
class PlacementPolicy:
    placement_type: str = prop("How clusters are picked.", default=PICK_ALL, enum=(PICK_ALL, PICK_N, PICK_FIXED))
    cluster_names: tuple[str, ...] = prop("Names, for PickFixed.", default=(), max_items=100)
    number_of_clusters: int | None = prop("Count, for PickN.", default=None, minimum=0, maximum=MAX_INT32)
    affinity: Affinity | None = prop("Affinity to clusters.", default=None)
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = prop("Spread, for PickN.", default=())
    tolerations: tuple[Toleration, ...] = prop(
        "Taints that are tolerated.", default=(), max_items=100, rules=TOLERATION_RULES
    )
