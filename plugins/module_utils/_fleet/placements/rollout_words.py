# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a rollout when it begins and while it waits: its numbers (``3 objects; clusters 1 gained``), who
waits for whom (``waits`` and ``lines`` in results), what is missing on a cluster."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..._core.plan.document import GAINED, KEPT, LOST, PlacementPlan
from ..._core.plan.member import NOT_GONE
from ..._core.plan.outcome import MemberOutcome
from ..._core.plan.reached import Reached
from ..._core.resources.availability import NOT_YET
from ..._core.rollout.rolling.decide import RolloutState
from ..._core.rollout.rolling.new_home import LIFTED, NEW_HOME
from ..._core.rollout.rolling.waiting import LEAVING, BindingWait
from ..._core.values.listed import listed, number_of

NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A rollout that has not come to its end: ``why`` and ``resume_at`` as of ``conductor.loop.Ending``, who waits, and
    ``lines`` of that, and of who was begun and not written."""

    why: str
    rows: tuple[BindingWait, ...]
    lines: tuple[str, ...]
    resume_at: datetime | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it, without ``resume_at``. ``waits`` has a row for all clusters that wait for the same:
        ``reason`` and ``wants`` as of ``BindingWait``, ``clusters`` by name, ``for`` (the blockers), and ``message``,
        empty where there are blockers."""
        groups: dict[tuple[t.Any, ...], list[str]] = {}
        for each in self.rows:
            what = (each.reason, each.wants, each.blockers, "" if each.blockers else each.message)
            groups.setdefault(what, []).append(each.cluster)
        waits = [
            {"reason": reason, "wants": wants, "clusters": sorted(names), "for": list(blockers), "message": message}
            for (reason, wants, blockers, message), names in groups.items()
        ]
        return {"why": self.why, "waits": waits, "lines": list(self.lines)}


def plan_counts(plan: PlacementPlan) -> str:
    """Such as ``3 objects; clusters 1 gained, 5 kept, 0 lost``: all objects that it places, and its clusters."""
    counts = {
        "gained": len(plan.clusters_with(GAINED)),
        "kept": len(plan.clusters_with(KEPT)),
        "lost": len(plan.clusters_with(LOST)),
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{number_of(len(plan.objects), 'object')}; clusters {told}"


def available_words(far: Reached | None) -> str:
    """What follows the number of clusters that are done: on how many all is available, how many keep an old version;
    empty for None."""
    if far is None:
        return ""
    if not far.replacing:
        return f", {far.available} of {far.clusters} available"
    return "; ".join(filter(None, [f", the new version available on {far.available}", far.keeping_sentence]))


@dataclass
class RolloutTelling:
    """Tells people what is about to be done (``summary``), and who waits for whom (``lines``), as long as that is news.
    ``say`` takes a line, which begins with ``name``."""

    name: str
    summary: str
    say: t.Callable[[str], None]
    lines: t.Callable[[], list[str]]
    _told: tuple[str, ...] = ()
    _began: bool = False

    def begin(self, state: RolloutState, now: datetime) -> None:
        """Says nothing: first of all it is recorded."""

    def stored(self, state: RolloutState, now: datetime) -> None:
        """Says, the first time, what the placement is about to do: all that is intended is recorded now."""
        if not self._began:
            self._began = True
            self.say(f"{self.name}: {self.summary}")

    def waiting(self, state: RolloutState, until: datetime | None, now: datetime) -> None:
        """Says who waits for whom, all lines of it, if that is other than what was said last."""
        lines = tuple(self.lines())
        if lines != self._told:
            self._told = lines
            for line in lines:
                self.say(f"{self.name}: {line}")

    def end(self, state: RolloutState, why: str, now: datetime) -> None:
        """Says what still waits then, as ``waiting``; nothing of one that is settled."""
        if why != "settled":
            self.waiting(state, None, now)


def queued_lines(queue: t.Collection[str]) -> list[str]:
    """A line that names at most NAMED of the clusters that are begun and not written yet; none without any."""
    return [f"begun and not written yet: {listed(sorted(queue), NAMED)}"] if queue else []


def waiting_lines(waits: t.Iterable[BindingWait], outcomes: t.Mapping[str, MemberOutcome]) -> list[str]:
    """A line for each thing that clusters wait for before they get what they shall hold, with at most NAMED of their
    names; those that want nothing more (``wants``) are for ``late_lines``."""
    groups: dict[tuple[t.Any, ...], list[BindingWait]] = {}
    for each in waits:
        if each.wants:
            groups.setdefault((each.reason, each.blockers or (each.message,)), []).append(each)
    lines = []
    for rows in groups.values():
        first = rows[0]
        names = listed(sorted(each.cluster for each in rows), NAMED)
        verb = "wait" if len(rows) > 1 else "waits"
        if not first.blockers:
            lines.append(f"{names} {verb}: {first.message}")
            continue
        whom = listed([lacking(name, outcomes.get(name)) for name in first.blockers], NAMED, "; ")
        if first.reason == NEW_HOME:
            lines.append(f"{names} {verb} until what it holds is available in {whom} ({LIFTED} does not wait)")
            continue
        lines.append(f"{names} {verb} for {whom}")
    return lines


def late_lines(waits: t.Iterable[BindingWait], outcomes: t.Mapping[str, MemberOutcome]) -> list[str]:
    """A line for each of the first NAMED clusters that want nothing more (``wants``) and are not ready, with what is
    missing there, and one that counts the others; none for those that are leaving, for which nobody waits."""
    late = [each.cluster for each in waits if not each.wants and each.reason != LEAVING]
    more = [f"and {len(late) - NAMED} more are not ready"] if len(late) > NAMED else []
    return [*(f"not ready: {lacking(name, outcomes.get(name))}" for name in late[:NAMED]), *more]


def lacking(name: str, outcome: MemberOutcome | None) -> str:
    """The name of a cluster that is waited for, and what is missing there by its outcome, if that is known."""
    told = missing(outcome)
    return f"{name}: {told}" if told else name


def missing(outcome: MemberOutcome | None) -> str:
    """What is missing on a cluster: its error, else its first failure, else up to NAMED objects that are not available;
    empty if nothing is, or is known."""
    if outcome is None:
        return ""
    if outcome.error:
        return outcome.error.message
    if outcome.failures:
        first = outcome.failures[0]
        words = "" if first.reason == NOT_GONE else " could not be applied"
        return f"{first.id}{words}: {first.message}"
    late = [each for each, judged in (outcome.availability or {}).items() if judged == NOT_YET]
    lacks = outcome.lacks or {}
    return ", ".join(f"{each} {lacks.get(each, 'is not available yet')}" for each in late[:NAMED])
