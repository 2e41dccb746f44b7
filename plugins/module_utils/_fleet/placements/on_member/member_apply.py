# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a placement on one member, or only looking (``ReportDiff`` too): observe, write the intent, apply by
waves, remove, write the outcome; what is due, refused, available or lacking there."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from ...._core.cluster.silence import WHOLE_MEMBER
from ...._core.foreign import in_data
from ...._core.objects.identity import ObjectId
from ...._core.objects.placements.rollout_strategy import ApplyStrategy
from ...._core.plan.document import NO_MOVES, Moves, Rendered
from ...._core.plan.member import (
    NOT_GONE,
    PRUNE,
    REFUSED,
    RELEASE,
    WRITES,
    Deletable,
    MemberStep,
    decide_member,
    with_unplanned_refused,
)
from ...._core.plan.outcome import APPLY_FAILED, MemberOutcome, ObjectFailure
from ...._core.resources.applyset import ApplySet
from ...._core.resources.availability import NOT_YET, availability, lacking
from ...._core.resources.order import apply_wave
from ...._kube.client import KubeClient
from ...._kube.errors import ApiError
from ...members.home import HOME, removable_home
from ...members.member_lease import Keep
from .diagnosis import diagnosed
from .dry_run import dry_run
from .fresh_groups import FreshGroups
from .gone import wait_until_gone
from .holding import identity_with, inventory_after, inventory_intended
from .member_parent import Parent
from .object_writes import forces, write_object
from .observe import Observed, observe, parent_version
from .telling import fit_to_be_told

# Takes the lease on the member, kept while entered, and gives what is to be called before each write.
Holding = t.Callable[[], t.ContextManager[Keep]]


def always() -> None:
    """Permits every write: does nothing."""


def unsaid(_line: str) -> None:
    """Tells nobody: does nothing."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What is there on a member, and what is to be done about it."""

    observed: Observed
    steps: tuple[MemberStep, ...]

    @property
    def to_do(self) -> list[MemberStep]:
        """The steps that write."""
        return [step for step in self.steps if step.action in WRITES]


@dataclass
class MemberProgress:
    """What was seen and written on one member so far, in the order written, and what is on its way there
    (``underway``). ``elsewhere`` stands for what another process has seen, and keeps; ``looked`` is when the look
    ended, by ``running_time``."""

    seen: Seen | None = None
    elsewhere: t.Any = None
    written: list[ObjectId] = field(default_factory=list)
    underway: ObjectId | None = None
    looked: float = 0.0


@dataclass(frozen=True, kw_only=True)
class MemberTask:
    """What one member is to hold. ``identity`` is the ApplySet without its inventory; without ``write`` it is only
    looked at, and ``progress`` is written into.

    ``leaving``: the placement ends on this member; ``abandon``: what leaves stays there unowned. ``deletable`` is what
    may be deleted; None: all that leaves. ``moves`` are objects that go over from or to other placements, ``ending``
    other placements that end on the member in the same run. ``patience``: seconds to wait until deleted objects are
    gone. ``permit`` is called before each write, and raises where there is to be none any more; ``say`` tells people
    what is waited for. ``seen`` is what an earlier look saw, ``elsewhere`` the same in another process; ``followed``:
    another task goes on from this one. ``due``: something is surely to be written, so that the member is held before
    any look. ``shows``, ``diagnoses`` and ``validate`` are as of ``ApplyOptions``, ``mirrors`` asks for the status of
    objects.
    """

    cluster: str
    identity: ApplySet
    desired: tuple[Rendered, ...] = ()
    strategy: ApplyStrategy = ApplyStrategy()
    leaving: bool = False
    ending: tuple[str, ...] = ()
    abandon: bool = False
    prune_kinds: tuple[str, ...] = ()
    deletable: Deletable | None = None
    moves: Moves = NO_MOVES
    patience: float = 0.0
    write: bool = False
    due: bool = False
    mirrors: bool = False
    seen: Seen | None = field(default=None, repr=False)
    elsewhere: t.Any = field(default=None, repr=False)
    followed: bool = False
    validate: bool = False
    shows: bool = False
    diagnoses: bool = False
    permit: t.Callable[[], None] = always
    progress: MemberProgress = field(default_factory=MemberProgress)
    say: t.Callable[[str], None] = unsaid

    @property
    def placement(self) -> str:
        """The name of the placement, ``namespace/name`` for one in a namespace."""
        return self.identity.placement

    @property
    def reports_only(self) -> bool:
        """Whether differences are only reported and nothing is written (KubeFleet's ``ReportDiff``); not where the
        placement leaves, for what an earlier strategy put there goes with it."""
        return self.strategy.type == "ReportDiff" and not self.leaving


