# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of one override, of the paths (``forbidden-patch-path``) and variables (``unknown-variable``) of its patches,
and of all together (``overridden-twice``; KubeFleet's CRD rules and admission webhooks), warnings where they do
nothing, their order of precedence, their titles."""

from __future__ import annotations

import re
import typing as t

from ...errors import Problem
from ...foreign import texts_in
from ...schema.finding import Finding
from ...schema.rules import Found
from ...values.selector import check_selector
from ..placements.policy import ClusterSelectorTerm
from .override import (
    DELETE,
    NAMESPACED,
    ClusterResourceOverride,
    JSONPatchOverride,
    Override,
    OverrideRule,
    ResourceOverride,
    places_of,
)

RULES_PATH = "spec.policy.overrideRules"
SELECTORS = {ClusterResourceOverride: "spec.clusterResourceSelectors", ResourceOverride: "spec.resourceSelectors"}
MOST_OVERRIDES = 100
VARIABLE_START = "${MEMBER-CLUSTER-"
CLUSTER_NAME = "${MEMBER-CLUSTER-NAME}"
LABEL_PREFIX = "${MEMBER-CLUSTER-LABEL-KEY-"
_LABEL = re.compile(rf"{re.escape(LABEL_PREFIX)}[^}}]*+}}?")
_VARIABLE = re.compile(r"\$\{[^{}]*\}?")
# The first part of a path below which nothing is overridden: the object would become another one.
_IDENTITY = {"kind": "the kind", "apiVersion": "the API version", "status": "the status"}


def check_override(override: Override) -> t.Iterator[Found]:
    """What is wrong with the spec of one override of either kind beyond the form of single fields. Objects:
    ``empty-text``, ``override-selector-with-labels``, ``override-selector-without-name``,
    ``duplicate-override-selector``; placement: ``empty-text``, ``override-placement-scope``; by rule its terms:
    ``override-by-property``, ``override-term-without-labels``, ``invalid-label-selector``; and patches:
    ``delete-with-patches``, ``patches-missing``, those of ``path_problem``, ``remove-with-value``,
    ``unclosed-variable``."""
    yield from _check_selectors(override)
    placement = override.spec.placement
    if placement and not placement.name:
        yield Found("empty-text", "spec.placement.name", "name must not be empty")
    if placement and placement.scope == NAMESPACED and isinstance(override, ClusterResourceOverride):
        message = "a ClusterResourceOverride belongs to a ClusterResourcePlacement, or to none"
        yield Found("override-placement-scope", "spec.placement.scope", message, "use a ResourceOverride")
    for index, rule in enumerate(override.spec.policy.override_rules):
        yield from _check_rule(rule, f"{RULES_PATH}[{index}]")


def warn_override(override: Override) -> t.Iterator[Finding]:
    """What of an override is accepted and does nothing (``rule-without-clusters``), or not what it looks like
    (``unknown-variable``, for texts and keys in the values of patches); by rule."""
    for index, rule in enumerate(override.spec.policy.override_rules):
        path = f"{RULES_PATH}[{index}]"
        if rule.cluster_selector is None:
            reason = "a rule without clusterSelector acts on no cluster; an empty list of terms means all"
            selector = f"{path}.clusterSelector"
            yield Finding("rule-without-clusters", selector, selector, None, None, reason)
        for at, patch in enumerate(rule.json_patch_overrides):
            place = f"{path}.jsonPatchOverrides[{at}].value"
            for text in texts_in(patch.value):
                for found in _mistyped(text):
                    reason = f"{found} is no variable and stays as it is written"
                    yield Finding("unknown-variable", place, place, text, text, reason)


def check_override_update(old: Override, new: Override) -> t.Iterator[Found]:
    """The problem ``override-placement-changed`` if an update sets, changes or takes away the placement of an
    override."""
    if old.spec.placement != new.spec.placement:
        message = "the placement of an override cannot be set, changed or taken away later"
        yield Found("override-placement-changed", "spec.placement", message, "make a new override")


def check_overrides(overrides: t.Iterable[Override]) -> tuple[Problem, ...]:
    """What is wrong with all overrides of a fleet together: ``overridden-twice`` where two of one kind name an object
    in one API version, whatever their placements, at each that comes after the first in ``override_order``; then
    ``too-many-overrides`` for more than 100 of a kind. An override of an object beside one of its whole Namespace is no
    problem."""
    problems: list[Problem] = []
    first: dict[tuple[str, t.Any], str] = {}
    counts: dict[str, int] = {}
    for override in sorted(overrides, key=override_order):
        about = override_title(override)
        counts[override.kind] = counts.get(override.kind, 0) + 1
        for index, place in enumerate(places_of(override)):
            other = first.setdefault((override.kind, place), about)
            if other != about:
                message = f"{place[2]} {place[4]} is overridden by {other} already"
                where = f"{about} {SELECTORS[type(override)]}[{index}]"
                problems.append(Problem("overridden-twice", message, where, "put the rules into one override"))
    for kind, count in counts.items():
        if count > MOST_OVERRIDES:
            message = f"there are {count} objects of kind {kind}, {MOST_OVERRIDES} are allowed"
            problems.append(Problem("too-many-overrides", message, kind))
    return tuple(problems)


def override_order(override: Override) -> tuple[bool, str, str]:
    """Sort key of the precedence of overrides: ClusterResourceOverrides by name, then ResourceOverrides by namespace
    and name. Whoever comes later wins."""
    metadata = override.metadata
    namespaced = isinstance(override, ResourceOverride)
    return (namespaced, metadata.namespace if namespaced else "", metadata.name)


def override_title(override: Override) -> str:
    """Kind and name of an override as messages have them: ``ClusterResourceOverride/web``,
    ``ResourceOverride/shop/web``."""
    namespace = override.metadata.namespace if isinstance(override, ResourceOverride) else ""
    return "/".join(part for part in (override.kind, namespace, override.name) if part)


def path_problem(path: str) -> tuple[str, str]:
    """Code (``invalid-patch-path``, ``forbidden-patch-path``) and message of the first thing that is wrong with the
    path of a patch of an override; two empty texts if nothing is."""
    if not path.startswith("/"):
        return "invalid-patch-path", f"{path!r} does not start with /"
    first, *rest = path[1:].split("/")
    if first in _IDENTITY:
        return "forbidden-patch-path", f"{_IDENTITY[first]} cannot be overridden"
    if first == "metadata" and (not rest or rest[0] not in ("labels", "annotations")):
        return "forbidden-patch-path", "of metadata only labels and annotations can be overridden"
    if not all(part.strip() for part in (first, *rest)):
        return "invalid-patch-path", f"{path!r} has an empty part"
    if re.search(r"~(?![01])", path):
        return "invalid-patch-path", f"{path!r} has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
    return "", ""


def _check_selectors(override: Override) -> t.Iterator[Found]:
    """What is wrong with the objects that an override names: ``empty-text``, ``override-selector-with-labels``,
    ``override-selector-without-name`` (``empty-text`` in a ResourceOverride) and ``duplicate-override-selector``."""
    base = SELECTORS[type(override)]
    seen = set()
    for index, place in enumerate(places_of(override)):
        path = f"{base}[{index}]"
        for name, value in (("version", place[1]), ("kind", place[2])):
            if not value:
                yield Found("empty-text", f"{path}.{name}", f"{name} must not be empty")
        labels = (
            override.spec.cluster_resource_selectors[index].label_selector
            if isinstance(override, ClusterResourceOverride)
            else None
        )
        if labels is not None:
            message = "an override selects its resources by name, not by labels"
            yield Found("override-selector-with-labels", f"{path}.labelSelector", message)
        if not place[4]:
            code = "override-selector-without-name" if base == SELECTORS[ClusterResourceOverride] else "empty-text"
            yield Found(code, f"{path}.name", "an override names each of its resources")
        elif place in seen:
            yield Found("duplicate-override-selector", path, "this object is named twice")
        seen.add(place)


def _check_rule(rule: OverrideRule, path: str) -> t.Iterator[Found]:
    """What is wrong with one rule: its terms, patches beside Delete (``delete-with-patches``), no patches beside
    another type (``patches-missing``), each patch."""
    terms = rule.cluster_selector.cluster_selector_terms if rule.cluster_selector else ()
    for index, term in enumerate(terms):
        yield from _check_term(term, f"{path}.clusterSelector.clusterSelectorTerms[{index}]")
    patches = f"{path}.jsonPatchOverrides"
    if rule.override_type == DELETE and rule.json_patch_overrides:
        yield Found("delete-with-patches", patches, "Delete leaves the object out; there is nothing to patch")
    if rule.override_type != DELETE and not rule.json_patch_overrides:
        message = "a rule of type JSONPatch needs patches"
        yield Found("patches-missing", patches, message, "write overrideType: Delete to leave the object out")
    for index, patch in enumerate(rule.json_patch_overrides):
        yield from _check_patch(patch, f"{patches}[{index}]")


def _check_term(term: ClusterSelectorTerm, path: str) -> t.Iterator[Found]:
    """What is wrong with a term of a cluster selector: ``override-by-property``, ``override-term-without-labels`` where
    there is nothing else either, ``invalid-label-selector``."""
    for name, part in (("propertySelector", term.property_selector), ("propertySorter", term.property_sorter)):
        if part is not None:
            message = "overrides choose clusters by their labels alone"
            yield Found("override-by-property", f"{path}.{name}", message)
    if term.label_selector is None and not (term.property_selector or term.property_sorter):
        message = "a term without labelSelector would match no cluster"
        yield Found("override-term-without-labels", f"{path}.labelSelector", message, "write {} to match all")
    for place, message in check_selector(term.label_selector) if term.label_selector else ():
        yield Found("invalid-label-selector", f"{path}.labelSelector.{place}", message)


def _check_patch(patch: JSONPatchOverride, path: str) -> t.Iterator[Found]:
    """What is wrong with a patch: its path as of ``path_problem``, ``remove-with-value`` (null is no value),
    ``unclosed-variable`` for each text or key in its value that has one of a label; another is only a warning."""
    code, message = path_problem(patch.path)
    if code:
        yield Found(code, f"{path}.path", message)
    if patch.op == "remove" and patch.value is not None:
        yield Found("remove-with-value", f"{path}.value", "remove takes no value")
    for text in texts_in(patch.value):
        if any(not each.endswith("}") for each in _LABEL.findall(text)):
            yield Found("unclosed-variable", f"{path}.value", f"{LABEL_PREFIX}... is not closed by a }}")


def _mistyped(text: str) -> t.Iterator[str]:
    """Each ``${...}`` of a text, closed or not, that has MEMBER and CLUSTER in it, in any case, and is neither the
    variable of the name nor one of a label."""
    for found in _VARIABLE.findall(text):
        near = "MEMBER" in found.upper() and "CLUSTER" in found.upper()
        if near and found != CLUSTER_NAME and not found.startswith(LABEL_PREFIX):
            yield found
