# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A placement's rollout while it is conducted: clusters written by waves (``wave 2: a, b``), looked at again every 2 or
30 s while others wait for them, tried again every 10 s, silent ones too (``answers again``), and those not come to."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from ..._core.machine import Decision
from ..._core.objects.clusters.evacuation import EVACUATED
from ..._core.objects.placements.binding import BOUND
from ..._core.plan.document import PlacementPlan
from ..._core.plan.outcome import MemberOutcome
from ..._core.plan.status import NotBegun
from ..._core.rollout.content import RolloutBinding
from ..._core.rollout.rolling import after
from ..._core.rollout.rolling import decide as machine
from ..._core.rollout.rolling.candidates import BIND, REMOVE, UPDATE
from ..._core.rollout.rolling.decide import (
    DONE,
    RolloutAct,
    RolloutSeen,
    RolloutState,
)
from ..._core.rollout.rolling.new_home import NEW_HOME
from ..._core.rollout.rolling.waiting import (
    FAILED,
    MAX_SURGE,
    MAX_UNAVAILABLE,
    NOT_READY,
    BindingWait,
)
from ..._core.values.clock_skew import is_due_again
from ..._core.values.listed import listed
from ..._store.records import Lease
from ..conductor.interrupts import wait_unless
from ..conductor.journal import Change
from .binding_news import (
    BindingChange,
    after_look,
    after_write,
    is_cut_off,
    is_emptied,
    marked_as_held_before,
    marked_unavailable,
    says_wanted,
    with_changes,
    without_removal_mark,
)
from .look import Outcomes
from .rollout_words import NAMED, late_lines, queued_lines, waiting_lines

LOOK_AGAIN, LOOK_AT_ALL, TRY_AGAIN = timedelta(seconds=2), timedelta(seconds=30), timedelta(seconds=10)
# So many times as long as a look at silent members took, none is looked at again.
CALL_SHARE = 4


@dataclass(frozen=True)
class Renewal:
    """What a cluster holds already is brought up to date there: nothing that a budget speaks of."""

    binding: str
    cluster: str

    @property
    def operation(self) -> str:
        """The name of the operation, unique among those of the placement."""
        return f"{self.binding}.renewal"


MemberAct = t.Union[RolloutAct, Renewal]  # noqa: UP007  # pylint takes the other form for an error
# Goes to the named clusters, to their answers or failures; with True they are written, else only looked at.
Reach = t.Callable[[t.Container[str], bool], Outcomes]
RolloutChange = Change[RolloutState]


@dataclass(frozen=True)
class _News:
    """What a cluster answered; ``act`` is what was done there, None where it was looked at or repaired."""

    outcome: MemberOutcome
    act: RolloutAct | None = None
    looked: bool = False


