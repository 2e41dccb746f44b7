# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides: which concern a placement, which act on a cluster and on an object there, in which order, and what becomes
of the object, patched, left out (Delete) or failed (``override-failed``; KubeFleet)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...errors import Problem
from ...objects.clusters.member_cluster import MemberCluster
from ...objects.identity import Manifest, ObjectId, identify
from ...objects.overrides.override import (
    DELETE,
    NAMESPACED,
    Override,
    OverrideRule,
    Place,
    ResourceOverride,
    places_of,
)
from ...objects.overrides.override_rules import RULES_PATH, VARIABLE_START, override_order, override_title
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...values.selector import matches
from .patch import PatchFailed, filled, patched


@dataclass(frozen=True)
class Overridden:
    """``manifest`` is None where the object is left out on that cluster, and where there are problems. ``problems``
    fail all objects of the cluster: upstream's condition Overridden is False, reason ``OverriddenFailed``."""

    manifest: Manifest | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Acting:
    """An override, and the numbers, from 0, of those of its rules that act on a cluster."""

    override: Override
    rules: tuple[int, ...]

    @property
    def varies(self) -> bool:
        """Whether what it does may depend on the name or labels of the cluster, by variables in its values."""
        patches = (patch for each in self.rules for patch in self.rule(each).json_patch_overrides)
        return any(VARIABLE_START in repr(patch.value) for patch in patches)

    def rule(self, number: int) -> t.Any:
        """The rule of the override at that place, from 0, whether it acts or not; IndexError behind the last."""
        return self.override.spec.policy.override_rules[number]


def attached(
    overrides: t.Iterable[Override], placement: ClusterResourcePlacement, objects: t.Iterable[ObjectId]
) -> tuple[Override, ...]:
    """The overrides that concern a placement, in order of precedence, the strongest last: all ClusterResourceOverrides
    by name, then all ResourceOverrides by namespace and name (KubeFleet sorts by the names of their snapshots, which
    end in an index). They belong to this placement or to none, and name at least one of its ``objects`` (those inside
    its envelopes included), or the namespace of one."""
    named = {place for each in objects for place in _places(each)}
    return tuple(
        override
        for override in sorted(overrides, key=override_order)
        if _belongs(override, placement) and not named.isdisjoint(places_of(override))
    )


def acts_on(rule: OverrideRule, cluster: MemberCluster) -> bool:
    """Whether the rule acts on the cluster: on none without a selector, on all without terms, else where one of the
    terms matches its labels (one without a label selector matches none)."""
    if rule.cluster_selector is None:
        return False
    terms = rule.cluster_selector.cluster_selector_terms
    return not terms or any(matches(term.label_selector, cluster.metadata.labels) for term in terms)


def acting(overrides: t.Iterable[Override], cluster: MemberCluster) -> tuple[Acting, ...]:
    """Those of the attached overrides of which any rule acts on the cluster, in their order. Which objects they reach
    is not asked (``reaches``)."""
    found = []
    for each in overrides:
        rules = enumerate(each.spec.policy.override_rules)
        numbers = tuple(number for number, rule in rules if acts_on(rule, cluster))
        if numbers:
            found.append(Acting(each, numbers))
    return tuple(found)


def overridden(
    manifest: Manifest, overrides: t.Iterable[Override], cluster: MemberCluster, *, upstream: bool = False
) -> Overridden:
    """An object as the cluster gets it with its overrides; the manifest given is not changed.

    ``overrides`` are the attached ones, in any order; those that do not reach the object (``reaches``) are passed over.
    Delete ends its own override; later ones then have nothing to patch, but problems of their variables count.
    ``upstream`` as of ``filled``. The first rule that fails ends it, with problems ``override-failed`` or those of
    ``filled``. FleetError as of ``identify`` and ``patched``.
    """
    each = identify(manifest)
    places = _places(each)
    current: Manifest | None = manifest
    for override in sorted(overrides, key=override_order):
        if places.isdisjoint(places_of(override)):
            continue
        for index, rule in enumerate(override.spec.policy.override_rules):
            if not acts_on(rule, cluster):
                continue
            values, problems = _filled(override, index, rule, cluster, each, upstream)
            if not problems and current is not None and rule.override_type != DELETE:
                try:
                    current = patched(current, values)
                except PatchFailed as failure:
                    problems = [_failed(override, index, failure, each, cluster)]
            if problems:
                return Overridden(None, tuple(problems))
            if rule.override_type == DELETE:
                current = None
                break
    return Overridden(current)


def _places(each: ObjectId) -> frozenset[Place]:
    """The names under which overrides reach an object: its own, and for a namespaced one that of its namespace."""
    own: Place = (each.group, each.version, each.kind, each.namespace, each.name)
    return frozenset((own, ("", "v1", "Namespace", "", each.namespace))) if each.namespace else frozenset((own,))


def reaches(override: Override, each: ObjectId) -> bool:
    """Whether the override names the object, or the namespace that it is in."""
    return not _places(each).isdisjoint(places_of(override))


def _belongs(override: Override, placement: ClusterResourcePlacement) -> bool:
    """Whether the override is for any placement or names this one: a ResourcePlacement in the namespace of a
    ResourceOverride, or a ClusterResourcePlacement, by its scope."""
    wanted = override.spec.placement
    if wanted is None:
        return True
    namespace = placement.namespace
    if wanted.scope == NAMESPACED:
        same = isinstance(override, ResourceOverride) and override.metadata.namespace == namespace
        return bool(namespace) and same and wanted.name == placement.name
    return not namespace and wanted.name == placement.name


def _filled(
    override: Override, index: int, rule: OverrideRule, cluster: MemberCluster, each: ObjectId, upstream: bool
) -> tuple[list[dict[str, t.Any]], list[Problem]]:
    """The operations of a rule with their variables filled in, and a problem for every variable that cannot be."""
    operations: list[dict[str, t.Any]] = []
    problems: list[Problem] = []
    for at, patch in enumerate(rule.json_patch_overrides):
        operation: dict[str, t.Any] = {"op": patch.op, "path": patch.path}
        if patch.op != "remove":
            value, wrong = filled(patch.value, cluster.name, cluster.metadata.labels, upstream=upstream)
            operation["value"] = value
            where = f"{_rule_path(override, index)}.jsonPatchOverrides[{at}].value"
            problems += [Problem(code, f"{message}, for {each} there", where, hint) for code, message, hint in wrong]
        operations.append(operation)
    return operations, problems


def _failed(override: Override, index: int, failure: PatchFailed, each: ObjectId, cluster: MemberCluster) -> Problem:
    """The Problem ``override-failed`` of a patch that could not be done to the object on the cluster."""
    where = f"{_rule_path(override, index)}.jsonPatchOverrides[{failure.index}].path"
    return Problem("override-failed", f"{failure.message} in {each} for {cluster.name}", where, failure.hint)


def _rule_path(override: Override, index: int) -> str:
    """Where a rule stands, for messages: ``ClusterResourceOverride/web spec.policy.overrideRules[0]``."""
    return f"{override_title(override)} {RULES_PATH}[{index}]"
