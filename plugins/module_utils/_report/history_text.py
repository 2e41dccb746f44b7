# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The history of a fleet (audit entries and journal: who did what, when, why) as text, and as the content of a file:
CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
import typing as t
from dataclasses import replace

from .._core.overview.history import JOURNAL, RECORD, HistoryRow
from .._core.rollout.staged.approving import NOBODY
from .._core.values.instants import SECONDS, write_time
from .._core.values.listed import listed
from .markdown import as_code, escaped
from .text import folded
from .widths import columns, columns_of, padded, told_data, told_line, wrapped

NAMED, SHORT, MOST = 6, 12, 4_000
BELOW = " " * 4
# Columns of instant, who, and what; the object has the rest.
WHEN, WHO, WHAT = 20, len(NOBODY), 18
FIELDS = (
    *("at", "ended", "by", "action", "kind", "object", "members", "member_count", "versions", "outcome", "reason"),
    *("digest", "approved_digest", "revision", "message", "holder", "source", "entry"),
)
# A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# A gate as entries and the journal name it, and where it stands, such as ``after canary``.
_GATE = re.compile(r"\bgate (?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}),? (?P<place>(?:before|after) [^;]+)")
_SOURCES = {RECORD: "told by another record, no entry says so", JOURNAL: "journal"}


def history_text(rows: t.Sequence[HistoryRow], place: str, wanted: bool = True) -> list[str]:
    """A header, and lines for each act in the order given, with when (UTC), who, what and to what, and below what is to
    be said of it; without any act a sentence with ``place``, where the records are, and whether only some acts were
    ``wanted``. Gates in messages are named by where they stand, if that can be told."""
    if not rows:
        return folded(f"no act{' of those asked for' if wanted else ''} is recorded in {place}")
    header = _line("WHEN", "WHO", "WHAT", "TO")
    return [*header, *(line for row in _with_gates_by_place(rows) for line in _lines(row))]


def history_file(rows: t.Sequence[HistoryRow], suffix: str) -> str:
    """The content of a file with this suffix, one of ``SUFFIXES``; KeyError for another. Acts are in the order given.
    In CSV a cell that a spreadsheet would take for a formula begins with an apostrophe. CSV and JSON have all; Markdown
    is cut and names gates as ``history_text`` does."""
    return {".csv": _csv, ".json": _json, ".md": _markdown}[suffix](rows)


SUFFIXES = (".csv", ".json", ".md")


def _with_gates_by_place(rows: t.Sequence[HistoryRow]) -> list[HistoryRow]:
    """The rows with gates in messages named by where they stand, without their ids; with these where two gates of an
    object stand in one place."""
    ids: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        for found in _GATE.finditer(row.message):
            ids.setdefault((row.kind, row.name, found["place"]), set()).add(found["id"])

    def named(row: HistoryRow) -> HistoryRow:
        """The row with the gates in its message named so."""

        def words(found: re.Match[str]) -> str:
            """What stands for one gate of the message."""
            alone = len(ids[row.kind, row.name, found["place"]]) == 1
            return f"gate {found['place']}" if alone else found[0]

        return replace(row, message=_GATE.sub(words, row.message))

    return [named(row) for row in rows]


def _lines(row: HistoryRow) -> list[str]:
    """The lines of one act; an object without a name stands as its kind and how many members there are."""
    about = f"{row.kind}/{row.name}" if row.name else f"{row.member_count} {row.kind}" if row.kind else ""
    told = "; ".join(filter(None, _parts(row)))
    below = folded(told, BELOW, MOST, BELOW) if told else []
    return [*_line(write_time(row.at, SECONDS), row.by, row.action, about), *below]


