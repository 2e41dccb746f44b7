# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourceOverride`` and ``ResourceOverride``: how placed objects differ from cluster to cluster, by JSON
patches or left out (KubeFleet), and which objects they name."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API
from ..placements.cluster_resource_placement import ResourceSelector
from ..placements.policy import ClusterSelectorTerm

JSON_PATCH, DELETE = "JSONPatch", "Delete"
CLUSTER, NAMESPACED = "Cluster", "Namespaced"

PLACEMENT_RULE = (
    "(has(oldSelf.placement) && has(self.placement) && oldSelf.placement == self.placement)"
    " || (!has(oldSelf.placement) && !has(self.placement))",
    "the placement of an override cannot be changed",
)
SCOPE_RULE = (
    "!has(self.placement) || self.placement.scope != 'Namespaced'",
    "a ClusterResourceOverride belongs to a ClusterResourcePlacement",
)
NAME_RULES = (
    ("self.all(s, has(s.name) && s.name != '')", "an override names each of its resources"),
    ("self.all(s, !has(s.labelSelector))", "an override selects resources by name, not by labels"),
)
TERM_RULES = (
    (
        "self.all(t, !has(t.propertySelector) && !has(t.propertySorter))",
        "overrides choose clusters by their labels alone",
    ),
    (
        "self.all(t, has(t.labelSelector) || has(t.propertySelector) || has(t.propertySorter))",
        "a term needs a labelSelector; an empty one matches every cluster",
    ),
)
TYPE_RULES = (
    ("self.all(r, r.overrideType != 'Delete' || !has(r.jsonPatchOverrides))", "Delete takes no patches"),
    ("self.all(r, r.overrideType != 'JSONPatch' || has(r.jsonPatchOverrides))", "JSONPatch needs patches"),
)


@dataclass(frozen=True, kw_only=True)
class PlacementRef:
    name: str = prop("Name of the placement.")
    scope: str = prop("Scope of the placement.", default=CLUSTER, enum=(CLUSTER, NAMESPACED))


@dataclass(frozen=True, kw_only=True)
class JSONPatchOverride:
    """One operation of a JSON patch (RFC 6902)."""

    op: str = prop("Operation.", enum=("add", "remove", "replace"))
    path: str = prop("JSON pointer to the field.")
    value: t.Any = prop("Value, for add and replace; variables in its texts are filled in.", default=None)


@dataclass(frozen=True, kw_only=True)
class OverrideClusterSelector:
    """KubeFleet's ``ClusterSelector``, of which overrides take labels alone."""

    cluster_selector_terms: tuple[ClusterSelectorTerm, ...] = prop(
        "Alternatives, each with a labelSelector; every cluster if there are none.", max_items=10, rules=TERM_RULES
    )


@dataclass(frozen=True, kw_only=True)
class OverrideRule:
    cluster_selector: OverrideClusterSelector | None = prop(
        "Clusters on which the rule acts: none if absent, all if it has no terms.", default=None
    )
    override_type: str = prop("What is done to the object.", default=JSON_PATCH, enum=(JSON_PATCH, DELETE))
    json_patch_overrides: tuple[JSONPatchOverride, ...] = prop(
        "Patches, in order.", default=(), min_items=1, max_items=20
    )


@dataclass(frozen=True, kw_only=True)
class OverridePolicy:
    override_rules: tuple[OverrideRule, ...] = prop(
        "Rules, in order; later ones win.", min_items=1, max_items=20, rules=TYPE_RULES
    )


@dataclass(frozen=True, kw_only=True)
class NamespacedResourceSelector:
    """One object in the namespace of the override."""

    group: str = prop("API group, empty for the core group.")
    version: str = prop("API version.")
    kind: str = prop("Kind.")
    name: str = prop("Name of the object.")


@dataclass(frozen=True, kw_only=True)
class ClusterResourceOverrideSpec:
    placement: PlacementRef | None = prop("The only placement that is changed; any if absent.", default=None)
    cluster_resource_selectors: tuple[ResourceSelector, ...] = prop(
        "Cluster-scoped objects by name; a Namespace stands for itself and everything in it.",
        min_items=1,
        max_items=20,
        rules=NAME_RULES,
    )
    policy: OverridePolicy = prop("What is changed on which clusters.")


@dataclass(frozen=True, kw_only=True)
class ResourceOverrideSpec:
    placement: PlacementRef | None = prop("The only placement that is changed; any if absent.", default=None)
    resource_selectors: tuple[NamespacedResourceSelector, ...] = prop(
        "Objects in the namespace of the override.", min_items=1, max_items=20
    )
    policy: OverridePolicy = prop("What is changed on which clusters.")


@dataclass(frozen=True, kw_only=True)
class ClusterResourceOverride:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourceOverride")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: ClusterResourceOverrideSpec = prop("Which objects are changed, and how.", rules=(PLACEMENT_RULE, SCOPE_RULE))

    @property
    def name(self) -> str:
        return self.metadata.name


@dataclass(frozen=True, kw_only=True)
class ResourceOverride:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ResourceOverride")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: ResourceOverrideSpec = prop("Which objects are changed, and how.", rules=(PLACEMENT_RULE,))

    @property
    def name(self) -> str:
        return self.metadata.name


Override = ClusterResourceOverride | ResourceOverride  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
Place = tuple[str, str, str, str, str]


def places_of(override: Override) -> tuple[Place, ...]:
    """The objects that an override names, in its order, as (group, version, kind, namespace, name).

    For a ClusterResourceOverride the namespace is empty, and ("", "v1", "Namespace", "", name) also stands for every
    object in that namespace.
    """
    if isinstance(override, ClusterResourceOverride):
        return tuple(
            (one.group, one.version, one.kind, "", one.name) for one in override.spec.cluster_resource_selectors
        )
    namespace = override.metadata.namespace
    return tuple((one.group, one.version, one.kind, namespace, one.name) for one in override.spec.resource_selectors)
