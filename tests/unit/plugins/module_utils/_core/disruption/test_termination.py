# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Drains in tiers and deadlines, deletions by hand, the table of safeguards, the annotation as people write it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.consolidation_wait import (
    consolidation_eligibility,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption import protection
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.blockers import EVENTUAL, blockers
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.do_not_disrupt import lint_do_not_disrupt
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.manual import (
    gone_with_pool,
    nodes_by_name,
    nodes_of_pool,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.origins import origin
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.safeguards import safeguard_rows
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.termination import deadline, drain_step
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import Toleration
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    DAEMON,
    NOW,
    STATIC,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    before,
)

SECOND = timedelta(seconds=1)
NOTE = "karpenter.sh/do-not-disrupt"
SHIELD = {NOTE: "true"}


def actions(*pods: Pod, until: t.Any = None) -> dict[str, str]:
    return {each.pod.partition("/")[2]: each.action for each in drain_step(pods, until, NOW).removals}


def test_the_deadline_is_deletion_plus_the_grace_period_and_written_once() -> None:
    assert deadline(a_claim("n", deleting=NOW, grace="30s")) == NOW + 30 * SECOND
    assert deadline(a_claim("n", deleting=NOW)) is None
    assert deadline(a_claim("n", grace="30s")) is None
    key = "karpenter.sh/nodeclaim-termination-timestamp"
    written = a_claim("n", deleting=NOW, grace="30s", annotations={key: "2026-11-18T13:00:00Z"})
    assert deadline(written) == NOW + timedelta(hours=1)


def test_a_pod_that_asks_for_more_than_is_left_is_deleted_at_once_d0_52() -> None:
    (found,) = drain_step([a_pod("p", grace_seconds=60)], NOW + 30 * SECOND, NOW).removals
    assert (found.action, found.grace_seconds) == ("delete", 30)
    for asked in (29, 30):
        assert actions(a_pod("p", grace_seconds=asked), until=NOW + 30 * SECOND) == {"p": "evict"}


def test_at_the_deadline_no_annotation_holds_and_before_it_does_d0_53() -> None:
    pod = a_pod("p", annotations=SHIELD, grace_seconds=0)
    assert actions(pod, until=NOW + SECOND) == {"p": "wait"}
    assert actions(pod, until=NOW - SECOND) == {"p": "delete"}
    assert drain_step([pod], NOW - SECOND, NOW).removals[0].grace_seconds == 1


def test_without_a_deadline_the_drain_waits_and_names_the_pod_d0_54() -> None:
    found = drain_step([a_pod("p", annotations=SHIELD)], None, NOW)
    assert (found.done, found.text) == (False, "1 pod left, no deadline; waits for default/p")


def test_tiers_go_one_after_the_other() -> None:
    critical = {"priority_class": "system-node-critical"}
    pods = [a_pod("a"), a_pod("b", owners=DAEMON), a_pod("c", **critical), a_pod("d", owners=DAEMON, **critical)]
    order = []
    while pods:
        (turn,) = [name for name, action in actions(*pods).items() if action == "evict"]
        order.append(turn)
        pods = [each for each in pods if each.name != turn]
    assert order == ["a", "b", "c", "d"]
    late = a_pod("c", grace_seconds=99, **critical)
    assert actions(a_pod("a", grace_seconds=1), late, until=NOW + 30 * SECOND) == {"a": "evict", "c": "delete"}


def test_what_a_drain_does_not_wait_for() -> None:
    tolerant = Toleration(key="karpenter.sh/disrupted", operator="Exists")
    assert drain_step(
        [
            a_pod("a", phase="Succeeded"),
            a_pod("b", owners=STATIC),
            a_pod("c", tolerations=(tolerant,)),
            a_pod("d", deleting_at=before(seconds=61)),
        ],
        None,
        NOW,
    ).done
    assert actions(a_pod("d", deleting_at=before(seconds=60))) == {"d": "wait"}
    assert actions(a_pod("e", deleting_at=NOW + 60 * SECOND), until=NOW + 30 * SECOND) == {"e": "delete"}


