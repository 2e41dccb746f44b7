# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The preflight of a run: a look at all its members before anybody approves it, by their drivers too; nodes that are
not ready, disruption budgets, pods with do-not-disrupt, APIs that go, members that left; findings as lines; kubectl's
options for a member."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from ..._core.cluster.facts.member import pools_of
from ..._core.cluster.facts.node import pool_label_key
from ..._core.cluster.pod import DO_NOT_DISRUPT
from ..._core.cluster.pod_disruption import protection
from ..._core.cluster.pod_reading import read_pod
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import ClusterConnection, FleetMember
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.commands import STARTABLE, start
from ..._core.updates.preflight import (
    MemberLook,
    PreflightFinding,
    ProtectedNode,
    apis_to_be_removed,
    left_fleet_finding,
    preflight_findings,
)
from ..._core.updates.record.run_state import run_of
from ..._core.updates.releases.targets import target_of
from ..._core.updates.status import derive
from ..._core.values.listed import listed
from ..._core.values.parts import mapping, text
from ..._kube.access import version
from ..._kube.client import KubeClient, Timeouts
from ..._kube.lists import read_each
from ..._kube.login.kubeconfig import local_path
from ..._kube.parallel import in_parallel
from ..drivers.contract import Observation
from ..drivers.local import local_driver_problems
from ..drivers.options import OptionPlace, drivers_from
from ..members.facts import nodes_of
from ..members.members import Clients, open_clients, recorded_members
from ..session import Session
from .conducting import ConductOptions, operations_folder
from .constraints import StartConstraints
from .leases import WRONG
from .pools import WholeJudge, by_steps, upgrades_node_pools
from .sources import UpdateManifests
from .steps.seen_members import SeenMembers, as_seen

BUDGETS, MOST_BUDGETS = "/apis/policy/v1/poddisruptionbudgets", 100_000
NODES, PODS, MOST_PODS = "/api/v1/nodes", "/api/v1/pods", 300_000
# The code of a driver that has to have options, of which none are given.
BARE = "driver-without-options"
NAMED = 5
T = t.TypeVar("T")
Found = tuple[str, str, bool]


@dataclass(frozen=True, kw_only=True)
class PreflightReport:
    """What speaks against a run, member by member; ``seen`` are the members that could be looked at, by name, with
    version and pools of now."""

    findings: tuple[PreflightFinding, ...]
    seen: SeenMembers


def preflight(session: Session, run: UpdateRun, given: UpdateManifests, wish: ConductOptions) -> PreflightReport:
    """Everything that speaks against upgrading the members that have not ended, or would be tried again by a start:
    first those that have left, then member by member, by name. Each driver is asked to look at its member, by the
    options in ``wish``; one that would need options and has none is a remark. Windows and catalogues that are ``given``
    go before those recorded. A member that cannot be looked at is a finding.

    FleetError ``record-damaged``, ``duplicate-location``, ``no-workers``, and for the options of drivers as of
    ``drivers_from``.
    """
    state, now = run_of(run), session.clock()
    names = (start(state, now) if derive(state).state in STARTABLE else state).unfinished
    documents = [each for each in session.records.list("FleetMember") if each["metadata"]["name"] in names]
    there = names & {each["metadata"]["name"] for each in documents}
    members = {name: each.fleet for name, each in recorded_members(session.records).items() if name in there}
    permits = StartConstraints(session.records, run.spec.managed_cluster_update.upgrade.type, run.target, given)
    views = permits.views(documents, now)
    whole = WholeJudge(target=target_of(run), known=permits.releases, member=members.get)
    judge = whole if by_steps(run) else None
    with open_clients(session, members, timeout=Timeouts.connecting(wish.timeout)) as clients:
        operations = operations_folder(wish.operations, session.environ)
        place = OptionPlace(operations=operations, environ=session.environ, cwd=Path.cwd())
        drivers_from(wish.drivers, {}, clients, place)
        held = partial(_protected, now=now) if _held_by_pods(run) else None
        work = {name: partial(_look, clients, each, wish, place, held, run) for name, each in members.items()}
        looks = in_parallel(work, threads=wish.threads)
    found = [left_fleet_finding(name) for name in sorted(names - there)]
    present: dict[str, FleetMember] = {}
    for name, look in looks.items():
        seen = MemberLook(name=name, unreachable=str(look)) if isinstance(look, FleetError) else look
        if seen is look:
            present[name] = as_seen(members[name], seen.version, seen.pools)
        found += preflight_findings(
            seen, views[name], run.target, now, judge, run.spec.managed_cluster_update.upgrade.chain
        )
    return PreflightReport(findings=tuple(found), seen=present)


