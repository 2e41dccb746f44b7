# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that leave: what was placed there is released or removed (``not-removed``), under the brakes
(``max_removals``, ``member-busy``), and then they are forgotten, with ``forget_unreachable`` also those that do not
answer."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field, replace
from functools import partial

from ..._core.cluster.silence import WHOLE_MEMBER
from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import DONE, FAILED, LEFT, PARTIAL
from ..._core.objects.placements.key import PlacementKey
from ..._core.plan.brakes import removals_brake
from ..._core.plan.outcome import MemberOutcome
from ..._core.values.listed import listed
from ..._kube.parallel import in_parallel
from ..._store.records import Lease, Records
from ..audit.evidence import Deed, attested
from ..conductor.interrupts import Interrupts
from ..keeping import INTERRUPTED, Keeper
from ..leases import leaving_lease, leaving_members
from ..nodes.other_rotations import nodes_in_hand
from ..placements.look import Writing, outcome_of_answer
from ..placements.on_member.member_apply import (
    MemberProgress,
    MemberTask,
    run_on_member,
)
from ..placements.on_member.observe import applysets_on
from ..placements.recorded import all_bindings, all_placements, cluster_of, delete_record
from ..session import Session
from ..updates.claims import operations_in_flight
from .identity import recorded_uids, several_names
from .members import (
    Clients,
    Member,
    identified_members,
    open_clients,
)

Ours = t.Container[tuple[str, str]]
"""Name and uid of each placement of these records."""


@dataclass(frozen=True, kw_only=True)
class LeaveRequest:
    """``remove`` deletes what was placed, otherwise it stays there without our marks. ``forget_unreachable`` lets
    members go that cannot be asked, or whose cluster is another one by now; what is on them stays. ``max_removals`` is
    how many clusters ``remove`` may take a placement from, a number or a share such as ``30%``, but one at least;
    ``prune_kinds`` are kinds that ``remove`` deletes although they may hold more than was placed; ``patience`` is how
    many seconds to wait for what is deleted to be gone, for each placement on a member."""

    names: tuple[str, ...]
    remove: bool = False
    forget_unreachable: bool = False
    max_removals: int | str = "30%"
    prune_kinds: tuple[str, ...] = ()
    patience: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Left:
    """``left`` are names of members that went, or would go, as they were asked for; ``outcomes`` are by member and
    placement; ``unreachable`` members were forgotten with what is on them, and ``doubles`` because their cluster is a
    member under another name. ``others`` are placements of other records; ``failed`` says why members stayed;
    ``strangers`` are no members."""

    left: tuple[str, ...] = ()
    outcomes: t.Mapping[str, t.Mapping[str, MemberOutcome]] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()
    others: t.Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: tuple[Problem, ...] = ()
    strangers: tuple[str, ...] = ()


