# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""NodePools: what admission does with them, and what is read of stored ones."""

from __future__ import annotations

import random
import re

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    DEFAULT_BUDGETS,
    Budget,
    decode_node_pool,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool_forms import is_schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool_schema import (
    BUDGETS,
    admit,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.reading import (
    examine,
    read_node_pool,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import any_json
from hypothesis import given
from hypothesis import strategies as st

CLAIM = {"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}, "requirements": []}


def pool(disruption: object = None, **claim: object) -> dict[str, object]:
    spec = {"template": {"spec": CLAIM | claim}} | ({} if disruption is None else {"disruption": disruption})
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec}


def problems(disruption: object = None, **claim: object) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in examine(pool(disruption, **claim)).problems]


def budget(**fields: object) -> dict[str, object]:
    return {"consolidateAfter": "0s", "budgets": [fields]}


def test_defaults_and_the_empty_list_d0_08_d0_57() -> None:
    absent, _findings = read_node_pool(pool())
    assert (absent.disruption.consolidation_policy, absent.disruption.consolidate_after) == (
        "WhenEmptyOrUnderutilized",
        "0s",
    )
    assert absent.disruption.budgets == DEFAULT_BUDGETS == (Budget("10%"),)
    assert absent.template.expire_after == "720h"
    assert absent.template.termination_grace_period is None
    assert read_node_pool(pool({"consolidateAfter": "0s", "budgets": []}))[0].disruption.budgets == ()


@pytest.mark.parametrize(
    ("policy", "good"),
    [("WhenEmpty", True), ("WhenEmptyOrUnderutilized", True), ("Balanced", True), ("WhenEmptyOrUnderUtilized", False)],
)
def test_policies_d0_08(policy: str, good: bool) -> None:
    found = problems({"consolidateAfter": "0s", "consolidationPolicy": policy})
    assert found == ([] if good else [("not-one-of", "spec.disruption.consolidationPolicy")])


@pytest.mark.parametrize("text", ["30s", "1h30m5s", "Never", "0s"])
@pytest.mark.parametrize("policy", ["WhenEmpty", "WhenEmptyOrUnderutilized"])
def test_consolidate_after_goes_with_either_policy_d0_11_d0_12(text: str, policy: str) -> None:
    assert problems({"consolidateAfter": text, "consolidationPolicy": policy}) == []


@pytest.mark.parametrize("text", ["1d", "-1s", "", "never", "1h 30m", "30"])
def test_other_texts_are_no_durations_d0_11_d0_17(text: str) -> None:
    assert problems({"consolidateAfter": text}) == [("invalid-duration", "spec.disruption.consolidateAfter")]
    assert problems(expireAfter=text) == [("invalid-duration", "spec.template.spec.expireAfter")]


def test_a_grace_period_is_never_never_d0_51() -> None:
    assert problems(terminationGracePeriod="30s") == []
    path = "spec.template.spec.terminationGracePeriod"
    assert problems(terminationGracePeriod="Never") == [("invalid-duration", path)]


def test_fifty_budgets_and_no_more_d0_56() -> None:
    assert problems({"consolidateAfter": "0s", "budgets": [{"nodes": "1"}] * 50}) == []
    assert problems({"consolidateAfter": "0s", "budgets": [{"nodes": "1"}] * 51}) == [("too-many-items", BUDGETS)]


@pytest.mark.parametrize(
    ("nodes", "good"),
    [
        ("0", True),
        ("0%", True),
        ("05%", True),
        ("100%", True),
        ("1000", True),
        ("007", True),
        ("101%", False),
        ("-1", False),
        ("10.5%", False),
        ("%", False),
        ("10 ", False),
        ("٣", False),
    ],
)
def test_nodes_d0_58(nodes: str, good: bool) -> None:
    assert problems(budget(nodes=nodes)) == ([] if good else [("invalid-nodes", f"{BUDGETS}[0].nodes")])


def test_an_unquoted_number_is_told_how_to_be_written_d0_58() -> None:
    (problem,) = examine(pool(budget(nodes=5))).problems
    assert (problem.code, problem.hint) == ("wrong-type", 'write it in quotes: "5"')


@pytest.mark.parametrize("duration", ["10h5m", "30m", "160h", "8h", "1h30m0s"])
def test_durations_of_budgets_d0_73(duration: str) -> None:
    assert problems(budget(nodes="0", schedule="@daily", duration=duration)) == []


@pytest.mark.parametrize("duration", ["30s", "1d", "1.5h", "10h5m30m160h", "30m1h", "-1h", "٣h"])
def test_other_durations_of_budgets_are_refused_d0_73(duration: str) -> None:
    found = problems(budget(nodes="0", schedule="@daily", duration=duration))
    assert found == [("invalid-duration", f"{BUDGETS}[0].duration")]


@pytest.mark.parametrize(("given", "partner"), [("schedule", "duration"), ("duration", "schedule")])
def test_one_half_alone_names_its_partner_d0_74(given: str, partner: str) -> None:
    half = {"nodes": "0", given: {"schedule": "@daily", "duration": "1h"}[given]}
    (problem,) = examine(pool(budget(**half))).problems
    assert (problem.code, problem.path) == ("schedule-without-duration", f"{BUDGETS}[0]")
    assert f"add {partner}" in problem.hint
    assert [each.path for each in admit(pool(budget(**half))).problems] == [f"{BUDGETS}[0]"]


def test_reasons_outside_the_set_and_twice_are_refused_d0_78() -> None:
    assert problems(budget(nodes="0", reasons=["drifted", "Empty", "Empty"])) == [
        ("not-one-of", f"{BUDGETS}[0].reasons[0]"),
        ("duplicate-value", f"{BUDGETS}[0].reasons[2]"),
    ]


def test_a_duration_that_overflows_is_admitted_and_unreadable() -> None:
    document = pool(budget(nodes="0", schedule="@daily", duration="999999999h"))
    assert admit(document).problems == ()
    assert not admit(document).decodes
    assert [each.code for each in examine(document).problems] == ["invalid-duration"]
    with pytest.raises(FleetError, match="292 years"):
        decode_node_pool(document)


def test_a_part_of_a_pool_is_a_patch_and_says_what_a_new_one_needs_d0_01() -> None:
    part = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "p"},
        "spec": {"template": {"spec": {}}},
    }
    assert examine(part).problems == ()
    assert examine(part).missing == ("spec.template.spec.nodeClassRef", "spec.template.spec.requirements")
    assert [each.path for each in admit(part).problems] == list(examine(part).missing)


