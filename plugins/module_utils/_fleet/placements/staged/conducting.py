# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run carried on under the placement's lease, or rehearsed; refused before it is recorded, its stages
laid out; answers to its approval requests (every 5 s) and labels of members (15 s) read anew, the placement's status at
the end."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...._core.errors import FleetError
from ...._core.objects.staged.approval import ClusterApprovalRequest
from ...._core.objects.staged.update_run import INITIALIZE, ClusterStagedUpdateRun
from ...._core.plan.document import PlacementPlan
from ...._core.plan.status import placement_status
from ...._core.rollout.content import RolloutBinding
from ...._core.rollout.staged.decide import StagedState, is_over
from ...._core.rollout.staged.digest import staged_digest
from ...._core.rollout.staged.way_back import index_before
from ...._core.rollout.staged.world import AcceptApproval, ObservedState, RequestApproval
from ...._core.schema.meta import find_condition
from ...._core.values import clock_skew
from ...._kube.client import Timeouts
from ...._store.records import Lease
from ...audit.evidence import failing
from ...audit.staged_runs import attested_telling, testify_uncounted
from ...conductor.interrupts import Interrupts
from ...conductor.loop import RELOAD, Conductor, Ending, RunLimits
from ...keeping import Keeper
from ...members.members import Clients, open_clients, recorded_members
from ...session import Session
from ..barred import barred_clusters
from ..binding_journal import BindingJournal
from ..binding_news import says_wanted
from ..checks import braked, failures
from ..cut_short import refuse_to_begin
from ..look import Outcomes, Writing, in_threads, on_members
from ..plan import Source
from ..reported.in_namespace import StatusInNamespace
from ..write_records import Writer
from .approvals import UncountedRequest, accept_approval, judge_of, request_approval, seen_requests, told_approval
from .hand_over import clusters_awaiting_run
from .laying_out import (
    Laid,
    Members,
    check_digest,
    check_plan,
    is_laid_out,
    laid_out,
    newer_of,
    notes_of,
    report_not_carried_on,
)
from .report import StagedOptions, StagedReport
from .run_record import HeldJournal, StagedBook
from .sources import StagedManifests
from .steering import StagedSteering
from .words import StagedTelling, run_lines


def rehearse(
    session: Session, run: ClusterStagedUpdateRun, given: StagedManifests, wish: StagedOptions, *, counts: bool = False
) -> StagedReport:
    """The run as it would begin or go on; nothing is written, no member is asked. What it would do is a change only
    where that ``counts``. Brakes that would stop it are its ``problems``. FleetError ``digest-mismatch``, and as of
    ``recorded_members`` and ``laid_out``."""
    laid = laid_out(session, run, given, wish, recorded_members(session.records), sends=False)
    if laid.plan is not None and not is_over(laid.run):
        check_digest(laid, wish.approved)
    return StagedReport(
        run=laid.run,
        digest=laid.digest,
        plan=laid.plan,
        changed=counts and not is_over(run) and bool(laid.decision.acts),
        lines=tuple(run_lines(laid.run, laid.decision.waits, {}, laid.decision.wake_at)),
        problems=tuple(braked([laid.plan])) if laid.plan is not None and not is_over(laid.run) else (),
        notes=notes_of(laid, given),
        newer=newer_of(laid.run, laid.ground),
    )


# All members are read for the labels of some: answers of people are looked for more often.
MEMBERS_AGAIN = timedelta(seconds=15)


def refuse_unfit(
    session: Session, run: ClusterStagedUpdateRun, given: StagedManifests, wish: StagedOptions, members: Members
) -> None:
    """Refuses a new run that could not begin before it is recorded: FleetError with the reason it would end with,
    brakes, ``digest-mismatch``, and as of ``laid_out``. One that only cannot begin yet passes."""
    laid = laid_out(session, run, given, wish, members, sends=True)
    failure = laid.decision.state.failure
    if failure is not None:
        hint = "apply the placement first" if failure.code in _NOT_APPLIED else ""
        raise FleetError(failure.code, failure.message, run.key.title, hint)
    check_plan(laid, wish)


