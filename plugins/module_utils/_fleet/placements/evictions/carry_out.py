# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evictions of placements (KubeFleet) carried out: judged in turn under the placement's lease, removed on members,
recorded as valid and executed, refused (``eviction-`` and the reason), and taken out of the placement's status;
``done``, ``partial`` or ``failed``.

What is meant is recorded first: the eviction as valid, the binding as leaving. A run that was cut short finds them so,
and ends what was begun. The eviction is recorded as executed before its binding goes: it is never tried twice.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...._core.errors import FleetError, Problem
from ...._core.objects.audit.audit_entry import EVICTED, WAITING
from ...._core.objects.clusters.fleet_member import FleetMember
from ...._core.objects.placements.binding import (
    PREVIOUS_STATE,
    REMOVING,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ...._core.objects.placements.disruption_budget import ClusterResourcePlacementDisruptionBudget
from ...._core.objects.placements.eviction import EXECUTED, ClusterResourcePlacementEviction
from ...._core.objects.placements.rollout_strategy import with_apply_defaults
from ...._core.plan.document import PlacementPlan
from ...._core.plan.losing.evicted import DONE, REFUSED, UNDERWAY, EvictionResult, eviction_plan
from ...._core.plan.outcome import MemberOutcome
from ...._core.rollout.conditions import UNKNOWN, set_condition, without_condition
from ...._core.rollout.eviction import Evicted, EvictionVerdict, judged_eviction
from ...._core.rollout.readiness import AVAILABLE
from ...._core.schema.codec import encode
from ...._core.values.instants import write_time
from ...._kube.client import Timeouts
from ...._store.records import Lease
from ...audit.evidence import Deed, attested
from ...conductor.interrupts import Interrupts
from ...keeping import Keeper
from ...leases import leaving_members, leaving_problem
from ...members.members import (
    Clients,
    Member,
    members_to_write,
    open_clients,
    recorded_members,
)
from ...session import Session
from ..binding_journal import taken_up
from ..cut_short import refuse_to_begin
from ..look import ApplyOptions, Writing, in_threads, on_members
from ..recorded import (
    Document,
    RecordedPlacement,
    is_recovering,
    recorded_placement,
    unfinished_recovery_problem,
)
from .asked import RequestedEviction, Wanted, record_budgets, record_eviction, wanted_evictions
from .evicted_records import record_evicted
from .holders import holders_seen
from .next_pick import next_pick_words
from .results import failures_of, result_of, result_over


@dataclass(frozen=True, kw_only=True)
class EvictionRequest:
    """As of ``wanted_evictions`` (no ``placement``: evictions of files and records). Without ``write`` it only judges,
    and looks. ``timeout`` is seconds to connect."""

    src: tuple[str, ...] = ()
    placement: str = ""
    clusters: tuple[str, ...] = ()
    ways: ApplyOptions = ApplyOptions()
    timeout: float = 5.0
    write: bool = False


@dataclass(frozen=True, kw_only=True)
class EvictionReport:
    """``changed``: anything in the records or on members is another now, or would be; leases, journal and evidence do
    not count. ``results`` are by placement, first those that were over before. ``problems`` name what failed."""

    results: tuple[EvictionResult, ...]
    changed: bool
    problems: tuple[Problem, ...] = ()
    findings: tuple[Problem, ...] = ()

    @property
    def refused(self) -> tuple[Problem, ...]:
        """A problem for each eviction that was judged now and is not permitted, its code ``eviction-`` and the
        reason."""
        return tuple(
            Problem(f"eviction-{each.verdict.why}", each.verdict.message, f"{each.cluster} ({each.placement})")
            for each in self.results
            if each.state == REFUSED
        )

    @property
    def outcome(self) -> str:
        """``done`` if nothing failed or was refused; else ``partial`` if an eviction was carried out or begun,
        ``failed`` if none was."""
        if not self.problems and not self.refused:
            return "done"
        return "partial" if any(each.state in (DONE, UNDERWAY) for each in self.results) else "failed"


@dataclass(frozen=True, kw_only=True)
class _Evicting:
    session: Session
    clients: Clients
    members: t.Mapping[str, Member]
    request: EvictionRequest
    wanted: Wanted
    told: t.Callable[[], str]
    now: datetime
    # Names of evictions of which something was written, or would be.
    changed: set[str] = field(default_factory=set)
    # Holders that were found to be less than is recorded.
    findings: list[Problem] = field(default_factory=list)


@dataclass
class _Placement:
    """One placement whose evictions are judged: its bindings become fewer. ``seen`` are those whose clusters were
    looked at, by name, as they are by now. ``keeper`` and ``lease`` only where it is written; ``failed`` is what came
    after an eviction was executed."""

    recorded: RecordedPlacement
    bindings: list[ClusterResourceBinding]
    budget: ClusterResourcePlacementDisruptionBudget | None
    seen: dict[str, ClusterResourceBinding] = field(default_factory=dict)
    keeper: Keeper | None = None
    lease: Lease | None = None
    failed: FleetError | None = None


def run_evictions(session: Session, request: EvictionRequest) -> EvictionReport:
    """Judges what is asked for; with ``write`` records the budgets of the files first, which stay whatever follows, and
    carries out what is permitted. What fails at a placement is among the problems, and stops no other. FleetError as of
    ``wanted_evictions``, ``recorded_members``, ``members_to_write``, ``record_budgets``; where there is no result at
    all, these problems (``lease-held``, ``interrupted`` and so on)."""
    now = session.clock()
    wanted = wanted_evictions(session.records, request.src, request.placement, request.clusters, now)
    members = members_to_write(session) if request.write else recorded_members(session.records)
    fleet: dict[str, FleetMember] = {name: each.fleet for name, each in members.items()}
    timeouts = Timeouts.connecting(request.timeout)
    budgets = record_budgets(session.records, wanted, request.write)
    results, problems = list[EvictionResult](), list[Problem]()
    with Interrupts() as told, open_clients(session, fleet, timeout=timeouts, strict=request.write) as clients:
        work = _Evicting(
            session=session, clients=clients, members=members, request=request, wanted=wanted, told=told, now=now
        )
        for name in dict.fromkeys(each.eviction.spec.placement_name for each in wanted.evictions):
            try:
                for result in _of_placement(work, name):
                    results.append(result)
            except FleetError as error:
                problems += [replace(each, where=each.where or name) for each in error.problems]
    if problems and not results:
        raise FleetError.of(problems)
    return EvictionReport(
        results=tuple(results),
        changed=budgets or bool(work.changed),
        problems=(*problems, *failures_of(results)),
        findings=(*wanted.findings, *work.findings),
    )


def _of_placement(work: _Evicting, name: str) -> t.Iterator[EvictionResult]:
    """The results of one placement: those that are over, then the others as each is judged; with ``write`` under its
    lease. FleetError of taking and keeping that, and as of ``_begun`` and ``_judged`` stops the rest."""
    asked = [each for each in work.wanted.evictions if each.eviction.spec.placement_name == name]
    due = [each for each in asked if not each.is_over]
    yield from (result_over(each) for each in asked if each.is_over)
    if not due:
        return
    if not work.request.write:
        yield from _judged(work, _begun(work, name), due)
        return
    with Keeper(work.session.records, work.session.holder, work.told) as keeper:
        keeper.check()
        lease = keeper.take(f"placement/{name}")
        placement = _begun(work, name)
        placement.keeper, placement.lease = keeper, lease
        yield from _judged(work, placement, due)


def _begun(work: _Evicting, name: str) -> _Placement:
    """What is recorded of the placement now. FleetError ``recovery-unfinished``, as of ``recorded_placement``."""
    recorded = recorded_placement(work.session.records, name)
    if is_recovering(recorded.document):
        raise FleetError.of([unfinished_recovery_problem(name)])
    return _Placement(recorded=recorded, bindings=_bindings(recorded), budget=work.wanted.budgets.get(name))


def _bindings(recorded: RecordedPlacement) -> list[ClusterResourceBinding]:
    """As a rollout takes them up: what is recorded of them counts for today. None without the placement's record."""
    if recorded.placement is None:
        return []
    strategy = with_apply_defaults(recorded.placement.spec.strategy.apply_strategy)
    generations = {name: each["metadata"]["generation"] for name, each in recorded.bindings.items()}
    return [taken_up(each, generations[each.name], strategy) for each in recorded.known.bindings]


def _judged(work: _Evicting, placement: _Placement, due: t.Iterable[RequestedEviction]) -> t.Iterator[EvictionResult]:
    """Judges one after another, on what the former has left; carries out what is permitted and not done yet, and, where
    it writes, records what is refused if it is ``kept``. FleetError as of ``record_eviction`` and ``_carried_out``, and
    ``interrupted``: of an eviction that was judged on a look which was broken off nothing is recorded. One of the
    records that comes after an eviction was executed is raised behind its result."""
    for each in due:
        judged = _verdict(work, placement, each.eviction)
        refuse_to_begin(work.told(), "no further eviction is begun")
        verdict = judged.executed or judged.valid
        if verdict is None:
            raise AssertionError("what is not over is judged")
        if judged.executed is None or not judged.executed.yes:
            if each.kept:
                _recorded(work, placement, each, judged.eviction)
            yield result_of(each, REFUSED, verdict)
        elif not any(one.spec.target_cluster == each.eviction.spec.cluster_name for one in placement.bindings):
            _recorded(work, placement, each, judged.eviction)
            yield result_of(each, DONE, verdict)
        else:
            yield _attested(work, placement, each, judged, verdict)
            if placement.failed is not None:
                raise placement.failed


def _verdict(work: _Evicting, placement: _Placement, eviction: ClusterResourcePlacementEviction) -> Evicted:
    """The eviction once it is judged: where a budget decides, on what the other clusters that hold the placement have
    by now, each of which is looked at once; of its own cluster what is recorded. FleetError as of ``judged_eviction``,
    ``no-workers``."""
    recorded, budget = placement.recorded, placement.budget
    judged = judged_eviction(eviction, recorded.placement, placement.bindings, budget, work.now)
    if recorded.placement is None or judged.executed is None or judged.executed.arithmetic is None:
        return judged
    own = eviction.spec.cluster_name
    others = [each for each in placement.bindings if each.name not in placement.seen]
    others = [each for each in others if each.spec.target_cluster != own]
    runners = in_threads(work.request.ways.threads, work.told)
    seen, found = holders_seen(recorded, others, work.clients, work.request.ways, runners, work.now)
    placement.seen |= {each.name: each for each in seen}
    work.findings.extend(() if work.told() else found)
    bindings = [
        each if each.spec.target_cluster == own else placement.seen.get(each.name, each) for each in placement.bindings
    ]
    return judged_eviction(eviction, recorded.placement, bindings, budget, work.now)


def _attested(
    work: _Evicting, placement: _Placement, asked: RequestedEviction, judged: Evicted, verdict: EvictionVerdict
) -> EvictionResult:
    """The result of what is permitted, testified where it is written. FleetError as of ``_carried_out``."""
    spec = asked.eviction.spec
    deed = Deed(
        action=EVICTED,
        kind="ClusterResourcePlacement",
        name=spec.placement_name,
        members=(spec.cluster_name,),
        message=f"eviction {asked.eviction.name}: {verdict.message}",
    )
    with attested(work.session, deed, write=placement.lease is not None) as testimony:
        result = _carried_out(work, placement, asked, judged, verdict)
        if result.state == UNDERWAY:
            testimony.end(WAITING, "not everything is gone there; the next run goes on")
    return result


def _carried_out(
    work: _Evicting, placement: _Placement, asked: RequestedEviction, judged: Evicted, verdict: EvictionVerdict
) -> EvictionResult:
    """The result of what is permitted: DONE if all is gone from the member, or would be, else UNDERWAY. Where it writes
    it is recorded as meant, then once DONE as executed; what fails then is kept in ``_Placement.failed``. FleetError of
    the records, ``no-workers``."""
    if placement.recorded.placement is None:
        raise AssertionError("only of a placement that is there")
    cluster = asked.eviction.spec.cluster_name
    binding = next(each for each in placement.bindings if each.spec.target_cluster == cluster)
    intended = replace(judged.eviction, status=replace(judged.eviction.status, conditions=_intended(judged)))
    asked = _recorded(work, placement, asked, intended)
    if placement.lease is not None:
        document = _leaving(work, placement, binding)
    if binding.metadata.deletion_timestamp is None:
        work.changed.add(asked.eviction.name)
    plan = eviction_plan(
        placement.recorded.placement, placement.recorded.known, binding, verdict.message, work.request.ways.prune_kinds
    )
    outcome = _removed(work, placement, plan, cluster)
    gone = outcome is None or (outcome.applied if placement.lease is not None else outcome.error is None)
    if outcome is None or gone or outcome.wrote or outcome.doubtful:
        work.changed.add(asked.eviction.name)
    placement.bindings = _after(placement.bindings, binding, gone, work.now)
    placement.seen |= {each.name: each for each in placement.bindings if each.name == binding.name}
    if placement.lease is not None and placement.keeper is not None and gone:
        placement.keeper.check_leases()
        _recorded(work, placement, asked, judged.eviction)
        try:
            work.session.records.delete(document["kind"], document["metadata"]["name"], lease=placement.lease)
            record_evicted(
                work.session, placement.recorded.placement, cluster, verdict.message, work.now, placement.lease
            )
        except FleetError as error:
            placement.failed = error
    result = replace(result_of(asked, DONE if gone else UNDERWAY, verdict), outcome=outcome)
    if not gone:
        return result
    told = next_pick_words(work.session, work.members, placement.recorded, placement.bindings, cluster)
    return replace(result, next_pick=told)


def _recorded(
    work: _Evicting, placement: _Placement, asked: RequestedEviction, eviction: ClusterResourcePlacementEviction
) -> RequestedEviction:
    """``asked`` once the eviction is recorded with its conditions, which it is only where it is written. FleetError as
    of ``record_eviction``."""
    says = asked.says(eviction)
    if placement.lease is not None:
        asked = record_eviction(work.session.records, asked, eviction, placement.lease)
    if not says:
        work.changed.add(asked.eviction.name)
    return asked


def _intended(judged: Evicted) -> tuple[t.Any, ...]:
    """The eviction's conditions as of one found valid, and not yet executed."""
    return without_condition(judged.eviction.status.conditions, EXECUTED)


def _leaving(work: _Evicting, placement: _Placement, binding: ClusterResourceBinding) -> Document:
    """The binding's record, saying that its cluster is being cleaned: whoever counts does not count on it any more.
    Written unless it says so already. FleetError of the records."""
    document = placement.recorded.bindings[binding.name]
    conditions = _unavailable(binding, work.now)
    annotations = {
        **(document["metadata"].get("annotations") or {}),
        PREVIOUS_STATE: document["spec"]["state"],
        REMOVING: write_time(work.now),
    }
    if binding.metadata.deletion_timestamp is not None:
        return document
    return work.session.records.replace(
        {
            **document,
            "metadata": {**document["metadata"], "annotations": annotations},
            "spec": {**document["spec"], "state": UNSCHEDULED},
            "status": encode(replace(binding.status, conditions=conditions)),
        },
        placement.lease,
    )


def _unavailable(binding: ClusterResourceBinding, now: datetime) -> tuple[t.Any, ...]:
    """The binding's conditions with ``Available`` Unknown."""
    row = (UNKNOWN, "Evicted", "the placement is leaving the cluster")
    return set_condition(binding.status.conditions, AVAILABLE, row, binding.metadata.generation, now)


def _removed(work: _Evicting, placement: _Placement, plan: PlacementPlan, cluster: str) -> MemberOutcome | None:
    """What was done on the member, or would be; None for one that has left the fleet: what is there stays. One that is
    being let go has an error and is left alone. FleetError of the records, ``no-workers``."""
    if cluster not in work.members:
        return None
    held_by = leaving_members(work.session.records).get(cluster)
    if held_by:
        return MemberOutcome(cluster=cluster, error=leaving_problem(cluster, held_by))
    keeper = placement.keeper
    writing = Writing(permit=keeper.check, say=work.session.say) if keeper else None
    uid = placement.recorded.uid
    ways = work.request.ways
    runners = in_threads(ways.threads, work.told)
    return on_members(plan, uid, work.clients, ways, writing=writing, runners=runners)[cluster]


def _after(
    bindings: t.Iterable[ClusterResourceBinding], judged: ClusterResourceBinding, gone: bool, now: datetime
) -> list[ClusterResourceBinding]:
    """The bindings that the next eviction is judged on."""
    if gone:
        return [each for each in bindings if each.name != judged.name]
    left = replace(judged, status=replace(judged.status, conditions=_unavailable(judged, now)))
    return [left if each.name == judged.name else each for each in bindings]
