# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who did what, when and why: entries of an audit put together with what other records tell, filtered and in order;
acts that were not ended or taken up later, approvals that do not count; instants, days and spans such as ``30d`` that
are asked for (``bad-option``)."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..errors import FleetError
from ..objects.audit.audit_entry import (
    ACTIONS,
    APPLIED,
    APPROVAL_REFUSED,
    BEGUN,
    ENDED,
    GATE_APPROVED,
    REMOVED,
    ROLLED_BACK,
    ROTATION_CONDUCTED,
    RUN_CONDUCTED,
    STAGE_APPROVED,
    AuditEntry,
    AuditEntrySpec,
)
from ..rollout.staged.approving import NOBODY
from ..values.instants import SECONDS, later, parse_time, write_time

ENTRY, RECORD, JOURNAL = "entry", "record", "journal"
NOT_ENDED, GOING_ON = "not ended (killed, or still going on)", "going on"
TAKEN_UP = "not ended, taken up later"
# Acts under a lease of their object: whoever begins one anew has it, and who had begun it before is at it no more.
_ALONE = (APPLIED, REMOVED, ROLLED_BACK, RUN_CONDUCTED, ROTATION_CONDUCTED)
DOES_NOT_COUNT = "does not count"
APPROVALS = (GATE_APPROVED, STAGE_APPROVED)
TOGETHER = {"Approved": APPROVALS}
_SPAN = re.compile(r"([0-9]{1,6})(w|d|h|m|s)")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@dataclass(frozen=True, kw_only=True)
class HistoryFilter:
    """Which rows are wanted; what is empty, or None, matches all. ``about`` is a kind, a name (``namespace/name`` for
    one in a namespace), or both as ``kind/name``; an act without a name is found by its members. Instants are aware:
    what had ended before ``since`` or begun after ``until`` is left out; what goes on is not over, what was not ended
    counts by its beginning. ``member`` also takes an act on more members than it names, ``action`` is as of
    ``actions_of``."""

    since: datetime | None = None
    until: datetime | None = None
    about: str = ""
    member: str = ""
    by: str = ""
    action: str = ""


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """One act; what is not told here is as of ``AuditEntrySpec``. ``name`` is the object's; ``ended`` is None for an
    act of a single write, and for one of which no end is known. ``source`` says what tells of it: an entry, another
    record, or the journal. ``member_count`` may be more than ``members`` names. ``outcome`` is the one recorded, or
    that the act goes on, was not ended, was taken up, or does not count; ``holder`` is who had the lease, ``entry`` the
    name of the AuditEntry. ``marks`` are words by which an entry is known to tell the same as another record."""

    at: datetime
    by: str
    action: str
    kind: str = ""
    name: str = ""
    holder: str = ""
    ended: datetime | None = None
    members: tuple[str, ...] = ()
    member_count: int = 0
    versions: tuple[str, ...] = ()
    digest: str = ""
    approved_digest: str = ""
    reason: str = ""
    revision: str = ""
    outcome: str = ""
    message: str = ""
    source: str = ENTRY
    entry: str = ""
    marks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``name`` as ``object``, without ``marks``; instants in RFC 3339, ``ended`` empty where it
        is None."""
        return {
            "at": write_time(self.at),
            "ended": write_time(self.ended) if self.ended else "",
            "by": self.by,
            "holder": self.holder,
            "action": self.action,
            "kind": self.kind,
            "object": self.name,
            "members": list(self.members),
            "member_count": self.member_count,
            "versions": list(self.versions),
            "digest": self.digest,
            "approved_digest": self.approved_digest,
            "reason": self.reason,
            "revision": self.revision,
            "outcome": self.outcome,
            "message": self.message,
            "source": self.source,
            "entry": self.entry,
        }


def instant_of(text: str, option: str, now: datetime) -> datetime | None:
    """An aware instant, out of RFC 3339 (or other ISO 8601 with a zone), a day of UTC, or a span before ``now`` such as
    ``30d`` or ``12h`` (at most six digits and w, d, h, m or s; one that reaches before the year 1 is its start); None
    for no text. FleetError ``bad-option`` at ``option`` for anything else."""
    text = text.strip()
    if not text:
        return None
    span = _SPAN.fullmatch(text)
    try:
        if span:
            found = later(now, -timedelta(**{_UNITS[span[2]]: int(span[1])}))
            return found or datetime.min.replace(tzinfo=UTC)
        return parse_time(text if len(text) > len("2026-11-25") else f"{text}T00:00:00Z")
    except (ValueError, OverflowError):
        hint = "such as 2026-11-25T20:00:00Z, 2026-11-25, or a span such as 30d, 12h or 45m"
        raise FleetError("bad-option", f"{text!r:.80} is no instant and no span", option, hint) from None


def history(
    entries: t.Iterable[AuditEntry], told: t.Iterable[HistoryRow], wanted: HistoryFilter, holders: t.Container[str]
) -> tuple[HistoryRow, ...]:
    """The acts that are wanted, by when they began, the newest last. Beginning and end of an act are one row; an end by
    somebody else, or without its beginning, is one of its own. ``told`` is what other records tell, left out where an
    entry tells the same; ``holders`` have a lease now, so that what they have begun and not ended goes on. Such acts of
    others are told as not ended, with who took them up, and approvals that were found not to count as such, with who
    found that, when and why. FleetError as of ``actions_of``."""
    rows = _with_successors(_paired(sorted(entries, key=lambda each: each.name), holders))
    about: dict[tuple[str, str, str], list[HistoryRow]] = {}
    for row in rows:
        about.setdefault((row.kind, row.name, row.action), []).append(row)
    rows += [
        each for each in told if not any(_same(each, row) for row in about.get((each.kind, each.name, each.action), ()))
    ]
    rows = _with_refusals(sorted(rows, key=lambda row: (row.at, row.source != RECORD, row.entry)))
    return tuple(filter(_taken(wanted), rows))


def actions_of(text: str) -> tuple[str, ...]:
    """The actions of an audit that the word means: one of ``ACTIONS``, or several TOGETHER (``Approved``); all for an
    empty one. FleetError ``bad-option`` at ``what``, with all words, for another."""
    if not text:
        return ACTIONS
    if text in TOGETHER or text in ACTIONS:
        return TOGETHER.get(text, (text,))
    both = ", ".join(f"{word} ({' and '.join(those)})" for word, those in TOGETHER.items())
    hint = f"known are {both}, {', '.join(sorted(ACTIONS))}"
    raise FleetError("bad-option", f"{text!r:.80} is no act that is recorded", "what", hint)


def approval_words(by: str) -> str:
    """``approval of <by>``, by which the entry of an approval that does not count names who gave it; ``nobody who is
    named`` for an empty ``by``."""
    return f"approval of {by or NOBODY}"


def _with_refusals(rows: t.Sequence[HistoryRow]) -> list[HistoryRow]:
    """The rows in their order, with approvals that were found not to count told so, and by whom and why: each by the
    first refusal after it that is of the same."""
    found, given = list(rows), list[int]()
    for number, row in enumerate(rows):
        if row.action in APPROVALS:
            given.append(number)
        elif row.action == APPROVAL_REFUSED:
            first = next((each for each in given if _refuses(row, rows[each])), None)
            if first is not None:
                given.remove(first)
                found[first] = _uncounted(rows[first], row)
    return found


def _refuses(refusal: HistoryRow, approval: HistoryRow) -> bool:
    """Whether the refusal is of this approval: of the same gate or request of one run, and of the same approver, where
    it names one."""
    same = (refusal.kind, refusal.name, _named(refusal)) == (approval.kind, approval.name, _named(approval))
    return same and refusal.message.partition("; ")[2] in (approval_words(approval.by), approval_words(""))


def _named(row: HistoryRow) -> str:
    """The gate or request that an approval, or its refusal, is about: the second word of its message."""
    return "".join(row.message.split()[1:2]).strip(",;:")


def _uncounted(approval: HistoryRow, refusal: HistoryRow) -> HistoryRow:
    """The approval, told as one that does not count."""
    why = f"found so by {refusal.by} at {write_time(refusal.at, SECONDS)}: {refusal.reason}"
    return replace(approval, outcome=DOES_NOT_COUNT, message=f"{approval.message}; {why}")


def _paired(entries: t.Sequence[AuditEntry], holders: t.Container[str]) -> list[HistoryRow]:
    """One row for an act by steps, where both its entries are there (of several ends the last), in the order of the
    rest. What ends without a beginning is a row, too; so is what somebody else says of its end, for whoever begins an
    act ends it."""
    begun = {(each.name, each.spec.by, each.spec.action) for each in entries if each.spec.phase == BEGUN}
    ends = {each.spec.entry: each for each in entries if _ends(each) in begun}
    rows = []
    for each in entries:
        if _ends(each) in begun:
            continue
        row, end = _row(each), ends.get(each.name)
        if each.spec.phase == BEGUN:
            row = _ended(row, end.spec) if end else _open(row, each.spec.holder in holders)
        rows.append(row)
    return rows


def _with_successors(rows: t.Sequence[HistoryRow]) -> list[HistoryRow]:
    """The rows, in order, with what was not ended and somebody took up told so, by whom and when: the next act by steps
    of the same action on the same object; only of acts under a lease (``_ALONE``) that name their object."""
    found, later = list(rows), dict[tuple[str, str, str], HistoryRow]()
    for number, row in reversed(list(enumerate(rows))):
        about = (row.action, row.kind, row.name)
        if row.action not in _ALONE or not row.name:
            continue
        if row.outcome == NOT_ENDED and about in later:
            after = later[about]
            words = f"taken up by {after.by} at {write_time(after.at, SECONDS)}, as {after.holder or 'nobody named'}"
            message = "; ".join(filter(None, (row.message, words)))
            found[number] = replace(row, outcome=TAKEN_UP, message=message)
        if row.ended or row.outcome in (NOT_ENDED, GOING_ON):
            later[about] = row
    return found


def _ends(entry: AuditEntry) -> tuple[str, str, str] | None:
    """What the entry says the end of: the name of the entry before, who wrote that, and the action. None if it ends
    nothing."""
    spec = entry.spec
    return (spec.entry, spec.by, spec.action) if spec.phase == ENDED else None


def _row(entry: AuditEntry) -> HistoryRow:
    """The row of one entry by itself, without an end; an object in a namespace is ``namespace/name``."""
    spec, about = entry.spec, entry.spec.object
    name = f"{about.namespace}/{about.name}" if about and about.namespace else about.name if about else ""
    return HistoryRow(
        at=spec.at,
        by=spec.by,
        action=spec.action,
        kind=about.kind if about else "",
        name=name,
        holder=spec.holder,
        members=spec.members,
        member_count=max(spec.member_count, len(spec.members)),
        versions=spec.versions,
        digest=spec.digest,
        approved_digest=spec.approved_digest,
        reason=spec.reason,
        revision=spec.revision,
        outcome=spec.outcome,
        message=spec.message,
        entry=entry.name,
        marks=(spec.message,),
    )


def _ended(row: HistoryRow, end: AuditEntrySpec) -> HistoryRow:
    """The row with its end: when that was, its outcome, the members that it names, if any, versions, and its message
    behind the first."""
    told = replace(row, members=end.members, member_count=end.member_count) if end.members else row
    message = "; ".join(filter(None, (row.message, end.message)))
    return replace(told, ended=end.at, outcome=end.outcome, message=message, versions=end.versions)


def _open(row: HistoryRow, held: bool) -> HistoryRow:
    """The row of an act without an end, which goes on where its lease is ``held``."""
    return replace(row, outcome=GOING_ON if held else NOT_ENDED)


def _same(told: HistoryRow, row: HistoryRow) -> bool:
    """Whether the entry's row tells the same as ``told``, which is of the same action on the same object: with one of
    the marks, if ``told`` has any, as a word of its own; and by the same, where the record names somebody, so that no
    entry hides who that was."""
    if told.by not in (row.by, NOBODY):
        return False
    if not told.marks:
        return True
    words = {word.strip(",;:") for text in row.marks for word in text.split()}
    return bool(words.intersection(told.marks))


def _taken(wanted: HistoryFilter) -> t.Callable[[HistoryRow], bool]:
    """The test of a row by all parts of the filter. FleetError as of ``actions_of``."""
    actions = actions_of(wanted.action)

    def takes(row: HistoryRow) -> bool:
        """Whether the row fits every part of the filter that is given."""
        in_time = (wanted.until is None or row.at <= wanted.until) and (
            wanted.since is None or row.outcome == GOING_ON or (row.ended or row.at) >= wanted.since
        )
        return (
            in_time
            and (not wanted.about or wanted.about in _abouts(row))
            and (not wanted.member or _names(row, wanted.member))
            and (not wanted.by or row.by == wanted.by)
            and row.action in actions
        )

    return takes


def _abouts(row: HistoryRow) -> t.Iterator[str]:
    """What the row is found by: kind, name, and ``kind/name``; of an act without a name the same for each member that
    it names."""
    yield row.kind
    for name in (row.name,) if row.name else row.members:
        yield from (name, f"{row.kind}/{name}")


def _names(row: HistoryRow, member: str) -> bool:
    """Whether the member is named, or may be among those that are not, where there are more than are named."""
    named = member in row.members or (row.kind == "MemberCluster" and row.name == member)
    return named or row.member_count > len(row.members)
