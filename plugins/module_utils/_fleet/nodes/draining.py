# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One Node: cordoned and marked as ours, emptied by evictions (``node-blocked``, ``node-disrupted``), deleted by its
uid, or uncordoned unless it ``was-cordoned`` before; pods that stay for now; a step tried again while its member is
away.

Pods of DaemonSets stay, as with ``kubectl drain``: their controller would make them again at once.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..._core.cluster.pod import Pod
from ..._core.cluster.pod_disruption import disruptable
from ..._core.cluster.pod_reading import read_pod
from ..._core.disruption.origins import DISRUPTED_BY, LET_GO, disrupted_by
from ..._core.disruption.termination import (
    DELETE,
    EVICT,
    Drain,
    drain_step,
)
from ..._core.errors import FleetError
from ..._core.values.clock_skew import clock_skew_words
from ..._kube.client import KubeClient
from ..._kube.documents import checked_object
from ..._kube.errors import ApiError
from ..._kube.lists import list_objects
from ..conductor.loop import PASSING

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
MERGE = "application/merge-patch+json"
# It was cordoned before we came, and stays so when it is let go.
WAS_CORDONED = "gitops.fleet/was-cordoned"
LOOK, AGAIN, LONGEST_WAIT = 0.5, 1.0, 300.0
_TRIES = 20
# What a server may answer for one pod, by a webhook or two PodDisruptionBudgets of that, while it lets others go.
_OF_ONE_POD = ("namespace-terminating", "server-error", "too-many-requests")
Document = dict[str, t.Any]
T = t.TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class NodeWork:
    """What is to be done with one Node, known by its uid. ``until``: when pods are deleted, whatever holds them; None
    for never. ``operation`` is written on the Node."""

    member: str
    node: str
    uid: str
    operation: str
    until: datetime | None = None

    @property
    def path(self) -> str:
        """The path of the Node on its API server."""
        return f"{NODES}/{self.node}"

    @property
    def disruptor(self) -> str:
        """Who works on it, as our mark on the Node names it: the rotation, or ``by-hand``; not the attempt."""
        return disrupted_by({DISRUPTED_BY: self.operation})


class Hands(t.Protocol):
    """How the work on one node, in a thread of its own, reaches the member. ``pause`` and ``client`` raise, and no
    FleetError, when nothing is to be done any more."""

    def client(self) -> KubeClient:
        """The member's, held by a lease that is renewed if that is due: to be asked for before each step. FleetError
        ``member-held`` and the like."""

    def pause(self, seconds: float) -> None:
        """Waits so many seconds; raises as soon as nothing is to be done any more, with 0 too."""

    def said(self, text: str) -> None:
        """Tells people a line of this node; each text is told, news or not."""

    def now(self) -> datetime:
        """The present, aware."""


def the_node(client: KubeClient, work: NodeWork) -> Document | None:
    """The Node itself; None if it is gone, or another one has its name. ApiError of the request."""
    try:
        found = checked_object(client.get(work.path), f"GET {work.path}", client)
    except ApiError as error:
        if error.code == "not-found":
            return None
        raise
    return found if found["metadata"].get("uid") == work.uid else None


def drain(work: NodeWork, hands: Hands) -> Document | None:
    """Cordons and empties the node, and waits for that without end; gives the Node as it was once cordoned, None if it
    is gone. FleetError ``node-blocked`` for a protected pod, before this call evicts anything, unless there is
    ``until``; ``node-disrupted`` where another one of us has it, or somebody has let it go since, so that pods may have
    come; for what does not pass, and what ``hands`` raise."""
    node = retried_while_passing(hands, lambda: cordon(hands.client(), work))
    if node is None:
        return None
    emptying = _Emptying(work, hands)
    while not retried_while_passing(hands, emptying.step).done:
        hands.pause(LOOK)
    return node if retried_while_passing(hands, lambda: _still_held(hands.client(), work)) else None


def _still_held(client: KubeClient, work: NodeWork) -> bool:
    """Whether the Node is there, cordoned and marked as ours; FleetError ``node-disrupted`` if it is there without, and
    of the request."""
    node = the_node(client, work)
    if node is None:
        return False
    marked = (node["metadata"].get("annotations") or {}).get(DISRUPTED_BY) == work.operation
    if not (marked and (node.get("spec") or {}).get("unschedulable")):
        hint = "pods may have come to it since; it stays, and is emptied anew when it is begun again"
        raise FleetError("node-disrupted", "somebody has let it go meanwhile", f"{work.member}/{work.node}", hint)
    return True


