# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a node is drained and replaced, a new one made beforehand (``no-node-before``), and by which driver
(``no-driver``): as a simulated one (``not-simulated``), by Karpenter (``no-node-claim``), or by a command
(``command-failed``).

``local`` simulated nodes of local clusters: another one is made in its place, and the Node is deleted. ``karpenter``
the NodeClaim is deleted; Karpenter cordons, drains and replaces by itself, and is only paced. ``command`` a command of
the user deletes the machine, and then the Node is deleted.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.cluster.state_node import StateNode
from ..._core.disruption.members.member_nodes import NODE_CLAIM, MemberNodes
from ..._core.errors import FleetError, Problem
from ..._core.foreign import in_lines
from ..._core.objects.clusters.node_rotation import BEFORE, NONE, NodeRotation
from ..._core.values.parts import mapping, rows
from ..._core.values.parts import name as name_of
from ..._kube.client import KubeClient
from ..._kube.documents import read_object
from ..._kube.errors import ApiError
from ..._kube.lists import list_objects
from ..._local.nodes import SIMULATED, successor
from ..drivers.environment import environment_passed_on
from ..drivers.placeholders import environment_of, filled_arguments, unknown_placeholders
from ..drivers.started import Started
from .draining import (
    NODES,
    Document,
    Hands,
    NodeWork,
    delete_exactly,
    delete_node,
    drain,
    mark,
    retried_while_passing,
    the_node,
)

LOCAL, KARPENTER, COMMAND = "local", "karpenter", "command"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
PLACEHOLDERS = ("member", "node", "operation", "provider_id")
NOT_SIMULATED, ONLY_SIMULATED = "not-simulated", "driver local replaces simulated nodes only"
_LOOK = 0.2
# Characters of what a command has said last: the record of the rotation holds them, node by node.
_MOST_TOLD = 2_000


@dataclass(frozen=True, kw_only=True)
class ReplacementWish:
    """How nodes are to be replaced. ``driver`` empty: as of ``driver_of``. ``command`` is a list of arguments; it is
    killed after ``timeout`` seconds, and has failed then; ``environment`` names variables of ``environ`` that it gets
    besides the usual ones."""

    driver: str = ""
    command: tuple[str, ...] = ()
    timeout: float = 1800.0
    environ: t.Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: tuple[str, ...] = ()


def driver_of(node: StateNode, wish: ReplacementWish) -> str:
    """The driver that replaces the node: the one that is named, fit or not; else ``command`` if there is one, ``local``
    for a simulated node, ``karpenter`` for one with a NodeClaim; empty where none is known."""
    if wish.driver:
        return wish.driver
    if wish.command:
        return COMMAND
    if node.labels.get(SIMULATED) == "true":
        return LOCAL
    return KARPENTER if node.claim is not None else ""


def driver_problems(
    members: t.Iterable[MemberNodes], names: t.Container[str], rotation: NodeRotation, wish: ReplacementWish
) -> t.Iterator[Problem]:
    """Problems of the nodes ``names`` (``member/node``) that cannot be replaced in the way that is asked for:
    ``no-driver``, ``no-node-claim``, ``not-simulated``, ``no-node-before``, one for each at most; before them
    ``bad-option`` for what is wrong with the command. Names without a Node are passed over."""
    if wish.driver == COMMAND and not wish.command:
        yield Problem("bad-option", "driver command needs a command", "command", "such as [delete-machine, '{node}']")
    for name in unknown_placeholders(wish.command, PLACEHOLDERS):
        hint = f"there are {', '.join(PLACEHOLDERS)}"
        yield Problem("bad-option", f"nothing stands for {{{name}}}", "command", hint)
    for member in members:
        for node in member.whole.nodes:
            where = f"{member.name}/{node.node_name}"
            if node.node is None or where not in names:
                continue
            driver = driver_of(node, wish)
            if not driver:
                hint = "name a driver, or give a command that deletes the machine of a node"
                yield Problem("no-driver", "it is not known how this node is replaced", where, hint)
            elif driver == KARPENTER and node.claim is None:
                yield Problem("no-node-claim", "it has no NodeClaim, so Karpenter does not replace it", where)
            elif driver == LOCAL and node.labels.get(SIMULATED) != "true":
                yield Problem(NOT_SIMULATED, ONLY_SIMULATED, where)
            elif driver != LOCAL and rotation.spec.pace.replacement == BEFORE:
                hint = "say replacement: after; Karpenter itself starts what it needs before it drains"
                yield Problem("no-node-before", f"driver {driver} cannot make a node beforehand", where, hint)


