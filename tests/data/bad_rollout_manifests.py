# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides, envelopes, evictions and their budgets that are refused; see ``bad_manifests`` for the table."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest, Row, named
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    ALL,
    PATCH,
    ROLE,
    RULE,
    RULES,
    WEB,
    budget,
    chosen,
    config,
    envelope,
    eviction,
    in_shop,
    inner,
    override,
    patched,
    resource_envelope,
    resource_override,
)

_SELECTORS, _PATCH = "spec.clusterResourceSelectors", f"{RULES}[0].jsonPatchOverrides[0]"
_TERMS = f"{RULES}[0].clusterSelector.clusterSelectorTerms"
_EAST: Manifest = {"labelSelector": {"matchLabels": {"region": "east"}}}


def _selecting(*selectors: t.Any) -> Manifest:
    return override(selectors=selectors)


BAD_OVERRIDES: tuple[Row, ...] = (
    Row("an override that selects not at all", override(selectors=None), (f"missing-field {_SELECTORS}",)),
    Row("an override that selects nothing", _selecting(), (f"too-few-items {_SELECTORS}",)),
    Row(
        "an override of 21 objects",
        _selecting(*({**ROLE, "name": f"r{at}"} for at in range(21))),
        (f"too-many-items {_SELECTORS}",),
    ),
    Row(
        "an override of a kind",
        _selecting({key: ROLE[key] for key in ("group", "version", "kind")}),
        (f"override-selector-without-name {_SELECTORS}[0].name",),
    ),
    Row(
        "an override by labels",
        _selecting({**ROLE, **_EAST}),
        (f"override-selector-with-labels {_SELECTORS}[0].labelSelector",),
    ),
    Row(
        "an override by labels alone",
        _selecting({**ROLE, "name": "", **_EAST}),
        (
            f"override-selector-with-labels {_SELECTORS}[0].labelSelector",
            f"override-selector-without-name {_SELECTORS}[0].name",
        ),
    ),
    Row("one object twice", _selecting(ROLE, ROLE), (f"duplicate-override-selector {_SELECTORS}[1]",)),
    Row(
        "an object of no version",
        _selecting({key: ROLE[key] for key in ("group", "kind", "name")}),
        (f"missing-field {_SELECTORS}[0].version",),
    ),
    Row("an object of no kind", _selecting({**ROLE, "kind": ""}), (f"empty-text {_SELECTORS}[0].kind",)),
    Row(
        "an override for a placement of a namespace",
        override(placement={"name": "web", "scope": "Namespaced"}),
        ("override-placement-scope spec.placement.scope",),
    ),
    Row("for a placement without name", override(placement={}), ("missing-field spec.placement.name",)),
    Row("for a placement of no name", override(placement={"name": ""}), ("empty-text spec.placement.name",)),
    Row(
        "for a placement of the fleet",
        override(placement={"name": "web", "scope": "Fleet"}),
        ("not-one-of spec.placement.scope",),
    ),
    Row("no policy", override(policy=None), ("missing-field spec.policy",)),
    Row("no rules", override(policy={"overrideRules": []}), (f"too-few-items {RULES}",)),
    Row("21 rules", override(*[RULE] * 21), (f"too-many-items {RULES}",)),
    # clusters of a rule
    Row(
        "clusters by a property",
        chosen({**_EAST, "propertySelector": {"matchExpressions": [{"name": "a", "operator": "Gt", "values": ["1"]}]}}),
        (f"override-by-property {_TERMS}[0].propertySelector",),
    ),
    Row(
        "clusters in an order",
        chosen({"propertySorter": {"name": "a", "sortOrder": "Ascending"}}),
        (f"override-by-property {_TERMS}[0].propertySorter",),
    ),
    Row("clusters by nothing", chosen({}), (f"override-term-without-labels {_TERMS}[0].labelSelector",)),
    Row("clusters by eleven terms", chosen(*[_EAST] * 11), (f"too-many-items {_TERMS}",)),
    Row(
        "clusters by an unknown operator",
        chosen({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]}}),
        (f"invalid-label-selector {_TERMS}[0].labelSelector.matchExpressions[0].operator",),
    ),
    # what is done
    Row(
        "patches of what is left out",
        override({**RULE, "overrideType": "Delete"}),
        (f"delete-with-patches {RULES}[0].jsonPatchOverrides",),
    ),
    Row("nothing is patched", override({"clusterSelector": ALL}), (f"patches-missing {RULES}[0].jsonPatchOverrides",)),
    Row(
        "a list of no patches",
        override({"clusterSelector": ALL, "jsonPatchOverrides": []}),
        (f"too-few-items {RULES}[0].jsonPatchOverrides",),
    ),
    Row(
        "21 patches",
        override({**RULE, "jsonPatchOverrides": [PATCH] * 21}),
        (f"too-many-items {RULES}[0].jsonPatchOverrides",),
    ),
    Row(
        "another type of override",
        override({**RULE, "overrideType": "Patch"}),
        (f"not-one-of {RULES}[0].overrideType",),
    ),
    Row("a patch that moves", patched(op="move"), (f"not-one-of {_PATCH}.op",)),
    Row("a patch that Adds", patched(op="Add"), (f"not-one-of {_PATCH}.op",)),
    Row("a patch of no place", patched(path=None), (f"missing-field {_PATCH}.path",)),
    Row("a path without slash", patched(path="spec.replicas"), (f"invalid-patch-path {_PATCH}.path",)),
    Row("a path with an empty part", patched(path="/spec//replicas"), (f"invalid-patch-path {_PATCH}.path",)),
    Row("a path that ends with a slash", patched(path="/spec/"), (f"invalid-patch-path {_PATCH}.path",)),
    Row("a path with a bare tilde", patched(path="/spec/~home"), (f"invalid-patch-path {_PATCH}.path",)),
    Row("another kind", patched(path="/kind"), (f"forbidden-patch-path {_PATCH}.path",)),
    Row("another API version", patched(path="/apiVersion"), (f"forbidden-patch-path {_PATCH}.path",)),
    Row("a status", patched(path="/status/replicas"), (f"forbidden-patch-path {_PATCH}.path",)),
    Row("another name", patched(path="/metadata/name"), (f"forbidden-patch-path {_PATCH}.path",)),
    Row("all metadata", patched(path="/metadata"), (f"forbidden-patch-path {_PATCH}.path",)),
    Row("a value to remove", patched(op="remove"), (f"remove-with-value {_PATCH}.value",)),
    Row(
        "a variable without end",
        patched(value={"env": ["${MEMBER-CLUSTER-LABEL-KEY-region"]}),
        (f"unclosed-variable {_PATCH}.value",),
    ),
    Row(
        "many mistakes in one override",
        override(
            {**RULE, "clusterSelector": {"clusterSelectorTerms": [{}]}},
            {**RULE, "overrideType": "Delete"},
            {**RULE, "jsonPatchOverrides": [{**PATCH, "path": "/kind"}, {"op": "drop", "path": "x"}]},
            placement={"name": "web", "scope": "Namespaced"},
        ),
        (
            f"not-one-of {RULES}[2].jsonPatchOverrides[1].op",
            "override-placement-scope spec.placement.scope",
            f"override-term-without-labels {_TERMS}[0].labelSelector",
            f"delete-with-patches {RULES}[1].jsonPatchOverrides",
            f"forbidden-patch-path {RULES}[2].jsonPatchOverrides[0].path",
            f"invalid-patch-path {RULES}[2].jsonPatchOverrides[1].path",
        ),
    ),
    # overrides in namespaces, and namespaces
    Row("an override of the fleet in a namespace", in_shop(override()), ("unexpected-namespace metadata.namespace",)),
    Row(
        "an override in no namespace",
        {**resource_override(), "metadata": {"name": "web"}},
        ("namespace-missing metadata.namespace",),
    ),
    Row(
        "an override in no such namespace",
        named(resource_override(), namespace="Shop_1"),
        ("invalid-namespace metadata.namespace",),
    ),
    Row(
        "a namespace with a dot",
        named(resource_override(), namespace="a.b"),
        ("invalid-namespace metadata.namespace",),
    ),
    Row(
        "an object of the namespace without name",
        resource_override(selectors=[{key: WEB[key] for key in ("group", "version", "kind")}]),
        ("missing-field spec.resourceSelectors[0].name",),
    ),
    Row(
        "an object of the namespace of no name",
        resource_override(selectors=[{**WEB, "name": ""}]),
        ("empty-text spec.resourceSelectors[0].name",),
    ),
    Row(
        "an object of the namespace twice",
        resource_override(selectors=[WEB, {**WEB, "kind": "Service"}, WEB]),
        ("duplicate-override-selector spec.resourceSelectors[2]",),
    ),
    Row(
        "objects of the namespace by labels",
        resource_override(selectors=[{**WEB, **_EAST}]),
        ("unknown-field spec.resourceSelectors[0].labelSelector",),
    ),
    Row(
        "an override of the fleet called otherwise",
        in_shop({**override(), "kind": "ResourceOverride"}),
        (f"unknown-field {_SELECTORS}",),
    ),
)

