# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far something is, from the lines that verbs say of it while they work: as a progress bar with the time that is
left, or as a line for a log."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .._core.foreign import in_line

BAR = 20  # characters
NAME = 60  # characters of a subject
# The words of updates/progress.py, placements/apply.py, compile_progress.py and downloads.py. What members and records
# say comes behind the part that counts, or not at all.
# Numbers have commas from a thousand on; longer ones are none of ours, and beyond what a float holds.
_N = r"\d[\d,]{0,14}"
_STAGE = re.compile(
    rf"  (?P<subject>stage \d+/\d+ \S+), (?P<done>{_N}) of (?P<whole>{_N}) done"
    rf"(?P<over>(?:, {_N} (?:failed|skipped))*): "
)
_RUN = re.compile(
    rf"(?P<subject>run \S+?)(?::| [A-Z]\w*:) (?:.*; )?(?P<done>{_N}) of (?P<whole>{_N}) (?P<unit>clusters?) done"
    rf"(?P<over>(?:, {_N} [a-z ]+)*)"
)
_PLACEMENT = re.compile(rf"(?P<subject>[\w./-]+): (?P<done>{_N}) of (?P<whole>{_N}) (?P<unit>clusters?) done")
_OVER = re.compile(rf"({_N}) (?:failed|skipped)")
_BUILD = re.compile(
    r"(?P<subject>building [\w. -]+): (?P<done>\d{1,9}) of (?P<whole>\d{1,9}) (?P<unit>packages) are compiled"
)
_DOWNLOAD = re.compile(
    r"(?P<subject>downloading [\w.-]+): (?P<done>\d{1,3}) % of [^,]+, about (?P<left>\d{1,9}) s left"
)


@dataclass(frozen=True)
class FarAlong:
    """``done`` of ``whole`` ``unit``, such as clusters, with those that failed or were skipped; of a download percent
    (``%`` of 100), without a unit members of a stage. ``left`` is seconds, None where the line does not tell them."""

    subject: str
    done: int
    whole: int
    unit: str = ""
    left: float | None = None

    @property
    def percent(self) -> int:
        """Rounded down: 100 only when all is done, or where there is nothing to do."""
        return 100 * min(self.done, self.whole) // self.whole if self.whole else 100


def far_along(line: str) -> FarAlong | None:
    """How far the work is that a line of a verb tells of, those that failed or were skipped being done with. None if it
    tells of none."""
    for pattern in (_STAGE, _RUN, _PLACEMENT, _BUILD, _DOWNLOAD):
        found = pattern.match(line)
        if found is None:
            continue
        told = found.groupdict()
        subject = in_line(told["subject"], NAME)
        if "left" in told:
            return FarAlong(subject, int(told["done"]), 100, "%", float(told["left"]))
        done = _number(told["done"]) + sum(map(_number, _OVER.findall(told.get("over") or "")))
        return FarAlong(subject, done, _number(told["whole"]), told.get("unit") or "")
    return None


def _number(text: str) -> int:
    """The number that digits with commas between them are."""
    return int(text.replace(",", ""))


@dataclass
class SubjectPace:
    """How long each subject will take at the pace that it had so far."""

    _first: dict[str, tuple[float, int]] = field(default_factory=dict)

    def left(self, far: FarAlong, now: float) -> float | None:
        """Seconds until the subject is done, as it tells itself, else by its pace since the first call for it; ``now``
        is of a clock that never goes back. None where that is not known: nothing was done since, or the subject began
        anew."""
        if far.left is not None or far.done >= far.whole:
            return far.left
        began, before = self._first.setdefault(far.subject, (now, far.done))
        gone = far.done - before
        return (now - began) * (far.whole - far.done) / gone if gone > 0 else None


def drawn_bar(far: FarAlong, left: float | None, width: int) -> str:
    """One line with bar, percent, subject and how long it takes yet (``left`` seconds, None if not known), cut at
    ``width`` characters."""
    filled = BAR * far.percent // 100
    drawn = f"[{'#' * filled}{'.' * (BAR - filled)}]"
    return f"{drawn} {_told(far, left)}"[:width]


def log_line(far: FarAlong, left: float | None) -> str:
    """The same as ``drawn_bar`` tells, as a line of any length for a log: without a bar, begun by ``progress:``."""
    return f"progress: {_told(far, left)}"


def _told(far: FarAlong, left: float | None) -> str:
    """``40 % run r, 4 of 10 clusters, about 2 min left``; no count where the unit is ``%``, no time where ``left``
    (seconds) is None."""
    count = "" if far.unit == "%" else f", {far.done:,} of {far.whole:,}{' ' + far.unit if far.unit else ''}"
    return f"{far.percent} % {far.subject}{count}" + ("" if left is None else f", {_time(left)} left")


def _time(seconds: float) -> str:
    """``about 40 s``, at least 1; rounded minutes from 90 seconds on; from 90 minutes on ``about 1 h 35 min``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes // 60} h {minutes % 60} min"
