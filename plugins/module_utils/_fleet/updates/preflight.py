# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A look at all members of a run before anybody approves it; they are read, and nothing is written."""

from __future__ import annotations

import typing as t

from ..._core.cluster.facts.member import pools_of
from ..._core.errors import FleetError
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.preflight import MemberLook, PreflightFinding, deprecated_apis, findings
from ..._core.updates.record.run_state import run_of
from ..._core.updates.releases.targets import target_of
from ..._core.values.parts import mapping, text
from ..._kube.access import version
from ..._kube.client import KubeClient, Timeouts
from ..._kube.lists import read_each
from ..._kube.parallel import in_parallel
from ..members.facts import nodes_of
from ..members.members import Clients, open_clients, recorded_members
from ..session import Session
from .constraints import StartConstraints
from .pools import WholeJudge, by_steps
from .sources import UpdateManifests

BUDGETS, MOST_BUDGETS = "/apis/policy/v1/poddisruptionbudgets", 100_000
T = t.TypeVar("T")


def preflight(
    session: Session, run: UpdateRun, given: UpdateManifests, threads: int, timeout: float
) -> tuple[PreflightFinding, ...]:
    """Everything that speaks against upgrading the members that have not ended, member by member.

    FleetError ``record-damaged``, ``no-such-maintenance``.
    """
    names = run_of(run).unfinished
    documents = [each for each in session.records.list("FleetMember") if each["metadata"]["name"] in names]
    there = names & {each["metadata"]["name"] for each in documents}
    members = {name: each.fleet for name, each in recorded_members(session.records).items() if name in there}
    kind, now = run.spec.managed_cluster_update.upgrade.type, session.clock()
    permits = StartConstraints(session.records, kind, run.target, given)
    views = permits.views(documents, now)
    whole = WholeJudge(target=target_of(run), known=permits.releases, member=members.get)
    judge = whole if by_steps(run) else None
    with open_clients(session, members, timeout=Timeouts.connecting(timeout)) as clients:
        looks = in_parallel({name: _looking(clients, name, each) for name, each in members.items()}, threads=threads)
    found: list[PreflightFinding] = []
    for name, look in looks.items():
        seen = MemberLook(name=name, unreachable=str(look)) if isinstance(look, FleetError) else look
        found += findings(seen, views[name], run.target, now, judge, run.spec.managed_cluster_update.upgrade.chain)
    return tuple(found)


def _looking(clients: Clients, name: str, member: FleetMember) -> t.Callable[[], MemberLook]:
    return lambda: _look(clients.get(name), name, member)


def _look(client: KubeClient, name: str, member: FleetMember) -> MemberLook:
    """FleetError if not even its version can be read."""
    unread: dict[str, str] = {}
    nodes = _part("nodes", unread, lambda: nodes_of(client))
    return MemberLook(
        name=name,
        version=version(client),
        pools=member.status.node_pools if nodes is None else pools_of(nodes),
        not_ready=tuple(each.name for each in nodes or () if not each.ready),
        blocking=_part("disruption budgets", unread, lambda: _blocking(client)) or (),
        removed=_part("metrics", unread, lambda: _removed(client)) or (),
        unread=unread,
    )


def _part(name: str, unread: dict[str, str], read: t.Callable[[], T]) -> T | None:
    try:
        return read()
    except FleetError as error:
        unread[name] = error.message
        return None


def _blocking(client: KubeClient) -> tuple[str, ...]:
    """Budgets over pods that are there, and of which none may be evicted now."""
    found = read_each(client, BUDGETS, _held_by, "PodDisruptionBudget", MOST_BUDGETS).items
    return tuple(sorted(each for each in found if each))


def _held_by(budget: t.Mapping[str, t.Any]) -> str:
    """Its name if it allows nothing; ValueError if it is none."""
    status, metadata = mapping(budget, "status"), mapping(budget, "metadata")
    if not status.get("expectedPods") or status.get("disruptionsAllowed"):
        return ""
    return f"{text(metadata, 'namespace')}/{text(metadata, 'name')}"


def _removed(client: KubeClient) -> tuple[tuple[str, str], ...]:
    return deprecated_apis(client.send("GET", "/metrics").data.decode("utf-8", "replace"))


def finding_lines(found: t.Sequence[PreflightFinding]) -> list[str]:
    """Each finding as a line for people, what blocks first."""
    ordered = sorted(found, key=lambda each: not each.blocks)
    return [f"{'blocks' if each.blocks else 'note'}: {each.member}: {each.message} [{each.code}]" for each in ordered]