BAD_ENVELOPES: tuple[Row, ...] = (
    Row(
        "no envelope at all", {key: each for key, each in envelope().items() if key != "data"}, ("missing-field data",)
    ),
    Row("an empty envelope", envelope(), ("too-few-items data",)),
    Row(
        "an envelope of 51 manifests",
        envelope(**{f"r{at}": inner(name=f"r{at}") for at in range(51)}),
        ("too-many-items data",),
    ),
    Row("a manifest in text", envelope(role="kind: ClusterRole"), ("wrong-type data[role]",)),
    Row("a list of manifests", envelope(roles=[inner()]), ("wrong-type data[roles]",)),
    Row(
        "an envelope with a spec",
        {**{key: each for key, each in envelope().items() if key != "data"}, "spec": {"role": inner()}},
        ("unknown-field spec", "missing-field data"),
    ),
    Row("a manifest without name", envelope(a=inner(name="")), ("enveloped-unnamed data[a].metadata.name",)),
    Row(
        "a manifest of generated name",
        envelope(a={**inner(), "metadata": {"generateName": "a-"}}),
        ("enveloped-unnamed data[a].metadata.name",),
    ),
    Row(
        "a manifest without kind",
        envelope(a={"metadata": {"name": "a"}}),
        ("enveloped-unnamed data[a].apiVersion", "enveloped-unnamed data[a].kind"),
    ),
    Row(
        "an object of a namespace among cluster-wide ones",
        envelope(a=config()),
        ("enveloped-scope data[a].metadata.namespace",),
    ),
    Row("a cluster-wide object in a namespace", resource_envelope(a=inner()), ("enveloped-scope data[a]",)),
    Row(
        "an object of another namespace",
        resource_envelope(a=config(), b=config("other", "billing")),
        ("enveloped-scope data[b].metadata.namespace",),
    ),
    Row("a manifest twice", envelope(a=inner(), b=inner()), ("enveloped-twice data[b]",)),
    Row("a pod in an envelope", resource_envelope(a={**config(), "kind": "Pod"}), ("enveloped-never-placed data[a]",)),
    Row(
        "a reserved namespace in an envelope",
        envelope(a=inner("Namespace", "kube-system", "v1")),
        ("enveloped-never-placed data[a]",),
    ),
    Row(
        "labels in an envelope that are no texts",
        resource_envelope(a={**config(), "metadata": {**config()["metadata"], "labels": {"a": ["b"]}}}),
        ("malformed-metadata data[a]",),
    ),
    Row(
        "a webhook in an envelope that could stop a cluster",
        envelope(
            a={
                **inner("ValidatingWebhookConfiguration", "gate", "admissionregistration.k8s.io/v1"),
                "webhooks": [{"name": "gate.example.org", "rules": [{"apiGroups": ["*"], "resources": ["*"]}]}],
            }
        ),
        ("stops-cluster data[a]",),
    ),
    Row("an envelope in an envelope", envelope(a=envelope(b=inner())), ("enveloped-never-placed data[a]",)),
    Row(
        "an envelope in no namespace",
        {**resource_envelope(a={**config(), "metadata": {"name": "a"}}), "metadata": {"name": "a"}},
        ("namespace-missing metadata.namespace",),
    ),
)

