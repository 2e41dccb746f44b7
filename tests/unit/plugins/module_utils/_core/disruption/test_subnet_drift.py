# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes leave an EC2NodeClass that selects other subnets, and of which nobody can tell."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.drift_edits import (
    EditEffect,
    effect_of_edit,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_claim import NodeClassReference
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_claim,
    a_node,
    a_state,
)

A1, A2, B1 = ({"id": f"subnet-{name}", "zone": name[0]} for name in ("a1", "a2", "b1"))


def edited(terms: t.Any, subnets: t.Sequence[t.Any] = (A1, A2, B1), **spec: t.Any) -> EditEffect:
    nodes = [a_node("in-a"), a_node("in-b", zone="b")]
    claims = [a_claim(each) for each in nodes]
    reference = NodeClassReference(kind="EC2NodeClass", name="default")
    claims = [
        dataclasses.replace(each, spec=dataclasses.replace(each.spec, node_class_ref=reference)) for each in claims
    ]
    old: dict[str, t.Any] = {
        "metadata": {"name": "default"},
        "spec": {"subnetSelectorTerms": [{"tags": {"x": "y"}}], "role": "r"},
        "status": {"subnets": list(subnets)},
    }
    new = {**old, "spec": {**old["spec"], "subnetSelectorTerms": terms, **spec}}
    return effect_of_edit("EC2NodeClass", old, new, a_state(nodes, claims=claims))


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": f"subnet-{name}"} for name in names]


def test_a_zone_whose_subnets_all_go_drifts_and_one_whose_subnets_stay_does_not() -> None:
    """D0-48 for AWS: the hash leaves selectors out, the subnet of the instance decides."""
    found = edited(ids("b1", "c9"))
    assert {name: (why.reason, why.text) for name, why in found.drifted.items()} == {
        "in-a": ("SubnetDrift", "no subnet of zone a is left: subnet-a1, subnet-a2 goes"),
    }  # fmt: skip
    assert found.unsure == {} and found.changed == (("spec.subnetSelectorTerms", "special"),)
    assert edited(ids("a1", "a2", "b1")).drifted == {} == edited(ids("a1", "a2", "b1")).unsure


def test_what_the_api_server_does_not_tell_is_unsure_and_not_guessed() -> None:
    some = edited(ids("a1", "b1"))
    assert some.drifted == {}
    assert some.unsure == {"in-a": "it stands in subnet-a2, which goes, or in subnet-a1, which stays"}
    assert "may still select subnet-b1" in edited([{"tags": {"z": "z"}}]).unsure["in-b"]
    assert "does not tell what subnets it has in zone b" in edited(ids("a1"), [A1]).unsure["in-b"]
    assert set(edited(None).unsure) == set()
    assert set(edited(None).drifted) == {"in-a", "in-b"}


def test_other_selectors_are_the_providers_business_and_other_fields_drift_all() -> None:
    found = edited([{"tags": {"x": "y"}}], amiSelectorTerms=ids("9"))
    assert found.drifted == {} and set(found.unsure) == {"in-a", "in-b"}
    assert "only the provider knows" in found.unsure["in-a"]
    assert {each.reason for each in edited(ids("a1"), role="other").drifted.values()} == {"NodeClassDrift"}
