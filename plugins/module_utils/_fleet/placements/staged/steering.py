# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run while it is conducted: bindings stored before their clusters are written or removed, clusters
looked at every 2 s and tried again every 10 s, approval requests made, accepted and deleted, an earlier run's work
taken up."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...._core.machine import Decision, HeldBack
from ...._core.objects.placements.binding import HELD_BEFORE
from ...._core.objects.staged.update_run import DELETE_STAGE, ClusterStagedUpdateRun
from ...._core.plan.document import PlacementPlan
from ...._core.plan.outcome import MemberOutcome
from ...._core.rollout.conditions import without_condition
from ...._core.rollout.content import RolloutBinding
from ...._core.rollout.readiness import ROLLOUT_STARTED
from ...._core.rollout.rolling import after
from ...._core.rollout.staged import decide as machine
from ...._core.rollout.staged.decide import StagedState
from ...._core.rollout.staged.standing import cluster_state
from ...._core.rollout.staged.world import (
    AcceptApproval,
    Action,
    BindCluster,
    ClusterInFlight,
    DeleteApproval,
    DeleteBinding,
    MarkStarted,
    ObservedState,
    RequestApproval,
)
from ...._core.values.clock_skew import is_due_again
from ...._store.records import Lease
from ...conductor.interrupts import wait_unless
from ...conductor.journal import Change
from ..binding_journal import BindingJournal
from ..binding_news import (
    BindingChange,
    after_look,
    after_write,
    is_cut_off,
    marked_as_held_before,
    says_wanted,
    with_changes,
)
from ..rollout import LOOK_AGAIN, TRY_AGAIN, Reach
from .words import run_lines

WRITE, REMOVE, LOOK = "write", "remove", "look"


class Approvals(t.Protocol):
    """The approval requests of the run, as the records have them. Each call is made once it is decided, and again if
    that turn failed: called twice it does no harm. FleetErrors are borne as those of a turn."""

    def request(self, run: ClusterStagedUpdateRun, act: RequestApproval) -> None:
        """Makes the request that ``act`` names, for people to approve. FleetError of the records."""

    def accept(self, name: str, now: datetime) -> None:
        """Says on the request of that name that the run has taken its approval; nothing if it is gone. FleetError of
        the records or the hub."""

    def delete(self, name: str) -> None:
        """Deletes the request of that name; absent is fine. FleetError of the records."""


# What is true of the bindings as they are given, and of all else that the run is decided on; once a turn, and its
# FleetErrors are borne as those of a turn. It may read and write records.
See = t.Callable[[StagedState, tuple[RolloutBinding, ...], datetime], ObservedState]


@dataclass(frozen=True)
class _Answer:
    outcome: MemberOutcome
    what: str


