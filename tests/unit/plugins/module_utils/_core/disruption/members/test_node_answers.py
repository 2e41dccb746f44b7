# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node by node: causes and everything that holds it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import read_node, read_node_claim
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.node_answers import (
    NodeAnswer,
    node_answers,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    DRAINING,
    GIVEN_UP,
    ROTATED,
    WAITING,
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.nodes_text import nodes_text
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import rotation

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
LABELS = {"karpenter.sh/nodepool": "kp", "karpenter.sh/initialized": "true"}


def answers(
    *pods: Pod,
    lifetime: str = "Never",
    drifted: bool = False,
    managed: bool = True,
    grace: str = "",
    leaving: bool = False,
    unread: str = "",
) -> NodeAnswer:
    """``grace``: the grace period of its NodeClaim, none if empty. ``leaving``: its NodeClaim is being deleted.
    ``unread``: a kind that could not be read."""
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = read_node({"metadata": {"name": "a", "uid": "u", "labels": LABELS if managed else {}}, "status": status})
    told = (
        [{"type": "Drifted", "status": "True", "reason": "NodePoolDrifted", "message": "its hash"}] if drifted else []
    )
    metadata: dict[str, t.Any] = {"name": "a", "labels": LABELS, "creationTimestamp": "2026-03-27T12:00:00Z"}
    if leaving:
        metadata["deletionTimestamp"] = "2026-03-28T11:59:00Z"
    spec = {"expireAfter": lifetime, **({"terminationGracePeriod": grace} if grace else {})}
    claim = {"metadata": metadata, "spec": spec, "status": {"nodeName": "a", "conditions": told}}
    here = MemberNodes(
        name="m1",
        karpenter=managed,
        nodes=(node,),
        claims=(read_node_claim(claim),) if managed else (),
        pools=(decode_node_pool({"metadata": {"name": "kp"}, "spec": {}}),) if managed else (),
        pods=pods,
        pdbs=(PodDisruptionBudget(name="b", selector=LabelSelector(match_labels={"app": "held"}), allowed=0),),
        missing={unread: Problem("forbidden", "may not be read")} if unread else {},
    )
    (found,) = node_answers([here], [t.cast(t.Any, read(rotation(due={"versionOtherThan": "v1.36.3"})).object)], NOW)
    return found


@pytest.mark.parametrize("kind", ["Pod", "PodDisruptionBudget", "NodeClaim", "NodePool"])
def test_what_could_not_be_read_may_hold_the_node(kind: str) -> None:
    found = answers(unread=kind, leaving=True)
    assert (found.graceful[0].code, found.graceful[0].text) == ("unknown", f"{kind} could not be read: may not be read")
    assert not answers(unread=kind).as_dict()["candidate"] and found.rotation[0] == found.graceful[0]
    assert ("Empty" in found.causes, bool(found.drain)) == (kind != "Pod", kind != "Pod")


def test_no_pod_that_could_not_be_read_outlasts_a_grace_period() -> None:
    assert [each.code for each in answers(unread="Pod", grace="1h").eventual] == []
    assert [each.code for each in answers(unread="NodePool", grace="1h").eventual] == ["unknown"]


def test_node_classes_that_could_not_be_read_hold_no_node() -> None:
    assert answers(unread="NodeClass").as_dict()["candidate"]


def test_every_cause_is_told_with_its_reason() -> None:
    found = answers(lifetime="24h", drifted=True)
    assert list(found.causes) == ["Empty", "Drifted", "Expired", "Due"]
    assert found.causes["Drifted"] == "NodePoolDrifted: its hash"
    assert "forceful" in found.causes["Expired"] and found.expires == NOW
    assert found.causes["Due"] == "NodeRotation blue: its version is unknown"


def test_who_holds_it_is_told_for_each_class_of_methods() -> None:
    pod = Pod(name="p", node="a", labels={"app": "held"})
    found = answers(pod)
    assert "Empty" not in found.causes
    assert [each.code for each in found.graceful] == ["pdb"] and not found.as_dict()["candidate"]
    assert found.eventual == found.graceful == found.rotation
    lines = nodes_text([found])
    assert "default/b" in " ".join(lines) and max(map(len, lines)) <= 80


def test_with_a_termination_grace_period_pods_do_not_hold_eventual_methods() -> None:
    found = answers(Pod(name="p", node="a", labels={"app": "held"}), grace="1h")
    assert [each.code for each in found.graceful] == [each.code for each in found.rotation] == ["pdb"]
    assert found.eventual == ()


def test_without_karpenter_a_node_is_nobodys_candidate_and_a_rotation_may_take_it() -> None:
    found = answers(managed=False)
    assert "not-managed" in {each.code for each in found.graceful}
    assert found.rotation == () and not found.as_dict()["candidate"]


def test_how_far_a_drain_has_come_is_told_with_its_end() -> None:
    """D0-53, D0-54: until the deadline, or for ever; nothing of a node that stays."""
    pod = Pod(name="p", node="a", annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert answers(pod).drain == "" and answers(pod, managed=False).drain == ""
    ending = answers(pod, grace="30m", leaving=True)
    assert ending.drain == "1 pod left, until 2026-03-28T12:29:00Z; waits for default/p" and ending.origin
    assert ending.as_dict()["drain"] == ending.drain and "until" in " ".join(nodes_text([ending]))
    assert answers(pod, leaving=True).drain == "1 pod left, no deadline; waits for default/p"


def test_a_node_is_told_with_its_pool_its_image_and_the_version_of_its_kubelet() -> None:
    """By the labels of its platform where no Karpenter runs it: the image by the name under which it is chosen."""
    info = {"kubeletVersion": "v1.36.3", "osImage": "Ubuntu 22.04"}
    platform = {"kubernetes.azure.com/agentpool": "work", "kubernetes.azure.com/node-image-version": "U-2204-1.2"}
    documents = [
        {"metadata": {"name": "a", "labels": {"gitops.fleet/pool": "batch"}}, "status": {"nodeInfo": info}},
        {"metadata": {"name": "b", "labels": platform}, "status": {"nodeInfo": info}},
    ]
    found = node_answers([MemberNodes(name="m", nodes=tuple(map(read_node, documents)))], (), NOW)
    assert [(each.pool, each.image, each.version) for each in found] == [
        ("batch", "Ubuntu 22.04", "v1.36.3"),
        ("work", "U-2204-1.2", "v1.36.3"),
    ]
    assert found[1].as_dict()["image"] == "U-2204-1.2"


def due_by_rotation(state: RotationState | None, **due: str) -> dict[str, str]:
    """Of the nodes ``old``, ``younger`` and ``new``, the last of which was made after the rotation began."""
    made = {"old": "2026-03-01T00:00:00Z", "younger": "2026-03-27T00:00:00Z", "new": "2026-03-28T11:00:00Z"}
    documents = ({"metadata": {"name": name, "creationTimestamp": at}} for name, at in made.items())
    wanted = t.cast(t.Any, read(rotation(due=due)).object)
    member = MemberNodes(name="m", nodes=tuple(map(read_node, documents)))
    begun = () if state is None else ({"blue": state},)
    found = node_answers([member], [wanted], NOW, *begun)
    return {each.node: each.causes["Due"] for each in found if "Due" in each.causes}


def test_a_rotation_that_has_not_begun_asks_for_all_nodes() -> None:
    found = due_by_rotation(None)
    assert found == dict.fromkeys(["new", "old", "younger"], "NodeRotation blue: all are to be replaced")


def test_a_rotation_that_goes_on_asks_for_its_own_nodes_until_they_have_ended() -> None:
    nodes = (
        NodeProgress(name="m/gone", phase=ROTATED, replacement="m/new"),
        NodeProgress(name="m/old", phase=DRAINING),
        NodeProgress(name="m/younger", phase=WAITING),
    )
    state = RotationState(nodes=nodes, started_at=datetime(2026, 3, 28, 10, tzinfo=UTC))
    assert list(due_by_rotation(state)) == ["old", "younger"]


def test_a_finished_rotation_asks_only_for_what_it_has_left() -> None:
    """As it would when it is begun again: who came since needs no replacing."""
    nodes = (
        NodeProgress(name="m/gone", phase=ROTATED, replacement="m/new"),
        NodeProgress(name="m/gone-too", phase=ROTATED, replacement="m/younger"),
        NodeProgress(name="m/old", phase=GIVEN_UP, code="failed", text="its drain took too long"),
    )
    state = RotationState(nodes=nodes, started_at=datetime(2026, 3, 28, 10, tzinfo=UTC))
    assert due_by_rotation(state) == {
        "old": "NodeRotation blue: it was left as the rotation ended: its drain took too long"
    }
    assert list(due_by_rotation(state, olderThan="12h")) == ["old", "younger"], "what spec.due says goes on to hold"
