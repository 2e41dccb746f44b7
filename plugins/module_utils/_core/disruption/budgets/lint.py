# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Hazards of a list of budgets as findings (``Lint``), mended: ``schedule-unreadable``, ``nodes-unreadable``,
``nodes-overflow``, ``schedule-never-fires``, ``reasons-empty``, ``window-empty``, ``windows-overlap``; proved over a
year: ``no-budget``, ``budget-never-permits``, ``unlimited-outside-windows``, ``budget-never-binds``.

API servers can admit such lists: the schema is weaker than what Karpenter evaluates.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache

from ...objects.karpenter.node_pool import REASONS, Budget
from ...objects.karpenter.node_pool_schema import BUDGETS
from ...values.instants import write_time
from ...values.int_or_percent import int64
from ...values.schedules.cron import CronSchedule
from ...windows.spans import Spans
from .budgets import rule_of
from .facts import ReasonFacts, reason_facts
from .suggestions import default_outside_windows, windows_in_words, zero_outside_windows

ERROR, WARNING, NOTE = "error", "warning", "note"
YEAR = timedelta(days=366)
SPANS_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Lint:
    """One finding, of level ``error``, ``warning`` or ``note``, at a field's ``path``. ``mended`` maps field paths to
    what should stand there (None: nothing); empty if we cannot tell.

    ``reasons`` and ``spans`` (aware instants, the first five at most) are those that it speaks of. ``consent`` says
    what the mended form disrupts when it is applied, as far as we know.
    """

    code: str
    level: str
    path: str
    message: str
    mended: t.Mapping[str, t.Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    spans: Spans = ()
    consent: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields; spans are lists of two texts, instants in UTC."""
        return {
            "code": self.code,
            "level": self.level,
            "path": self.path,
            "message": self.message,
            "mended": dict(self.mended),
            "reasons": list(self.reasons),
            "spans": [[write_time(begin), write_time(end)] for begin, end in self.spans],
            "consent": self.consent,
        }


@lru_cache(maxsize=1024)  # the pools of a fleet have few lists of budgets
def lint_budgets(
    budgets: tuple[Budget, ...], start: datetime, possible: tuple[str, ...] = REASONS, path: str = BUDGETS
) -> tuple[Lint, ...]:
    """All findings about a list, each budget by itself first and in its order, then together, unless one has an error,
    proved over the 366 days that follow ``start``, an aware instant; ``path`` is where the list stands.

    Errors are ``schedule-unreadable``, ``nodes-unreadable``, ``nodes-overflow`` and ``schedule-never-fires``; besides
    them there are, of a budget by itself, ``reasons-empty``, ``window-empty`` and ``windows-overlap``, of all together
    ``no-budget``, ``budget-never-permits``, ``reason-without-budget``, ``unlimited-outside-windows``,
    ``budget-never-binds`` and ``reason-never-binds``.

    ``possible`` are the reasons that the pool's policy has: only for these it is told that nothing limits, an empty
    list aside. What is found is kept for the next time.
    """
    single = [each for place, budget in enumerate(budgets) for each in _alone(budget, f"{path}[{place}]")]
    if any(each.level == ERROR for each in single):
        return tuple(single)  # what cannot be read closes the pool, so that nothing else about the list would be true
    if not budgets:
        text = "an empty list is no limit at all; leave the field out to get the default of 10%"
        return (Lint(code="no-budget", level=WARNING, path=path, message=text, mended={path: [{"nodes": "10%"}]}),)
    found = reason_facts(budgets, start, start + YEAR)
    together = (*_closed(budgets, found, path), *_unlimited(budgets, found, possible, path))
    return (*single, *together, *_needless(budgets, found, single, path))


def _alone(budget: Budget, path: str) -> t.Iterator[Lint]:
    """The findings about one budget by itself: what cannot be read or does not fit, an empty list of reasons, and those
    of ``_window``."""
    rule = rule_of(budget)
    if rule.schedule_problem:
        text = f"the schedule cannot be read, which closes the pool for every reason: {rule.schedule_problem}"
        yield Lint(
            code="schedule-unreadable",
            level=ERROR,
            path=f"{path}.schedule",
            message=text + _schedule_hint(budget),
            mended=_sunday_mended(budget, f"{path}.schedule"),
        )
    if rule.nodes_problem:
        text = f"{rule.nodes_problem}, which closes the pool for every reason while the budget is active"
        yield Lint(code="nodes-unreadable", level=ERROR, path=f"{path}.nodes", message=text)
    elif rule.amount and not rule.amount.percent and rule.amount.number != int64(budget.nodes):
        text = f"{budget.nodes} does not fit 32 bits and counts as {max(rule.amount.number, 0)}"
        yield Lint(code="nodes-overflow", level=ERROR, path=f"{path}.nodes", message=text)
    if budget.reasons == ():
        text = "an empty list of reasons covers none, so that the budget does nothing; leave it out to cover all"
        yield Lint(
            code="reasons-empty", level=WARNING, path=f"{path}.reasons", message=text, mended={f"{path}.reasons": None}
        )
    if rule.window is not None:
        yield from _window(budget, path)


def _window(budget: Budget, path: str) -> t.Iterator[Lint]:
    """The first that holds of ``schedule-never-fires``, ``window-empty`` and ``windows-overlap``; nothing for
    ``@every``, without a window, or if it cannot be read."""
    window = rule_of(budget).window
    if window is None or not isinstance(window.schedule, CronSchedule):
        return
    if not window.fires:
        text = f"{budget.schedule!r} never fires, which counts as always active"
        yield Lint(code="schedule-never-fires", level=ERROR, path=f"{path}.schedule", message=text)
    elif window.duration <= timedelta():
        text = "a window of no length never opens, so that the budget does nothing"
        yield Lint(code="window-empty", level=WARNING, path=f"{path}.duration", message=text)
    elif len(window.day) < len(window.schedule.times) and window.duration > _gap(window.schedule):
        text = (
            f"the schedule fires again within {budget.duration}; the window ends {budget.duration} after the last hit"
        )
        yield Lint(code="windows-overlap", level=NOTE, path=path, message=text)


def _closed(budgets: tuple[Budget, ...], found: tuple[ReasonFacts, ...], path: str) -> t.Iterator[Lint]:
    """``budget-never-permits``, once for all reasons for which nothing is ever permitted: a note where that looks meant
    (a single budget, or only some reasons), else a warning. Nothing if there is no such reason."""
    shut = tuple(each.reason for each in found if each.never_permits)
    if not shut:
        return
    mended = zero_outside_windows(budgets)
    why = "of all active budgets the smallest holds, and a 0 is always active"
    text = f"nothing is ever permitted{_for_reasons(shut)}: {why}"
    if mended:
        text += f"; to permit only in {windows_in_words(budgets)}, put the 0 outside of it"
    stop = len(budgets) == 1 or set(shut) < set(REASONS)
    yield Lint(
        code="budget-never-permits",
        level=NOTE if stop else WARNING,
        path=path,
        message=text,
        mended={path: [each.as_dict() for each in mended]} if mended else {},
        reasons=shut,
        spans=((found[0].start, found[0].end),),
    )


def _unlimited(
    budgets: tuple[Budget, ...], found: tuple[ReasonFacts, ...], possible: tuple[str, ...], path: str
) -> t.Iterator[Lint]:
    """Of the ``possible`` reasons: ``no-budget``, or ``reason-without-budget``, if nothing ever limits some; then
    ``unlimited-outside-windows`` for the others, once for those with equal spans, of which it has the first five."""
    everywhere = all(each.never_limits for each in found)
    found = tuple(each for each in found if each.reason in possible)
    never = tuple(each.reason for each in found if each.never_limits)
    if never and not everywhere:
        text = f"no budget is active for {' and '.join(never)} in the coming year, so that nothing limits it"
        yield Lint(code="reason-without-budget", level=WARNING, path=path, message=text, reasons=never)
    elif never:
        text = "no budget is active in the coming year, so that nothing limits disruption"
        yield Lint(code="no-budget", level=WARNING, path=path, message=text, reasons=never)
    for spans, reasons in _grouped({each.reason: each.unlimited for each in found if not each.never_limits}).items():
        covering = tuple(each for each in budgets if any(each.covers(reason) for reason in reasons))
        mended = default_outside_windows(budgets)
        yield Lint(
            code="unlimited-outside-windows",
            level=WARNING,
            path=path,
            message=f"nothing limits disruption{_for_reasons(reasons)} outside {windows_in_words(covering)}",
            mended={path: [each.as_dict() for each in mended]} if mended else {},
            reasons=reasons,
            spans=spans[:SPANS_SHOWN],
        )


def _needless(
    budgets: tuple[Budget, ...], found: tuple[ReasonFacts, ...], single: t.Sequence[Lint], path: str
) -> t.Iterator[Lint]:
    """Budgets (``budget-never-binds``), and reasons that budgets list (``reason-never-binds``), that decide nothing in
    a pool of any size; those that ``single`` tells to do nothing, and those that are not active in the year, are left
    out."""
    idle = {each.path.partition("]")[0] + "]" for each in single if each.code in ("reasons-empty", "window-empty")}
    for place, budget in enumerate(budgets):
        here = f"{path}[{place}]"
        vain = tuple(each.reason for each in found if budget.covers(each.reason) and place not in each.deciding)
        covered = tuple(reason for reason in REASONS if budget.covers(reason))
        if here in idle or not vain or not _opens(budget, found[0].start, found[0].end):
            continue
        if vain == covered:
            text = "the budget never decides: whenever it is active, another one is as low"
            yield Lint(code="budget-never-binds", level=WARNING, path=here, message=text, reasons=vain)
        elif budget.reasons is not None:
            text = f"the budget never decides{_for_reasons(vain)}: another one is always as low"
            yield Lint(code="reason-never-binds", level=NOTE, path=f"{here}.reasons", message=text, reasons=vain)


def _opens(budget: Budget, start: datetime, end: datetime) -> bool:
    """Whether a budget that can be read is active at some time in [start, end), aware UTC."""
    window = rule_of(budget).window
    return window is None or bool(window.spans(start.replace(tzinfo=None), end.replace(tzinfo=None)))


def _grouped(spans: t.Mapping[str, Spans]) -> dict[Spans, tuple[str, ...]]:
    """The reasons by their spans, which are equal for all in a group, in the order given; those without spans are left
    out."""
    out: dict[Spans, tuple[str, ...]] = {}
    for reason, each in spans.items():
        if each:
            out[each] = (*out.get(each, ()), reason)
    return out


def _for_reasons(reasons: tuple[str, ...]) -> str:
    """`` for Empty and Drifted``; empty for all reasons."""
    return "" if set(reasons) == set(REASONS) else f" for {' and '.join(reasons)}"


def _gap(schedule: CronSchedule) -> timedelta:
    """The shortest distance of two hits of one day, the way over midnight left out; 24 hours for a single hit."""
    pairs = zip(schedule.times, schedule.times[1:], strict=False)
    return timedelta(minutes=min((later - hit for hit, later in pairs), default=24 * 60))


def _sunday_mended(budget: Budget, path: str) -> dict[str, str]:
    """The schedule with weekday 0 in place of 7, which Karpenter does not read, by its path; empty if the weekday is
    not just 7, or the schedule could not be read then either."""
    words = (budget.schedule or "").split()
    if len(words) != 5 or words[4] != "7":
        return {}
    mended = " ".join([*words[:4], "0"])
    return {} if rule_of(replace(budget, schedule=mended)).schedule_problem else {path: mended}


def _schedule_hint(budget: Budget) -> str:
    """What is probably wrong with a schedule that cannot be read (a zone, Sunday as 7, six fields), to stand behind a
    message: ``; `` and words; empty if it is none of these."""
    words = (budget.schedule or "").split()
    if words and words[0].startswith(("TZ=", "CRON_TZ=")):
        return "; schedules are in UTC and take no zone"
    if len(words) == 5 and "7" in words[4]:
        return "; Sunday is 0, not 7"
    return "; seconds are no field here" if len(words) == 6 else ""