class StagedSteering:
    """Steers one run for the conductor. Clusters that begin together are written together, in ``wait``.

    ``bindings`` are those of the placement, which nobody else writes while its lease is held. ``looked`` is what was
    seen of the clusters that are to hold the content already, with which ``outcomes`` begin; ``told`` says why this run
    is to end.
    """

    def __init__(
        self,
        plan: PlacementPlan,
        bindings: BindingJournal,
        see: See,
        approvals: Approvals,
        reach: Reach,
        looked: t.Mapping[str, MemberOutcome],
        told: t.Callable[[], str],
        now: datetime,
    ) -> None:
        self.outcomes: dict[str, MemberOutcome] = dict(looked)
        self.bindings = bindings
        self._plan, self._see, self._approvals = plan, see, approvals
        self._reach, self._told = reach, told
        self._queue: dict[str, str] = {}
        self._unstored = False
        self._changes: dict[str, list[BindingChange]] = {}
        self._looks: set[str] = set()
        self._news: list[_Answer] = []
        self._now = self._last_try = now
        self._look_at: datetime | None = None
        self._ends: datetime | None = None
        self._waits: tuple[HeldBack, ...] = ()
        self._run: ClusterStagedUpdateRun | None = None

    def lines(self) -> list[str]:
        """Who waits for whom and what, for people; none before the first ``decide``."""
        return run_lines(self._run, self._waits, self.outcomes, self._ends) if self._run else []

    def take_up(self, state: StagedState, now: datetime) -> None:
        """Brings what was seen of clusters into their bindings. One of which it is not known that everything is there
        begins anew when its turn comes. Bindings that are being removed are queued once the run deletes."""
        done = {
            each.cluster_name
            for stage in state.run.status.stages_status
            for each in stage.clusters
            if cluster_state(each.conditions) == "done"
        }

        def seen(each: RolloutBinding) -> RolloutBinding:
            """The binding with what was seen of its cluster; as it is if the cluster is done, or is not to hold what is
            wanted yet."""
            outcome = self.outcomes.get(each.cluster)
            if each.cluster in done or not says_wanted(self._plan, each):
                return each
            whole = outcome is not None and outcome.error is None and not outcome.changes
            if outcome is None or not whole or HELD_BEFORE in each.binding.metadata.annotations:
                return _not_started(each)
            return after_look(self._plan, each, outcome, now)

        self.bindings.note(lambda held: replace(held, bindings=tuple(map(seen, held.bindings))))
        begun = {each.cluster for each in machine.acts_in_flight(state) if each.stage == DELETE_STAGE}
        self._queue = {each.cluster: REMOVE for each in self.bindings.state.bindings if each.deleting} if begun else {}

    def see(self, state: StagedState, now: datetime) -> ObservedState:
        """What is true now, with the bindings as they are here. FleetError as of ``See``."""
        return self._see(state, self.bindings.state.bindings, now)

    def decide(self, state: StagedState, seen: ObservedState, now: datetime) -> Decision[StagedState, Action]:
        """As the run's decider; keeps who waits for what. Where clusters are waited for, a later ``wake_at`` is left
        out: the next look at them may change something."""
        self._now = now
        decision = machine.decide(state, seen, now)
        self._run, self._waits = decision.state.run, decision.waits
        if not machine.acts_in_flight(decision.state):
            self._look_at = None
        later = decision.wake_at is not None and decision.wake_at > now
        self._ends = decision.wake_at if later and self._look_at is None else None
        return replace(decision, wake_at=None) if later and self._look_at is not None else decision

    def acts_in_flight(self, state: StagedState) -> tuple[Action, ...]:
        """Queued clusters, whose answer is not there yet; for those that have answered and are not available the
        conductor stays by ``next_look``."""
        stages = {each.cluster: each.stage for each in machine.acts_in_flight(state)}
        return tuple(ClusterInFlight(stage=stages.get(name, what), cluster=name) for name, what in self._queue.items())

    def look_before_beginning(
        self, decision: Decision[StagedState, Action], seen: ObservedState, now: datetime
    ) -> ObservedState | None:
        """None: all of it may begin, for members are held one by one, when they are written."""
        return None

    def before_store(self, decision: Decision[StagedState, Action]) -> StagedState:
        """The state as decided; nothing is added to it."""
        return decision.state

    def stored(self, state: StagedState, lease: Lease) -> None:
        """Does nothing: people see the run itself."""

    def carry_out(self, act: Action, state: StagedState, resumed: bool) -> None:
        """Makes the binding say what its cluster is to hold, and queues the cluster for the ``wait`` after the next
        ``release``; what is about approvals is done at once. ``resumed`` does not matter. FleetError as of
        ``Approvals``."""
        now = self._now
        if isinstance(act, BindCluster):
            self._begin(
                act,
                WRITE,
                lambda each: marked_as_held_before(
                    after.bound(each, act.content, act.apply_strategy, now), each.binding.held_snapshot
                ),
            )
        elif isinstance(act, MarkStarted):
            self._begin(act, WRITE, lambda each: after.started_anew(each, now))
        elif isinstance(act, DeleteBinding):
            self._begin(act, REMOVE, lambda each: after.marked_for_deletion(each, now))
        elif isinstance(act, RequestApproval):
            self._approvals.request(state.run, act)
        elif isinstance(act, AcceptApproval):
            self._approvals.accept(act.name, self._now)
        elif isinstance(act, DeleteApproval):
            self._approvals.delete(act.name)

    def release(self, state: StagedState) -> None:
        """Stores what bindings say by now: no cluster is written before its binding says what it is to hold. FleetError
        as of ``BindingJournal.store``."""
        if not self._unstored:
            return
        changes, self._changes = self._changes, {}
        if changes:
            self.bindings.note(lambda held: with_changes(held, changes))
        self.bindings.store(self.bindings.state, in_flight=True)
        self._unstored = False

    def drain_events(self, state: StagedState, now: datetime) -> t.Iterator[Change[StagedState]]:
        """Brings what the clusters have answered into their bindings, and stores these; has to be gone through to its
        end. Its changes leave the state as it is. FleetError as of ``release``."""
        news, self._news = self._news, []
        for each in news:
            self._keep(each, now)
        yield from (_nothing for each in news if each.what != LOOK)
        self.release(state)

    def keep(self, state: StagedState, now: datetime) -> None:
        """Has ``wait`` look again at clusters that are waited for, every 2 s, and try again every 10 s what failed
        there, unless others have changed the binding of the cluster since."""
        flying = {each.cluster: each.stage for each in machine.acts_in_flight(state)}
        waited = {name: stage for name, stage in flying.items() if name not in self._queue}
        if not waited:
            self._look_at = None
            return
        if self._look_at is not None and not is_due_again(self._look_at - LOOK_AGAIN, LOOK_AGAIN, now):
            return
        first, self._look_at = self._look_at is None, now + LOOK_AGAIN
        if is_due_again(self._last_try, TRY_AGAIN, now):
            self._last_try = now
            failed = {name for name in waited if self._failed(name)}
            lost = {each.cluster for each in self.bindings.state.bindings if not says_wanted(self._plan, each)}
            begun = {name: REMOVE if waited[name] == DELETE_STAGE else WRITE for name in failed}
            self._queue |= {name: what for name, what in begun.items() if what == REMOVE or name not in lost}
        if not first:
            self._looks |= {name for name in waited if waited[name] != DELETE_STAGE and not self._failed(name)}

    def settled(self, state: StagedState) -> bool:
        """Whether the run has ended, or stands until somebody starts it again."""
        return machine.has_ended_or_stopped(state)

    def next_look(self) -> datetime | None:
        """When clusters that are waited for are looked at again; None where none is."""
        return self._look_at

    def wait(self, seconds: float) -> None:
        """Works on what is queued, once ``release`` has stored its bindings, or looks; else, without news, waits for
        ``seconds`` or until this run is to end. FleetError of ``reach``: then all of it is left to do."""
        if self._queue and not self._unstored:
            found = self._reach(self._queue, True)
            queue, self._queue = self._queue, {}
            self._news += [_Answer(each, queue[name]) for name, each in found.items()]
        elif self._looks:
            found = self._reach(self._looks, False)
            self._looks = set()
            self._news += [_Answer(each, LOOK) for each in found.values()]
        elif not self._news:
            wait_unless(self._told, seconds)

    def close(self) -> None:
        """Does nothing: nothing is left open."""

    @property
    def idle(self) -> bool:
        """Whether nobody is to be written or looked at just now, and every answer has been taken in."""
        return not (self._queue or self._looks or self._news)

    def _begin(
        self,
        act: BindCluster | MarkStarted | DeleteBinding,
        what: str,
        change: t.Callable[[RolloutBinding], RolloutBinding],
    ) -> None:
        """Notes the change of the act's binding, and queues its cluster to be written or removed (``what``); what has
        failed elsewhere is tried again 10 s from now."""
        self._change(act.cluster, lambda each: change(each) if each.name == act.binding else each)
        self._queue[act.cluster] = what
        self._last_try = self._now

    def _failed(self, name: str) -> bool:
        """Whether not all could be written there when last tried, or nothing is known of it."""
        outcome = self.outcomes.get(name)
        return outcome is None or bool(outcome.error or outcome.failures)

    def _keep(self, news: _Answer, now: datetime) -> None:
        """Keeps an answer as the cluster's outcome, and notes what it makes of the bindings there. A look only renews
        what is available; a write that this run's end or its leases cut short changes no binding that is to stay."""
        outcome, name = news.outcome, news.outcome.cluster
        if news.what == LOOK:
            before = self.outcomes.get(name)
            if outcome.error is None and before is not None:
                self.outcomes[name] = replace(before, availability=outcome.availability, lacks=outcome.lacks)
            self._change_wanted(name, lambda each: after_look(self._plan, each, outcome, now))
            return
        self.outcomes[name] = outcome
        if news.what == REMOVE:
            self._change(name, lambda each: None if each.deleting and outcome.applied else each)
        elif not is_cut_off(outcome):
            self._change_wanted(name, lambda each: after_write(self._plan, each, outcome, now, anew=True))

    def _change_wanted(self, cluster: str, change: t.Callable[[RolloutBinding], RolloutBinding]) -> None:
        """As ``_change``, for bindings that say what the plan wants."""
        self._change(cluster, lambda each: change(each) if says_wanted(self._plan, each) else each)

    def _change(self, cluster: str, change: BindingChange) -> None:
        """Notes what becomes of the cluster's bindings; ``release`` does it, for all clusters at once."""
        self._unstored = True
        self._changes.setdefault(cluster, []).append(change)


def _not_started(each: RolloutBinding) -> RolloutBinding:
    """The binding without the condition that its rollout has started."""
    binding = each.binding
    conditions = without_condition(binding.status.conditions, ROLLOUT_STARTED)
    return RolloutBinding(binding=replace(binding, status=replace(binding.status, conditions=conditions)))


def _nothing(state: StagedState) -> StagedState:
    """The state as it is: a change that says no more than that something has happened."""
    return state