_NOT_APPLIED = (
    "placement-not-found",
    "no-latest-policy-snapshot",
    "resource-snapshot-not-found",
    "not-fully-scheduled",
)


def carry_on(
    session: Session, run: ClusterStagedUpdateRun, given: StagedManifests, wish: StagedOptions, members: Members
) -> StagedReport:
    """Carries a recorded run on until it ends, waits for longer than allowed, is out of time or told to end. One that
    cannot begin is recorded as failed; one that only cannot begin yet comes back at once, as it was. FleetError
    ``lease-held`` where another run, or an apply, works on the placement; ``lease-lost``; ``run-deleted``; brakes;
    ``digest-mismatch``; ``interrupted`` where the first look at clusters was broken off; ``no-workers``; of the
    records; and as of ``laid_out``. What clusters were given by then stays."""
    with Interrupts() as told, Keeper(session.records, session.holder, told) as keeper:
        journal = _held(session, run, keeper)
        while True:
            before = journal.state.run
            laid = laid_out(session, before, given, wish, members, sends=True)
            if laid.plan is not None and not is_over(before):
                break
            if journal.store(laid.decision.state, in_flight=False):
                for act in laid.decision.acts:
                    if isinstance(act, AcceptApproval):
                        accept_approval(session.records, before.key, act.name, session.clock(), journal.lease)
                return report_not_carried_on(laid, given, changed=journal.state.run != before)
        check_plan(laid, wish)
        fleet = {each.cluster: members[each.cluster].fleet for each in laid.plan.clusters if each.cluster in members}
        timeouts = Timeouts.connecting(wish.timeout)
        with open_clients(session, fleet, timeout=timeouts, strict=True) as clients:
            work = _Conducted(session, clients, keeper, journal.lease, laid, laid.plan, wish, told)
            return work.carry_to_end(journal, given, before)


def lay_out(session: Session, run: ClusterStagedUpdateRun, given: StagedManifests, wish: StagedOptions) -> StagedReport:
    """Records the stages of a run that has none yet, and who is in each, or that it cannot begin (nothing of one that
    only cannot begin yet); one that has some is only rehearsed. The digest is asked of a run that can begin. No member
    is asked. FleetError ``lease-held``, ``lease-lost``, ``run-deleted``, and as of ``rehearse``."""
    if is_laid_out(run):
        return rehearse(session, run, given, wish)
    with Interrupts() as told, Keeper(session.records, session.holder, told) as keeper:
        journal = _held(session, run, keeper)
        while not is_laid_out(before := journal.state.run):
            idle = replace(before, spec=replace(before.spec, state=INITIALIZE))
            laid = laid_out(session, idle, given, wish, recorded_members(session.records), sends=False)
            if laid.plan is not None:
                check_digest(laid, wish.approved)
            told_to = replace(laid.run, spec=before.spec)
            if journal.store(StagedState(run=told_to), in_flight=False):
                return replace(report_not_carried_on(laid, given, changed=told_to != before), run=told_to)
        return rehearse(session, before, given, wish)


def _held(session: Session, run: ClusterStagedUpdateRun, keeper: Keeper) -> HeldJournal:
    """The journal of this very run, under its placement's lease. FleetError ``lease-held``; ``record-damaged``;
    ``run-deleted``, also where another has its name by now."""
    lease = keeper.take(f"placement/{run.placement_key}")
    book = StagedBook(str(run.key), lease.epoch, run.metadata.uid)
    return HeldJournal(session.records, book, lease, keeper.check_leases)