BAD_EVICTIONS: tuple[Row, ...] = (
    Row("an eviction from nowhere", eviction(clusterName=None), ("missing-field spec.clusterName",)),
    Row("an eviction of nothing", eviction(placementName=None), ("missing-field spec.placementName",)),
    Row("an eviction of an empty name", eviction(placementName=""), ("empty-text spec.placementName",)),
    Row("an eviction from 256 letters", eviction(clusterName="a" * 256), ("wrong-length spec.clusterName",)),
    Row("an eviction from a name in capitals", eviction(clusterName="EU-1"), ("invalid-reference spec.clusterName",)),
    Row("an eviction from all", eviction(clusterName="*"), ("invalid-reference spec.clusterName",)),
    Row("an eviction from two", eviction(clusterName=["eu-1", "eu-2"]), ("wrong-type spec.clusterName",)),
    Row("an eviction with force", eviction(force=True), ("unknown-field spec.force",)),
    Row("two limits", budget(maxUnavailable=1, minAvailable="50%"), ("two-limits spec",)),
    Row(
        "no budget at all", {key: budget()[key] for key in ("apiVersion", "kind", "metadata")}, ("missing-field spec",)
    ),
    Row("less than nothing", budget(minAvailable=-1), ("invalid-count-or-percentage spec.minAvailable",)),
    Row("more than all", budget(maxUnavailable="101%"), ("invalid-count-or-percentage spec.maxUnavailable",)),
    Row("a limit in quotes", budget(maxUnavailable="2"), ("invalid-count-or-percentage spec.maxUnavailable",)),
    Row("half a percent", budget(maxUnavailable="0.5%"), ("invalid-count-or-percentage spec.maxUnavailable",)),
    Row("a limit in words", budget(minAvailable="most"), ("invalid-count-or-percentage spec.minAvailable",)),
    Row("a limit that holds", budget(minAvailable=True), ("wrong-type spec.minAvailable",)),
)

BAD_ROLLOUTS: tuple[Row, ...] = (*BAD_OVERRIDES, *BAD_ENVELOPES, *BAD_EVICTIONS)