def _held_by_pods(run: UpdateRun) -> bool:
    """Whether the run upgrades nodes, and waits for their pods without a deadline."""
    wanted = run.spec.node_pools
    return upgrades_node_pools(run) and not (wanted and wanted.pace.grace_period)


def _look(
    clients: Clients,
    member: FleetMember,
    wish: ConductOptions,
    place: OptionPlace,
    held: t.Callable[[KubeClient], tuple[ProtectedNode, ...]] | None,
    run: UpdateRun,
) -> MemberLook:
    """What a member has to say: its version, nodes and pools, what blocks evictions, APIs that go; ``unread`` says, by
    part, what could not be read: all of it where its driver alone sees it, as far as that does for the run. FleetError
    if it cannot be looked at so, or is another cluster."""
    seen, found = _by_driver(clients, member, wish, place, run.target)
    pools = member.status.node_pools if seen is None or seen.pools is None else seen.pools
    try:
        client = clients.get(member.name)
        at = version(client)
    except FleetError as error:
        if seen is None or error.code in WRONG or (upgrades_node_pools(run) and seen.pools is None):
            raise
        away = {"its API server": error.message}
        return MemberLook(
            name=member.name, version=seen.version, busy=seen.busy, pools=pools, driver=found, unread=away
        )
    unread = dict[str, str]()
    nodes = _part("nodes", unread, lambda: nodes_of(client))
    protected = _part("pods", unread, lambda: held(client)) if held else ()
    reached_by = kubectl_options(member.spec.connection, place.environ)
    return MemberLook(
        name=member.name,
        version=at,
        busy=seen.busy if seen else "",
        pools=pools if nodes is None or (seen and seen.pools is not None) else pools_of(nodes),
        not_ready=tuple(each.name for each in nodes or () if not each.ready),
        blocking=_part("disruption budgets", unread, lambda: _blocking(client)) or (),
        protected=tuple(replace(each, reached_by=reached_by) for each in protected or ()),
        removed=_part("metrics", unread, lambda: _removed(client)) or (),
        driver=found,
        unread=unread,
    )


def kubectl_options(connection: ClusterConnection, environ: Mapping[str, str]) -> tuple[str, ...]:
    """With which options kubectl reaches the member: kubeconfig file, and context if one is named; none without a
    kubeconfig file."""
    if not connection.kubeconfig:
        return ()
    context = ("--context", connection.context) if connection.context else ()
    return ("--kubeconfig", local_path(connection.kubeconfig, environ), *context)


def _by_driver(
    clients: Clients, member: FleetMember, wish: ConductOptions, place: OptionPlace, target: str
) -> tuple[Observation | None, tuple[Found, ...]]:
    """What its driver sees there, None if it was not asked or failed; and what keeps the driver from it: code, message,
    and whether that blocks."""
    try:
        driver = drivers_from(wish.drivers, {member.name: member}, clients, place)[member.name]
        unknown = local_driver_problems({member.name: driver}, target)
        return (None, tuple(map(_keeps, unknown))) if unknown else (driver.observe(member.name), ())
    except FleetError as error:
        if error.code == BARE and not wish.drivers.get(member.spec.driver):
            words = f"its driver {member.spec.driver} was not asked: no drivers.{member.spec.driver} are given"
            return None, (("not-looked-at", words, False),)
        return None, tuple(map(_keeps, error.problems))