@dataclass(frozen=True, kw_only=True)
class NodeReplacer:
    """Replaces nodes, one by each call; ``rotation`` says when a new one comes, and of which version and image."""

    rotation: NodeRotation
    wish: ReplacementWish

    def add(self, work: NodeWork, hands: Hands) -> None:
        """Makes a simulated node beside the old one, unless it was made or the old one is gone. FleetError
        ``not-simulated``, for refusals of the member that do not pass by themselves, and what ``hands`` raise."""
        retried_while_passing(hands, lambda: self._make(hands.client(), work))

    def replace(self, work: NodeWork, hands: Hands) -> None:
        """Empties the node, replaces it as its driver does (no simulated one where ``pace.replacement`` is NONE), and
        deletes it; nothing if it is gone. Of Karpenter's only the NodeClaim is deleted: the node is emptied and goes
        later. Called again it goes on, and runs a command anew. FleetError ``not-simulated``, ``node-disrupted``,
        ``node-blocked``, ``no-node-claim``, ``command-failed``, ``unsafe-argument``, and for refusals of the member
        that do not pass; ValueError for a NodeClaim, or owners of the Node, of another form; what ``hands`` raise."""
        found = retried_while_passing(hands, lambda: the_node(hands.client(), work))
        if found is None:
            return
        driver = self._driver(found)
        if driver == KARPENTER:
            retried_while_passing(hands, lambda: mark(hands.client(), work))
            retried_while_passing(hands, lambda: _delete_claim(hands.client(), work))
            return
        node = drain(work, hands)
        if node is None:
            return
        if driver == COMMAND:
            self._run(work, hands, str((node.get("spec") or {}).get("providerID", "")))
        elif self.rotation.spec.pace.replacement != NONE:
            self.add(work, hands)
        retried_while_passing(hands, lambda: delete_node(hands.client(), work))

    def _driver(self, node: Document) -> str:
        """As ``driver_of``; what is left is Karpenter's, or has no NodeClaim. FleetError ``not-simulated``: whoever has
        begun it may have named another driver."""
        if self.wish.driver == LOCAL:
            _refuse_real(node)
        return self.wish.driver or (COMMAND if self.wish.command else LOCAL if _is_simulated(node) else KARPENTER)

    def _make(self, client: KubeClient, work: NodeWork) -> None:
        """Makes the successor of a simulated node; nothing if it was made before, or the old one is gone. FleetError
        ``not-simulated``, and of the requests."""
        due = self.rotation.spec.due
        node = the_node(client, work)
        if node is None:
            return
        _refuse_real(node)
        version = f"v{due.version_other_than.removeprefix('v')}" if due.version_other_than else ""
        try:
            client.post(NODES, successor(node, version, due.image_other_than))
        except ApiError as error:
            if error.code != "already-exists":
                raise

    def _run(self, work: NodeWork, hands: Hands, provider_id: str) -> None:
        """Runs the command of the user for the node, to its end. FleetError ``unsafe-argument``, ``command-failed``;
        and what ``hands`` raise."""
        known = dict(zip(PLACEHOLDERS, (work.member, work.node, work.operation, provider_id), strict=True))
        argv = filled_arguments(self.wish.command, known)
        environ = environment_passed_on(self.wish.environ, self.wish.environment)
        environ |= environment_of(known)
        child = Started(argv, environ, "command-failed", work.node, merged=True)
        _wait(child, work, hands, self.wish.timeout)


def _is_simulated(node: Document) -> bool:
    """Whether the Node is a simulated one of a local cluster."""
    return (node["metadata"].get("labels") or {}).get(SIMULATED) == "true"


def _refuse_real(node: Document) -> None:
    """FleetError ``not-simulated`` for a Node that is none of ours: a machine is behind it."""
    if not _is_simulated(node):
        raise FleetError(NOT_SIMULATED, ONLY_SIMULATED, node["metadata"]["name"])


def _wait(child: Started, work: NodeWork, hands: Hands, timeout: float) -> None:
    """Until the command has ended with 0; FleetError ``command-failed`` for another code, or after ``timeout`` seconds.
    What ``hands`` raise comes through. It is killed with any of these: whoever comes next begins it again."""
    waited = 0.0
    try:
        while (done := child.wait_for_end(_LOOK)) is None:
            waited += _LOOK
            if waited >= timeout:
                raise FleetError("command-failed", f"{child.program} did not end in {timeout:g} s", work.node)
            hands.pause(0)
    except BaseException:
        child.kill()
        raise
    if done.returncode != 0:
        last = in_lines("\n".join((done.stdout or "").strip().splitlines()[-5:]), _MOST_TOLD)
        raise FleetError("command-failed", f"{child.program} ended with {done.returncode}: {last}", work.node)


def _delete_claim(client: KubeClient, work: NodeWork) -> None:
    """Deletes the NodeClaim of the node, which is the point of no return; nothing if the node is gone. FleetError
    ``no-node-claim`` if it has none, and of the requests; ValueError for owners or a claim of another form."""
    node = the_node(client, work)
    if node is None:
        return
    claim = _owner(client, node) or _listed(client, work.node)
    if claim is None:
        raise FleetError("no-node-claim", "no NodeClaim is of this node", f"{work.member}/{work.node}")
    delete_exactly(client, f"{CLAIMS}/{claim['metadata']['name']}", name_of(claim["metadata"], "uid"))


def _owner(client: KubeClient, node: Document) -> Document | None:
    """The NodeClaim that the Node names as its owner, as Karpenter writes it there, if that is of this node. ApiError
    of the requests; ValueError for owners or a claim of another form."""
    owners = (each for each in rows(node["metadata"], "ownerReferences") if each.get("kind") == NODE_CLAIM)
    for each in owners:
        try:
            claim = read_object(client, f"{CLAIMS}/{name_of(each)}", NODE_CLAIM)
        except ApiError as error:
            if error.code != "not-found":
                raise
            continue
        if _is_of(claim, node["metadata"]["name"]):
            return claim
    return None


def _listed(client: KubeClient, node: str) -> Document | None:
    """The first NodeClaim of the member that says it is of this node; None without. ApiError of the requests;
    ValueError as of ``_is_of``."""
    found = (each for each in list_objects(client, CLAIMS, kind=NODE_CLAIM) if _is_of(each, node))
    return next(found, None)


def _is_of(claim: Document, node: str) -> bool:
    """Whether the NodeClaim says that it is of the node of that name. ValueError for a status that is no map."""
    return mapping(claim, "status").get("nodeName") == node
