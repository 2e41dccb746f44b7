# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The history of a fleet out of its records: entries, what older records tell, and the journal, as far as they are
asked for (``since``, ``until``, ``about``, ``member``, ``by``, ``action``)."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import AuditEntry
from ..._core.overview.history import JOURNAL, HistoryFilter, HistoryRow, history, instant_of
from ..._store.kinds import KINDS
from ..leases import is_alive
from ..recorded import recorded
from ..session import Session
from .evidence import KIND
from .told import told_by_records


@dataclass(frozen=True, kw_only=True)
class HistoryRequest:
    """What is asked for; ``since`` and ``until`` are texts as of ``instant_of``, the others as of ``HistoryFilter``.
    ``journal`` adds lines of the journal, as far as ``since`` and ``until`` want them, of the objects that the rows
    name, and of the one that ``about`` names with its kind."""

    since: str = ""
    until: str = ""
    about: str = ""
    member: str = ""
    by: str = ""
    action: str = ""
    journal: bool = False


@dataclass(frozen=True, kw_only=True)
class FleetHistory:
    """The acts, and lines of the journal among them, the newest last, and what is wrong with records that are left
    out."""

    rows: tuple[HistoryRow, ...]
    problems: tuple[Problem, ...] = ()


def fleet_history(session: Session, asked: HistoryRequest) -> FleetHistory:
    """Who did what, when and why, by entries and older records, as far as it is asked for; what is damaged is left out
    and told in ``problems``. Leases that are alive tell which acts without an end still go on. FleetError
    ``bad-option``, also where ``until`` is before ``since``, and where entries or leases cannot be listed."""
    records, now = session.records, session.clock()
    wanted = HistoryFilter(
        since=instant_of(asked.since, "since", now),
        until=instant_of(asked.until, "until", now),
        about=asked.about,
        member=asked.member,
        by=asked.by,
        action=asked.action,
    )
    if wanted.since and wanted.until and wanted.since > wanted.until:
        text = f"{asked.until!r:.80} is before since, {asked.since!r:.80}"
        raise FleetError("bad-option", text, "until", "the earlier one is since")
    entries, problems = [], list[Problem]()
    for document in records.list(KIND):
        try:
            entries.append(recorded(AuditEntry, document))
        except FleetError as error:
            problems += error.problems
    told, wrong = told_by_records(session)
    holders = {each.holder for each in records.leases() if is_alive(each, now)}
    rows = history(entries, told, wanted, holders)
    if asked.journal:
        rows, more = _with_journal(session, rows, wanted)
        problems += more
    return FleetHistory(rows=rows, problems=tuple(dict.fromkeys((*problems, *wrong))))


def _with_journal(
    session: Session, rows: tuple[HistoryRow, ...], wanted: HistoryFilter
) -> tuple[tuple[HistoryRow, ...], list[Problem]]:
    """The rows with lines of the journal, oldest first, and what could not be read of it: lines about objects that rows
    tell of, and about the one that is asked for by kind and name. Of what is asked for only ``since`` and ``until``
    hold for lines."""
    found, problems = list(rows), list[Problem]()
    kind, _slash, name = wanted.about.partition("/")
    about = [(kind, name)] if name and kind in KINDS else []
    for kind, name in dict.fromkeys([*about, *((row.kind, row.name) for row in rows if row.kind and row.name)]):
        try:
            lines = session.records.events(kind, name)
        except FleetError as error:
            problems += error.problems
            continue
        found += [
            HistoryRow(
                at=each.at, by=each.by, action=each.reason, kind=kind, name=name, message=each.message, source=JOURNAL
            )
            for each in lines
            if (wanted.since is None or each.at >= wanted.since) and (wanted.until is None or each.at <= wanted.until)
        ]
    return tuple(sorted(found, key=lambda row: row.at)), problems