@dataclass
class _Conducted:
    """One run that is being carried on, under the lease of its placement; ``told`` says why that is to end."""

    session: Session
    clients: Clients
    keeper: Keeper
    lease: Lease
    laid: Laid
    plan: PlacementPlan
    wish: StagedOptions
    told: t.Callable[[], str]
    _requests: tuple[ClusterApprovalRequest, ...] = ()
    _looked: datetime | None = None
    _members_read: datetime = field(init=False)

    def __post_init__(self) -> None:
        self._members_read = self.session.clock()

    def carry_to_end(
        self, journal: HeldJournal, given: StagedManifests, before: ClusterStagedUpdateRun
    ) -> StagedReport:
        """Carries the run to its ending, then records the placement's status. FleetError as of ``Conductor.run``, and
        ``interrupted`` where a look at what clusters hold was broken off: that says nothing of them."""
        session, ground = self.session, self.laid.ground
        bindings = BindingJournal(
            session.records, self.lease, self.keeper.check_leases, self.plan, ground.recorded.bindings
        )
        holding = {each.cluster for each in bindings.state.bindings if says_wanted(self.plan, each)}
        looked = self.reach(holding, False) if holding else {}
        refuse_to_begin(self.told(), "nothing more was brought to a cluster")
        steering = StagedSteering(self.plan, bindings, self.see, self, self.reach, looked, self.told, session.clock())
        steering.take_up(journal.state, session.clock())
        rollout = self.wish.ways.rollout
        limits = RunLimits(
            holder=session.holder,
            time_limit=rollout.time_limit,
            max_idle=rollout.max_idle,
            interrupted=self.told,
        )
        name = str(journal.state.run.key)
        telling = attested_telling(
            session,
            StagedTelling(name, session.say, steering.lines, self.event, self.tell_approver, limits.stays),
            self.laid.run,
            self.laid.digest,
            self.wish.approved,
            ground.revision_of(self.laid.run.status.resource_snapshot_index_used),
        )
        conductor = Conductor(journal, steering, session.clock, telling, limits)
        with failing(telling.testimony):
            ending = conductor.run()
            conductor.again_while_unreachable(lambda _again: self._record_status(bindings, steering.outcomes))
        return self._report(ending, steering, given, before)

    def see(self, state: StagedState, bindings: tuple[RolloutBinding, ...], now: datetime) -> ObservedState:
        """What the run is decided on now. Answers to requests are read anew every 5 s, and at once after one was made,
        accepted or deleted; with them, every 15 s, labels of clusters. A request that counts for nothing is deleted,
        and told. FleetError as of ``seen_requests``."""
        records, ground = self.session.records, self.laid.ground
        if self._looked is None or clock_skew.is_due_again(self._looked, RELOAD, now):
            self._looked = now
            digest = self._digest(state.run)
            judge = judge_of(self.session, state.run, digest, self.wish.terms)
            self._requests = seen_requests(records, state.run, digest, judge, self._note_uncounted)
            if clock_skew.is_due_again(self._members_read, MEMBERS_AGAIN, now):
                self._members_read = now
                members = ground.roll.clusters_named(records, {each.cluster for each in bindings})
                self.laid = replace(self.laid, ground=replace(ground, members=members))
        return self.laid.ground.seen(bindings, self._requests, self.plan.overrides)

    def request(self, run: ClusterStagedUpdateRun, act: RequestApproval) -> None:
        """Makes the request for an approval. FleetError as of ``request_approval``."""
        request_approval(self.session.records, run, self._digest(run), act, self.lease)
        self._looked = None

    def tell_approver(self, name: str) -> None:
        """Tells whose the approval is that the run takes, before it begins what follows; ``name`` is that of the
        request's record. Nothing is told where the last look has not seen the request. ApiError of the hub."""
        run = self.laid.run
        for each in self._requests:
            if run.key.record(each.name) == name:
                self.session.say(f"{run.key}: {told_approval(self.session, run, self._digest(run), each)}")

    def accept(self, name: str, now: datetime) -> None:
        """Says on the request that its approval was taken, in the journal whose it is. FleetError of records, hub."""
        run = self.laid.run
        for each in self._requests:
            if each.name == name:
                self.event("StageApproved", told_approval(self.session, run, self._digest(run), each))
        accept_approval(self.session.records, run.key, name, now, self.lease)
        self._looked = None

    def delete(self, name: str) -> None:
        """Deletes a request; absent is fine. FleetError of the records."""
        key = self.laid.run.key
        self.session.records.delete(key.kinds.approval, key.record(name), lease=self.lease)
        self._looked = None

    def reach(self, clusters: t.Container[str], write: bool) -> Outcomes:
        """Outcomes of going to the clusters, to write if asked to. FleetError of the records, as of ``on_members``."""
        uid, ways, plan = self.laid.ground.recorded.uid, replace(self.wish.ways, diagnoses=True), self.plan
        if not write:
            return on_members(plan, uid, self.clients, ways, only=clusters, runners=in_threads(ways.threads, self.told))
        writing = Writing(
            permit=self.keeper.check, say=self.session.say, barred=barred_clusters(self.session.records, plan)
        )
        return on_members(
            plan, uid, self.clients, ways, writing=writing, only=clusters, runners=in_threads(ways.threads, self.told)
        )

    def event(self, reason: str, message: str) -> None:
        """Adds a line to the journal of the run."""
        key = self.laid.run.key
        self.session.journal(key.kinds.run, str(key), reason, message)

    def _note_uncounted(self, found: UncountedRequest) -> None:
        """An approval, or a request, that does not count leaves a trace."""
        self.session.say(found.line)
        self.event("ApprovalRefused", found.line)
        testify_uncounted(self.session, self.laid.run, found)

    def _digest(self, run: ClusterStagedUpdateRun) -> str:
        """The digest of the run with the content that it has taken."""
        return staged_digest(run, self.laid.ground.hash_of(run.status.resource_snapshot_index_used))

    def _record_status(self, bindings: BindingJournal, outcomes: Outcomes) -> None:
        """Records what the placement says of its clusters now, also in its namespace, where it is to stand there; that
        it cannot is only told. Nothing if the placement is gone. FleetError of the records."""
        records, recorded = self.session.records, self.laid.ground.recorded
        document = records.get(self.plan.key.kinds.placement, self.plan.name)
        if document is None:
            return
        self.keeper.check_leases()
        now = self.session.clock()
        writer = Writer(
            records=records, lease=self.lease, plan=self.plan, recorded=recorded, source=Source(), key=b"", now=now
        )
        # Of a cluster that was given what it shall hold, what became of that is told.
        given = {each.cluster for each in bindings.state.bindings if says_wanted(self.plan, each)} & outcomes.keys()
        waits = clusters_awaiting_run(self.plan, bindings.state.bindings)
        left = {name: each for name, each in waits.items() if name not in given}
        placement = self.plan.placement
        said = find_condition(placement.status.conditions, f"{placement.kind}Scheduled")
        # Whom it picks is the last apply's word, and so is for which spec: a run decides nothing of that.
        generation = said.observed_generation if said else document["metadata"]["generation"]
        status = placement_status(self.plan, outcomes, placement.status, generation, now, left)
        copy = StatusInNamespace.of(records, self.session.hub is not None, placement)
        status, failed = copy.write(status, placement.status, generation, now, self.lease)
        writer.write_status(document, status)
        if failed:
            self.session.say(f"{self.plan.name}: {failed.message}")

    def _report(
        self,
        ending: Ending[StagedState],
        steering: StagedSteering,
        given: StagedManifests,
        before: ClusterStagedUpdateRun,
    ) -> StagedReport:
        """The report of a run that has been carried on."""
        run, outcomes = ending.state.run, steering.outcomes
        return StagedReport(
            run=run,
            digest=self._digest(run),
            plan=self.plan,
            changed=ending.changed or run.status != before.status,
            outcomes=outcomes,
            why=ending.why,
            resume_at=ending.resume_at if ending.why != "settled" else None,
            lines=tuple(steering.lines()),
            problems=failures({self.plan.name: outcomes}),
            notes=notes_of(self.laid, given),
            before=index_before(run, steering.bindings.state.bindings),
            newer=newer_of(run, self.laid.ground),
        )