def retried_while_passing(hands: Hands, step: t.Callable[[], T]) -> T:
    """What the step gives, tried every second without end while its member does not answer (PASSING), another fleet has
    its lease (``member-held``), or others write what it writes (``conflict``); people are told why. Any other
    FleetError is raised, and what ``hands.pause`` raises."""
    told = ""
    while True:
        try:
            return step()
        except FleetError as error:
            if error.code not in (*PASSING, "member-held", "conflict"):
                raise
            if error.message != told:
                told = error.message
                hands.said(f"tried again: {error.message}")
        hands.pause(AGAIN)


def cordon(client: KubeClient, work: NodeWork) -> Document | None:
    """Cordons the Node and marks it as ours, and as WAS_CORDONED if it was before; the Node as it is then, None if it
    is gone. FleetError ``node-disrupted`` where another one of us has it, ``conflict`` where others write it at every
    try, and of the requests."""
    return _mark_as_ours(client, work, {"unschedulable": True})


def mark(client: KubeClient, work: NodeWork) -> Document | None:
    """Marks the Node as ours, without cordoning it: pods may still come. Otherwise as ``cordon``."""
    return _mark_as_ours(client, work, {})


def _mark_as_ours(client: KubeClient, work: NodeWork, spec: Document) -> Document | None:
    """Writes our mark and these fields of ``spec`` into the Node, unless they are there, with whether it was cordoned
    before; the Node as it is then, None if it is gone. FleetError as of ``cordon``, ``conflict`` after 20 tries."""
    for _try in range(_TRIES):
        node = the_node(client, work)
        if node is None:
            return None
        annotations = node["metadata"].get("annotations") or {}
        cordoned = bool((node.get("spec") or {}).get("unschedulable"))
        if annotations.get(DISRUPTED_BY) == work.operation and (cordoned or not spec):
            return node
        if disrupted_by(annotations) not in ("", work.disruptor):
            text = f"{disrupted_by(annotations)} is emptying it"
            raise FleetError(
                "node-disrupted", text, f"{work.member}/{work.node}", f"let that end first; if it has: {LET_GO}"
            )
        marks: Document = {DISRUPTED_BY: work.operation}
        if DISRUPTED_BY not in annotations and cordoned != bool(annotations.get(WAS_CORDONED)):
            marks[WAS_CORDONED] = "true" if cordoned else None
        if _patch(client, node, marks, spec):
            return the_node(client, work)
    raise ApiError("conflict", "the node is being written all the time", work.node, "try again")


def uncordon(client: KubeClient, work: NodeWork) -> None:
    """Lets the node go, if our mark is on it, of whatever attempt: pods may come again, unless it was cordoned before.
    ApiError of a request, ``conflict`` if others write it at every try."""
    for _try in range(_TRIES):
        node = the_node(client, work)
        annotations = (node or {}).get("metadata", {}).get("annotations") or {}
        if node is None or disrupted_by(annotations) != work.disruptor:
            return
        spec = {} if annotations.get(WAS_CORDONED) else {"unschedulable": None}
        if _patch(client, node, {DISRUPTED_BY: None, WAS_CORDONED: None}, spec):
            return
    raise ApiError("conflict", "the node is being written all the time", work.node, "try again")


def delete_node(client: KubeClient, work: NodeWork) -> None:
    """Has the Node deleted, not another of its name, without waiting until it is gone; nothing if it is gone. ApiError
    of the request."""
    delete_exactly(client, work.path, work.uid)


def delete_exactly(client: KubeClient, path: str, uid: str, grace: int | None = None) -> None:
    """Has the object at ``path`` deleted if it has this uid, without waiting for finalizers; nothing if it is gone or
    another. ``grace`` is in seconds, None for what the object says. ApiError of the request."""
    body: Document = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
    if grace is not None:
        body["gracePeriodSeconds"] = grace
    try:
        client.delete(path, body)
    except ApiError as error:
        if error.code not in ("not-found", "conflict"):
            raise


def _patch(client: KubeClient, node: Document, annotations: Document, spec: Document) -> bool:
    """Merges annotations and fields of ``spec`` into the Node as it was read; None takes one away. False if somebody
    else wrote meanwhile, or it is gone. ApiError of the request."""
    metadata = node["metadata"]
    kept = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "annotations": annotations}
    body = {"metadata": kept, **({"spec": spec} if spec else {})}
    try:
        client.request("PATCH", f"{NODES}/{metadata['name']}", body, None, MERGE)
    except ApiError as error:
        if error.code in ("conflict", "not-found"):
            return False
        raise
    return True


