# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests that are refused. One table holds our rules and those of a real API server with our CRDs together.

``expected`` names every problem, as ``code path``. Who refuses follows from ``rules.RULES``: both do as soon as one of
the problems is of class schema, else we alone.
"""

from __future__ import annotations

from ansible_collections.gitops.fleet.tests.data.manifest_parts import (
    DEPLOYMENT,
    EAST,
    NAMESPACE,
    PICK_N,
    PREFERRED,
    SECRET_REF,
    SPREAD,
    TERMS,
    WISHES,
    Manifest,
    Row,
    cluster,
    crp,
    member,
    named,
    needs,
    preferred,
    required,
    rp,
    scoped,
    sorter,
    strategy,
    tolerate,
    want,
    wish,
)

_EXPRESSION = f"{TERMS}[0].propertySelector.matchExpressions[0]"


def _name(name: str) -> Manifest:
    return crp(required(needs(want(name, "Ge", "5"))))


BAD: tuple[Row, ...] = (
    # kinds and groups
    Row(
        "newer upstream group",
        {**crp(), "apiVersion": "placement.kubefleet.dev/v1alpha1"},
        ("unsupported-group apiVersion",),
    ),  # D4-02
    Row("kind with a slip", {**crp(), "kind": "ClusterResourcePlacment"}, ("unknown-kind ClusterResourcePlacment",)),
    Row(
        "kind in another group",
        {**crp(), "apiVersion": "cluster.kubernetes-fleet.io/v1"},
        ("unknown-kind ClusterResourcePlacement",),
    ),
    Row(
        "no such version",
        {**crp(), "apiVersion": "placement.kubernetes-fleet.io/v2"},
        ("unsupported-version apiVersion",),
    ),
    # fields and types
    Row("unknown field", crp(policie={}), ("unknown-field spec.policie",)),
    Row("wrong case", crp({"placementtype": "PickAll"}), ("unknown-field spec.policy.placementtype",)),
    Row("taints on a placement", crp({**PICK_N, "taints": []}), ("unknown-field spec.policy.taints",)),  # D4-73
    Row("no selectors", crp(selectors=None), ("missing-field spec.resourceSelectors",)),
    Row("empty selectors", crp(selectors=[]), ("too-few-items spec.resourceSelectors",)),
    Row(
        "too many selectors",
        crp(selectors=tuple({**NAMESPACE, "name": f"n{at}"} for at in range(101))),
        ("too-many-items spec.resourceSelectors",),
    ),  # D4-09
    Row(
        "selector without version",
        crp(selectors=({"group": "", "kind": "Namespace"},)),
        ("missing-field spec.resourceSelectors[0].version",),
    ),
    Row("selectors are no list", crp(selectors={"kind": "Namespace"}), ("wrong-type spec.resourceSelectors",)),
    Row(
        "label without value",
        crp(required({"labelSelector": {"matchLabels": {"region": None}}})),
        (f"label-value-missing {TERMS}[0].labelSelector.matchLabels[region]",),
    ),
    Row(
        "number as text",
        crp({"placementType": "PickN", "numberOfClusters": "3"}),
        ("wrong-type spec.policy.numberOfClusters",),
    ),
    Row("quantity without quotes", crp(required(needs(want("a", "Ge", 5)))), (f"wrong-type {_EXPRESSION}.values[0]",)),
    Row(
        "label with a fraction",
        crp(required({"labelSelector": {"matchLabels": {"version": 1.1}}})),
        (f"wrong-type {TERMS}[0].labelSelector.matchLabels[version]",),
    ),
    Row(
        "truth value as text",
        strategy(applyStrategy={"allowCoOwnership": "yes"}),
        ("wrong-type spec.strategy.applyStrategy.allowCoOwnership",),
    ),
    Row(
        "two preferences in one wish",
        crp(preferred([{"weight": 1, "preference": [EAST, EAST]}])),
        (f"wrong-type {WISHES}[0].preference",),
    ),  # D4-27
    # D1-04, D4-80: parts left out by documents
    Row("selector left out", crp(selectors=["..."]), ("placeholder spec.resourceSelectors[0]",)),
    Row("policy left out", crp("..."), ("placeholder spec.policy",)),
    Row(
        "name left out",
        crp(selectors=({**NAMESPACE, "name": "..."},)),
        ("placeholder-text spec.resourceSelectors[0].name",),
    ),
    # metadata
    Row("upper-case name", named(crp(), name="Web"), ("invalid-name metadata.name",)),
    Row("no name", {**crp(), "metadata": {}}, ("missing-field metadata.name",)),
    Row("long name", named(crp(), name="a" * 64), ("name-too-long metadata.name",)),
    Row("long member name", named(cluster(), name="a" * 64), ("name-too-long metadata.name",)),
    Row(
        "bad label value", named(cluster(), labels={"region": "east west"}), ("invalid-label metadata.labels[region]",)
    ),
    Row("bad label key", named(cluster(), labels={"re gion": "east"}), ("invalid-label metadata.labels[re gion]",)),
    Row(
        "bad annotation key",
        named(cluster(), annotations={"re gion": "east"}),
        ("invalid-label metadata.annotations[re gion]",),
    ),
    # resource selectors
    Row("kind empty", crp(selectors=({**NAMESPACE, "kind": ""},)), ("empty-text spec.resourceSelectors[0].kind",)),
    Row(
        "name and labels",
        crp(selectors=({**NAMESPACE, "labelSelector": {"matchLabels": {"a": "b"}}},)),
        ("name-with-label-selector spec.resourceSelectors[0].labelSelector",),
    ),
    Row(
        "bad operator in a label selector",
        crp(required({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}]}})),
        (f"invalid-label-selector {TERMS}[0].labelSelector.matchExpressions[0].operator",),
    ),
    Row(
        "unknown scope",
        crp(selectors=({**NAMESPACE, "selectionScope": "All"},)),
        ("not-one-of spec.resourceSelectors[0].selectionScope",),
    ),
    Row(
        "scope without name",
        crp(selectors=(scoped(name=None),)),
        ("scope-without-name spec.resourceSelectors[0].name",),
    ),
    Row(
        "scope beside another namespace",
        crp(selectors=(scoped(), {**NAMESPACE, "name": "b"})),
        ("scope-needs-one-namespace spec.resourceSelectors[0].selectionScope",),
    ),
    Row(
        "scope on another kind",
        crp(selectors=({**DEPLOYMENT, "selectionScope": "NamespaceWithResourceSelectors"},)),
        ("scope-needs-one-namespace spec.resourceSelectors[0].selectionScope",),
    ),
    Row(
        "status in two namespaces",
        crp(selectors=(NAMESPACE, {**NAMESPACE, "name": "b"}), statusReportingScope="NamespaceAccessible"),
        ("accessible-needs-one-namespace spec.statusReportingScope",),
    ),
    Row(
        "a status for a namespace that labels select",
        crp(selectors=({**NAMESPACE, "name": "", "labelSelector": {}},), statusReportingScope="NamespaceAccessible"),
        ("accessible-needs-a-name spec.statusReportingScope",),
    ),
    Row("a ResourcePlacement without its namespace", rp(namespace=""), ("namespace-missing metadata.namespace",)),
    # D4-16, D4-21, D4-24, D4-37: what belongs to which placement type
    Row(
        "unknown placement type",
        crp({"placementType": "PickSome", "numberOfClusters": 2}),
        ("not-one-of spec.policy.placementType",),
    ),
    Row(
        "fixed and affinity",
        crp({**required(EAST), "placementType": "PickFixed", "clusterNames": ["a"]}),
        ("not-for-placement-type spec.policy.affinity",),
    ),
    Row(
        "fixed and everything else",
        crp(
            {
                "placementType": "PickFixed",
                "clusterNames": ["a"],
                "numberOfClusters": 1,
                "topologySpreadConstraints": [SPREAD],
                "tolerations": [{"operator": "Exists"}],
            }
        ),
        tuple(
            f"not-for-placement-type spec.policy.{field}"
            for field in ("numberOfClusters", "topologySpreadConstraints", "tolerations")
        ),
    ),
    Row("all and names", crp({"clusterNames": ["a"]}), ("not-for-placement-type spec.policy.clusterNames",)),
    Row(
        "all and a number",
        crp({"placementType": "PickAll", "numberOfClusters": 0}),
        ("not-for-placement-type spec.policy.numberOfClusters",),
    ),
    Row(
        "all and spread",
        crp({"topologySpreadConstraints": [SPREAD]}),
        ("not-for-placement-type spec.policy.topologySpreadConstraints",),
    ),
    Row(
        "all and preferred",
        crp(preferred([wish(**EAST)], placementType="PickAll", numberOfClusters=None)),
        (f"preferred-with-pick-all {WISHES}",),
    ),  # D1-47
    Row("some and names", crp({**PICK_N, "clusterNames": ["a"]}), ("not-for-placement-type spec.policy.clusterNames",)),
    Row(
        "some, but how many",
        crp({"placementType": "PickN", "topologySpreadConstraints": [{**SPREAD, "maxSkew": 2}]}, version="v1"),
        ("number-of-clusters-missing spec.policy.numberOfClusters",),
    ),  # D4-29
    Row(
        "fewer than none",
        crp({"placementType": "PickN", "numberOfClusters": -1}),
        ("out-of-range spec.policy.numberOfClusters",),
    ),
    Row(
        "more than there can be",
        crp({"placementType": "PickN", "numberOfClusters": 2**31}),
        ("out-of-range spec.policy.numberOfClusters",),
    ),
    # D4-19
    Row("fixed on nothing", crp({"placementType": "PickFixed"}), ("cluster-names-missing spec.policy.clusterNames",)),
    Row(
        "fixed twice on one",
        crp({"placementType": "PickFixed", "clusterNames": ["a", "b", "a"]}),
        ("duplicate-cluster-name spec.policy.clusterNames[2]",),
    ),
    Row(
        "fixed on no name",
        crp({"placementType": "PickFixed", "clusterNames": ["Cluster_1"]}),
        ("invalid-cluster-name spec.policy.clusterNames[0]",),
    ),
    Row(
        "too many fixed",
        crp({"placementType": "PickFixed", "clusterNames": [f"c{at}" for at in range(101)]}),
        ("too-many-items spec.policy.clusterNames",),
    ),
    # D1-07, D1-18, D1-19: property requirements
    Row(
        "requirement without parts",
        crp(required(needs({}))),
        tuple(f"missing-field {_EXPRESSION}.{part}" for part in ("name", "operator", "values")),
    ),
    Row("requirement without a value", crp(required(needs(want("a", "Ge")))), (f"value-missing {_EXPRESSION}.values",)),
    Row(
        "requirement with two values",
        crp(required(needs(want("a", "Ge", "1", "2")))),
        (f"too-many-items {_EXPRESSION}.values",),
    ),
    Row(
        "operator of labels", crp(required(needs(want("a", "In", "5")))), (f"unknown-operator {_EXPRESSION}.operator",)
    ),
    Row("value in words", crp(required(needs(want("a", "Ge", "five")))), (f"invalid-value {_EXPRESSION}.values[0]",)),
    # D1-09, D1-10, D4-51: property names
    Row("used capacity", _name("resources.kubernetes-fleet.io/used-cpu"), (f"unknown-capacity {_EXPRESSION}.name",)),
    Row("no capacity", _name("resources.kubernetes-fleet.io/cpu"), (f"unknown-capacity {_EXPRESSION}.name",)),
    Row(
        "resource in capitals",
        _name("resources.kubernetes-fleet.io/available-CPU"),
        (f"resource-upper-case {_EXPRESSION}.name",),
    ),
    Row(
        "translated property",
        _name("kubernetes.azure.com/custo-por-núcleo-de-CPU"),
        (f"unknown-property {_EXPRESSION}.name",),
    ),
    Row("property with a space", _name("node count"), (f"invalid-property-name {_EXPRESSION}.name",)),
    # D1-22
    Row(
        "above and below five",
        crp(required(needs(want("a", "Gt", "5"), want("a", "Lt", "5")))),
        (f"contradictory-requirements {TERMS}[0].propertySelector.matchExpressions[1]",),
    ),
    Row(
        "three and four",
        crp(required(needs(want("a", "Eq", "3"), want("b", "Eq", "4"), want("a", "Eq", "4")))),
        (f"contradictory-requirements {TERMS}[0].propertySelector.matchExpressions[2]",),
    ),
    Row(
        "equal and different",
        crp(required(needs(want("a", "Eq", "1"), want("a", "Ne", "1000m")))),
        (f"contradictory-requirements {TERMS}[0].propertySelector.matchExpressions[1]",),
    ),
    # D1-23, D1-31, D1-44, D1-47: where sorters and selectors stand
    Row(
        "property selector in a wish",
        crp(preferred([wish(**needs(want("a", "Ge", "5")))])),
        (f"property-selector-in-preferred {WISHES}[0].preference.propertySelector",),
    ),
    Row(
        "sorter in a requirement",
        crp(required({"propertySorter": sorter()})),
        (f"sorter-in-required {TERMS}[0].propertySorter",),
    ),
    Row(
        "sorter in lower case",
        crp(preferred([wish(propertySorter=sorter(order="descending"))])),
        (f"not-one-of {WISHES}[0].preference.propertySorter.sortOrder",),
    ),
    Row(
        "sorter without order",
        crp(preferred([wish(propertySorter={"name": "a"})])),
        (f"missing-field {WISHES}[0].preference.propertySorter.sortOrder",),
    ),
    Row(
        "sorter by an odd name",
        crp(preferred([wish(propertySorter=sorter("a b"))])),
        (f"invalid-property-name {WISHES}[0].preference.propertySorter.name",),
    ),
    Row(
        "weights too large",
        crp(preferred([wish(101, **EAST), wish(-101, **EAST)])),
        (f"out-of-range {WISHES}[0].weight", f"out-of-range {WISHES}[1].weight"),
    ),
    Row(
        "both names of the sorter",
        crp(preferred([wish(propertySorter=sorter(), metricSorter=sorter())])),
        (f"unknown-field {WISHES}[0].preference.metricSorter",),
    ),
    Row("eleven alternatives", crp(required(*[EAST] * 11)), (f"too-many-items {TERMS}",)),  # D1-08
    # D4-31
    Row(
        "spread without key",
        crp({**PICK_N, "topologySpreadConstraints": [{"maxSkew": 0}]}),
        (
            "missing-field spec.policy.topologySpreadConstraints[0].topologyKey",
            "out-of-range spec.policy.topologySpreadConstraints[0].maxSkew",
        ),
    ),
    Row(
        "spread by no label",
        crp({**PICK_N, "topologySpreadConstraints": [{"topologyKey": "a b"}]}),
        ("invalid-topology-key spec.policy.topologySpreadConstraints[0].topologyKey",),
    ),
    # D4-71, D4-72
    Row(
        "effect of another kind",
        tolerate({"key": "a", "operator": "Exists", "effect": "NoExecute"}),
        ("not-one-of spec.policy.tolerations[0].effect",),
    ),
    Row(
        "toleration with another field",
        tolerate({"key": "a", "tolerationSeconds": 5}),
        ("unknown-field spec.policy.tolerations[0].tolerationSeconds",),
    ),  # D4-70
    Row(
        "exists with value",
        tolerate({"key": "a", "operator": "Exists", "value": "b"}),
        ("toleration-value-with-exists spec.policy.tolerations[0].value",),
    ),
    Row("equal without key", tolerate({"value": "b"}), ("toleration-without-key spec.policy.tolerations[0].key",)),
    Row(
        "toleration twice",
        tolerate({"key": "a"}, {"key": "a", "operator": "Equal"}),
        ("duplicate-toleration spec.policy.tolerations[1]",),
    ),
    Row(
        "toleration of no key",
        tolerate({"key": "a b", "value": "c d"}),
        ("invalid-toleration spec.policy.tolerations[0].key", "invalid-toleration spec.policy.tolerations[0].value"),
    ),
    # D4-77, D4-78
    Row(
        "more unavailable than all",
        strategy(rollingUpdate={"maxUnavailable": "101%", "maxSurge": -1}),
        (
            "invalid-count-or-percentage spec.strategy.rollingUpdate.maxUnavailable",
            "invalid-count-or-percentage spec.strategy.rollingUpdate.maxSurge",
        ),
    ),
    Row(
        "more than 32 bits",
        strategy(rollingUpdate={"maxSurge": 2**31}),
        ("wrong-type spec.strategy.rollingUpdate.maxSurge",),
    ),
    Row(
        "number in quotes",
        strategy(rollingUpdate={"maxSurge": "3"}),
        ("invalid-count-or-percentage spec.strategy.rollingUpdate.maxSurge",),
    ),
    Row(
        "waiting backwards",
        strategy(rollingUpdate={"unavailablePeriodSeconds": -1}),
        ("out-of-range spec.strategy.rollingUpdate.unavailablePeriodSeconds",),
    ),
    Row(
        "external with budgets",
        strategy(type="External", rollingUpdate={"maxSurge": 1}),
        ("external-with-rolling-update spec.strategy.rollingUpdate",),
    ),
    Row(
        "options of another way to apply",
        strategy(applyStrategy={"serverSideApplyConfig": {"force": True}}),
        ("config-without-server-side-apply spec.strategy.applyStrategy.serverSideApplyConfig",),
    ),
    Row(
        "mirrored to nowhere",
        strategy(reportBackStrategy={"type": "Mirror"}),
        ("report-back-without-destination spec.strategy.reportBackStrategy.destination",),
    ),
    Row("unknown strategy", strategy(type="Recreate"), ("not-one-of spec.strategy.type",)),
    Row("no history", crp(revisionHistoryLimit=0), ("out-of-range spec.revisionHistoryLimit",)),  # D4-62
    # several at once
    Row(
        "three causes, three problems",
        crp(
            {
                "placementType": "PickN",
                "affinity": {"clusterAffinity": {PREFERRED: [wish(200, propertySorter=sorter("a b", "up"))]}},
            }
        ),
        (
            f"out-of-range {WISHES}[0].weight",
            f"not-one-of {WISHES}[0].preference.propertySorter.sortOrder",
            "number-of-clusters-missing spec.policy.numberOfClusters",
            f"invalid-property-name {WISHES}[0].preference.propertySorter.name",
        ),
    ),
    # members
    Row("no identity", cluster(identity=None), ("missing-field spec.identity",)),
    Row("identity of nobody", cluster(identity={"kind": "User", "name": ""}), ("empty-text spec.identity.name",)),
    Row("heartbeat too slow", cluster(heartbeatPeriodSeconds=601), ("out-of-range spec.heartbeatPeriodSeconds",)),
    Row(
        "taint of another effect", cluster([{"key": "a", "effect": "NoExecute"}]), ("not-one-of spec.taints[0].effect",)
    ),
    Row("taint twice", cluster([{"key": "a", "effect": "NoSchedule"}] * 2), ("duplicate-taint spec.taints[1]",)),
    Row("taint of no key", cluster([{"key": "", "effect": "NoSchedule"}]), ("invalid-taint spec.taints[0].key",)),
    Row(
        "too many taints",
        cluster([{"key": f"a{at}", "effect": "NoSchedule"} for at in range(101)]),
        ("too-many-items spec.taints",),
    ),
    Row("no connection", member({}), ("connection-source spec.connection",)),
    Row(
        "two connections", member({"kubeconfig": "a", "secretRef": SECRET_REF}), ("connection-source spec.connection",)
    ),
    Row("context of nothing", member({"context": "a"}), ("connection-source spec.connection",)),
    Row(
        "context inside the cluster",
        member({"inCluster": True, "context": "a"}),
        ("context-in-cluster spec.connection.context",),
    ),
    Row(
        "secret without namespace",
        member({"secretRef": {"name": "a"}}),
        ("missing-field spec.connection.secretRef.namespace",),
    ),
    Row(
        "secret without a name",
        member({"secretRef": {"name": "", "namespace": "a"}}),
        ("empty-text spec.connection.secretRef.name",),
    ),
    Row("unknown driver", member({"inCluster": True}, driver="magic"), ("not-one-of spec.driver",)),
)
