# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""NodePools, patches and fragments as documents print them: what is found, and what is made of them."""

from __future__ import annotations

import copy
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.lint_pool import lint_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import judge_document, mend
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import REASONS, Budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.reading import (
    examine,
    read_node_pool,
)
from hypothesis import given, settings
from hypothesis import strategies as st

START = datetime(2026, 11, 16, tzinfo=UTC)
MISPLACED = "expireAfter-misplaced"


def pool(**spec: object) -> dict[str, object]:
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": spec}


TYPICAL = pool(
    disruption={
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "30s",
        "expireAfter": "168h",
        "budgets": [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"}],
    }
)
ALL_FIELDS = {
    "spec": {
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized | WhenEmpty",
            "consolidateAfter": "30s",
            "expireAfter": "Never",
            "budgets": [{"nodes": "20%"}, {"nodes": "5", "schedule": "@daily", "duration": "10m"}],
        }
    }
}
GRACE = pool(template={"spec": {"terminationGracePeriod": "30s"}})
ANNOTATED = pool(template={"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}})


def mended(document: object, consent: bool = False) -> t.Any:
    return mend(judge_document(document, START), consent)


def codes(document: object) -> list[str]:
    return [each.code for each in lint_node_pool(document, START, nodes=12)]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (TYPICAL, ["patch-only", MISPLACED, "expiry-ignores-budgets", "expiry-without-deadline"]),
        (
            {"spec": {"disruption": {"expireAfter": "24h"}}},
            [MISPLACED, "expiry-ignores-budgets", "expiry-without-deadline"],
        ),
        (ALL_FIELDS, ["alternatives", MISPLACED]),
        ({"spec": {"disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}}}, []),
        (GRACE, ["patch-only", "template-change-drifts"]),
        (ANNOTATED, ["patch-only", "do-not-disrupt-in-template"]),
        ({"budgets": [{"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"}]}, ["unlimited-outside-windows"]),
        (
            [{"nodes": "50%", "schedule": "0 0 * * 6", "duration": "48h"}, {"nodes": "0"}],
            ["budget-never-permits", "budget-never-binds"],
        ),
    ],
)
def test_printed_samples_and_fragments_d0_02(document: object, expected: list[str]) -> None:
    assert codes(document) == expected


@pytest.mark.parametrize(
    "fragment", [{"budgets": [{"nodes": "5"}]}, {"spec": {"disruption": {"budgets": [{"nodes": "5"}]}}}]
)
def test_a_fragment_has_a_limit_and_is_no_object_d0_02(fragment: dict[str, object]) -> None:
    budgets = examine(fragment).budgets
    assert budgets is not None
    assert allowed(budgets, START, 20, "Empty").limit == 5
    with pytest.raises(FleetError) as refused:
        read_node_pool(fragment)
    assert [each.code for each in refused.value.problems] == ["missing-field"]
    assert "apiVersion, kind, metadata.name" in str(refused.value)


def test_alternatives_are_listed_and_the_budgets_are_still_read_d0_03() -> None:
    (problem,) = examine(ALL_FIELDS).problems
    assert (problem.path, problem.hint) == (
        "spec.disruption.consolidationPolicy",
        "write WhenEmptyOrUnderutilized or WhenEmpty",
    )
    assert len(examine(ALL_FIELDS).budgets or ()) == 2


def test_all_fields_with_one_policy_chosen_d0_81() -> None:
    chosen = copy.deepcopy(ALL_FIELDS)
    chosen["spec"]["disruption"]["consolidationPolicy"] = "WhenEmpty"
    findings = lint_node_pool(chosen, START)
    assert [each.code for each in findings] == [MISPLACED]
    budgets = examine(chosen).budgets
    assert budgets is not None
    day = datetime(2026, 11, 18, tzinfo=UTC)
    assert [allowed(budgets, day.replace(minute=at), 40, "Empty").limit for at in (5, 10, 40)] == [5, 8, 8]
    assert mended(chosen, consent=True)["spec"]["template"] == {"spec": {"expireAfter": "Never"}}


def test_an_expiry_that_stands_in_both_places_is_taken_out_of_one_and_drifts_nothing() -> None:
    """As written for both versions of the API."""
    spec = {"disruption": {"expireAfter": "720h"}, "template": {"spec": {"expireAfter": "720h"}}}
    (found,) = (each for each in lint_node_pool({"spec": spec}, START, nodes=12) if each.code == MISPLACED)
    assert not found.consent and "replaced" not in found.message
    assert mended({"spec": spec}) == {"spec": {"disruption": {}, "template": spec["template"]}}


def test_a_grace_period_in_a_patch_drifts_what_exists_d0_55() -> None:
    (_patch, finding) = lint_node_pool(GRACE, START, nodes=12)
    assert (finding.code, finding.path) == ("template-change-drifts", "spec.template.spec.terminationGracePeriod")
    assert "marks all 12 existing nodes of the pool Drifted" in finding.message


def test_in_a_pool_without_nodes_no_change_drifts_any() -> None:
    assert [each.code for each in lint_node_pool(GRACE, START, nodes=0)] == ["patch-only"]
    assert not any(each.consent for each in lint_node_pool(ANNOTATED, START, nodes=0))
    assert not any(each.consent for each in lint_node_pool(TYPICAL, START, nodes=0))
    (_patch, finding) = lint_node_pool(GRACE, START, nodes=1)
    assert finding.message.endswith("the one existing node of the pool Drifted, and it is replaced within its budgets")


def test_a_budget_of_none_stops_every_reason_and_drifts_nothing_d0_97() -> None:
    assert [allowed((Budget("0"),), START, 12, reason).limit for reason in REASONS] == [0, 0, 0]
    stopped = pool(disruption={"consolidateAfter": "0s", "budgets": [{"nodes": "0"}]})
    assert codes(stopped) == ["patch-only", "budget-never-permits"]


def test_expiry_moves_to_the_template_only_with_consent_d0_18_d0_19() -> None:
    found = lint_node_pool(TYPICAL, START, nodes=12)
    repair = next(each for each in found if each.code == MISPLACED)
    assert "marks all 12 existing nodes of the pool Drifted" in repair.consent
    assert mended(TYPICAL) is None
    spec = mended(TYPICAL, consent=True)["spec"]
    assert spec["template"] == {"spec": {"expireAfter": "168h"}}
    assert "expireAfter" not in spec["disruption"]
    got, findings = read_node_pool(TYPICAL)
    assert got.template.expire_after == "168h"
    assert [each.code for each in findings] == [MISPLACED]


def test_strict_reading_repairs_nothing_d0_18() -> None:
    with pytest.raises(FleetError) as refused:
        read_node_pool(TYPICAL, strict=True)
    assert refused.value.code == MISPLACED


def test_two_places_that_differ_are_refused_d0_18() -> None:
    both = pool(disruption={"consolidateAfter": "0s", "expireAfter": "1h"}, template={"spec": {"expireAfter": "2h"}})
    assert codes(both)[0] == "expireAfter-conflict"


def test_a_stop_is_offered_in_place_of_the_annotation_d0_96_d0_97() -> None:
    (finding,) = [each for each in lint_node_pool(ANNOTATED, START, nodes=12) if each.level == "warning"]
    assert "all 12 existing nodes" in finding.consent
    assert mended(ANNOTATED, consent=True)["spec"] == {
        "template": {"metadata": {"annotations": {}}},
        "disruption": {"budgets": [{"nodes": "0"}]},
    }


def test_mended_numbers_are_quoted_d0_58() -> None:
    document = {"budgets": [{"nodes": 5}]}
    found = lint_node_pool(document, START)
    assert [(each.code, each.path) for each in found] == [("wrong-type", "spec.disruption.budgets[0].nodes")]
    assert mended(document) == {"spec": {"disruption": {"budgets": [{"nodes": "5"}]}}}


def test_a_mended_list_raises_no_finding_again_d0_84() -> None:
    document = {"budgets": [{"nodes": "50%", "schedule": "0 0 * * 6", "duration": "48h"}, {"nodes": "0"}]}
    assert codes(mended(document)) == []


KEYS = st.sampled_from(
    ["spec", "disruption", "budgets", "nodes", "schedule", "duration", "reasons", "template", "metadata", "name"]
    + ["expireAfter", "consolidateAfter", "consolidationPolicy", "annotations", "apiVersion", "kind", "requirements"]
)
LEAVES = st.sampled_from(
    [
        None,
        True,
        5,
        1.5,
        "10%",
        "@daily",
        "1h",
        "Never",
        "...",
        "A | B",
        "",
        "0 0 * * 7",
        "karpenter.sh/v1",
        "999999999h",
    ]
)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=15
)


@settings(max_examples=5 * settings().max_examples)
@given(document=st.builds(pool, disruption=ANYTHING, template=ANYTHING) | ANYTHING)
def test_random_documents_raise_nothing_but_our_error(document: object) -> None:
    mended(document, consent=True)
    try:
        got, _findings = read_node_pool(document)
    except FleetError:
        return
    assert read_node_pool(got.as_dict())[0] == got


CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "web"}
CLAIM = {"nodeClassRef": CLASS, "requirements": []}


def test_a_lifetime_by_default_is_judged_like_one_that_is_written() -> None:
    written = pool(template={"spec": {**CLAIM, "expireAfter": "720h"}})
    assert codes(written) == ["expiry-ignores-budgets", "expiry-without-deadline"]
    assert codes(pool(template={"spec": CLAIM})) == codes(written)
    assert codes(pool(template={"spec": {**CLAIM, "terminationGracePeriod": "1h"}})) == ["expiry-ignores-budgets"]
    assert codes(pool(template={"spec": {**CLAIM, "expireAfter": "Never"}})) == []


@pytest.mark.parametrize("value", ["false", "1h", "yes", False, 1, 1.0])
def test_an_annotation_that_protects_nothing_stops_nothing_when_it_is_mended(value: object) -> None:
    document = pool(template={"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": value}}})
    found = [each for each in lint_node_pool(document, START) if each.code.startswith("do-not")]
    assert [each.code for each in found] == ["do-not-disrupt-unreadable"]
    assert list(found[0].mended.values()) == [None], "no budget of 0 for what held back nothing"


def test_the_policy_says_which_reasons_want_a_budget() -> None:
    budgets = [{"nodes": "5", "reasons": ["Empty", "Drifted"]}]
    empty = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s", "budgets": budgets}
    assert codes({"disruption": empty}) == []
    assert codes({"disruption": {**empty, "consolidationPolicy": "WhenEmptyOrUnderutilized"}}) == [
        "reason-without-budget"
    ]
    never = {"consolidateAfter": "Never", "budgets": [{"nodes": "5", "reasons": ["Drifted"]}]}
    assert codes({"disruption": never}) == []
