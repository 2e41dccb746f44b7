# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets and nodes as users have them at hand: counts, manifests, answers of k8s_info, fragments."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.templates.disruption import (
    allowed_disruptions,
    disruption_openings,
    is_disruptable,
    lint_budgets,
)

NOON = "2026-11-04T12:00:00Z"  # a Wednesday
HOURS = [{"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]
Row = dict[str, t.Any]


def pool(name: str, budgets: list[Row] | None = None) -> Row:
    spec = {} if budgets is None else {"disruption": {"budgets": budgets}}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def node(name: str, pool: str = "web", ready: str = "True", **metadata: t.Any) -> Row:
    labels = {"karpenter.sh/nodepool": pool, "karpenter.sh/initialized": "true"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, **metadata},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def claim(name: str, **status: t.Any) -> Row:
    return {"kind": "NodeClaim", "metadata": {"name": f"claim-of-{name}"}, "status": {"nodeName": name, **status}}


def test_a_row_for_each_pool_and_reason():
    rows = allowed_disruptions({"resources": [pool("a"), pool("b", HOURS)]}, 20, now=NOON)
    assert [(row["pool"], row["reason"], row["allowed"]) for row in rows] == [
        ("a", "Empty", 2),
        ("a", "Drifted", 2),
        ("a", "Underutilized", 2),
        ("b", "Empty", 0),
        ("b", "Drifted", 0),
        ("b", "Underutilized", 0),
    ]


def test_the_next_change_is_told():
    """D0-79."""
    (row,) = allowed_disruptions(pool("b", HOURS), 20, "Drifted", now="2026-11-04T10:00:00Z")
    assert row["next_change"] == {"at": "2026-11-04T17:00:00Z", "limit": None, "error": False}
    (row,) = allowed_disruptions(pool("a"), 20, "Drifted", now=NOON)
    assert row["next_change"] is None


@pytest.mark.parametrize(
    "given",
    [
        pool("", HOURS),
        {"spec": {"disruption": {"budgets": HOURS}}},
        {"disruption": {"budgets": HOURS}},
        {"budgets": HOURS},
        HOURS,
        [pool("", HOURS)],
        {"resources": [pool("", HOURS)]},
        {"kind": "List", "items": [pool("", HOURS)]},
    ],
)
def test_pools_are_taken_in_any_form(given):
    """D0-02."""
    (row,) = allowed_disruptions(given, 20, "Empty", now=NOON)
    assert (row["allowed"], row["total"]) == (0, 20)
    assert lint_budgets(given, now=NOON)[-1]["code"] == "unlimited-outside-windows"
    openings = disruption_openings(given, 20, "Empty", 1, NOON)
    assert [(each["start"], each["end"]) for each in openings] == [
        ("2026-11-04T17:00:00Z", "2026-11-05T09:00:00Z"),
    ]


def test_nodes_that_leave_or_are_not_ready_are_subtracted_from_those_of_their_pool():
    """D0-59, D0-60."""
    nodes = [
        *(node(f"n{number}") for number in range(8)),
        node("sick", ready="Unknown"),
        node("leaving", deletionTimestamp=NOON),
        node("other", pool="db"),
    ]
    (row,) = allowed_disruptions(pool("web", [{"nodes": "50%"}]), nodes, "Drifted", now=NOON)
    assert (row["total"], row["limit"], row["allowed"]) == (10, 5, 3)
    assert row["disrupting"] == {"sick": "is not Ready", "leaving": "is being deleted"}


def test_with_node_claims_only_nodes_that_have_one_count():
    claims = [claim("n0"), claim("n1", conditions=[{"type": "InstanceTerminating", "status": "True"}])]
    (row,) = allowed_disruptions(
        pool("web", [{"nodes": "5"}]), [node("n0"), node("n1"), node("n2")], "Drifted", claims, NOON
    )
    assert row["total"] == 1
    assert row["excluded"] == {"n1": "has an instance that is terminating", "n2": "has no NodeClaim"}


def test_the_size_of_the_pool_is_in_the_message():
    """D0-19."""
    fragment = {"spec": {"disruption": {"expireAfter": "24h"}}}
    assert any("all 12 existing nodes" in row["consent"] for row in lint_budgets(fragment, 12, NOON))


def test_the_definition_of_a_cluster_tells_its_policies_d0_08():
    policy = {"type": "string", "enum": ["WhenEmpty", "WhenEmptyOrUnderutilized"]}
    schema: Row = policy
    for key in ("consolidationPolicy", "disruption", "spec"):
        schema = {"properties": {key: schema}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    definition = {"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"versions": [version]}}
    fragment = {"disruption": {"consolidateAfter": "0s", "consolidationPolicy": "Balanced"}}
    assert "not-one-of" not in [row["code"] for row in lint_budgets(fragment, now=NOON)]
    assert "not-one-of" in [row["code"] for row in lint_budgets(fragment, now=NOON, definition=definition)]


def pod(name: str, node_name: str = "n0", **annotations: str) -> Row:
    notes = {f"karpenter.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}, "annotations": notes},
        "spec": {"nodeName": node_name},
        "status": {"phase": "Running", "startTime": "2026-11-04T11:30:00Z"},
    }


def pdb(app: str, allowed: int) -> Row:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_a_pod_is_disruptable_unless_it_is_protected():
    """D0-91, D0-94."""
    assert is_disruptable(pod("a"), now=NOON)
    assert not is_disruptable(pod("a", do_not_disrupt="true"), now=NOON)
    assert not is_disruptable(pod("a", do_not_disrupt="31m"), now=NOON)
    assert is_disruptable(pod("a", do_not_disrupt="30m"), now=NOON)
    assert is_disruptable(pod("a", do_not_disrupt="soon"), now=NOON)


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_node_on_its_way_out_is_not_disruptable_though_its_claim_is_not_given(effect: str):
    """Karpenter taints a node before it ends it; its NodeClaim says so too, where there is one at hand."""
    leaving = {**node("n0"), "spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": effect}]}}
    other = {**node("n0"), "spec": {"taints": [{"key": "dedicated", "effect": effect}]}}
    assert not is_disruptable(leaving, now=NOON)
    assert is_disruptable(other, now=NOON)


def test_a_node_is_disruptable_unless_a_gate_is_closed():
    """D0-91, D0-95, D0-98."""
    assert is_disruptable(node("n0"), now=NOON)
    assert is_disruptable(node("n0"), [pod("a")], [pdb("a", 1)], now=NOON)
    assert not is_disruptable(node("n0"), [pod("a")], [pdb("a", 0)], now=NOON)
    assert not is_disruptable(node("n0"), [pod("a", do_not_disrupt="true")], now=NOON)
    assert is_disruptable(node("n0"), [pod("a", "n1", do_not_disrupt="true")], now=NOON)
    assert not is_disruptable(node("n0", annotations={"karpenter.sh/do-not-disrupt": "true"}), now=NOON)
    assert not is_disruptable(node("n0", deletionTimestamp=NOON), now=NOON)
    assert not is_disruptable({"kind": "Node", "metadata": {"name": "plain"}}, now=NOON)
    assert is_disruptable(node("n0"), node_claims=[claim("n0")], now=NOON)
    assert not is_disruptable(node("n0"), node_claims=[claim("n1")], now=NOON)


def test_a_pool_is_disruptable_if_its_budgets_let_one_node_go():
    drift = pool("web", [{"nodes": "0", "reasons": ["Drifted"]}])
    assert is_disruptable(drift, nodes=3, reason="Empty", now=NOON)
    assert not is_disruptable(drift, nodes=3, reason="Drifted", now=NOON)
    assert not is_disruptable(drift, nodes=3, now=NOON)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: allowed_disruptions(pool("web"), "many"), ["nodes", "'many'"]),
        (lambda: allowed_disruptions(pool("web"), -1), ["nodes", "-1"]),
        (lambda: allowed_disruptions(pool("web"), True), ["nodes", "True"]),
        (lambda: allowed_disruptions(pool("web"), 1, "Drift"), ["reason", "did you mean Drifted?"]),
        (lambda: allowed_disruptions("web", 1), ["input", "'web'"]),
        (lambda: allowed_disruptions([7], 1), ["input[0]", "7"]),
        (lambda: allowed_disruptions(pool("web", [{"nodes": 5}]), 1), ["NodePool/web", "budgets[0].nodes", '"5"']),
        (lambda: allowed_disruptions(pool("web"), 1, now="noon"), ["now", "'noon'", "2026-05-01T12:00:00Z"]),
        (lambda: allowed_disruptions(pool("web"), 1, now="2026-11-04T12:00:00"), ["now", "is not an instant"]),
        (lambda: allowed_disruptions(pool("web"), [{"metadata": 3}]), ["Node", "an object is wanted"]),
        (lambda: disruption_openings(pool("web"), 1, days=0), ["days", "1 to 3660"]),
        (lambda: lint_budgets(pool("web"), nodes="ten"), ["nodes", "'ten'"]),
        (lambda: is_disruptable({"kind": "Deployment"}), ["Deployment"]),
        (lambda: is_disruptable([]), ["a Pod, a Node or a NodePool"]),
        (lambda: is_disruptable(pool("web")), ["nodes"]),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(FleetError) as caught:
        call()
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_a_node_that_does_not_say_its_type_yet_is_none_to_karpenter() -> None:
    fresh = {"kind": "Node", "metadata": {"name": "a", "labels": {"karpenter.sh/nodepool": "p"}}}
    assert is_disruptable(fresh) is False and is_disruptable(fresh, node_claims=[]) is False


def test_a_list_of_several_objects_is_no_object() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "a"}}
    assert is_disruptable([pod])
    with pytest.raises(FleetError) as error:
        is_disruptable([pod, pod])
    assert (error.value.code, error.value.hint) == ("bad-argument", "use select()")


@pytest.mark.parametrize("now", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_the_ends_of_the_calendar_are_no_present(now: str) -> None:
    for ask in (allowed_disruptions, disruption_openings):
        with pytest.raises(FleetError) as error:
            ask(pool("p"), 3, now=now)
        assert error.value.code == "invalid-time"