def leave(session: Session, wish: LeaveRequest, write: bool) -> Left:
    """Lets the named members go, with evidence, or without ``write`` only looks. What other records placed on a member
    is not touched, nor is a cluster that is still a member under another name. Meanwhile no placement that they hold is
    carried out, and no other is brought to them.

    FleetError ``lease-held`` where somebody is at it; ``records-moved`` where the other name of a cluster leaves, too;
    ``member-busy``, ``brake-max-removals``, ``record-damaged``, others of the records, ``no-workers``; ``lease-lost``,
    after which some may be gone already. ValueError with ``remove`` for ``max_removals`` that are no number and no
    share.

    If a member cannot be looked at for an error of ``WHOLE_MEMBER``, that is raised; for another one the member stays,
    and if all do, that is raised; with ``forget_unreachable`` it is forgotten in either case. A member on which
    something fails later stays, and the others go; once this run is told to end, those alone go of which all was done
    by then.
    """
    records = session.records
    members = identified_members(session, write)
    names = [name for name in dict.fromkeys(wish.names) if name in members]
    _refuse_busy(records, names, names if wish.forget_unreachable else ())
    doubles = _doubles(members, names)
    _check_brakes(records, names, doubles, wish)
    asked = {name: members[name].fleet for name in names if name not in doubles}
    with open_clients(session, asked, strict=True) as clients:
        ours = _placements(records)
        looked = in_parallel({name: _emptied(clients, name, wish, ours) for name in asked})
        unreachable = [name for name in asked if isinstance(looked[name], FleetError)]
        damaged: tuple[Problem, ...] = ()
        if unreachable and not wish.forget_unreachable:
            damaged = tuple(_unreachable(looked, unreachable))
            if len(damaged) == len(names) or any(each.code in WHOLE_MEMBER for each in damaged):
                raise FleetError.of(damaged)
            names, unreachable = [name for name in names if name not in unreachable], []
        found = Left(
            left=tuple(names),
            outcomes=_outcomes(looked),
            unreachable=tuple(unreachable),
            doubles=doubles,
            others=_others(looked),
            failed=damaged,
            strangers=tuple(name for name in dict.fromkeys(wish.names) if name not in members),
        )
        if wish.forget_unreachable:
            _refuse_busy(records, names, unreachable)
        if not write:
            return found
        with (
            Interrupts() as told,
            Keeper(records, session.holder, told) as keeper,
            contextlib.ExitStack() as stack,
        ):
            leases = _taken(records, keeper, names, looked)
            _refuse_busy(records, names, unreachable)
            _refuse_last_name(records, members, names, doubles)
            _check_brakes(records, names, doubles, wish)
            ours = _placements(records)
            writing = Writing(permit=keeper.check, say=session.say)
            testimony = stack.enter_context(
                attested(session, _deed(records, names, wish, {*unreachable, *doubles}), write=bool(names))
            )
            emptied = [name for name in names if name in asked and name not in unreachable]
            done = in_parallel({name: _emptied(clients, name, wish, ours, writing) for name in emptied}, told=told)
            came = told()
            failed = (
                *damaged,
                *_failed(done),
                *(_not_begun(came, name) for name in names if came and name not in done),
            )
            stuck = {each.where for each in failed}
            gone = tuple(name for name in names if name not in stuck)
            keeper.check_leases()
            bound = _by_cluster(records)
            for name in gone:
                keeper.check_leases()
                _forget(records, name, bound.get(name, ()), leases)
            outcome = DONE if not failed else PARTIAL if gone else FAILED
            testimony.end(outcome, str(failed[0]) if failed else "", gone)
    found = replace(found, left=gone, outcomes=_outcomes(done), others={**found.others, **_others(done)}, failed=failed)
    unasked, doubles = (tuple(name for name in each if name in gone) for each in (found.unreachable, doubles))
    return replace(found, unreachable=unasked, doubles=doubles)


def _placements(records: Records) -> set[tuple[str, str]]:
    """All that are recorded, each with its uid. FleetErrors of the records."""
    return {(str(PlacementKey.of_record(each)), each["metadata"]["uid"]) for each in all_placements(records)}


def _deed(records: Records, names: t.Sequence[str], wish: LeaveRequest, passed_over: t.Container[str]) -> Deed:
    """That these members leave, and what becomes of what was placed on them; on those that are ``passed_over`` it
    stays. FleetError as of ``_by_cluster``."""
    bound = _by_cluster(records)
    holding = [name for name in names if name in bound]
    staying = [name for name in holding if name in passed_over or not wish.remove]
    said = "what was placed there is removed" if holding else "nothing was placed there"
    if staying:
        said = "what was placed there stays" if staying == holding else f"{said}, but stays on {listed(staying)}"
    return Deed(action=LEFT, kind="MemberCluster", members=names, message=said)


def _doubles(members: t.Mapping[str, Member], leaving: t.Container[str]) -> tuple[str, ...]:
    """Those that leave and whose cluster is a member under another name that stays, or leaves after them."""
    found: list[str] = []
    for same in several_names(recorded_uids({name: member.fleet for name, member in members.items()})):
        go = [name for name in same if name in leaving]
        found += go[:-1] if len(go) == len(same) else go
    return tuple(found)


