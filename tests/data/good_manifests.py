# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests that both an API server with our CRDs and we take: as they are (GOOD, some with a warning), after a repair
(REPAIRED: the server refuses the printed form), and as an update of what is stored (UPDATES, some refused).

``expected`` names every finding, or problem of an update, as ``code path``.
"""

from __future__ import annotations

from ansible_collections.gitops.fleet.tests.data.manifest_parts import (
    DEPLOYMENT,
    EAST,
    NAMESPACE,
    PICK_N,
    PREFERRED,
    REQUIRED,
    SECRET_REF,
    SPREAD,
    TERMS,
    WISHES,
    Row,
    Update,
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

GOOD: tuple[Row, ...] = (
    Row("objects of one namespace (D4-05)", rp()),
    Row("scope on a ResourcePlacement", rp(statusReportingScope="NamespaceAccessible")),
    Row("smallest placement", crp()),
    Row("version v1 stays v1", crp(version="v1")),
    Row("null is absent", crp({"placementType": "PickAll", "affinity": None})),
    # D4-17, D4-22: the documents' samples for PickFixed and PickAll
    Row("pick fixed", crp({"placementType": "PickFixed", "clusterNames": ["cluster1", "cluster2"]}, version="v1")),
    Row("pick all by label", crp(required(EAST), version="v1")),
    Row(
        "pick all by label and property",
        crp(required({**EAST, **needs(want("kubernetes-fleet.io/node-count", "Ge", "5"))})),
    ),
    Row("a hundred selectors", crp(selectors=tuple({**NAMESPACE, "name": f"n{at}"} for at in range(100)))),
    Row("ten alternatives", crp(required(*[EAST] * 10))),
    Row("a term with neither selector", crp(required({}))),
    Row(
        "every resource property",
        crp(
            required(
                needs(
                    want("resources.kubernetes-fleet.io/available-ephemeral-storage", "Gt", "10Gi"),
                    want("resources.kubernetes-fleet.io/allocatable-memory", "Ge", "16Gi"),
                    want("resources.kubernetes-fleet.io/total-nvidia.com/gpu", "Ne", "0"),
                    want("kubernetes.azure.com/vm-sizes/Standard_D2s_v3/count", "Le", "4"),
                )
            )
        ),
    ),
    Row(
        "requirements that can hold together",
        crp(
            required(
                needs(*(want("a.b/c", operator, value) for operator, value in (("Ge", "5"), ("Le", "5"), ("Ne", "6"))))
            )
        ),
    ),
    Row("pick none", crp({"placementType": "PickN", "numberOfClusters": 0})),
    Row(
        "sorters both ways",
        crp(preferred([wish(propertySorter=sorter()), wish(-100, **EAST, propertySorter=sorter("a/b", "Ascending"))])),
    ),
    Row("spread with its defaults", crp({**PICK_N, "topologySpreadConstraints": [SPREAD]})),
    Row(
        "tolerations",
        tolerate(
            {"key": "a", "value": "b"},
            {"operator": "Exists"},
            {"key": "a", "operator": "Exists", "effect": "NoSchedule"},
        ),
    ),
    Row(
        "selector by labels",
        crp(
            selectors=(
                {
                    "group": "",
                    "version": "v1",
                    "kind": "Namespace",
                    "labelSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]},
                },
            )
        ),
    ),
    Row("resources inside a namespace", crp(selectors=(scoped(), DEPLOYMENT))),
    Row("status in the namespace", crp(statusReportingScope="NamespaceAccessible")),
    Row(
        "rolling update in numbers",
        strategy(rollingUpdate={"maxUnavailable": 0, "maxSurge": "100%", "unavailablePeriodSeconds": 0}),
    ),
    Row("rolling update with its defaults", strategy(type="RollingUpdate", rollingUpdate={})),
    Row("external", strategy(type="External")),
    Row(
        "server-side apply",
        strategy(applyStrategy={"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}}),
    ),
    Row("apply strategy with its defaults", strategy(applyStrategy={}, deleteStrategy={}, reportBackStrategy={})),
    Row("mirrored status", strategy(reportBackStrategy={"type": "Mirror", "destination": "OriginalResource"})),
    Row("whole numbers with a point", crp(revisionHistoryLimit=2.0, strategy={"rollingUpdate": {"maxSurge": 3.0}})),
    Row("history of one", crp(revisionHistoryLimit=1)),
    Row("smallest member cluster", cluster()),
    Row("member cluster v1", {**cluster(), "apiVersion": "cluster.kubernetes-fleet.io/v1"}),
    Row("taints", cluster([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoSchedule"}])),
    Row(
        "member cluster in full",
        named(
            cluster(heartbeatPeriodSeconds=600, deleteOptions={"validationMode": "Skip"}),
            labels={"region": "east"},
            annotations={"Note/x": "1"},
        ),
    ),
    Row("delete options with their defaults", cluster(deleteOptions={})),
    Row(
        "kubeconfig",
        member({"kubeconfig": "~/.kube/config", "context": "east"}, group="one", location="westus", driver="local"),
    ),
    Row("secret", member({"secretRef": SECRET_REF})),
    Row("in cluster", member({"inCluster": True})),
    Row(  # D4-40
        "name in place of a subscription's id",
        named(cluster(), labels={"fleet.azure.com/subscription-id": "production"}),
        ("subscription-id-no-uuid metadata.labels[fleet.azure.com/subscription-id]",),
    ),
    # D1-26: used as it is, with a warning
    Row(
        "older name of the node count",
        crp(required(needs(want("kubernetes.azure.com/node-count", "Ge", "5")))),
        (f"property-alias {TERMS}[0].propertySelector.matchExpressions[0].name",),
    ),
)

_SAMPLE_4_3 = crp(
    {
        "placementType": "PickN",
        "numberOfClusters": 3,
        "affinity": {
            "clusterAffinity": {
                PREFERRED: {"weight": 20, "preference": [{"labelSelector": {"matchLabels": {"critical-level": 1}}}]},
                REQUIRED: {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"critical-allowed": "true"}}}]},
            }
        },
    },
    version="v1",
)
REPAIRED: tuple[Row, ...] = (
    # D1-30, D1-41, D1-42
    Row(
        "metric sorter",
        crp(preferred([wish(metricSorter=sorter())])),
        (f"metric-sorter {WISHES}[0].preference.metricSorter",),
    ),
    Row(
        "metric sorter beside a label selector",
        crp(preferred([wish(**EAST, metricSorter=sorter("resources.kubernetes-fleet.io/total-cpu"))])),
        (f"metric-sorter {WISHES}[0].preference.metricSorter",),
    ),
    Row(
        "metric sorter by an older name",
        crp(preferred([wish(metricSorter=sorter("kubernetes.azure.com/node-count"))])),
        (
            f"metric-sorter {WISHES}[0].preference.metricSorter",
            f"property-alias {WISHES}[0].preference.propertySorter.name",
        ),
    ),
    Row("one wish instead of a list", crp(preferred(wish(**EAST))), (f"preferred-not-a-list {WISHES}",)),
    Row(
        "a list instead of one preference",
        crp(preferred([{"weight": 1, "preference": [EAST]}])),
        (f"preference-is-a-list {WISHES}[0].preference[0]",),
    ),
    # D4-27
    Row(
        "all three in one",
        _SAMPLE_4_3,
        (
            f"preferred-not-a-list {WISHES}",
            f"preference-is-a-list {WISHES}[0].preference[0]",
            f"label-value-not-text {WISHES}[0].preference.labelSelector.matchLabels[critical-level]",
        ),
    ),
    Row(
        "label value true",
        crp(required({"labelSelector": {"matchLabels": {"gpu": True}}})),
        (f"label-value-not-text {TERMS}[0].labelSelector.matchLabels[gpu]",),
    ),
    Row(
        "number among the values of a selector",
        crp(required({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": [1, "2"]}]}})),
        (f"label-value-not-text {TERMS}[0].labelSelector.matchExpressions[0].values[0]",),
    ),
    Row(
        "label of a member is a number",
        named(cluster(), labels={"ring": 1}),
        ("label-value-not-text metadata.labels[ring]",),
    ),
    Row(
        "annotation of a member is a truth value",
        named(cluster(), annotations={"vip": False}),
        ("label-value-not-text metadata.annotations[vip]",),
    ),
)

_TAINTED = [{"key": "a", "value": "b"}]
UPDATES: tuple[Update, ...] = (
    Update("more clusters", crp(PICK_N), crp({**PICK_N, "numberOfClusters": 3})),
    Update("a policy that says what holds anyway", crp(), crp({"placementType": "PickAll"})),
    Update("another toleration", tolerate(*_TAINTED), tolerate({"operator": "Exists"}, *_TAINTED)),  # D4-75
    Update("to external", crp(), strategy(type="External")),
    Update("policy taken away", crp({"placementType": "PickAll"}), crp(), ("policy-removed spec.policy",)),
    Update(
        "another type",
        crp(PICK_N),
        crp({"placementType": "PickAll"}),
        ("placement-type-changed spec.policy.placementType",),
    ),
    Update("another type than none", crp(), crp(PICK_N), ("placement-type-changed spec.policy.placementType",)),
    Update(
        "toleration changed",
        tolerate(*_TAINTED),
        tolerate({"key": "a", "value": "c"}),
        ("tolerations-changed spec.policy.tolerations",),
    ),  # D4-75
    Update(
        "toleration removed", tolerate(*_TAINTED), crp(PICK_N), ("tolerations-changed spec.policy.tolerations",)
    ),  # D4-75
    Update(
        "external left",
        strategy(type="External"),
        strategy(type="RollingUpdate"),
        ("external-left spec.strategy.type",),
    ),
    Update(
        "another scope",
        crp(),
        crp(statusReportingScope="NamespaceAccessible"),
        ("reporting-scope-changed spec.statusReportingScope",),
    ),
    Update(
        "status goes to another namespace",
        crp(statusReportingScope="NamespaceAccessible"),
        crp(selectors=({**NAMESPACE, "name": "pub"},), statusReportingScope="NamespaceAccessible"),
        ("reporting-namespace-changed spec.resourceSelectors",),
    ),
    Update("the scope of a ResourcePlacement means nothing", rp(), rp(statusReportingScope="NamespaceAccessible")),
)