def run_on_member(client: KubeClient, task: MemberTask, holding: Holding) -> MemberOutcome:
    """What is to be done on the member, and, with ``write``, doing it. An object that fails stops no other from being
    applied.

    The member is held (``holding``) where something is to be written, with ``due`` before any look. What is written was
    decided on what was seen under the lease, or on what provably is as it was before. FleetError ``foreign-applyset``,
    ``applyset-invalid``, ``member-moved``; ApiError of reading, of writing the parent, and any of ``WHOLE_MEMBER``;
    what ``permit`` and ``holding`` raise.
    """
    seen = task.seen
    if seen is None and not (task.write and task.due):
        seen = _looked(client, task)
    if seen is not None and not task.write:
        failures = dry_run(client, seen.to_do, seen.observed.live, forces(task.strategy)) if task.validate else ()
        outcome = _outcome(task, seen, {}, (*_refusals(seen.steps), *failures), done=False)
        outcome = diagnosed(client, outcome) if task.diagnoses else outcome
        return _with_home(client, task, seen.observed, outcome)
    if seen is not None and not _anything_due(task, seen):
        return _nothing_written(task, seen)
    with holding() as keep:
        if seen is None or not _stands(client, task, seen):
            seen = _looked(client, task)
            if not _anything_due(task, seen):
                return _nothing_written(task, seen)
        return _write_steps(client, replace(task, permit=_both_checks(task.permit, keep)), seen)


def _stands(client: KubeClient, task: MemberTask, seen: Seen) -> bool:
    """Whether what was seen before the member was held can be written on. ApiError of the member.

    The parent must be as it was, for whatever run of ours was here since has written it. Objects that were there name
    their resourceVersion when they are written; those that were not have none, so they have to be looked for again, and
    so have those that another placement gives away.
    """
    observed = seen.observed
    given = task.moves.takes
    if observed.recorded is None or any(
        each.id.key in given or each.id.key not in observed.live for each in seen.to_do
    ):
        return False
    return parent_version(client, task.placement) == observed.version


def _nothing_written(task: MemberTask, seen: Seen) -> MemberOutcome:
    """The outcome of what was seen, where nothing was due: it counts as done, with what is refused as failures unless
    differences are only reported."""
    return _outcome(task, seen, {}, () if task.reports_only else _refusals(seen.steps), done=True)


def _both_checks(permit: t.Callable[[], None], keep: Keep) -> t.Callable[[], None]:
    """A check that calls both, in this order; what they raise is raised."""

    def check() -> None:
        """Raises where one of the two does."""
        permit()
        keep()

    return check


def _looked(client: KubeClient, task: MemberTask) -> Seen:
    """What is there, and the steps that follow from it; also noted in the task's progress. Errors as of ``observe``."""
    observed = observe(client, task.placement, task.identity.uid, task.desired)
    originals = identity_with(task.identity, observed).originals
    steps = decide_member(
        task.desired,
        observed.recorded,
        observed.live,
        task.identity.id,
        task.strategy,
        task.prune_kinds,
        task.moves,
        abandon=task.abandon or originals,
        shows=task.shows,
    )
    if task.reports_only:
        steps = tuple(each for each in steps if each.action not in (PRUNE, RELEASE))
    held = len(observed.recorded.inventory) if observed.recorded else 0
    planned = with_unplanned_refused(steps, task.deletable, held)
    seen = Seen(observed=observed, steps=tuple(fit_to_be_told(client, step) for step in planned))
    task.progress.seen = seen
    return seen


def _anything_due(task: MemberTask, seen: Seen) -> bool:
    """Whether an object or the parent is to be written."""
    if task.reports_only:
        return False
    recorded, left = seen.observed.recorded, inventory_after(seen.observed, seen.steps, ())
    if task.leaving and not left:
        return recorded is not None or bool(seen.to_do)  # a parent that would record nothing any more goes
    return not replace(identity_with(task.identity, seen.observed), inventory=left).same_content(recorded) or bool(
        seen.to_do
    )


def _write_steps(client: KubeClient, task: MemberTask, seen: Seen) -> MemberOutcome:
    """Carries out the steps, then records in the parent what is held; the parent of a placement that leaves goes when
    nothing is held any more. Errors as of ``run_on_member``."""
    observed = seen.observed
    parent = Parent(client, observed.recorded, observed.version)
    results, failures = _carried_out(client, task, seen, parent)
    # What others have taken over meanwhile was not touched.
    touched = {*results, *(each.id for each in failures)}
    steps = tuple(each for each in seen.steps if each.action not in WRITES or each.id in touched)
    seen = replace(seen, steps=steps)
    left = replace(identity_with(task.identity, observed), inventory=inventory_after(observed, seen.steps, failures))
    outcome = _outcome(task, seen, results, failures, done=True)
    if not task.leaving or left.inventory:
        parent.write(left, task.permit)
        return outcome
    task.permit()
    return _and_home(outcome) if parent.delete(task.placement) else outcome


