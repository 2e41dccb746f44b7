# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Values that come from elsewhere: what is put in quotes, and what is told of them all the same."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import judge_document
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.stand_ins import with_quotes, without_holes
from ansible_collections.gitops.fleet.tests.data.manifest_parts import crp

NOW = datetime(2026, 11, 2, tzinfo=UTC)
BLOCKS = """a: {{ a }}
text: |
  b: {{ b }}
    ...

  c: {{ c }}
- d: !!str >-  # folded
    e: {{ e }}
    ...
  f: {{ f }}
- |2
  g: {{ g }}
- - &h |+
    h: {{ h }}
  - i: {{ i }}
below:
  |
  j: {{ j }}
k:
  # no text: |
    l: {{ l }} | m
    ...
"""
POOL: t.Mapping[str, t.Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "a"},
    "spec": {
        "disruption": {"consolidateAfter": "1m", "expireAfter": "${AGE}"},
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"},
                "requirements": [],
                "terminationGracePeriod": "1h",
            }
        },
    },
}
RULE: t.Mapping[str, t.Any] = {
    "clusterSelector": {"clusterSelectorTerms": []},
    "jsonPatchOverrides": [{"op": "replace", "path": "/spec/host", "value": "${MEMBER-CLUSTER-NAM}.example.com"}],
}


def test_a_text_in_several_lines_stays_as_it_is():
    """Its lines look like fields, and are those of somebody's own file: mended documents had them in quotes."""
    changed = [line for line in with_quotes(BLOCKS).splitlines() if line not in BLOCKS.splitlines()]
    assert changed == ["a: '{{ a }}'", "  f: '{{ f }}'", "  - i: '{{ i }}'", "    l: '{{ l }} | m'"]


def test_a_line_of_dots_in_such_a_text_is_no_hole():
    text, numbers = without_holes(BLOCKS)
    assert numbers == (22,)
    assert text.splitlines() == [*BLOCKS.splitlines()[:21], ""]


@pytest.mark.parametrize(
    ("written", "quoted"),
    [
        ("a: {{ x }}  # fleetlint: ignore stand-in\r", "a: '{{ x }}'  # fleetlint: ignore stand-in\r"),
        ("a: {{ x }}-y\t# z", "a: '{{ x }}-y'\t# z"),
        ('a: {{ f "x #y" }}#z', "a: '{{ f \"x #y\" }}#z'"),
    ],
)
def test_a_comment_behind_a_value_is_no_part_of_it(written: str, quoted: str):
    assert with_quotes(written) == quoted


def codes(document: t.Any) -> list[tuple[str, str, str]]:
    """Level, code and path of what is told."""
    return [(each.level, each.code, each.path) for each in judge_document(document, NOW).remarks]


def test_a_field_that_is_not_there_is_told_whatever_stands_in_it():
    """A policy that was misspelt left the placement at PickAll, with a note."""
    document = crp()
    document["spec"]["polciy"] = "${POLICY}"
    assert codes(document) == [("error", "unknown-field", "spec.polciy")]


def test_so_is_a_key_that_is_no_label_key():
    document = crp()
    document["metadata"]["labels"] = {"no key": "$VALUE", "a": "$VALUE"}
    assert codes(document) == [
        ("error", "invalid-label", "metadata.labels[no key]"),
        ("note", "stand-in", "metadata.labels[no key]"),
        ("note", "stand-in", "metadata.labels[a]"),
    ]


def test_so_is_a_field_at_the_wrong_place_and_its_value_is_not_judged_at_the_right_one():
    found = [each for each in codes(POOL) if each[1] != "expiry-ignores-budgets"]
    assert found == [
        ("note", "stand-in", "spec.template.spec.expireAfter"),
        ("warning", "expireAfter-misplaced", "spec.disruption.expireAfter"),
    ]


def test_so_is_a_variable_of_an_override_that_is_none():
    document = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourceOverride",
        "metadata": {"name": "a"},
        "spec": {
            "clusterResourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "a"}],
            "policy": {"overrideRules": [RULE]},
        },
    }
    assert "unknown-variable" in [code for _level, code, _path in codes(document)]
