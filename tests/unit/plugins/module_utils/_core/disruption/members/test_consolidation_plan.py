# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What Karpenter would do, node by node, from what one member holds."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.catalogue import Catalogue
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.consolidation_plan import (
    MemberPlan,
    NodePlan,
    consolidation_plans,
    looked_again,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import (
    KINDS,
    MemberNodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.consolidation_text import consolidation_text
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    NOW,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_type,
    before,
)

SMALL, MIDDLE, LARGE = a_type("s", 2, 0.1), a_type("m", 4, 0.2), a_type("l", 8, 0.4)
GIVEN = Catalogue(types=(SMALL, MIDDLE, LARGE))
PRICED = Catalogue(prices={"s": 0.1, "m": 0.2, "l": 0.4})


def member(nodes: t.Sequence[Node], *pods: Pod, **more: t.Any) -> MemberNodes:
    claims = more.pop("claims", [a_claim(each) for each in nodes])
    pools = more.pop("pools", [a_pool(budgets=more.pop("budgets", [{"nodes": "100%"}]))])
    parts = {"karpenter": True, "daemons": (), **more}
    return MemberNodes(name="m1", nodes=tuple(nodes), claims=tuple(claims), pods=pods, pools=tuple(pools), **parts)


def plan(here: MemberNodes, catalogue: Catalogue = GIVEN) -> MemberPlan:
    (found,) = consolidation_plans([here], catalogue, NOW)
    return found


def rows(found: MemberPlan) -> dict[str, NodePlan]:
    return {each.node: each for each in found.nodes}


def test_an_empty_node_goes_next_and_others_are_told_as_if_each_went_alone() -> None:
    """D0-23: empty and fits elsewhere are told apart; of two that fit on each other neither is promised."""
    nodes = [a_node("a"), a_node("b"), a_node("e")]
    found = plan(member(nodes, a_pod("x", "a"), a_pod("y", "b")))
    assert [each.nodes for each in found.commands] == [("e",)]
    told = rows(found)
    assert (told["e"].decision, told["e"].reason, told["e"].code, told["e"].next) == ("delete", "Empty", "empty", True)
    assert told["e"].saving == 0.2
    for name, pod, target in (("a", "default/x", "b"), ("b", "default/y", "a")):
        row = told[name]
        assert (row.decision, row.reason, row.next, row.held) == (
            "delete", "Underutilized", False, "other nodes go before it",
        )  # fmt: skip
        assert {each.pod: each.target for each in row.moves} == {pod: target} and row.saving == 0.2


def test_a_node_is_replaced_by_a_cheaper_type_of_the_catalogue() -> None:
    found = plan(member([a_node("a", cpu=8, kind="l")], a_pod("x", "a")))
    row = rows(found)["a"]
    assert (row.decision, row.code, row.next) == ("replace", "cheaper", True)
    assert row.replacements[0].instance_types == ("s", "m") and row.replacements[0].price == 0.1
    assert {each.pod: each.target for each in row.moves} == {"default/x": "new-1"}
    assert abs((row.saving or 0) - 0.3) < 1e-9 and not row.needs_catalogue


def test_without_a_catalogue_the_nodes_tell_the_types_and_what_needs_one_says_so() -> None:
    """The first could be of the type of the second, if that were known to be cheaper."""
    nodes = [a_node("a", cpu=8, kind="l"), a_node("b", cpu=2, kind="s")]
    here = member(nodes, a_pod("x", "a", 1.5), a_pod("y", "b", 1.5))
    unpriced = rows(plan(here, Catalogue()))
    assert unpriced["a"].decision == "keep" and unpriced["a"].code == "price-unknown"
    assert unpriced["a"].needs_catalogue
    priced = rows(plan(here, PRICED))
    assert priced["a"].decision == "replace" and priced["a"].needs_catalogue
    assert priced["a"].replacements[0].instance_types == ("s",)
    # Its pod fits on the first whatever types there are.
    assert priced["b"].decision == "delete" and not priced["b"].needs_catalogue


def test_daemon_sets_take_their_room_on_new_nodes() -> None:
    daemon = Pod(name="d", requests={"cpu": 15 * 10**8, "pods": 10**9}, owners=(("apps/v1", "DaemonSet"),))
    here = member([a_node("a", cpu=8, kind="l")], a_pod("x", "a"), daemons=(daemon,))
    assert rows(plan(here))["a"].replacements[0].instance_types == ("m",)


def test_who_is_kept_is_told_why_in_the_order_of_karpenter() -> None:
    held = a_pod("x", "a", annotations={"karpenter.sh/do-not-disrupt": "true"})
    nodes = [a_node("a"), a_node("w"), a_node("z", pool="")]
    claims = [a_claim(nodes[0]), a_claim(nodes[1], last_pod_event=before(seconds=5))]
    here = member(nodes, held, claims=claims, pools=[a_pool(after="1h")])
    told = rows(plan(here))
    assert {each.decision for each in told.values()} == {"keep"}
    assert [told[name].code for name in "awz"] == ["pod-annotation", "waiting", "not-managed"]
    assert told["w"].text.startswith("eligible in 3595 s")


def test_a_closed_budget_holds_what_would_pay() -> None:
    found = plan(member([a_node("a"), a_node("b")], a_pod("x", "a"), a_pod("y", "b"), budgets=[{"nodes": "0"}]))
    assert found.commands == ()
    row = rows(found)["a"]
    assert row.decision == "delete" and "limit 0" in row.held


def test_what_was_not_read_is_not_empty() -> None:
    """No node is told to be empty, or to fit, where pods, DaemonSets or budgets are not known."""
    node = [a_node("a")]
    assert plan(member(node, daemons=None)).unknown == "DaemonSets were not read"
    assert plan(member(node, pods_read=False)).unknown == "pods were not read"
    for kind in set(KINDS) - {"Node", "NodeClass"}:
        found = plan(member(node, missing={kind: Problem("forbidden", "may not be read")}))
        assert found.unknown == f"{kind} could not be read: may not be read" and found.nodes == ()
    assert consolidation_plans([member(node, karpenter=False)], GIVEN, NOW) == ()


def test_the_table_fits_and_says_where_pods_go_and_what_a_catalogue_would_tell() -> None:
    nodes = [a_node(f"ip-10-0-{number}-17.eu-central-1.compute.internal") for number in range(3)]
    pods = [a_pod(f"web-7d9c{number}-{at}", each.name) for number, each in enumerate(nodes) for at in range(2)]
    lines = consolidation_text([plan(member(nodes, *pods), Catalogue())])
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "m1: the next pass of Karpenter: " in text and "saves ?" in text and "with a catalogue" in text
    given = " ".join(consolidation_text([plan(member([a_node("a", cpu=8, kind="l")], a_pod("x", "a")))]))
    assert "replace, next" in given and "replaced by s, m of pool p from 0.1" in " ".join(given.split())
    assert "catalogue" not in given
    assert consolidation_text([]) == ["no member has Karpenter: nobody consolidates nodes"]
    unknown = consolidation_text([plan(member(nodes, daemons=None))])
    assert unknown == ["m1: no consolidation plan: DaemonSets were not read"]


def test_each_command_is_held_against_what_came_meanwhile() -> None:
    """D0-29"""
    nodes = [a_node("a"), a_node("b"), a_node("full")]
    pods = [a_pod("f", "full", 2)]
    first = plan(member(nodes, *pods))
    assert first.again == () and first.commands[0].nodes == ("a", "b")

    def told(*more: Pod, **of_member: t.Any) -> MemberPlan:
        return looked_again(first, member(nodes, *pods, *more, **of_member), GIVEN, NOW)

    assert told().as_dict()["again"] == [{"nodes": ["a", "b"], "failure": "", "text": ""}]
    assert "looked at again, Emptiness: as before" in " ".join(consolidation_text([told()]))
    partly = told(a_pod("p", "a"))
    assert partly.again[0].as_dict()["nodes"] == ["b"] and "1 of 2 nodes" in " ".join(consolidation_text([partly]))
    gone = told(a_pod("p", "a"), a_pod("q", "b"))
    assert gone.again[0].failure == "churn" and "given up, churn: node a" in " ".join(consolidation_text([gone]))
    unread = told(missing={"Pod": Problem("forbidden", "no", "m1")})
    assert unread.unknown and unread.again == ()
