# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that leave: what was placed there is released or removed, under the brakes, and then they are forgotten."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from functools import partial

from .._core.errors import FleetError, Problem
from .._core.plan.brakes import removals
from .._core.plan.outcome import MemberOutcome
from .._core.resources.applyset import ID_LABEL, ApplySet
from .._kube.client import KubeClient
from .._kube.lists import list_objects
from .._kube.parallel import in_parallel
from .._store.records import Records
from .holding import take
from .identity import recorded_uids, several_names
from .known import PARENT
from .member_apply import WHOLE_MEMBER, MemberTask, run_on_member
from .member_lease import MemberLeases
from .members import Clients, Member, identified_members
from .observe import PARENTS, parsed_parent
from .sources import PLACEMENT
from .update_claims import busy

LEASE_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Farewell:
    """``remove`` deletes what was placed, otherwise it stays there without our marks. ``forget_unreachable`` lets
    members go that cannot be asked, or whose cluster is another one by now; what is on them stays.
    """

    names: tuple[str, ...]
    remove: bool = False
    forget_unreachable: bool = False
    max_removals: int | str = "30%"
    prune_kinds: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Left:
    """Outcomes by member and placement; ``unreachable`` members were forgotten with what is on them, and ``doubles``
    because their cluster is a member under another name. ``others`` are placements of other records, left alone.
    """

    left: tuple[str, ...] = ()
    outcomes: t.Mapping[str, t.Mapping[str, MemberOutcome]] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()
    others: t.Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: tuple[Problem, ...] = ()


def leave(records: Records, wish: Farewell, hub: KubeClient | None, holder: str, write: bool) -> Left:
    """Lets the named members go; names that are no members are passed over. What other records placed on a member is
    not touched, nor is a cluster that is still a member under another name.

    One that cannot be reached stops all; one whose answers or ApplySets are damaged stays, and the others go.
    """
    members = identified_members(records, hub, write)
    names = [name for name in wish.names if name in members]
    _refuse_busy(records, names)
    doubles = _doubles(members, names)
    if wish.remove:
        _check_brakes(records, [name for name in names if name not in doubles], wish.max_removals)
    asked = {name: members[name].fleet for name in names if name not in doubles}
    with Clients(members=asked, hub=hub, strict=True, leases=MemberLeases(records, holder)) as clients:
        ours = {(each["metadata"]["name"], each["metadata"]["uid"]) for each in records.list(PLACEMENT)}
        looked = in_parallel({name: _emptied(clients, name, wish, ours, write=False) for name in asked})
        unreachable = [name for name in asked if isinstance(looked[name], FleetError)]
        damaged: tuple[Problem, ...] = ()
        if unreachable and not wish.forget_unreachable:
            damaged = tuple(_unreachable(looked, unreachable))
            if len(damaged) == len(names) or any(each.code in WHOLE_MEMBER for each in damaged):
                raise FleetError.of(damaged)
            names = [name for name in names if name not in unreachable]
            asked, unreachable = {name: each for name, each in asked.items() if name in names}, []
        if not write:
            return Left(
                left=tuple(names),
                outcomes=_outcomes(looked),
                unreachable=tuple(unreachable),
                failed=damaged,
                doubles=doubles,
                others=_others(looked),
            )
        leases = [take(records, f"member/{name}", holder, LEASE_SECONDS) for name in names]
        try:
            done = in_parallel(
                {name: _emptied(clients, name, wish, ours, write=True) for name in asked if name not in unreachable}
            )
            failed = (*damaged, *_failed(done))
            stuck = {each.where for each in failed}
            gone = [name for name in names if name not in stuck]
            for name in gone:
                _forget(records, name)
        finally:
            for lease in leases:
                records.release(lease)
    return Left(
        left=tuple(gone),
        outcomes=_outcomes(done),
        unreachable=tuple(unreachable),
        doubles=tuple(name for name in doubles if name in gone),
        others=_others(looked),
        failed=failed,
    )


