# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a cluster's own definition of NodePools lets through."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.definition import (
    consolidation_policies,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.reading import examine
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import any_json, gone_wrong
from hypothesis import given
from hypothesis import strategies as st

TWO = ("WhenEmpty", "WhenEmptyOrUnderutilized")
POLICY = "spec.disruption.consolidationPolicy"


def definition(*listed: str, version: str = "v1") -> dict[str, t.Any]:
    schema: dict[str, t.Any] = {"type": "string"} | ({"enum": list(listed)} if listed else {})
    for key in ("consolidationPolicy", "disruption", "spec"):
        schema = {"type": "object", "properties": {key: schema}}
    versions = [{"name": "v1beta1"}, {"name": version, "schema": {"openAPIV3Schema": schema}}]
    return {"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"group": "karpenter.sh", "versions": versions}}


def problems(policy: str | None, *listed: str) -> list[str]:
    disruption = {"consolidateAfter": "0s"} | ({} if policy is None else {"consolidationPolicy": policy})
    found = examine({"disruption": disruption}, policies=consolidation_policies(definition(*listed)))
    return [f"{each.code} {each.path}" for each in found.problems]


@pytest.mark.parametrize(
    ("policy", "without", "with_it"),
    [
        ("WhenEmpty", True, True),
        ("WhenEmptyOrUnderutilized", True, True),
        (None, True, True),
        ("Balanced", False, True),
        ("WhenUnderutilized", False, False),
    ],
)
def test_a_policy_is_let_through_if_the_cluster_lists_it_d0_08(
    policy: str | None, without: bool, with_it: bool
) -> None:
    refused = [f"not-one-of {POLICY}"]
    assert problems(policy, *TWO) == ([] if without else refused)
    assert problems(policy, *TWO, "Balanced") == ([] if with_it else refused)


def test_a_definition_that_lists_none_takes_any() -> None:
    assert problems("Whatever") == []


def test_what_is_listed_is_what_is_advised() -> None:
    found = examine(
        {"disruption": {"consolidationPolicy": "Balancd"}}, policies=consolidation_policies(definition(*TWO))
    )
    (problem,) = [each for each in found.problems if each.path == POLICY]
    assert problem.message == f"'Balancd' is not one of {', '.join(TWO)}"


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"metadata": {"name": "nodeclaims.karpenter.sh"}},
        definition(version="v2"),
        {**definition(), "spec": {"versions": 5}},
        definition(5),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_definition_of_node_pools_is_refused(document: t.Any) -> None:
    with pytest.raises(FleetError) as refused:
        consolidation_policies(document)
    assert refused.value.code == "not-the-definition"


@given(document=st.one_of(any_json(), gone_wrong(definition(*TWO), 2)))
def test_any_document_is_read_or_refused(document: t.Any) -> None:
    try:
        assert all(isinstance(each, str) for each in consolidation_policies(document))
    except FleetError as error:
        assert error.code == "not-the-definition"
