# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Classes of machines, overlays and PodDisruptionBudgets as people write them."""

from __future__ import annotations

import re
import typing as t
from itertools import product

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.manifests import (
    JUDGEMENTS,
    NodeOverlaySpec,
    judge_written,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import fields_of

PUBLISHED_ADJUSTMENT = r"[+-][0-9]*\.?[0-9]+|\+[0-9]*\.?[0-9]+%|-[0-9]{1,2}(\.[0-9]+)?%|-100%"


def wrong(kind: str, spec: dict[str, t.Any]) -> list[str]:
    known = JUDGEMENTS[kind]
    head = {"apiVersion": f"{known.group}/{known.served[0]}", "kind": kind, "metadata": {"name": "a"}}
    problems, _findings = judge_written({**head, "spec": spec}, known)
    return [f"{each.code} {each.path}" for each in problems]


@pytest.mark.parametrize(
    ("ports", "good"),
    [
        ("1024 65535", True),
        ("0" * 5000 + "1024 60999", True),
        ("60999 32768", False),
        ("1023 60999", False),
        ("9" * 5000 + " 60000", False),
        ("1024 " + "9" * 5000, False),
    ],
)
def test_a_range_of_ports_of_any_length_is_judged(ports: str, good: bool) -> None:
    path = "spec.linuxOSConfig.sysctls.netIPv4IPLocalPortRange"
    spec = {"linuxOSConfig": {"sysctls": {"netIPv4IPLocalPortRange": ports}}}
    assert wrong("AKSNodeClass", spec) == ([] if good else [f"port-range {path}"])


def test_values_in_the_selector_of_a_disruption_budget_are_repaired_as_its_labels_are() -> None:
    known = JUDGEMENTS["PodDisruptionBudget"]
    rows = [{"key": "tier", "operator": "In", "values": [1, True]}]
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": 2}, "matchExpressions": rows}}
    document = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}, "spec": spec}
    problems, findings = judge_written(document, known)
    assert problems == []
    assert [(each.old_path, each.correct) for each in findings] == [
        ("spec.selector.matchLabels[a]", "2"),
        ("spec.selector.matchExpressions[0].values[0]", "1"),
        ("spec.selector.matchExpressions[0].values[1]", "true"),
    ]


def test_a_change_of_the_price_has_the_published_form() -> None:
    (ours,) = (each.prop.pattern for each in fields_of(NodeOverlaySpec) if each.json == "priceAdjustment")
    for length in range(6):
        for parts in product(("+", "-", "1", "10", ".", "%"), repeat=length):
            text = "".join(parts)
            assert bool(re.fullmatch(ours, text)) is bool(re.fullmatch(PUBLISHED_ADJUSTMENT, text)), text


@pytest.mark.parametrize(("id", "good"), [("ami-0a", True), ("ami-", False), ("ami-!", False), ("my ami-1", True)])
def test_an_id_has_its_start_anywhere_as_the_definition_has_it(id: str, good: bool) -> None:
    spec = {
        "role": "r",
        "amiFamily": "AL2023",
        "amiSelectorTerms": [{"id": id}],
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
    }
    assert wrong("EC2NodeClass", spec) == ([] if good else ["wrong-form spec.amiSelectorTerms[0].id"])
