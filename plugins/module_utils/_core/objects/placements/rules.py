# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of placements over several fields: selectors, policy (names, affinity, spread, tolerations, what goes with
which placement type), strategy, what an update may not change, older names of properties (KubeFleet's CRD rules and
admission webhook)."""

from __future__ import annotations

import typing as t

from ...schema.fields import is_empty
from ...schema.finding import Finding
from ...schema.metadata_rules import NAME_LIMIT, name_problem
from ...schema.rules import Found
from ...values.selector import (
    LabelSelector,
    check_selector,
    label_key_problem,
    label_value_problem,
)
from .cluster_resource_placement import ClusterResourcePlacement, ResourceSelector
from .policy import (
    PICK_ALL,
    PICK_FIXED,
    PICK_N,
    ClusterAffinity,
    ClusterSelectorTerm,
    PlacementPolicy,
    Toleration,
)
from .property_rules import alias_finding, check_property_name, check_property_requirements
from .repairs import AFFINITY, PREFERRED
from .rollout_strategy import RolloutStrategy

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms"
POLICY = "spec.policy"
WITH_SELECTORS = "NamespaceWithResourceSelectors"
# Which fields of a policy no placement of that type may have.
NOT_FOR = {
    PICK_FIXED: ("affinity", "number_of_clusters", "topology_spread_constraints", "tolerations"),
    PICK_ALL: ("cluster_names", "number_of_clusters", "topology_spread_constraints"),
    PICK_N: ("cluster_names",),
}
_JSON = {
    "affinity": "affinity",
    "cluster_names": "clusterNames",
    "number_of_clusters": "numberOfClusters",
    "topology_spread_constraints": "topologySpreadConstraints",
    "tolerations": "tolerations",
}


def check_placement(placement: ClusterResourcePlacement) -> t.Iterator[Found]:
    """What is wrong with the spec of a placement of either kind beyond the form of single fields: its selectors, then
    policy and strategy, with codes of ``schema.rules.RULES``."""
    yield from _check_selectors(placement)
    if placement.spec.policy:
        yield from _check_policy(placement.spec.policy)
    yield from _check_strategy(placement.spec.strategy)


def warn_placement(placement: ClusterResourcePlacement) -> t.Iterator[Finding]:
    """A finding ``property-alias`` for each property that a placement calls by an older name: required terms first, of
    a term the sorter first."""
    for path, term in _terms(placement.spec.policy):
        names = [(f"{path}.propertySorter.name", term.property_sorter.name)] if term.property_sorter else []
        if term.property_selector:
            place = f"{path}.propertySelector.matchExpressions"
            names += [
                (f"{place}[{at}].name", one.name) for at, one in enumerate(term.property_selector.match_expressions)
            ]
        for place, name in names:
            finding = alias_finding(name, place)
            if finding:
                yield finding


def check_placement_update(old: ClusterResourcePlacement, new: ClusterResourcePlacement) -> t.Iterator[Found]:
    """What cannot be changed in a placement once it is there: ``policy-removed``, ``placement-type-changed``,
    ``tolerations-changed`` (new ones may be added), ``external-left``, and one of ``reporting-scope-changed`` and
    ``reporting-namespace-changed`` (not of a ResourcePlacement), which also tells of an ``old`` one that was edited
    itself, by its status. No policy is PickAll, without tolerations."""
    before, after = old.spec, new.spec
    if before.policy and not after.policy:
        yield Found("policy-removed", POLICY, "a policy cannot be taken away again", "write the policy out")
    types = [spec.placement_type for spec in (before, after)]
    if types[0] != types[1]:
        message = f"the placement type is {types[0]} and cannot become {types[1]}"
        yield Found("placement-type-changed", f"{POLICY}.placementType", message, "make a new placement")
    kept = set(after.policy.tolerations if after.policy else ())
    gone = [each for each in (before.policy.tolerations if before.policy else ()) if each not in kept]
    if gone:
        message = f"{len(gone)} of the tolerations are changed or missing; they can only be added to"
        yield Found("tolerations-changed", f"{POLICY}.tolerations", message)
    if before.strategy.type == "External" != after.strategy.type:
        yield Found("external-left", "spec.strategy.type", "strategy External cannot be left again")
    if not new.namespace and before.status_reporting_scope != after.status_reporting_scope:
        message = f"it is {before.status_reporting_scope} and cannot be changed"
        yield Found("reporting-scope-changed", "spec.statusReportingScope", message)
    elif (reported := old.status_namespace or old.reporting_namespace) != new.reporting_namespace:
        message = f"the status is reported in namespace {reported}, and cannot go elsewhere"
        yield Found("reporting-namespace-changed", "spec.resourceSelectors", message, "make a new placement")


def _check_selectors(placement: ClusterResourcePlacement) -> t.Iterator[Found]:
    """What is wrong with each resource selector, then with ``NamespaceWithResourceSelectors``
    (``scope-needs-one-namespace``) and ``NamespaceAccessible`` (``accessible-needs-one-namespace``,
    ``accessible-needs-a-name``; not of a ResourcePlacement), which look at all of them."""
    selectors = placement.spec.resource_selectors
    scoped = [index for index, one in enumerate(selectors) if one.selection_scope == WITH_SELECTORS]
    namespaces = [index for index, one in enumerate(selectors) if (one.group, one.version, one.kind) == _NAMESPACE]
    for index, one in enumerate(selectors):
        yield from _check_selector(one, f"spec.resourceSelectors[{index}]")
    for index in scoped:
        if len(scoped) > 1 or namespaces != [index]:
            message = f"{WITH_SELECTORS} stands once, on the only selector of kind Namespace"
            yield Found("scope-needs-one-namespace", f"spec.resourceSelectors[{index}].selectionScope", message)
    if placement.spec.status_reporting_scope == "NamespaceAccessible" and not placement.namespace:
        count = sum(one.kind == "Namespace" for one in selectors)
        if count != 1:
            message = f"exactly one selector of kind Namespace is needed for this, not {count}"
            yield Found("accessible-needs-one-namespace", "spec.statusReportingScope", message)
        elif not placement.reporting_namespace:
            message = "the namespace to report in must be selected by its name"
            yield Found("accessible-needs-a-name", "spec.statusReportingScope", message, "name it, and no label")


_NAMESPACE = ("", "v1", "Namespace")


def _check_selector(one: ResourceSelector, path: str) -> t.Iterator[Found]:
    """What is wrong with one resource selector: ``empty-text``, ``name-with-label-selector``, ``scope-without-name``,
    ``invalid-label-selector``."""
    for name, value in (("version", one.version), ("kind", one.kind)):
        if not value:
            yield Found("empty-text", f"{path}.{name}", f"{name} must not be empty")
    if one.name and one.label_selector is not None:
        yield Found("name-with-label-selector", f"{path}.labelSelector", "name and labelSelector exclude each other")
    if one.selection_scope == WITH_SELECTORS and (not one.name or one.label_selector is not None):
        message = f"{WITH_SELECTORS} needs the namespace's name, and no labelSelector"
        yield Found("scope-without-name", f"{path}.name", message)
    yield from _check_label_selector(one.label_selector, f"{path}.labelSelector")


def _check_label_selector(selector: LabelSelector | None, path: str) -> t.Iterator[Found]:
    """``invalid-label-selector`` for each fault of a label selector; none for None."""
    for place, message in check_selector(selector) if selector else ():
        yield Found("invalid-label-selector", f"{path}.{place}", message)


def _check_policy(policy: PlacementPolicy) -> t.Iterator[Found]:
    """What is wrong with a policy: fields that its placement type does not have (``not-for-placement-type``; empty ones
    pass), ``number-of-clusters-missing`` for PickN, names for PickFixed, affinity for others, topology keys
    (``invalid-topology-key``), tolerations."""
    kind = policy.placement_type
    for name in NOT_FOR.get(kind, ()):
        if not is_empty(getattr(policy, name)):
            message = f"{_JSON[name]} does not belong to placement type {kind}"
            yield Found("not-for-placement-type", f"{POLICY}.{_JSON[name]}", message)
    if kind == PICK_N and policy.number_of_clusters is None:
        message = "PickN needs the number of clusters; none is guessed"
        yield Found("number-of-clusters-missing", f"{POLICY}.numberOfClusters", message)
    if kind == PICK_FIXED:
        yield from _check_names(policy.cluster_names)
    if policy.affinity and policy.affinity.cluster_affinity and kind != PICK_FIXED:
        yield from _check_affinity(policy.affinity.cluster_affinity, kind)
    for index, one in enumerate(policy.topology_spread_constraints):
        problem = label_key_problem(one.topology_key)
        if problem:
            yield Found("invalid-topology-key", f"{POLICY}.topologySpreadConstraints[{index}].topologyKey", problem)
    yield from _check_tolerations(policy.tolerations)


def _check_names(names: t.Sequence[str]) -> t.Iterator[Found]:
    """What is wrong with the names of PickFixed: ``cluster-names-missing``, ``duplicate-cluster-name``,
    ``invalid-cluster-name``."""
    if not names:
        yield Found("cluster-names-missing", f"{POLICY}.clusterNames", "PickFixed needs the names of clusters")
    seen: set[str] = set()
    for index, name in enumerate(names):
        path = f"{POLICY}.clusterNames[{index}]"
        if name in seen:
            yield Found("duplicate-cluster-name", path, f"{name} is named twice")
        seen.add(name)
        problem = name_problem(name) or (
            "" if len(name) <= NAME_LIMIT else f"{name!r} has more than {NAME_LIMIT} characters"
        )
        if problem:
            yield Found("invalid-cluster-name", path, problem)


def _check_affinity(affinity: ClusterAffinity, kind: str) -> t.Iterator[Found]:
    """What is wrong with the required terms (``sorter-in-required``), then with the preferred ones
    (``property-selector-in-preferred``), which PickAll may not have (``preferred-with-pick-all``)."""
    for index, required in enumerate(affinity.required.cluster_selector_terms if affinity.required else ()):
        path = f"{AFFINITY}.{REQUIRED}[{index}]"
        yield from _check_term(required, path)
        if required.property_sorter:
            message = "a sorter ranks clusters, and required terms only filter them"
            yield Found("sorter-in-required", f"{path}.propertySorter", message, "put it into a preferred term")
    if affinity.preferred and kind == PICK_ALL:
        message = "PickAll takes every cluster that meets the required terms, so that nothing can be preferred"
        yield Found("preferred-with-pick-all", f"{AFFINITY}.{PREFERRED}", message)
    for index, preferred in enumerate(affinity.preferred):
        path = f"{AFFINITY}.{PREFERRED}[{index}].preference"
        yield from _check_term(preferred.preference, path)
        if preferred.preference.property_selector:
            message = "a property selector filters, and preferred terms only rank"
            yield Found(
                "property-selector-in-preferred", f"{path}.propertySelector", message, "put it into a required term"
            )


def _check_term(term: ClusterSelectorTerm, path: str) -> t.Iterator[Found]:
    """What is wrong with the label selector of a term, its property requirements and the name in its sorter."""
    yield from _check_label_selector(term.label_selector, f"{path}.labelSelector")
    if term.property_selector:
        place = f"{path}.propertySelector.matchExpressions"
        yield from check_property_requirements(term.property_selector.match_expressions, place)
    if term.property_sorter:
        yield from check_property_name(term.property_sorter.name, f"{path}.propertySorter.name")


def _check_tolerations(tolerations: t.Sequence[Toleration]) -> t.Iterator[Found]:
    """What is wrong with tolerations: ``toleration-value-with-exists``, ``toleration-without-key``,
    ``invalid-toleration``, and ``duplicate-toleration`` for one equal to an earlier one."""
    seen: set[Toleration] = set()
    for index, one in enumerate(tolerations):
        path = f"{POLICY}.tolerations[{index}]"
        if one.operator == "Exists" and one.value:
            yield Found("toleration-value-with-exists", f"{path}.value", "Exists takes no value")
        if not one.key and one.operator == "Equal":
            yield Found("toleration-without-key", f"{path}.key", "a toleration without key is of operator Exists")
        for name, problem in (
            ("key", one.key and label_key_problem(one.key)),
            ("value", label_value_problem(one.value)),
        ):
            if problem:
                yield Found("invalid-toleration", f"{path}.{name}", problem)
        if one in seen:
            yield Found("duplicate-toleration", path, "this toleration stands twice")
        seen.add(one)


def _check_strategy(strategy: RolloutStrategy) -> t.Iterator[Found]:
    """What is wrong with a strategy: ``external-with-rolling-update``, ``config-without-server-side-apply``,
    ``report-back-without-destination``."""
    if strategy.type == "External" and strategy.rolling_update:
        message = "External leaves the rollout to staged runs, so that its budgets would mean nothing"
        yield Found("external-with-rolling-update", "spec.strategy.rollingUpdate", message)
    apply = strategy.apply_strategy
    if apply and apply.server_side_apply_config and apply.type in ("ClientSideApply", "ReportDiff"):
        message = f"it means nothing for type {apply.type}"
        yield Found("config-without-server-side-apply", "spec.strategy.applyStrategy.serverSideApplyConfig", message)
    back = strategy.report_back_strategy
    if back and back.type == "Mirror" and not back.destination:
        message = "Mirror needs a destination"
        yield Found("report-back-without-destination", "spec.strategy.reportBackStrategy.destination", message)


def _terms(policy: PlacementPolicy | None) -> t.Iterator[tuple[str, ClusterSelectorTerm]]:
    """Field path and term of the cluster affinity, required ones first; none without an affinity."""
    affinity = policy.affinity.cluster_affinity if policy and policy.affinity else None
    if affinity is None:
        return
    for index, required in enumerate(affinity.required.cluster_selector_terms if affinity.required else ()):
        yield f"{AFFINITY}.{REQUIRED}[{index}]", required
    for index, preferred in enumerate(affinity.preferred):
        yield f"{AFFINITY}.{PREFERRED}[{index}].preference", preferred.preference