@pytest.mark.parametrize(
    ("requirements", "path"),
    [
        (5, ""),
        (["In"], "[0]"),
        ([{"key": "a", "operator": "In", "values": 5}], "[0].values"),
        ([{"key": "a", "operator": "In", "values": "b"}], "[0].values"),
        ([{"key": "a"}, {"key": "a", "operator": "Gt", "values": [5]}], "[1].values"),
        ([{"key": 5}], "[0].key"),
        ([{"key": "a", "operator": ["In"]}], "[0].operator"),
    ],
)
def test_requirements_that_no_client_could_read(requirements: object, path: str) -> None:
    with pytest.raises(FleetError) as refused:
        decode_node_pool(pool(requirements=requirements))
    assert (refused.value.code, refused.value.where) == ("undecodable", f"spec.template.spec.requirements{path}")


@given(row=st.fixed_dictionaries({}, optional={key: any_json(2) for key in ("key", "operator", "values")}))
def test_whatever_stands_in_a_requirement_it_is_read_as_texts_or_refused(row: dict[str, object]) -> None:
    try:
        (found,) = decode_node_pool(pool(requirements=[row])).template.requirements
    except FleetError as error:
        assert (error.code, error.where.startswith("spec.template.spec.requirements[0].")) == ("undecodable", True)
    else:
        assert all(isinstance(each, str) for each in (found.key, found.operator, *found.values))


def test_all_problems_come_at_once() -> None:
    with pytest.raises(FleetError) as refused:
        read_node_pool(
            pool({"budgets": [{"nodes": 5, "schedule": "x", "timeZone": "UTC"}]}, expireAfter="1d"), "pool.yaml:1"
        )
    assert sorted(each.code for each in refused.value.problems) == [
        "invalid-duration",
        "invalid-schedule",
        "missing-field",
        "schedule-without-duration",
        "unknown-field",
        "wrong-type",
    ]
    assert all(each.where.startswith("pool.yaml:1 NodePool/p spec.") for each in refused.value.problems)


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"labels": 5}, ["wrong-type metadata.labels"]),
        ({"annotations": {"a": []}, "finalizers": "x"}, ["wrong-type metadata.annotations[a]",
                                                         "wrong-type metadata.finalizers"]),
        ({"labels": "..."}, ["placeholder metadata.labels"]),
    ],
)  # fmt: skip
def test_metadata_of_a_wrong_type_are_problems_with_their_places(metadata: dict[str, object], told: list[str]) -> None:
    with pytest.raises(FleetError) as refused:
        read_node_pool({**pool(), "metadata": {"name": "a", **metadata}}, "pool.yaml:1")
    assert [each.where for each in refused.value.problems] == [
        f"pool.yaml:1 NodePool/a {each.split()[1]}" for each in told
    ]
    assert [each.code for each in refused.value.problems] == [each.split()[0] for each in told]


def test_printing_keeps_what_was_read() -> None:
    document = pool({"consolidateAfter": "30s", "budgets": [{"nodes": "5", "reasons": []}]}, expireAfter="Never")
    got, _findings = read_node_pool(document)
    assert got.as_dict()["spec"]["disruption"]["budgets"] == [{"nodes": "5", "reasons": []}]
    assert read_node_pool(got.as_dict())[0] == got


def test_schedules_are_matched_like_the_pattern_of_the_crd() -> None:
    pattern = re.compile(
        r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)S(.+)S(.+)S(.+)S(.+))\Z".replace(
            "S", r"[\t\n\f\r ]"
        )
    )
    chance = random.Random(2)
    for _time in range(3000):
        text = "".join(chance.choice("a* \n\t\v") for _letter in range(chance.randrange(14)))
        assert bool(is_schedule(text)) == bool(pattern.search(text)), repr(text)
    assert is_schedule("@dailyfoo")
    assert not is_schedule("x" * 100_000)