def _parts(row: HistoryRow) -> t.Iterator[str]:
    """What is to be said of an act, in pieces, some of them empty: outcome and when it ended, message, reason, members
    unless they are its object alone, versions, digests and revision cut to 12 characters, holder, source. A digest that
    is the approved one is told once."""
    outcome = f"{row.outcome} at {write_time(row.ended, SECONDS)}" if row.ended else row.outcome
    yield f"{outcome}: {row.message}" if outcome and row.message else outcome or row.message
    yield f"reason: {row.reason}" if row.reason else ""
    if row.members and row.members != (row.name,):
        more = row.member_count - len(row.members)
        yield f"on {listed(row.members, NAMED)}{f' ({more} are not named)' if more > 0 else ''}"
    yield _versions(row.versions)
    yield f"approved digest {_short(row.approved_digest)}" if row.approved_digest else ""
    yield f"digest {_short(row.digest)}" if row.digest and row.digest != row.approved_digest else ""
    yield f"revision {row.revision[:SHORT]}" if row.revision else ""
    yield f"as {row.holder}" if row.holder else ""
    yield _SOURCES.get(row.source, "")


def _versions(found: t.Sequence[str]) -> str:
    """The first ``NAMED`` of these, and how many more there are; empty for none."""
    more = len(found) - NAMED
    return "; ".join([*found[:NAMED], *([f"versions of {more} more are in files"] if more > 0 else [])])


def _short(digest: str) -> str:
    """The first 12 digits of a digest, without ``sha256:``."""
    return digest.removeprefix("sha256:")[:SHORT]


def _line(when: str, who: str, what: str, about: str) -> list[str]:
    """The cells beside each other, each cut at about 400 characters; one that is too long, or has no room behind those
    before it, begins a line below."""
    lines, line = list[str](), ""
    for cell, width in ((when, WHEN), (who, WHO), (what, WHAT), (about, columns() - WHEN - WHO - WHAT - 6)):
        cell = told_line(cell, 400)
        if line and (columns_of(cell) > width or columns_of(line + cell) > columns()):
            lines += [line.rstrip()]
            line = BELOW
            parts = wrapped(cell, columns(), BELOW, BELOW)
            lines += parts[:-1]
            line = f"{parts[-1]}  " if parts else line
        else:
            line += padded(cell, width) + "  "
    return [each for each in (*lines, line.rstrip()) if each.strip()]


def _csv_rows(rows: t.Iterable[HistoryRow]) -> t.Iterator[list[str]]:
    """The texts of each row below ``FIELDS``, on one line each and uncut; members are parted by spaces, versions by
    ``; ``, no members have no count."""
    for row in rows:
        found = row.as_dict() | {
            "members": " ".join(row.members),
            "member_count": row.member_count or "",
            "versions": "; ".join(row.versions),
        }
        texts = [str(found[name]) for name in FIELDS]
        yield [told_line(each, max(4_000, len(each))) for each in texts]


def _csv(rows: t.Sequence[HistoryRow]) -> str:
    """CSV with a line of ``FIELDS`` first, lines ended by a line feed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([_cell(cell) for cell in row] for row in _csv_rows(rows))
    return out.getvalue()


def _cell(text: str) -> str:
    """The text, behind an apostrophe if a spreadsheet would take it for a formula, spaces before it or not."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _json(rows: t.Sequence[HistoryRow]) -> str:
    """JSON with all rows under ``entries``, as of ``HistoryRow.as_dict`` and ``told_data``."""
    return json.dumps({"entries": [told_data(row.as_dict()) for row in rows]}, indent=1, sort_keys=True) + "\n"


def _markdown(rows: t.Sequence[HistoryRow]) -> str:
    """A title, and a table of the rows; a sentence in its place where there is none."""
    shown = tuple(
        (
            escaped(write_time(row.at, SECONDS)),
            as_code(row.by),
            escaped(row.action),
            escaped(f"{row.kind}/{row.name}" if row.name else row.kind),
            "; ".join(filter(None, (_told(row), f"as {as_code(row.holder)}" if row.holder else ""))),
        )
        for row in _with_gates_by_place(rows)
    )
    head = ["| when | who | what | to | told |", "|" + " --- |" * 5] if shown else ["Nothing is recorded of that."]
    lines = [f"| {' | '.join(row)} |" for row in shown]
    return "\n".join(["## History of the fleet", "", *head, *lines]) + "\n"


def _told(row: HistoryRow) -> str:
    """What is to be said of an act but the holder, for a cell; cut at ``MOST`` characters."""
    return escaped("; ".join(filter(None, _parts(replace(row, holder="")))), MOST)