def _refuse_last_name(
    records: Records, members: t.Mapping[str, Member], names: t.Container[str], doubles: t.Iterable[str]
) -> None:
    """FleetError ``records-moved`` for ``doubles`` whose cluster is no member under another name any more, or is about
    to be none: what is placed there would be left with nobody. Of two runs that let the two names of one cluster go at
    once, each has left word of that before it looks here, so that one of them sees the other."""
    going = {name for name in leaving_members(records) if name not in names}
    there = records.names("FleetMember") - going
    now = _doubles({name: each for name, each in members.items() if name in there}, names)
    text = "its cluster was a member under another name, which has left since or is about to: what is placed there"
    text += " would be left as it is"
    problems = [Problem("records-moved", text, name, "run again") for name in doubles if name not in now]
    if problems:
        raise FleetError.of(problems)


def _taken(records: Records, keeper: Keeper, names: t.Sequence[str], looked: t.Mapping[str, t.Any]) -> dict[str, Lease]:
    """The leases of the members and of every placement that they hold, by name. Word that a member leaves comes first:
    whoever brings a placement there records that before it looks for such words, so that one of the two sees the other.
    FleetError ``lease-held`` for the first member, or with all placements, that somebody is at."""
    leases = {}
    for name in names:
        for lease in (f"member/{name}", leaving_lease(name)):
            leases[lease] = keeper.take(lease)
    going = frozenset(names)
    placements = {_parent(each) for each in all_bindings(records) if cluster_of(each) in going}
    for outcomes in _outcomes(looked).values():
        placements |= outcomes.keys()
    held: list[Problem] = []
    for each in sorted(filter(None, placements)):
        try:
            leases[f"placement/{each}"] = keeper.take(f"placement/{each}")
        except FleetError as error:
            held += error.problems
    if held:
        raise FleetError.of(held)
    return leases