def _doubles(members: t.Mapping[str, Member], leaving: t.Container[str]) -> tuple[str, ...]:
    """Those that leave and whose cluster is a member under another name that stays, or leaves after them."""
    found: list[str] = []
    for same in several_names(recorded_uids({name: member.fleet for name, member in members.items()})):
        go = [name for name in same if name in leaving]
        found += go[:-1] if len(go) == len(same) else go
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class _Emptied:
    outcomes: t.Mapping[str, MemberOutcome]
    others: tuple[str, ...]


def _emptied(
    clients: Clients, name: str, wish: Farewell, ours: t.Container[tuple[str, str]], write: bool
) -> t.Callable[[], _Emptied]:
    def work() -> _Emptied:
        client = clients.get(name)
        found = applysets_on(client)
        outcomes = {
            each.placement: run_on_member(
                client,
                MemberTask(
                    cluster=name,
                    identity=each,
                    leaving=True,
                    abandon=not wish.remove,
                    prune_kinds=wish.prune_kinds,
                    write=write,
                    due=True,
                ),
                partial(clients.holding, name, f"member/{name}"),
            )
            for each in found
            if (each.placement, each.uid) in ours
        }
        return _Emptied(outcomes=outcomes, others=tuple(x.placement for x in found if x.placement not in outcomes))

    return work


def applysets_on(client: KubeClient) -> tuple[ApplySet, ...]:
    """Every ApplySet of ours on a member, by placement."""
    found = [parsed_parent(each, client) for each in _parents(client)]
    return tuple(sorted(found, key=lambda each: each.placement))


def _parents(client: KubeClient) -> t.Iterator[dict[str, t.Any]]:
    return list_objects(client, PARENTS, label_selector=ID_LABEL, kind="ConfigMap")


def _check_brakes(records: Records, names: t.Sequence[str], limit: int | str) -> None:
    held: dict[str, set[str]] = {}
    for binding in records.list("ClusterResourceBinding"):
        placement = (binding["metadata"].get("labels") or {}).get(PARENT, "")
        held.setdefault(placement, set()).add(binding["spec"]["targetCluster"])
    stopped = []
    for placement, clusters in sorted(held.items()):
        brake = removals(placement, len(clusters), len(clusters & set(names)), limit)
        if brake.stops:
            stopped.append(Problem("brake-max-removals", brake.message, placement, f"if it is meant: {brake.option}"))
    if stopped:
        raise FleetError.of(stopped)


def _refuse_busy(records: Records, names: t.Iterable[str]) -> None:
    hint = "conduct its run to the end of this upgrade, then let the member go"
    found = {name: busy(records, records.get("FleetMember", name) or {"metadata": {"name": name}}) for name in names}
    problems = [Problem("member-busy", f"{each} is in flight", name, hint) for name, each in found.items() if each]
    if problems:
        raise FleetError.of(problems)


def _unreachable(looked: t.Mapping[str, t.Any], names: t.Sequence[str]) -> list[Problem]:
    hint = "forget_unreachable: true lets it go; what was placed there stays"
    return [
        Problem(problem.code, problem.message, name, hint) for name in names for problem in looked[name].problems[:1]
    ]


def _outcomes(answers: t.Mapping[str, t.Any]) -> dict[str, t.Mapping[str, MemberOutcome]]:
    return {name: answer.outcomes for name, answer in answers.items() if not isinstance(answer, FleetError)}


def _others(answers: t.Mapping[str, t.Any]) -> dict[str, tuple[str, ...]]:
    return {name: one.others for name, one in answers.items() if not isinstance(one, FleetError) and one.others}


def _failed(done: t.Mapping[str, t.Any]) -> tuple[Problem, ...]:
    found = []
    for name, answer in done.items():
        if isinstance(answer, FleetError):
            found.append(Problem(answer.code, answer.message, name))
            continue
        found += [
            Problem("not-removed", f"{failure.id}: {failure.message}", name)
            for outcome in answer.outcomes.values()
            for failure in outcome.failures
        ]
    return tuple(found)


def _forget(records: Records, name: str) -> None:
    for binding in records.list("ClusterResourceBinding"):
        if binding["spec"]["targetCluster"] == name:
            records.delete("ClusterResourceBinding", binding["metadata"]["name"])
    records.delete("MemberCluster", name)
    records.delete("FleetMember", name)
