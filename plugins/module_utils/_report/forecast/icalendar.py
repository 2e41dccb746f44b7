# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A calendar of update runs, or of when members may be worked on, as iCalendar (RFC 5545), which calendar programs
subscribe to."""

from __future__ import annotations

import hashlib
import typing as t
from collections import Counter
from datetime import datetime

from ..._core.forecast.appointments import FREEZE, OPEN, STAGE, TAKEN, WAIT, Appointment
from ..._core.values.instants import without_instants, write_time
from ..widths import told_text

_FOLD = 75  # octets, section 3.1
_WORDS = {OPEN: "may begin", FREEZE: "frozen", TAKEN: "closed", WAIT: "waits", STAGE: "expected"}
_COMPACT = str.maketrans("", "", "-:")
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n", "\r": ""})


def icalendar(found: t.Mapping[str, t.Sequence[Appointment]], now: datetime) -> str:
    """The text of a calendar, its lines ended by CRLF, as of an aware ``now``, with the entries of each run, or kind of
    work, whose name is the key, as events, in the order given. An event that is not ``fixed`` keeps its UID however its
    instants move; those that are alike but for these are numbered in their order."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//gitops.fleet//update runs//EN"]
    alike = Counter[str]()
    for run, entries in found.items():
        for each in entries:
            what, start = (each.what, _instant(each.start)) if each.fixed else (without_instants(each.what), "")
            key = "/".join((run, each.kind, what, start, *each.members))
            alike[key] += 1
            lines += _event(run, each, now, f"{key}/{alike[key]}" if alike[key] > 1 else key)
    return "".join(f"{_folded(line)}\r\n" for line in (*lines, "END:VCALENDAR"))


def _event(run: str, each: Appointment, now: datetime, key: str) -> list[str]:
    """The lines of one event, not folded yet; its UID is a digest of ``key``. The summary has the only member or how
    many there are, the description all of them."""
    count = len(each.members)
    who = "" if not count else each.members[0] if count == 1 else f"{count} members"
    summary = ", ".join(filter(None, (who, each.what)))
    return [
        "BEGIN:VEVENT",
        f"UID:{hashlib.sha256(key.encode()).hexdigest()[:32]}@gitops.fleet",
        f"DTSTAMP:{_instant(now)}",
        f"DTSTART:{_instant(each.start)}",
        *([f"DTEND:{_instant(each.end)}"] if each.end else []),
        f"SUMMARY:{_text(f'{run} {_WORDS[each.kind]}: {summary}')}",
        *([f"DESCRIPTION:{_text(', '.join(each.members))}"] if each.members else []),
        f"CATEGORIES:{each.kind.upper()}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _instant(at: datetime) -> str:
    """``20261128T210000Z``: an aware instant in UTC, cut to the second."""
    return write_time(at.replace(microsecond=0)).translate(_COMPACT)


def _text(value: str) -> str:
    """A value as iCalendar has it, as of ``told_text``: backslashes, ``;``, ``,`` and line feeds are escaped, spaces of
    other kinds and tabs become the common one; what else is not printable to Python is dropped."""
    escaped = told_text(value).translate(_ESCAPES)
    return "".join(" " if each.isspace() else each for each in escaped if each.isprintable() or each.isspace())


def _folded(line: str) -> str:
    """The line in pieces of at most 75 octets of UTF-8, none of which cuts a character, each but the first behind CRLF
    and a space. No line end behind the last."""
    pieces, piece, size = [], "", 0
    for each in line:
        width = len(each.encode())
        if size + width > _FOLD:
            pieces.append(piece)
            piece, size = "", 1
        piece, size = piece + each, size + width
    return "\r\n ".join((*pieces, piece))
