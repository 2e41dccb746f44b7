# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which objects a placement's ``resourceSelectors`` mean, and which are refused or left out (``unknown-kind``,
``wrong-scope``, ``bad-selector``, ``duplicate-selection``, ``duplicate-object``, ``reserved-namespace``,
``missing-namespace``, ``missing-object``, ``being-deleted``; KubeFleet's resource selector resolver)."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field

from ..errors import Problem
from ..objects.identity import (
    Manifest,
    ObjectId,
    labels_of,
)
from ..objects.overrides.envelope import Origin
from ..objects.selectable import (
    Secrets,
    is_reserved_namespace,
    kind_refusal,
    malformed_metadata,
    never_placed_problem,
    stopping_webhook_problem,
)
from ..values.selector import LabelSelector, check_selector, matches
from .catalog import Catalog, is_being_deleted, is_namespace
from .comparison.left_alone import bad_ignores
from .order import hash_order_key

NAMESPACE_ONLY = "NamespaceOnly"
WITH_RESOURCE_SELECTORS = "NamespaceWithResourceSelectors"


class Selector(t.Protocol):
    """One entry of ``spec.resourceSelectors``; without name and label selector it means every object of its kind."""

    @property
    def group(self) -> str:
        """API group of the objects, empty for the core group."""

    @property
    def version(self) -> str:
        """API version inside the group, such as ``v1``; objects of another version are not meant."""

    @property
    def kind(self) -> str:
        """Kind of the objects, as manifests write it."""

    @property
    def name(self) -> str:
        """Name of one object; empty for all that the label selector matches."""

    @property
    def label_selector(self) -> LabelSelector | None:
        """Labels that objects must have, None for any; beside a name it is only checked."""

    @property
    def selection_scope(self) -> str:
        """How much of a Namespace is meant: ``NamespaceOnly`` itself alone; ``NamespaceWithResourceSelectors`` itself,
        and in it what other selectors mean; anything else all that is in it, too."""


@dataclass(frozen=True)
class Selected:
    """``objects`` in hash order. ``problems`` stop the placement; ``findings`` only say what was left out and why.
    ``origins`` are the envelopes of those that came out of one."""

    objects: tuple[Manifest, ...] = ()
    problems: tuple[Problem, ...] = ()
    findings: tuple[Problem, ...] = ()
    origins: t.Mapping[ObjectId, Origin] = field(default_factory=dict)


@dataclass
class _Picking:
    catalog: Catalog
    inside: str | None
    own: bool
    credentials: Secrets
    picked: dict[ObjectId, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Problem] = field(default_factory=list)


def select(
    selectors: t.Sequence[Selector],
    catalog: Catalog,
    namespace: str = "",
    credentials: Secrets = (),
) -> Selected:
    """The union of what the selectors mean in the ``catalog``; problems are told and not raised.

    ``namespace`` is that of a ResourcePlacement, which means namespaced kinds in it and nothing else; it is empty for a
    ClusterResourcePlacement, which means namespaced kinds only in the first namespace that it selects by
    ``NamespaceWithResourceSelectors``; without one they are of the wrong scope. ``credentials`` are the Secrets by
    which members are reached.

    An object that two selectors reach (``duplicate-selection``), or that stands twice among the objects, in two
    versions too (``duplicate-object``), is a problem. So are a kind of the wrong scope, an unknown kind, a malformed
    selector (``bad-selector``), labels, annotation or manifest, a reserved namespace, one selected by
    ``NamespaceWithResourceSelectors`` that is not there or is being deleted, and a webhook that could stop a cluster.
    Any other name that is not there, an object that is being deleted and one that must never be placed contribute
    nothing, which is a finding.
    """
    picking = _Picking(
        catalog=catalog,
        inside=namespace or next((one.name for one in selectors if _opens_namespace(one)), None),
        own=bool(namespace),
        credentials=credentials,
        problems=[*catalog.problems],
    )
    for index, selector in enumerate(selectors):
        _pick(picking, selector, index)
    chosen = sorted(picking.picked, key=hash_order_key)
    versions = Counter(each.key for each in chosen)
    picking.problems += bad_ignores((each, catalog.manifests[each]) for each in chosen)
    picking.problems += [
        Problem("duplicate-object", f"{each} stands more than once among the manifests", str(each))
        for each in chosen
        if each in catalog.repeated or versions[each.key] > 1
    ]
    return Selected(tuple(catalog.manifests[each] for each in chosen), tuple(picking.problems), tuple(picking.findings))


def _pick(picking: _Picking, selector: Selector, index: int) -> None:
    """Adds what one selector means to what is picked, to the problems and to the findings."""
    where = f"spec.resourceSelectors[{index}]"
    group_kind = (selector.group, selector.kind)
    never = kind_refusal(*group_kind)
    if never:
        picking.findings.append(Problem("never-placed", f"kind {selector.kind} is left out: {never}", where))
        return
    if not _usable(picking, selector, where):
        return
    inside = picking.inside if picking.catalog.scopes[group_kind] else None
    kind = (selector.group, selector.version, selector.kind)
    candidates = picking.catalog.of_kind.get(kind, ())
    found = [each for each in candidates if _means(selector, each, picking.catalog.manifests[each], inside)]
    if _opens_namespace(selector) and (not found or selector.name in picking.catalog.terminating):
        gone = "is being deleted" if found else "does not exist"
        picking.problems.append(Problem("missing-namespace", f"namespace {selector.name} {gone}", where))
    elif selector.name and not found:
        picking.findings.append(_missing(picking, selector, where))
    for each in found:
        if is_namespace(each):
            _take_namespace(picking, each, selector.selection_scope, index, where)
        else:
            _take(picking, each, index, where)


