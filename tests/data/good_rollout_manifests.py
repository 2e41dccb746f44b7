# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides, envelopes, evictions, budgets and staged updates that are taken; see ``good_manifests`` for the tables."""

from __future__ import annotations

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest, Row, Update, named
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    ALL,
    APPROVE,
    PATCH,
    ROLE,
    RULE,
    RULES,
    STAGES,
    WAIT,
    WEB,
    approval_request,
    budget,
    config,
    envelope,
    eviction,
    inner,
    override,
    patched,
    resource_envelope,
    resource_override,
    staged,
    staged_run,
    staged_strategy,
    twin,
)
from ansible_collections.gitops.fleet.tests.data.update_parts import with_status

_REGION = "${MEMBER-CLUSTER-LABEL-KEY-region}"
_OPERATIONS = [
    {"op": "replace", "path": "/spec/replicas", "value": 3},
    {"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "REGION", "value": _REGION}},
    {"op": "remove", "path": "/metadata/annotations/example.com~1owner"},
    {"op": "add", "path": "/metadata/labels", "value": {"on": "${MEMBER-CLUSTER-NAME}"}},
]
_EAST = {"labelSelector": {"matchLabels": {"region": "east"}}}
_APPROVED = {"type": "Approved", "status": "True", "reason": "lgtm", "message": "", "observedGeneration": 1}


def _first(manifest: Manifest) -> Manifest:
    return {**manifest, "apiVersion": "placement.kubernetes-fleet.io/v1"}


_NO_V1 = ("version-not-served apiVersion",)
GOOD_ROLLOUTS: tuple[Row, ...] = (
    Row("an override of a role", override()),
    Row("an override of a namespace", _first(override(selectors=[{**WEB, "group": "", "kind": "Namespace"}]))),
    Row("an override for one placement", override(placement={"name": "web"})),
    Row(
        "an override with everything",
        resource_override(
            {"clusterSelector": ALL, "jsonPatchOverrides": _OPERATIONS},
            {"clusterSelector": {"clusterSelectorTerms": [_EAST, {"labelSelector": {}}]}, "overrideType": "Delete"},
            {**RULE, "overrideType": "JSONPatch"},
            selectors=[WEB, {**WEB, "kind": "StatefulSet"}],
            placement={"name": "web", "scope": "Namespaced"},
        ),
    ),
    Row(
        "a rule for no cluster",
        override({"jsonPatchOverrides": [PATCH]}),
        (f"rule-without-clusters {RULES}[0].clusterSelector",),
    ),
    Row(
        "a variable with a slip",
        patched(value={"on": "${MEMBER_CLUSTER_NAME}"}),
        (f"unknown-variable {RULES}[0].jsonPatchOverrides[0].value",),
    ),
    Row("a variable that is none of ours", patched(value="${HOME}/web")),
    Row("an envelope", envelope(role=inner(), other=inner(name="writer"))),
    Row("an envelope with a namespace", _first(envelope(shop=inner("Namespace", "shop", "v1"))), _NO_V1),
    Row("an envelope of an unknown kind", envelope(widget=inner("Widget", "w", "example.com/v1"))),
    Row("an envelope in a namespace", resource_envelope(settings=config(), more=config("more"))),
    Row("an eviction", eviction()),
    Row("an eviction by v1", _first(eviction()), _NO_V1),
    Row("a budget in clusters", budget(maxUnavailable=1)),
    Row("a budget in percent", _first(budget(minAvailable="80%")), _NO_V1),
    Row("a budget of zero", budget(minAvailable=0)),
    Row("a budget of no limit", budget(), ("eviction-never-permitted spec",)),
    Row("one stage for all", staged_strategy(staged())),
    Row("31 stages", staged_strategy(*(staged(f"s{at}") for at in range(31)))),
    Row("no stage at all", staged_strategy(), (f"no-stages {STAGES}",)),
    Row(
        "a stage for none",
        staged_strategy(staged(labelSelector=None)),
        (f"stage-takes-nothing {STAGES}[0].labelSelector",),
    ),
    Row(
        "stages with everything",
        _first(
            staged_strategy(
                staged(
                    "canary",
                    labelSelector={"matchLabels": {"ring": "0"}},
                    sortingLabelKey="example.com/order",
                    maxConcurrency="100%",
                    beforeStageTasks=[APPROVE],
                    afterStageTasks=[{**WAIT, "waitTime": "0.5h10s"}, APPROVE],
                ),
                staged("rest", maxConcurrency=5, afterStageTasks=[APPROVE]),
            )
        ),
    ),
    Row("stages in a namespace", twin(staged_strategy(staged(maxConcurrency="1%", afterStageTasks=[WAIT])))),
    Row("a run", staged_run()),
    Row("a run of an older index", _first(staged_run("Run", resourceSnapshotIndex="0"))),
    Row("a run of 63 letters", named(staged_run("Stop"), name="a" * 63)),
    Row("a run in a namespace", twin(staged_run("Run", resourceSnapshotIndex="12"))),
    Row("an approval request", approval_request()),
    Row("an approval request in a namespace", _first(twin(approval_request()))),
)

REPAIRED_ROLLOUTS: tuple[Row, ...] = (
    Row(
        "an override by v1alpha1",
        {**override(), "apiVersion": "placement.kubernetes-fleet.io/v1alpha1"},
        ("older-version apiVersion",),
    ),
    Row(
        "an index without quotes",
        staged_run(resourceSnapshotIndex=3),
        ("number-not-text spec.resourceSnapshotIndex",),
    ),
    Row(
        "a ring without quotes",
        staged_strategy(staged(labelSelector={"matchLabels": {"ring": 0}})),
        (f"label-value-not-text {STAGES}[0].labelSelector.matchLabels[ring]",),
    ),
)

_BOUND = {"name": "web"}


ROLLOUT_CHANGES: tuple[Update, ...] = (
    Update(
        "other rules",
        override(placement=_BOUND),
        override({**RULE, "jsonPatchOverrides": _OPERATIONS}, placement=_BOUND),
    ),
    Update("other objects", override(), override(selectors=[{**ROLE, "name": "writer"}])),
    Update(
        "an override is bound later",
        override(),
        override(placement=_BOUND),
        ("override-placement-changed spec.placement",),
    ),
    Update(
        "an override is set free",
        override(placement=_BOUND),
        override(),
        ("override-placement-changed spec.placement",),
    ),
    Update(
        "an override is bound elsewhere",
        resource_override(placement={"name": "web", "scope": "Namespaced"}),
        resource_override(placement={"name": "web", "scope": "Cluster"}),
        ("override-placement-changed spec.placement",),
    ),
    Update(
        "an override says the scope that it has",
        override(placement=_BOUND),
        override(placement={**_BOUND, "scope": "Cluster"}),
    ),
    Update("another content", envelope(a=inner()), envelope(b=inner(name="writer"))),
    Update("an eviction from elsewhere", eviction(), eviction(clusterName="eu-2"), ("spec-fixed spec",)),
    Update("an eviction gets a label", eviction(), named(eviction(), labels={"drain": "a"})),
    Update("another budget", budget(maxUnavailable=1), budget(minAvailable="50%")),
    Update("other stages", staged_strategy(staged()), staged_strategy(staged("rest"))),
    Update("a run begins", staged_run("Initialize"), staged_run("Run")),
    Update("a run is stopped", staged_run("Run"), staged_run("Stop")),
    Update("a run goes on", staged_run("Stop"), staged_run("Run")),
    Update("a run says the state that it has", staged_run(), staged_run("Initialize")),
    Update("an idle run is stopped", staged_run(), staged_run("Stop"), ("state-not-reachable spec.state",)),
    Update("a run goes back", staged_run("Run"), staged_run("Initialize"), ("state-not-reachable spec.state",)),
    Update("a stopped run goes back", staged_run("Stop"), staged_run(), ("state-not-reachable spec.state",)),
    Update(
        "a run of something else",
        staged_run(),
        staged_run(placementName="api", stagedRolloutStrategyName="waves"),
        ("spec-fixed spec.placementName", "spec-fixed spec.stagedRolloutStrategyName"),
    ),
    Update(
        "a run of another index",
        staged_run("Run", resourceSnapshotIndex="1"),
        staged_run("Run", resourceSnapshotIndex="2"),
        ("spec-fixed spec.resourceSnapshotIndex",),
    ),
    Update(
        "a run gets an index",
        twin(staged_run("Run")),
        twin(staged_run("Run", resourceSnapshotIndex="2")),
        ("spec-fixed spec.resourceSnapshotIndex",),
    ),
    Update(
        "a run loses its index",
        staged_run(resourceSnapshotIndex="2"),
        staged_run(),
        ("spec-fixed spec.resourceSnapshotIndex",),
    ),
    Update("a run of an empty index", staged_run(), staged_run(resourceSnapshotIndex="")),
    Update("an approval is given", approval_request(), with_status(approval_request(), conditions=[_APPROVED])),
    Update(
        "an approval for another stage",
        twin(approval_request()),
        twin(approval_request(targetStage="rest")),
        ("spec-fixed spec",),
    ),
)