def _keeps(problem: Problem) -> Found:
    """The problem as what blocks: code, message with its hint, True."""
    hint = f" ({problem.hint})" if problem.hint else ""
    return problem.code, f"{problem.message}{hint}", True


def _part(name: str, unread: dict[str, str], read: t.Callable[[], T]) -> T | None:
    """What ``read`` gives; None where it raises FleetError, the message of which is kept in ``unread``."""
    try:
        return read()
    except FleetError as error:
        unread[name] = error.message
        return None


def _blocking(client: KubeClient) -> tuple[str, ...]:
    """``namespace/name``, sorted, of budgets over pods that are there, and of which none may be evicted now. ApiError
    as of ``read_each``."""
    found = read_each(client, BUDGETS, _held_by, "PodDisruptionBudget", MOST_BUDGETS).items
    return tuple(sorted(each for each in found if each))


def _held_by(budget: t.Mapping[str, t.Any]) -> str:
    """``namespace/name`` of a budget over pods that allows no eviction, empty for any other; ValueError if it is
    none."""
    status, metadata = mapping(budget, "status"), mapping(budget, "metadata")
    if not status.get("expectedPods") or status.get("disruptionsAllowed"):
        return ""
    return f"{text(metadata, 'namespace')}/{text(metadata, 'name')}"


def _protected(client: KubeClient, now: datetime) -> tuple[ProtectedNode, ...]:
    """Nodes that do-not-disrupt keeps from being replaced, by themselves or by their pods, by pool and name; a row for
    each pod. ApiError as of ``read_each``."""
    nodes = read_each(client, NODES, _node, "Node", MOST_PODS).items
    pools = {node.node: node.pool for node, _own in nodes}
    found = [node for node, own in nodes if own]
    pods = read_each(client, PODS, lambda pod: _shielding(pod, now), "Pod", MOST_PODS).items
    found += [replace(each, pool=pools[each.node]) for each in pods if each is not None and each.node in pools]
    return tuple(sorted(found, key=lambda each: (each.pool, each.node, each.pod)))


def _node(document: Mapping[str, t.Any]) -> tuple[ProtectedNode, bool]:
    """The node, and whether its own annotation protects it; ValueError if it is none."""
    metadata = mapping(document, "metadata")
    labels = mapping(metadata, "labels")
    pool = str(labels.get(pool_label_key(labels), ""))
    own = mapping(metadata, "annotations").get(DO_NOT_DISRUPT) == "true"
    return ProtectedNode(node=text(metadata, "name"), pool=pool), own


def _shielding(document: Mapping[str, t.Any], now: datetime) -> ProtectedNode | None:
    """The node that the pod holds by do-not-disrupt at ``now``, without its pool; None if it holds none. ValueError if
    it is no pod."""
    if DO_NOT_DISRUPT not in mapping(mapping(document, "metadata"), "annotations"):
        return None
    try:
        pod = read_pod(document)
    except FleetError as error:
        raise ValueError(str(error)) from None
    found = protection(pod, now)
    return ProtectedNode(node=pod.node, pod=pod.key, until=found.until) if pod.active and found.holds else None


def _removed(client: KubeClient) -> tuple[tuple[str, str], ...]:
    """As of ``apis_to_be_removed``, what was asked of the server; ApiError as of a request."""
    return apis_to_be_removed(client.send("GET", "/metrics").data.decode("utf-8", "replace"))


def blocked_words(found: t.Sequence[PreflightFinding]) -> str:
    """How many members cannot be upgraded, and the first ``NAMED`` of them, in a line; empty if all can."""
    names = list(dict.fromkeys(each.member for each in found if each.blocks))
    many = f"{len(names)} cluster{'' if len(names) == 1 else 's'}"
    return f"{many} cannot be upgraded as things are: {listed(names, NAMED)}" if names else ""


def finding_lines(found: t.Sequence[PreflightFinding]) -> list[str]:
    """Each finding as a line for people, what blocks first, else in their order."""
    ordered = sorted(found, key=lambda each: not each.blocks)
    return [f"{'blocks' if each.blocks else 'note'}: {each.member}: {each.message} [{each.code}]" for each in ordered]