def _carried_out(
    client: KubeClient, task: MemberTask, seen: Seen, parent: Parent
) -> tuple[dict[ObjectId, dict[str, t.Any]], tuple[ObjectFailure, ...]]:
    """Writes the intent and then object by object; gives what the server answered, and what failed or was refused.

    Nothing is deleted as long as something is not applied, be it that the server refuses it or we do, for that may be
    what replaces it. What is deleted is waited for wave by wave, for an operator may be needed to let go of what it
    serves: as long as that is not gone, the rest stays. FleetError ``member-moved``, ApiError as of ``Parent.write``,
    ``wait_until_gone`` or of ``WHOLE_MEMBER``, and what ``permit`` raises.
    """
    results: dict[ObjectId, dict[str, t.Any]] = {}
    observed, to_do = seen.observed, seen.to_do
    if to_do:
        parent.write(
            replace(identity_with(task.identity, observed), inventory=inventory_intended(observed, to_do)), task.permit
        )
    write = partial(_write_each, client, task, observed, FreshGroups(to_do), results)
    refused = write([step for step in to_do if step.manifest is not None])
    failures = [*_refusals(seen.steps), *refused]
    missing = [each.id for each in (*_refusals(each for each in seen.steps if each.manifest is not None), *refused)]
    why = f"stays, as {missing[0]} could not be applied; it is removed once that is" if missing else ""
    end = time.monotonic() + task.patience
    leaving = [step for step in to_do if step.manifest is None]
    for _wave, steps in groupby(leaving, key=lambda step: apply_wave(step.id)):
        going = []
        for step in steps:
            if why and step.action == PRUNE:
                failures.append(ObjectFailure(id=step.id, reason=NOT_GONE, message=why))
            else:
                going.append(step)
        failures += write(going)
        there = {step.id: observed.live[step.id.key]["metadata"]["uid"] for step in going if step.action == PRUNE}
        deleted = {each: uid for each, uid in there.items() if each in results}
        seconds = max(0.0, end - time.monotonic())
        stuck = wait_until_gone(client, deleted, seconds, task.permit, partial(_say, task))
        failures += stuck
        if stuck and task.patience and not why:
            why = f"stays until {stuck[0].id} is gone, which may need it"
    return results, tuple(failures)


def _write_each(
    client: KubeClient,
    task: MemberTask,
    observed: Observed,
    fresh: FreshGroups,
    results: dict[ObjectId, dict[str, t.Any]],
    steps: t.Iterable[MemberStep],
) -> list[ObjectFailure]:
    """Writes one object after the other over what was seen of it; what the server answers comes into ``results``, what
    it refuses is given. Errors as of ``_carried_out``."""
    failures = []
    for step in steps:
        task.permit()
        task.progress.underway = step.id
        try:
            work = partial(_carry_out, client, step, task, observed)
            answer = fresh.served(step, work)
            if answer is not None:
                results[step.id] = answer
                task.progress.written.append(step.id)
        except ApiError as error:
            if error.code in WHOLE_MEMBER:
                raise
            failures.append(ObjectFailure(id=step.id, reason=APPLY_FAILED, message=error.message))
        task.progress.underway = None
    return failures


def _carry_out(client: KubeClient, step: MemberStep, task: MemberTask, observed: Observed) -> dict[str, t.Any] | None:
    """Writes the step's object over what was seen of it; answer and errors as of ``write_object``."""
    live = observed.live.get(step.id.key)
    return write_object(client, step, live, forces(task.strategy), task.permit)


def _say(task: MemberTask, line: str) -> None:
    """A line for people, with placement and cluster before it."""
    task.say(f"{task.placement}: {task.cluster} {line}")


def _with_home(client: KubeClient, task: MemberTask, observed: Observed, outcome: MemberOutcome) -> MemberOutcome:
    """The outcome, with the end of our namespace as a step if it goes with the last that this placement has on the
    member."""
    left = inventory_after(observed, outcome.steps, ())
    if (
        not task.leaving
        or observed.recorded is None
        or left
        or removable_home(client, (task.placement, *task.ending)) is None
    ):
        return outcome
    return _and_home(outcome)


def _and_home(outcome: MemberOutcome) -> MemberOutcome:
    """The outcome with the end of our namespace as its last step."""
    return replace(outcome, steps=(*outcome.steps, MemberStep(id=HOME, action=PRUNE)))


def _refusals(steps: t.Iterable[MemberStep]) -> tuple[ObjectFailure, ...]:
    """A failure for each refused step."""
    return tuple(
        ObjectFailure(id=each.id, reason=each.reason, message=each.message) for each in steps if each.action == REFUSED
    )


def _outcome(
    task: MemberTask,
    seen: Seen,
    results: t.Mapping[ObjectId, dict[str, t.Any]],
    failures: tuple[ObjectFailure, ...],
    done: bool,
) -> MemberOutcome:
    """The outcome, with what is available by the server's ``results``, else by what was seen; statuses only to be
    mirrored."""
    judged: dict[ObjectId, str] = {}
    lacks: dict[ObjectId, str] = {}
    statuses: dict[ObjectId, t.Any] = {}
    for step in seen.steps:
        live = results.get(step.id) or seen.observed.live.get(step.id.key)
        if live and step.manifest is not None:
            judged[step.id] = availability(step.id.group, step.id.kind, live)
            if judged[step.id] == NOT_YET:
                lacks[step.id] = lacking(step.id.group, step.id.kind, live)
            if task.mirrors and "status" in live:
                statuses[step.id] = in_data(live["status"])
    return MemberOutcome(
        cluster=task.cluster,
        done=done,
        steps=seen.steps,
        failures=failures,
        availability=judged,
        lacks=lacks,
        statuses=statuses,
    )