STATE = a_state([a_node("a", "p"), a_node("b", "p"), a_node("c", "q")], pool=a_pool())


@pytest.mark.parametrize("names", [[], [""], [" "], ["a", ""]])
def test_an_empty_name_is_never_all_d0_89(names: list[str]) -> None:
    with pytest.raises(FleetError) as error:
        nodes_by_name(STATE, names)
    assert error.value.code == "empty-name"
    with pytest.raises(FleetError) as error:
        nodes_of_pool(STATE, "", 3)
    assert error.value.code == "empty-name"


def test_names_are_taken_as_they_are_and_unknown_ones_told_at_once() -> None:
    assert nodes_by_name(STATE, ["b", "a", "b"]) == ("a", "b")
    with pytest.raises(FleetError) as error:
        nodes_by_name(STATE, ["x", "a", "y"])
    assert [each.where for each in error.value.problems] == ["x", "y"]


@pytest.mark.parametrize("confirmed", [None, 0, 1, 4])
def test_many_nodes_need_their_number_confirmed_d0_88_d0_89(confirmed: int | None) -> None:
    with pytest.raises(FleetError) as error:
        nodes_of_pool(STATE, "p", confirmed)
    assert error.value.code == "count-not-confirmed"


def test_a_confirmed_number_gives_the_nodes_also_for_a_pool_that_goes_d0_88_d0_90() -> None:
    assert nodes_of_pool(STATE, "p", 2) == ("a", "b")


def a_scaling_pool() -> ClusterState:
    """``a`` is there, ``b`` is a Node that is not registered, ``c`` a NodeClaim without a Node, ``d`` one of nobody."""
    ready, fresh, alone = a_node("a"), a_node("b", labels={"karpenter.sh/initialized": "false"}), a_node("c")
    return a_state([ready, fresh, a_node("d")], claims=[a_claim(each) for each in (ready, fresh, alone)])


def test_nodes_of_a_pool_are_those_that_are_there_by_their_own_names_d0_88() -> None:
    assert nodes_of_pool(a_scaling_pool(), "p", 3) == ("a", "b", "d")
    assert nodes_by_name(a_scaling_pool(), ["b"]) == ("b",)
    with pytest.raises(FleetError) as error:
        nodes_by_name(a_scaling_pool(), ["claim-b"])
    assert error.value.code == "unknown-node"


def test_with_a_pool_go_its_node_claims_whether_or_not_they_have_nodes_d0_90() -> None:
    assert gone_with_pool(a_scaling_pool(), "p", 3) == ("a", "b", "claim-c")


def test_a_deletion_by_hand_is_not_held_back_by_budgets_d0_66() -> None:
    closed = a_state([a_node("a")], pool=a_pool(budgets=[{"nodes": "0"}]))
    assert nodes_by_name(closed, ["a"]) == ("a",)


def test_the_tables_of_karpenter_and_rotation_differ_in_expiration_only_d0_21() -> None:
    pairs = zip(safeguard_rows("karpenter"), safeguard_rows("rotation"), strict=True)
    different = [one.reason for one, other in pairs if one != other]
    assert different == ["Expiration"]
    (forceful,) = (each for each in safeguard_rows("karpenter") if each.reason == "Expiration")
    assert (forceful.budgets, forceful.replacement_first) == ("no", "no")


def test_the_table_says_that_pods_hold_back_no_drift_where_a_grace_period_ends_them_d0_21() -> None:
    shielded = a_pod("p", "a", annotations=SHIELD)
    own = a_node("a")
    state = a_state([own], pods=[shielded], claims=[a_claim(own, grace="30m")])
    (node,) = state.nodes
    assert [each.code for each in blockers(state, node, NOW)] == ["pod-annotation"]
    assert blockers(state, node, NOW, EVENTUAL) == ()
    told = {each.reason: each.annotation for each in safeguard_rows("karpenter")}
    assert (told["Empty"], told["Drifted"]) == ("yes", "without a grace period")
    expiry = next(each for each in safeguard_rows("rotation") if each.reason == "Expiration")
    assert expiry.pod_disruption_budgets == told["Drifted"], "a rotation with a grace period asks no pod either"