class _Emptying:
    """Evictions of one node. Who was refused is asked again when the server said, or after a moment."""

    def __init__(self, work: NodeWork, hands: Hands) -> None:
        self._work, self._hands = work, hands
        self._looked = False
        self._again: dict[str, datetime] = {}
        self._told: set[str] = set()

    def step(self) -> Drain:
        """One round: looks which pods are there, and deletes or evicts those whose turn it is; those of DaemonSets
        stay. By a clock that is 5 minutes off none is past its time. Gives what was to be done, ``done`` once no pod is
        left to go. FleetError as of ``_look_again``, ``read_pod``, and of the requests."""
        client, now = self._hands.client(), self._hands.now()
        rows = list(list_objects(client, PODS, field_selector=f"spec.nodeName={self._work.node}", kind="Pod"))
        pods = [read_pod(each) for each in rows]
        if not self._looked:
            self._look_again(pods, now)
        uids = {pod.key: str(each["metadata"].get("uid", "")) for pod, each in zip(pods, rows, strict=True)}
        until = None if clock_skew_words(client.ahead or timedelta(0)) else self._work.until
        found = drain_step([each for each in pods if not each.daemon], until, now)
        by_key = {each.key: each for each in pods}
        for each in sorted(found.removals, key=lambda one: one.action != DELETE):
            if each.action == DELETE:
                self._delete(client, by_key[each.pod], uids[each.pod], each.grace_seconds)
            elif each.action == EVICT and self._may_ask(each.pod, now):
                self._evict(client, by_key[each.pod], uids[each.pod], now)
        return found

    def _may_ask(self, pod: str, now: datetime) -> bool:
        """Whether the time is over that was to be waited; also where it ends later than it can, by a clock set back."""
        left = self._again.get(pod, now) - now
        return not timedelta(0) < left <= timedelta(seconds=LONGEST_WAIT)

    def _look_again(self, pods: t.Iterable[Pod], now: datetime) -> None:
        """In the first round: no pod comes to the node any more, so what is on it now is what is disrupted. FleetError
        ``node-blocked`` if a pod is protected, unless there is an instant from which pods are deleted anyway."""
        held = [each.key for each in pods if self._work.until is None and not disruptable(each, now)]
        if held:
            text = f"pods on it are protected by karpenter.sh/do-not-disrupt: {', '.join(held)}"
            raise FleetError("node-blocked", text, f"{self._work.member}/{self._work.node}")
        self._looked = True

    def _delete(self, client: KubeClient, pod: Pod, uid: str, grace: int | None) -> None:
        """Deletes the pod; where the server refuses that for the moment, it stays and is told. ApiError otherwise."""
        try:
            delete_exactly(client, _pod_path(pod), uid, grace)
        except ApiError as error:
            if error.code not in _OF_ONE_POD:
                raise
            self._tell_stays(pod, error.message)

    def _evict(self, client: KubeClient, pod: Pod, uid: str, now: datetime) -> None:
        """Asks for the eviction of the pod; where it is refused (429, or for the moment), notes when to ask again: as
        the server says, after 1 to 300 seconds. A pod that is gone or another one by now is fine. ApiError
        otherwise."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        metadata = {"name": pod.name, "namespace": pod.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
        try:
            answer = client.send("POST", f"{_pod_path(pod)}/eviction", body, expect=(404, 409, 429))
        except ApiError as error:
            if error.code not in _OF_ONE_POD:
                raise
            self._again[pod.key] = now + timedelta(seconds=AGAIN)
            self._tell_stays(pod, error.message)
            return
        if answer.status != 429:
            self._again.pop(pod.key, None)
            return
        wait = min(max(answer.retry_after or AGAIN, AGAIN), LONGEST_WAIT)
        self._again[pod.key] = now + timedelta(seconds=wait)
        self._tell_stays(pod, client.hide(str((answer.document or {}).get("message") or "it may not be evicted now")))

    def _tell_stays(self, pod: Pod, why: str) -> None:
        """Tells it once of each pod."""
        if pod.key not in self._told:
            self._told.add(pod.key)
            self._hands.said(f"pod {pod.key} stays for now: {why}")


def _pod_path(pod: Pod) -> str:
    """The path of the Pod on its API server."""
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