def _usable(picking: _Picking, selector: Selector, where: str) -> bool:
    """Whether the selector can be followed at all; if not, the problems say why."""
    before = len(picking.problems)
    namespaced = picking.catalog.scopes.get((selector.group, selector.kind))
    name = f"{selector.kind}.{selector.group}" if selector.group else selector.kind
    if namespaced is None:
        hint = "give the CustomResourceDefinition beside it, or check group and kind"
        picking.problems.append(Problem("unknown-kind", f"kind {name} is not known", where, hint))
    elif picking.own and not namespaced:
        hint = "use a ClusterResourcePlacement"
        message = f"kind {name} is cluster-scoped, and a ResourcePlacement selects in its own namespace"
        picking.problems.append(Problem("wrong-scope", message, where, hint))
    elif namespaced and picking.inside is None:
        hint = f"select its namespace, or one namespace by name with selectionScope {WITH_RESOURCE_SELECTORS}"
        picking.problems.append(Problem("wrong-scope", f"kind {name} lives in namespaces", where, hint))
    if selector.label_selector is not None:
        picking.problems += [
            Problem("bad-selector", message, f"{where}.labelSelector.{path}")
            for path, message in check_selector(selector.label_selector)
        ]
    return len(picking.problems) == before


def _means(selector: Selector, each: ObjectId, manifest: Manifest, inside: str | None) -> bool:
    """Whether the selector means the object: in the namespace ``inside``, if one is given, by its name, or else by its
    labels."""
    if inside is not None and each.namespace != inside:
        return False
    if selector.name:
        return each.name == selector.name
    if selector.label_selector is None:
        return True
    return matches(selector.label_selector, labels_of(manifest))


def _missing(picking: _Picking, selector: Selector, where: str) -> Problem:
    """The finding ``missing-object`` for a name that is not there, with a hint if another version of it is, or, of a
    Namespace, objects in it."""
    others = sorted({each.version for each in picking.catalog.manifests if _differs_in_version(each, selector)})
    hint = f"it is there in version {', '.join(others)}" if others else ""
    if not others and selector.kind == "Namespace" and selector.name in picking.catalog.within:
        hint = "objects in it are there, but no manifest of the Namespace itself"
    return Problem("missing-object", f"{selector.kind} {selector.name} does not exist; it adds nothing", where, hint)


def _differs_in_version(each: ObjectId, selector: Selector) -> bool:
    """Whether it is the object that the selector names, but for the version; namespaces are not compared."""
    wanted = (selector.group, selector.kind, selector.name)
    return (each.group, each.kind, each.name) == wanted and each.version != selector.version


def _take_namespace(picking: _Picking, namespace: ObjectId, scope: str, index: int, where: str) -> None:
    """Takes a Namespace and, unless ``scope`` or its deletion forbids, everything in it; a reserved one is a problem,
    and nothing of it is taken."""
    if is_reserved_namespace(namespace.name):
        message = f"namespace {namespace.name} is reserved on every member and cannot be placed"
        picking.problems.append(Problem("reserved-namespace", message, where))
        return
    _take(picking, namespace, index, where)
    if scope in (NAMESPACE_ONLY, WITH_RESOURCE_SELECTORS) or namespace.name in picking.catalog.terminating:
        return
    for each in picking.catalog.within.get(namespace.name, ()):
        _take(picking, each, index, where)


def _take(picking: _Picking, each: ObjectId, index: int, where: str) -> None:
    """Picks one object, with its problems; one that must not be placed, or is being deleted, is a finding and not
    picked. One that a selector before this took already is a problem."""
    manifest = picking.catalog.manifests[each]
    refused = never_placed_problem(each, manifest, picking.catalog.services, picking.credentials)
    if refused is None and (is_being_deleted(manifest) or each.namespace in picking.catalog.terminating):
        refused = Problem("being-deleted", f"{each} is being deleted; it adds nothing", str(each))
    if refused is not None:
        picking.findings.append(refused)
        return
    stops = stopping_webhook_problem(each, manifest)
    picking.problems += [stops] if stops else []
    picking.problems += malformed_metadata(each, manifest)
    first = picking.picked.setdefault(each, index)
    if first != index:
        message = f"{each} is selected by spec.resourceSelectors[{first}] already"
        picking.problems.append(Problem("duplicate-selection", message, where))


def _opens_namespace(selector: Selector) -> bool:
    """Whether the selector names the namespace in which others select (NamespaceWithResourceSelectors)."""
    return (selector.group, selector.kind, selector.selection_scope) == ("", "Namespace", WITH_RESOURCE_SELECTORS)