def fragment(value: t.Any) -> dict[str, t.Any]:
    return {"kind": "Deployment", "spec": {"template": {"metadata": {"annotations": {NOTE: value}}}}}


@pytest.mark.parametrize(
    ("value", "code"),
    [("true", ""), ("1h", ""), (True, "wrong-type"), (5, "wrong-type"), ("yes", "do-not-disrupt-unreadable")],
)
def test_the_annotation_is_a_text_d0_93_d0_94(value: t.Any, code: str) -> None:
    found = lint_do_not_disrupt(fragment(value))
    assert [each.code for each in found] == ([code] if code else [])


def test_the_hint_for_a_boolean_is_the_quoted_form_d0_93() -> None:
    (found,) = lint_do_not_disrupt(fragment(True))
    assert found.path == f"spec.template.metadata.annotations[{NOTE}]"
    assert found.message == 'annotations are texts: write it in quotes: "true"'
    assert found.mended == {found.path: "true"}


@pytest.mark.parametrize("value", [None, 5, 90.0, []])
def test_nobody_is_told_to_quote_what_protects_nothing_in_quotes_either_d0_94(value: t.Any) -> None:
    (found,) = lint_do_not_disrupt(fragment(value))
    assert found.mended == {} and found.message.endswith('write "true", or a duration such as "1h"')
    (found,) = lint_do_not_disrupt({"kind": "Node", "metadata": {"annotations": {NOTE: value}}})
    assert found.message.endswith('write "true"'), "a node knows no durations"


def test_on_nodes_a_duration_does_nothing_d0_95() -> None:
    (found,) = lint_do_not_disrupt({"kind": "Node", "metadata": {"annotations": {NOTE: "1h"}}})
    assert found.code == "do-not-disrupt-unreadable"
    assert lint_do_not_disrupt({"kind": "Node", "metadata": {"annotations": SHIELD}}) == ()


@pytest.mark.parametrize("document", [None, 1, "x", [], {"metadata": None}, {"spec": {"template": []}}])
def test_other_documents_have_nothing_to_say(document: t.Any) -> None:
    assert lint_do_not_disrupt(document) == ()


END_OF_TIME = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)


@pytest.mark.parametrize("seconds", [10**11, 10**18, 10**400])
def test_a_pod_that_asks_for_all_the_time_in_the_world_is_past_its_time_at_once(seconds: int) -> None:
    assert actions(a_pod("a", grace_seconds=seconds), until=NOW + 60 * SECOND) == {"a": "delete"}


def test_instants_at_the_end_of_the_calendar_end_nothing() -> None:
    assert deadline(a_claim("n", deleting=END_OF_TIME, grace="30h")) is None
    assert actions(a_pod("a", deleting_at=END_OF_TIME)) == {"a": "wait"}
    late = a_pod("a", annotations={NOTE: "1h"}, started_at=END_OF_TIME)
    assert actions(late) == {"a": "wait"} and protection(late, NOW).until is None
    node = a_node("n")
    leaving = a_state([node], claims=[a_claim(node, created=END_OF_TIME, deleting=END_OF_TIME, expire_after="30h")])
    assert origin(leaving.nodes[0], NOW) == "external"
    waits = a_state([node], claims=[a_claim(node, last_pod_event=END_OF_TIME)])
    found = consolidation_eligibility(a_pool(after="30h"), waits.nodes[0], NOW)
    assert (found.holds, found.code, found.at) == (False, "waiting", None)


def test_a_number_that_python_cannot_write_is_no_end_either() -> None:
    (found,) = lint_do_not_disrupt({"metadata": {"annotations": {NOTE: 16**6000}}})
    assert found.code == "wrong-type" and found.mended == {}
