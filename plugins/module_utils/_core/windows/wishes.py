# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A window read from the words of people, such as ``Mon-Fri 22:00-06:00 Europe/Berlin`` (``unreadable-window``)."""

from __future__ import annotations

import re

from ..errors import FleetError
from ..values.duration import duration_text
from .fleet_windows import OurWindow, read_window
from .week import DAY, NAMES

_CLOCK = r"([01][0-9]|2[0-3]):([0-5][0-9])"
_NAME = "|".join(NAMES)
_WISH = re.compile(
    rf"(?:((?:{_NAME})(?:[,-](?:{_NAME}))*) )?{_CLOCK}-(?:{_CLOCK}|24:00)(?: ([A-Za-z][A-Za-z0-9_+/-]{{0,63}}))?"
)
_HINT = "write it like 22:00-06:00 Europe/Berlin, or Mon-Fri 20:00-04:00 America/New_York; UTC without a zone"


def window_of_words(text: str, where: str = "window") -> OurWindow:
    """The window that somebody means by a text such as ``Mon-Fri 22:00-06:00 Europe/Berlin``: from one time of the
    clock to another (24:00 too), which is the next day's unless it is later, so that equal ones make 24 hours; on all
    days if none are named, in UTC if no zone is. Upper and lower case count. ``where`` is the place in problems.
    FleetError ``unreadable-window``, ``unknown-time-zone``."""
    found = _WISH.fullmatch(text.strip())
    if found is None:
        raise FleetError("unreadable-window", f"{text!r:.80} is no window", where, _HINT)
    days, begin_hour, begin_minute, end_hour, end_minute, zone = found.groups()
    begin = int(begin_hour) * 60 + int(begin_minute)
    end = int(end_hour) * 60 + int(end_minute) if end_hour else DAY
    minutes = (end - begin) % DAY or DAY
    schedule = f"{int(begin_minute)} {int(begin_hour)} * * {_weekdays(days, where) if days else '*'}"
    return read_window({"schedule": schedule, "duration": duration_text(minutes), "timeZone": zone or "UTC"}, where)


def _weekdays(text: str, where: str) -> str:
    """Days such as ``Mon-Fri,Sun`` as those of cron, where Sunday is 0, in order; a span may run over the end of the
    week. FleetError ``unreadable-window`` for a span of more than two names, such as ``Mon-Tue-Wed``."""
    days: set[int] = set()
    for part in text.split(","):
        names = [NAMES.index(each) for each in part.split("-")]
        if len(names) > 2:
            raise FleetError("unreadable-window", f"{part!r} is no span of days", where, _HINT)
        first, last = names[0], names[-1]
        days |= {(first + step) % 7 for step in range((last - first) % 7 + 1)}
    return ",".join(str(each) for each in sorted((day + 1) % 7 for day in days))
