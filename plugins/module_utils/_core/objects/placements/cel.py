# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of a placement (KubeFleet's) in CEL, for API servers; ``rules`` says the same, and more, with field paths."""

from __future__ import annotations

_NAMED = "has(s.name) && s.name != '' && !has(s.labelSelector)"
_SCOPED = "s.selectionScope == 'NamespaceWithResourceSelectors'"
_CORE_NAMESPACE = "s.group == '' && s.version == 'v1' && s.kind == 'Namespace'"
_OLD_TYPE = "(has(oldSelf.policy) ? oldSelf.policy.placementType : 'PickAll')"

SELECTOR_RULES = (
    (
        "self.all(s, !(has(s.name) && s.name != '' && has(s.labelSelector)))",
        "name and labelSelector exclude each other",
    ),
    (f"self.all(s, !({_SCOPED}) || ({_NAMED}))", "NamespaceWithResourceSelectors needs a name and no labelSelector"),
    (
        f"!self.exists(s, {_SCOPED}) || (self.exists_one(s, {_SCOPED}) && self.exists_one(s, {_CORE_NAMESPACE})"
        f" && self.exists(s, {_SCOPED} && {_CORE_NAMESPACE}))",
        "NamespaceWithResourceSelectors stands once, on the only selector of kind Namespace",
    ),
)
NAMESPACED_SPEC_RULES = (
    ("!has(oldSelf.policy) || has(self.policy)", "a policy cannot be taken away again"),
    (
        f"{_OLD_TYPE} == {_OLD_TYPE.replace('oldSelf', 'self')}",
        "the placement type cannot be changed; no policy means PickAll",
    ),
    (
        "oldSelf.strategy.type != 'External' || self.strategy.type == 'External'",
        "strategy External cannot be left again",
    ),
)
SPEC_RULES = (
    *NAMESPACED_SPEC_RULES,
    (
        "oldSelf.statusReportingScope == self.statusReportingScope",
        "statusReportingScope cannot be changed",
    ),
    (
        "self.statusReportingScope != 'NamespaceAccessible'"
        " || self.resourceSelectors.exists_one(s, s.kind == 'Namespace')",
        "NamespaceAccessible needs exactly one selector of kind Namespace",
    ),
)


def _only(types: str, field: str, empty: str) -> tuple[str, str]:
    """The rule, with its message, that ``field`` is not there for placement types ``types``, which are quoted;
    ``empty`` is CEL that lets an empty one pass."""
    return (
        f"!(self.placementType in [{types}]) || !has(self.{field}){empty}",
        f"{field} does not belong to this placement type",
    )


_NO_ITEMS = " || self.{0}.size() == 0"
POLICY_RULES = (
    _only("'PickFixed'", "affinity", ""),
    _only("'PickFixed', 'PickAll'", "numberOfClusters", ""),
    _only("'PickFixed', 'PickAll'", "topologySpreadConstraints", _NO_ITEMS.format("topologySpreadConstraints")),
    _only("'PickFixed'", "tolerations", _NO_ITEMS.format("tolerations")),
    _only("'PickAll', 'PickN'", "clusterNames", _NO_ITEMS.format("clusterNames")),
    ("self.placementType != 'PickN' || has(self.numberOfClusters)", "PickN needs numberOfClusters"),
    (
        "self.placementType != 'PickAll' || !has(self.affinity) || !has(self.affinity.clusterAffinity)"
        " || !has(self.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution)"
        " || self.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution.size() == 0",
        "PickAll has nothing to prefer",
    ),
)
TOLERATION_RULES = (
    ("self.all(t, t.operator != 'Exists' || !has(t.value) || t.value == '')", "Exists takes no value"),
    (
        "self.all(t, (has(t.key) && t.key != '') || t.operator == 'Exists')",
        "a toleration without key is of operator Exists",
    ),
)
REQUIRED_TERM_RULES = (("self.all(t, !has(t.propertySorter))", "a sorter stands in preferred terms only"),)
PREFERENCE_RULES = (("!has(self.propertySelector)", "a property selector stands in required terms only"),)
STRATEGY_RULES = (("self.type != 'External' || !has(self.rollingUpdate)", "External has no rollingUpdate"),)
APPLY_RULES = (
    (
        "self.type == 'ServerSideApply' || !has(self.serverSideApplyConfig)",
        "serverSideApplyConfig stands beside ServerSideApply only",
    ),
)
REPORT_BACK_RULES = (("self.type != 'Mirror' || has(self.destination)", "Mirror needs a destination"),)
