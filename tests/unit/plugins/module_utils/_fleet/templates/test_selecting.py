# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Selectors of placements, update groups and kubectl, over manifests and rows."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.templates.selecting import selected_by

CLUSTER = {
    "apiVersion": "cluster.kubernetes-fleet.io/v1",
    "kind": "MemberCluster",
    "metadata": {"name": "eu-1", "labels": {"env": "prod", "region": "eu"}},
    "status": {"properties": {"kubernetes-fleet.io/node-count": {"value": "12"}, "example.com/odd": {"value": "many"}}},
}


def need(name, operator, *values):
    return {"propertySelector": {"matchExpressions": [{"name": name, "operator": operator, "values": list(values)}]}}


LARGE, SMALL = (need("kubernetes-fleet.io/node-count", word, "10") for word in ("Ge", "Lt"))


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("env=prod", True),
        ("env=prod,region notin (eu)", False),
        ("!canary", True),
        ({"matchLabels": {"env": "prod"}}, True),
        ({"matchExpressions": [{"key": "region", "operator": "In", "values": ["us"]}]}, False),
        ({}, True),
        ({"byLabel": "region=eu"}, True),
        ({"labelSelector": {"matchLabels": {"env": "test"}}}, False),
        (LARGE, True),
        (SMALL, False),
        ([SMALL, LARGE], True),
        ({"clusterSelectorTerms": [{**LARGE, "labelSelector": {"matchLabels": {"env": "test"}}}]}, False),
        (need("example.com/absent", "Ne", "1"), False),
        (need("example.com/odd", "Ge", "1"), False),
    ],
)
def test_labels_and_properties(selector, selected):
    assert selected_by(CLUSTER, selector) is selected


def test_rows_and_other_objects_have_labels_too():
    assert selected_by({"name": "x", "labels": {"tier": "gold"}}, "tier=gold")
    assert selected_by({"kind": "Node", "metadata": {"labels": {"tier": "gold"}}}, {"matchLabels": {"tier": "gold"}})
    assert not selected_by({"name": "x"}, "tier")
    assert selected_by({"labels": {"tier": "gold"}}, [{"labelSelector": {"matchLabels": {"tier": "gold"}}}])


@pytest.mark.parametrize(
    ("cluster", "selector", "words"),
    [
        (CLUSTER, "region in eu", ["kubectl -l"]),
        (CLUSTER, "", ["a label key is wanted"]),
        (CLUSTER, 5, ["selector", "5"]),
        (CLUSTER, None, ["there is no selector", "{}"]),
        (CLUSTER, {"byLabel": None}, ["selector.byLabel", "text is wanted, not None"]),
        (CLUSTER, {"matchLabel": {}}, ["matchLabel", "matchLabels"]),
        (CLUSTER, {"matchLabels": {"a b": "c"}}, ["a b"]),
        (CLUSTER, need("resources.kubernetes-fleet.io/left-cpu", "Ge", "1"), ["left"]),
        (CLUSTER, need("bad name", "Ge", "1"), ["bad name", "selector.clusterSelectorTerms[0].propertySelector"]),
        ({}, need("kubernetes-fleet.io/node-count", "Ge", "lots"), ["lots", "selector.clusterSelectorTerms[0]"]),
        (CLUSTER, need("kubernetes-fleet.io/node-count", "Above", "1"), ["Above"]),
        (CLUSTER, need("kubernetes-fleet.io/node-count", "Ge", "lots"), ["lots"]),
        (CLUSTER, {"propertySorter": {"name": "x", "sortOrder": "Ascending"}}, ["propertySorter"]),
        (CLUSTER, {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}, ["Like"]),
        ([CLUSTER, CLUSTER], "env", ["one object"]),
        ("eu-1", "env", ["input", "'eu-1'"]),
        ({"labels": ["a"]}, "env", ["labels are a mapping"]),
        ({"labels": {"env": None}}, "env", ["'env': None", "quotes"]),
        ({"labels": {"canary": True}}, "canary=true", ["'canary': True", "quotes"]),
        ({"labels": {"wave": 1}}, "wave=1", ["'wave': 1", "quotes"]),
        ({"labels": {1: "a"}}, "env", ["1: 'a'", "quotes"]),
    ],
)
def test_bad_input_is_named(cluster, selector, words):
    with pytest.raises(FleetError) as caught:
        selected_by(cluster, selector)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
