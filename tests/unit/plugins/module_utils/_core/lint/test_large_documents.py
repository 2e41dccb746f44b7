# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One file of a megabyte is judged in a moment: what takes time for each part must not take it for each pair."""

from __future__ import annotations

import time
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import judge_document, mend
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.stand_ins import with_quotes, without_holes
from ansible_collections.gitops.fleet.tests.data.manifest_parts import cluster, crp, named, needs, required, want

NOW = datetime(2026, 11, 2, tzinfo=UTC)
MANY = 20_000
# Of the processor, and many times what it takes; for each pair it would be minutes.
SECONDS = 20.0
NODES = "kubernetes-fleet.io/node-count"
VARIABLE = "${MEMBER-CLUSTER-LABEL-KEY-a}"


def override(text: str) -> dict[str, t.Any]:
    patches = [{"op": "add", "path": "/metadata/labels/a", "value": text}]
    rules = [{"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": patches}]
    selectors = [{"group": "", "version": "v1", "kind": "Namespace", "name": "a"}]
    spec = {"clusterResourceSelectors": selectors, "policy": {"overrideRules": rules}}
    head = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceOverride"}
    return {**head, "metadata": {"name": "a"}, "spec": spec}


def staged(*types: str) -> dict[str, t.Any]:
    head = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterStagedUpdateStrategy"}
    stages = [{"name": "a", "labelSelector": {}, "afterStageTasks": [{"type": each} for each in types]}]
    return {**head, "metadata": {"name": "a"}, "spec": {"stages": stages}}


MEMBER = cluster()
DOCUMENTS: dict[str, tuple[t.Any, str]] = {
    "labels that are no labels": (named(crp(), labels={f"a b {at}": 1.5 for at in range(MANY)}), "wrong-type"),
    "labels to be mended": (named(crp(), labels={f"a{at}": at for at in range(MANY)}), "label-value-not-text"),
    "names of clusters": (
        crp({"placementType": "PickFixed", "clusterNames": [f"c{at}" for at in range(MANY)]}),
        "too-many-items",
    ),
    "tolerations": (
        crp({"placementType": "PickAll", "tolerations": [{"key": f"c{at}"} for at in range(MANY)]}),
        "too-many-items",
    ),
    "spread constraints": (
        crp({"placementType": "PickN", "topologySpreadConstraints": [{"topologyKey": "a b", "x": 1}] * MANY}),
        "unknown-field",
    ),
    "requirements": (
        crp(required(needs(*(want(NODES, "Gt" if at % 2 else "Lt", str(at)) for at in range(MANY))))),
        "contradictory-requirements",
    ),
    "taints": (
        {**MEMBER, "spec": {**MEMBER["spec"], "taints": [{"key": f"a{at}"} for at in range(MANY)]}},
        "missing-field",
    ),
    "tasks": (staged(*(f"Task{at}" for at in range(MANY))), "not-one-of"),
    "variables": (override(VARIABLE * MANY + "${MEMBER-CLUSTER-LABEL-KEY-"), "unclosed-variable"),
    "budgets": ([{"nodes": "1", "schedule": f"{at % 60} 0 * * *", "x": at} for at in range(MANY)], "unknown-field"),
    "unknown fields": ({**crp(), "spec": {f"field{at}": at for at in range(MANY)}}, "unknown-field"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_many_parts_are_judged_and_mended_in_a_moment_F22(name: str):
    document, code = DOCUMENTS[name]
    start = time.process_time()
    judged = judge_document(document, NOW)
    mend(judged)
    assert code in {each.code for each in judged.remarks}
    assert time.process_time() - start < SECONDS


def test_so_are_many_lines_that_documentation_leaves_out():
    start = time.process_time()
    text, numbers = without_holes("a:\n  ...\r\n" * (10 * MANY))
    assert numbers == tuple(range(2, 20 * MANY + 1, 2))
    assert (text.count("\n"), "..." in text) == (20 * MANY, False)
    assert time.process_time() - start < SECONDS


LONG = 200_000
TEXTS: dict[str, t.Any] = {
    "white space in a schedule": [{"nodes": "1", "schedule": f"0 0 * *{' ' * LONG}*{' ' * LONG}x", "duration": "1h"}],
    "a change of the price": {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "a"},
        "spec": {"requirements": [], "priceAdjustment": f"+{'1' * LONG}x"},
    },
    "the name of a property": crp(required(needs(want(f"{'a.' * LONG}!", "Gt" * LONG, "1" * LONG)))),
    "a property beyond ASCII": crp(required(needs(want("\u00e4" * LONG, "Gt", "1")))),
    "a capacity": crp(required(needs(want(f"resources.kubernetes-fleet.io/{'a' * LONG}-cpu", "Gt", "1")))),
}


@pytest.mark.parametrize("name", TEXTS)
def test_one_text_that_is_long_is_judged_in_a_moment_F22(name: str):
    start = time.process_time()
    assert any(each.level == "error" for each in judge_document(TEXTS[name], NOW).remarks)
    assert time.process_time() - start < SECONDS


def test_so_is_a_value_that_is_put_in_quotes():
    start = time.process_time()
    assert with_quotes(f"a: {{{{ x }}}}{' ' * LONG}b \n") == f"a: '{{{{ x }}}}{' ' * LONG}b' \n"
    assert with_quotes("a: {{ x }} \r\nb: {{ it's }} | y\n") == "a: '{{ x }}' \r\nb: '{{ it''s }} | y'\n"
    assert time.process_time() - start < SECONDS


def test_so_are_braces_without_end_F22():
    text = f"a: {{{{{'}' * LONG}\r\r\n"
    start = time.process_time()
    assert with_quotes(text) == f"a: '{{{{{'}' * LONG}'\r\r\n"
    assert with_quotes("a: {{ x\n") == "a: {{ x\n"
    assert time.process_time() - start < SECONDS