class RolloutSteering:
    """Steers one rollout for the conductor; a wave is worked on in ``wait``. Clusters that were ``looked`` at with an
    error, before the lease was taken, are not begun, silent ones until they answer. ``applied_only`` and ``to_the_end``
    are as of ``RolloutOptions``, ``told`` says why to end."""

    def __init__(
        self,
        plan: PlacementPlan,
        reach: Reach,
        looked: Outcomes,
        say: t.Callable[[str], None],
        told: t.Callable[[], str],
        now: datetime,
        *,
        applied_only: bool = False,
        to_the_end: bool = False,
    ) -> None:
        self.outcomes: dict[str, MemberOutcome] = dict(looked)
        self.waits: tuple[BindingWait, ...] = ()
        self._plan = plan
        self._reach, self._say, self._told = reach, say, told
        self._applied_only, self._to_the_end = applied_only, to_the_end
        self._out_of_reach = {name: each.error.message for name, each in looked.items() if each.error}
        self._silent = {name for name, each in looked.items() if each.silent}
        self._queue: dict[str, RolloutAct | None] = {}
        self._retries: set[str] = set()
        self._looks: set[str] = set()
        self._news: list[_News] = []
        self._now = self._last_all = self._last_try = self._called_at = self._answered_at = now
        self._call_after = TRY_AGAIN
        self._look_at: datetime | None = None
        self._waves = 0
        # Told already, and not begun since the records could not be reached.
        self._told_of: list[RolloutAct] = []

    def lines(self) -> list[str]:
        """Who is still to be written, and waits for whom and what, for people; with ``to_the_end`` else who is late."""
        lines = [*queued_lines(self._queue), *waiting_lines(self.waits, self.outcomes)]
        return lines or (late_lines(self.waits, self.outcomes) if self._to_the_end else [])

    @property
    def idle(self) -> bool:
        """Whether nobody is to be written or looked at just now, and every answer has been taken in."""
        return not (self._queue or self._retries or self._looks or self._news)

    def taken_up(self, state: RolloutState, now: datetime) -> RolloutState:
        """The state with what was seen; evacuated clusters that are out of reach or empty are unavailable. Clusters
        whose binding says what is wanted, unless seen with an error, are queued for ``wait``."""
        rows = []
        for each in state.bindings:
            seen = self.outcomes.get(each.cluster)
            if each.state == BOUND and seen is not None and not self._was_begun(each, seen):
                each = after_look(self._plan, each, seen, now)
            if self._is_left_behind(each) or is_emptied(each, seen):
                each = marked_unavailable(each, now)
            if self._holds_wanted(each) and not (seen is not None and seen.error):
                self._queue[each.cluster] = None
            rows.append(each)
        return replace(state, bindings=tuple(rows))

    def see(self, state: RolloutState, now: datetime) -> RolloutSeen:
        """What is wanted, and who cannot be reached."""
        return RolloutSeen(
            placement=self._plan.placement,
            wanted=self._plan.content,
            applied_only=self._applied_only,
            out_of_reach=self._out_of_reach,
            empty_first=self._plan.empty_first,
        )

    def decide(self, state: RolloutState, seen: RolloutSeen, now: datetime) -> Decision[RolloutState, MemberAct]:
        """The next wave; of a placement that ends all clusters in reach at once. Errors as of ``rolling.decide``."""
        self._now = now
        if self._plan.deleting:
            return _ended(state, seen.out_of_reach, now)
        decision = machine.decide(state, seen, now)
        had = {each.name: each.binding.held_snapshot for each in state.bindings}
        new = {each.binding for each in decision.acts if each.content is not None}
        rows = decision.state.bindings
        bindings = tuple(marked_as_held_before(each, had[each.name]) if each.name in new else each for each in rows)
        return Decision(
            state=replace(decision.state, bindings=bindings),
            acts=decision.acts,
            waits=decision.waits,
            wake_at=decision.wake_at,
        )

    def acts_in_flight(self, state: RolloutState) -> tuple[MemberAct, ...]:
        """Queued renewals, then what the state says was begun, without clusters out of reach."""
        renewed = tuple(
            Renewal(each.name, each.cluster)
            for each in state.bindings
            if each.cluster in self._queue and self._queue[each.cluster] is None
        )
        flying = (each for each in machine.acts_in_flight(state) if each.cluster not in self._out_of_reach)
        return (*renewed, *flying)

    def look_before_beginning(
        self, decision: Decision[RolloutState, MemberAct], seen: RolloutSeen, now: datetime
    ) -> RolloutSeen | None:
        """None: all of it may begin, for members are held one by one, when they are written."""
        return None

    def before_store(self, decision: Decision[RolloutState, MemberAct]) -> RolloutState:
        """The state as decided; nothing is added to it."""
        return decision.state

    def stored(self, state: RolloutState, lease: Lease) -> None:
        """Remembers what waits, so that those it waits for are looked at again."""
        self.waits = state.report.waits
        if self._look_at is None and self._waits_for_members(state):
            self._look_at = self._now + LOOK_AGAIN

    def carry_out(self, act: MemberAct, state: RolloutState, resumed: bool) -> None:
        """Queues what binds, updates or removes for the next ``wait``."""
        if isinstance(act, RolloutAct) and act.action in (BIND, UPDATE, REMOVE):
            self._queue[act.cluster] = act

    def release(self, state: RolloutState) -> None:
        """Does nothing: members are let go as soon as they are written."""

    def drain_events(self, state: RolloutState, now: datetime) -> t.Iterator[RolloutChange]:
        """One change for all that was answered since the last call, none without; to be gone through to the end."""
        news, self._news = self._news, []
        changes: dict[str, list[BindingChange]] = {}
        for each in news:
            if each.looked and each.outcome.cluster in self._silent:
                self._keep_late_answer(each.outcome, state, now)
            else:
                self._keep_answer(each)
            changes.setdefault(each.outcome.cluster, []).append(partial(self._after, news=each, now=now))
        if changes:
            yield partial(with_changes, changes=changes)

    def keep(self, state: RolloutState, now: datetime) -> None:
        """Has ``wait`` look again at clusters that others, or the end, wait for, every 2 s, at all Bound ones every 30
        s, and write again every 10 s what failed there; silent ones every 10 s, or more seldom where a look at them
        takes long. Nothing where nobody waits for a cluster."""
        if not self._waits_for_members(state):
            self._look_at = None
            return
        if self._look_at is not None and not is_due_again(self._look_at - LOOK_AGAIN, LOOK_AGAIN, now):
            return
        self._look_at = now + LOOK_AGAIN
        late = {each.cluster for each in self.waits if each.reason in (NOT_READY, FAILED)}
        if is_due_again(self._last_all, LOOK_AT_ALL, now):
            self._last_all = now
            late |= {each.cluster for each in state.bindings if each.state == BOUND}
        failed = {name for name in late if self._failed(name)}
        if is_due_again(self._last_try, TRY_AGAIN, now):
            self._last_try = now
            wanted = {each.cluster for each in state.bindings if self._holds_wanted(each)}
            self._retries |= (failed & wanted) - self._queue.keys()
        self._looks |= late - failed - self._queue.keys() - self._out_of_reach.keys()
        if is_due_again(self._answered_at, self._call_after, now):
            self._called_at = now
            self._looks |= self._awaited_silent(state)

    def settled(self, state: RolloutState) -> bool:
        """Whether all clusters, but evacuated ones out of reach, were given what they are to hold, and with
        ``to_the_end`` are ready; of a placement that ends, whether nothing is left to try."""
        if self._plan.deleting:
            return all(each.cluster in self._out_of_reach for each in state.bindings)
        lost = {each.name for each in state.bindings if self._is_left_behind(each)}
        rest = [each for each in self.waits if each.wants and each.binding not in lost]
        return (state.report.outcome == DONE or bool(lost) and not rest) and not self._late

    def next_look(self) -> datetime | None:
        """When clusters that others, or the end, wait for are looked at again; None where nobody waits."""
        return self._look_at

    def wait(self, seconds: float) -> None:
        """Writes the queued clusters, else looks at those that are due, else, without news, waits for ``seconds`` or
        until this run is to end. FleetError of ``reach``: then all of it is left to do."""
        if self._queue or self._retries:
            wave: dict[str, RolloutAct | None] = {**dict.fromkeys(sorted(self._retries)), **self._queue}
            self._tell(wave)
            found = self._reach(wave, True)
            self._queue, self._retries, self._told_of = {}, set(), []
            self._news += [_News(outcome, wave[name]) for name, outcome in found.items()]
        elif self._looks:
            found = self._reach(self._looks, False)
            self._looks = set()
            self._news += [_News(each, looked=True) for each in found.values()]
        elif not self._news:
            wait_unless(self._told, seconds)

    def close(self) -> None:
        """Does nothing: nothing is left open."""

    def not_begun(self, state: RolloutState) -> dict[str, NotBegun]:
        """Clusters to which the rollout has not come, by name, each with the snapshot that it holds and why; none if
        the placement ends."""
        why = {each.cluster: each.message for each in self.waits}
        return {
            each.cluster: NotBegun(each.binding.held_snapshot, why.get(each.cluster, "it is not its turn yet"))
            for each in state.bindings
            if not self._plan.deleting and not self._holds_wanted(each)
        }

    def _waits_for_members(self, state: RolloutState) -> bool:
        """Whether clusters are to be looked at again, as others wait for them, or the end does."""
        held_up = any(each.reason in (MAX_UNAVAILABLE, MAX_SURGE, NEW_HOME) for each in self.waits)
        wanting = {each.cluster for each in self.waits if each.wants}
        missed = self._to_the_end and bool(wanting & self._awaited_silent(state))
        return not self._plan.deleting and (held_up or self._late or missed)

    @property
    def _late(self) -> bool:
        """Whether somebody is still to be waited for although everything is applied."""
        return self._to_the_end and any(each.reason in (NOT_READY, FAILED) for each in self.waits)

    def _holds_wanted(self, each: RolloutBinding) -> bool:
        """As of ``says_wanted``, for this plan."""
        return says_wanted(self._plan, each)

    def _is_left_behind(self, each: RolloutBinding) -> bool:
        """Whether its cluster is evacuated and cannot be reached: nobody counts on it, and nobody waits for it."""
        return each.cluster in self._out_of_reach and EVACUATED in each.binding.metadata.annotations

    def _was_begun(self, each: RolloutBinding, seen: MemberOutcome) -> bool:
        """Whether a former run was to write there what is wanted, and something of it is not there: it is in flight
        still, and ready only when it is done. What others have changed since is another matter."""
        return self._holds_wanted(each) and seen.error is None and any(not step.drifted for step in seen.changes)

    def _failed(self, name: str) -> bool:
        """Whether not all could be written there when last tried, or nothing is known of it."""
        outcome = self.outcomes.get(name)
        return outcome is None or bool(outcome.error or outcome.failures)

    def _awaited_silent(self, state: RolloutState) -> set[str]:
        """Clusters that did not answer and are worth another look; nobody waits for those that are evacuated."""
        silent = (each for each in state.bindings if each.cluster in self._silent)
        return {each.cluster for each in silent if not self._is_left_behind(each)}

    def _keep_late_answer(self, outcome: MemberOutcome, state: RolloutState, now: datetime) -> None:
        """Keeps what a cluster tells that did not answer before, unless this run's end cut it short. One that answers
        is in reach again, and brought up to date if it is meant to hold what is wanted; any is looked at later."""
        name = outcome.cluster
        self._answered_at, self._call_after = now, max(TRY_AGAIN, (now - self._called_at) * CALL_SHARE)
        if is_cut_off(outcome):
            return
        self.outcomes[name] = outcome
        if outcome.error is not None:
            self._out_of_reach[name] = outcome.error.message
            return
        self._silent.discard(name)
        self._out_of_reach.pop(name, None)
        self._say(f"{self._plan.name}: {name} answers again")
        if any(each.cluster == name and self._holds_wanted(each) for each in state.bindings):
            self._queue[name] = None

    def _keep_answer(self, news: _News) -> None:
        """Keeps an answer as the outcome, out of reach if a removal failed; a look renews only what is available. Where
        all was there already, and this run's end left no time to look again, that stands."""
        outcome, name = news.outcome, news.outcome.cluster
        before = self.outcomes.get(name)
        if news.looked:
            # What was written stands; a look tells what is available of it by now.
            if outcome.error is None and before is not None and before.error is None:
                self.outcomes[name] = replace(before, availability=outcome.availability, lacks=outcome.lacks)
            return
        if is_cut_off(outcome) and not (outcome.wrote or outcome.doubtful) and before is not None and before.holds_all:
            return
        if news.act is None and before is not None and before.lacks and outcome.lacks:
            # Only looks ask the pods.
            outcome = replace(
                outcome, lacks={each: before.lacks.get(each, text) for each, text in outcome.lacks.items()}
            )
        self.outcomes[name] = outcome
        removal = news.act is not None and news.act.action == REMOVE
        if removal and not outcome.applied:
            self._out_of_reach[name] = outcome.error.message if outcome.error else "not everything has left it"

    def _after(self, each: RolloutBinding, news: _News, now: datetime) -> RolloutBinding | None:
        """The binding after an answer of its cluster, the same if this run's end cut that short; None if it is gone."""
        outcome, act = news.outcome, news.act
        if is_cut_off(outcome) or (act is not None and each.name != act.binding):
            return each
        if news.looked:
            told = each.state == BOUND and not self._was_begun(each, outcome)
            return after_look(self._plan, each, outcome, now) if told else each
        if act is not None and act.action == REMOVE:
            return None if outcome.applied else without_removal_mark(each)
        return after_write(self._plan, each, outcome, now, anew=act is not None)

    def _tell(self, wave: t.Mapping[str, RolloutAct | None]) -> None:
        """Says which clusters the wave has, once; not the first wave of a rollout in which nobody waits."""
        acts = [each for each in wave.values() if each is not None]
        if not acts or acts == self._told_of or (not self.waits and not self._waves):
            return
        self._told_of = acts
        self._waves += 1
        names = listed(sorted(each.cluster for each in acts), NAMED)
        self._say(f"{self._plan.name}: wave {self._waves}: {names}")


def _ended(state: RolloutState, out_of_reach: t.Container[str], now: datetime) -> Decision[RolloutState, MemberAct]:
    """Everything in reach is removed at once: no budget holds the end of a placement."""
    leaving = [each for each in state.bindings if not each.deleting and each.cluster not in out_of_reach]
    acts = tuple(
        RolloutAct(binding=each.name, cluster=each.cluster, action=REMOVE, generation=each.binding.metadata.generation)
        for each in leaving
    )
    names = {each.name for each in leaving}
    bindings = tuple(after.marked_for_deletion(each, now) if each.name in names else each for each in state.bindings)
    return Decision(state=replace(state, bindings=bindings), acts=acts)