def _by_cluster(records: Records) -> dict[str, list[dict[str, t.Any]]]:
    """All recorded bindings, by their cluster. FleetError ``record-damaged``, others of the records."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for each in all_bindings(records):
        found.setdefault(cluster_of(each), []).append(each)
    return found


def _parent(binding: dict[str, t.Any]) -> str:
    """The placement that it belongs to; empty where it does not say."""
    key = PlacementKey.of_parent(binding)
    return str(key) if key.name else ""


@dataclass(frozen=True, kw_only=True)
class _Emptied:
    outcomes: t.Mapping[str, MemberOutcome]
    others: tuple[str, ...]


def _emptied(
    clients: Clients, name: str, wish: LeaveRequest, ours: Ours, writing: Writing | None = None
) -> t.Callable[[], _Emptied]:
    """What releases or removes our placements on the member when it is called, in a thread; without ``writing`` only
    looks. FleetError then where the member cannot be read, or, without ``writing``, anything fails."""
    how = writing or Writing()
    holding = partial(clients.holding, name, f"member/{name}")

    def work() -> _Emptied:
        """What became of each placement of ours, with its error if it failed, and the names of placements of others.
        FleetError where the member cannot be read, and without ``writing`` any."""
        client = clients.get(name)
        found = applysets_on(client)
        mine = [each for each in found if (each.placement, each.uid) in ours]
        outcomes = {}
        for each in mine:
            progress = MemberProgress()
            task = MemberTask(
                cluster=name,
                identity=each,
                leaving=True,
                ending=tuple(other.placement for other in mine),
                abandon=not wish.remove,
                prune_kinds=wish.prune_kinds,
                patience=wish.patience,
                write=writing is not None,
                due=True,
                permit=how.permit,
                progress=progress,
                say=how.say,
            )
            try:
                outcomes[each.placement] = run_on_member(client, task, holding)
            except FleetError as error:
                if writing is None:
                    raise
                outcomes[each.placement] = outcome_of_answer(name, error, progress)
        return _Emptied(outcomes=outcomes, others=tuple(each.placement for each in found if each not in mine))

    return work


def _check_brakes(records: Records, names: t.Sequence[str], doubles: t.Container[str], wish: LeaveRequest) -> None:
    """FleetError with a ``brake-max-removals`` for each placement that would lose too many clusters by ``remove``; none
    is lost by a cluster that stays under another name. FleetError as of ``_by_cluster``; ValueError for
    ``max_removals`` that are no number and no share."""
    if not wish.remove:
        return
    losing = {name for name in names if name not in doubles}
    held: dict[str, set[str]] = {}
    for binding in all_bindings(records):
        held.setdefault(_parent(binding), set()).add(cluster_of(binding))
    stopped = []
    for placement, clusters in sorted(held.items()):
        brake = removals_brake(placement, len(clusters), len(clusters & losing), wish.max_removals)
        if brake.stops:
            stopped.append(Problem("brake-max-removals", brake.message, placement, f"if it is meant: {brake.option}"))
    if stopped:
        raise FleetError.of(stopped)


def _refuse_busy(records: Records, names: t.Iterable[str], forgotten: t.Container[str] = ()) -> None:
    """FleetError ``member-busy`` for members with an upgrade in flight, or, unless they are ``forgotten``, with nodes
    that a rotation has in hand: nobody would let go of these any more. ``record-damaged``."""
    hint = "conduct its run to the end of this upgrade, then let the member go"
    leaving = tuple(names)
    members = (each for each in (records.get("FleetMember", name) for name in leaving) if each is not None)
    found = operations_in_flight(records, members)
    problems = [Problem("member-busy", f"{each} is in flight", name, hint) for name, each in found.items()]
    for node in nodes_in_hand(records):
        name, _slash, node_name = node.name.partition("/")
        if name in leaving and name not in forgotten:
            text = f"rotation {node.rotation} has node {node_name} in hand"
            hint = f"carry rotation {node.rotation} on, or stop it, until that has ended, then let the member go;"
            hint += " forget_unreachable: true lets one go that answers no more"
            problems.append(Problem("member-busy", text, name, hint))
    if problems:
        raise FleetError.of(problems)


def _unreachable(looked: t.Mapping[str, t.Any], names: t.Sequence[str]) -> list[Problem]:
    """The first problem of each of these members, with the way out."""
    hint = "forget_unreachable: true lets it go; what was placed there stays"
    return [
        Problem(problem.code, problem.message, name, hint) for name in names for problem in looked[name].problems[:1]
    ]


def _outcomes(answers: t.Mapping[str, t.Any]) -> dict[str, t.Mapping[str, MemberOutcome]]:
    """Outcomes by member and placement, without members that failed as a whole."""
    return {name: answer.outcomes for name, answer in answers.items() if not isinstance(answer, FleetError)}


def _others(answers: t.Mapping[str, t.Any]) -> dict[str, tuple[str, ...]]:
    """By member the placements of other records there; members without any are left out."""
    return {name: one.others for name, one in answers.items() if not isinstance(one, FleetError) and one.others}


def _not_begun(came: str, name: str) -> Problem:
    """``interrupted`` by what ``came``: a member on which nothing was to be done stays one, as if it were not named."""
    return Problem(INTERRUPTED, f"{came}; it stays a member", name, "run again")


def _failed(done: t.Mapping[str, t.Any]) -> tuple[Problem, ...]:
    """Why members stay: that they failed as a whole, or each placement or object that was not released or removed."""
    found = []
    for name, answer in done.items():
        if isinstance(answer, FleetError):
            found.append(Problem(answer.code, answer.message, name, answer.hint or "run again"))
            continue
        for placement, outcome in answer.outcomes.items():
            if outcome.error:
                message = f"{placement}: {outcome.error.message}; written there until then: {outcome.account}"
                found.append(Problem(outcome.error.code, message, name, outcome.error.hint or "run again"))
            found += [Problem("not-removed", f"{failure.id}: {failure.message}", name) for failure in outcome.failures]
    return tuple(found)


def _forget(records: Records, name: str, bound: t.Iterable[dict[str, t.Any]], leases: t.Mapping[str, Lease]) -> None:
    """Deletes the bindings of the member and then its records, under the leases. FleetError ``lease-lost``."""
    for binding in bound:
        delete_record(records, binding, leases.get(f"placement/{_parent(binding)}"))
    for kind in ("MemberCluster", "FleetMember"):
        records.delete(kind, name, lease=leases[f"member/{name}"])
