# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Brakes, limits that stop a plan from destroying more than its author meant: too many clusters or objects removed
(``max_removals``, ``max_object_removals``), none left (``allow_empty``, ``allow_no_objects``), facts too old
(``max_facts_age``), an older Git revision (``allow_older``), nodes that are replaced (``max_replaced_nodes``). All but
the last are on by default."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..values.instants import SECONDS, write_time
from ..values.int_or_percent import scaled
from ..values.listed import number_of


@dataclass(frozen=True, kw_only=True)
class BrakeLimits:
    """``max_removals`` is a number of clusters or a percentage (``30%``) of those that hold a placement,
    ``max_object_removals`` likewise of the objects that one cluster holds of it. An ``allow_*`` lifts the brake of that
    name; facts that are exactly ``max_facts_age`` old are fresh enough. What is no limit is found when a brake asks it
    (ValueError of ``removals_permitted``)."""

    max_removals: int | str = "30%"
    allow_empty: bool = False
    max_object_removals: int | str = "30%"
    allow_no_objects: bool = False
    max_facts_age: timedelta = timedelta(hours=24)
    allow_older: bool = False


@dataclass(frozen=True, kw_only=True)
class Brake:
    """``tripped`` says that the limit is exceeded; a tripped brake stops the apply unless it is ``lifted``. ``option``
    is what would lift it, or keep it from tripping, as it is written (``max_removals: 3``). ``message`` and ``option``
    are there whether it has tripped or not."""

    name: str
    tripped: bool
    message: str
    option: str
    lifted: bool = False

    @property
    def stops(self) -> bool:
        """Whether the apply is refused for it."""
        return self.tripped and not self.lifted

    def as_dict(self) -> dict[str, t.Any]:
        """The brake as plan files and results have it: ``name``, ``stops``, ``lifted`` and ``message``."""
        return {"name": self.name, "stops": self.stops, "lifted": self.lifted, "message": self.message}


DEFAULT_REMOVALS = BrakeLimits().max_removals
DEFAULT_OBJECT_REMOVALS = BrakeLimits().max_object_removals


@dataclass(frozen=True, kw_only=True)
class ObjectLoss:
    """How many of the objects that a placement holds on one cluster (``held``) would be deleted there."""

    cluster: str
    held: int
    deleted: int

    def exceeds(self, limit: int | str) -> bool:
        """Whether more objects would be deleted than ``limit``, a number or a percentage of those held, permits.
        ValueError as of ``removals_permitted``."""
        return self.deleted > removals_permitted(limit, self.held)


def removals_permitted(limit: int | str, held: int) -> int:
    """How many of ``held`` may go under ``limit``: a number as it is, or a percentage such as ``30%``, rounded down; at
    least one. ValueError for anything else, a number beyond 32 bits too."""
    return max(1, scaled(limit, held, round_up=False))


def removals_brake(placement: str, held: int, lost: int, limit: int | str) -> Brake:
    """The brake ``max_removals``: ``lost`` of the ``held`` clusters lose the placement. It trips beyond the smaller of
    what the default and ``limit`` permit; a ``limit`` above the default that permits the loss lifts it. ValueError as
    of ``removals_permitted``."""
    default, allowed = removals_permitted(DEFAULT_REMOVALS, held), removals_permitted(limit, held)
    return Brake(
        name="max_removals",
        tripped=lost > min(default, allowed),
        lifted=default < lost <= allowed,
        message=f"{placement}: {lost:,} of {number_of(held, 'cluster')} would lose it;"
        f" max_removals {limit} permits {allowed}",
        option=f"max_removals: {lost}",
    )


def empty_brake(placement: str, held: int, picked: int, allow: bool) -> Brake:
    """The brake ``allow_empty``: trips if some clusters (``held``) hold the placement, and none is to hold it
    (``picked``, those that only gain it too); ``allow`` lifts it."""
    return Brake(
        name="allow_empty",
        tripped=held > 0 and picked == 0,
        lifted=allow and held > 0 and picked == 0,
        message=f"{placement}: no cluster is picked any more where {held} {'holds' if held == 1 else 'hold'} it now",
        option="allow_empty: true",
    )


def object_removals_brake(placement: str, losses: t.Iterable[ObjectLoss], limit: int | str) -> Brake:
    """The brake ``max_object_removals``, over clusters that do not lose the placement: trips if one of them loses more
    objects than the default or ``limit`` permits; a ``limit`` above the default that permits every loss lifts it. The
    message tells of the cluster with the greatest share, among those that lose more than ``limit`` permits if there are
    any, and counts the others; the option permits every loss, or is 0 where ``limit`` does. ValueError as of
    ``removals_permitted``."""
    losses = list(losses)
    found = [each for each in losses if each.exceeds(DEFAULT_OBJECT_REMOVALS) or each.exceeds(limit)]
    stopped = [each for each in found if each.exceeds(limit)]
    worst = max(stopped or found, key=lambda each: each.deleted / max(1, each.held), default=None)
    most = max((each.deleted for each in losses), default=0) if stopped else 0
    message = f"{placement}: no cluster loses more objects than max_object_removals {limit} permits"
    if worst is not None:
        others = len({each.cluster for each in stopped or found}) - 1
        message = (
            f"{placement}: {worst.deleted:,} of {number_of(worst.held, 'object')} would be deleted on {worst.cluster}"
            + (f" (and {number_of(others, 'more cluster', 'loses', 'lose')} too many)" if others else "")
            + f"; max_object_removals {limit} permits {removals_permitted(limit, worst.held)}"
        )
    return Brake(
        name="max_object_removals",
        tripped=bool(found),
        lifted=bool(found) and not stopped,
        message=message,
        option=f"max_object_removals: {most}",
    )


def no_objects_brake(placement: str, held: int, selected: int, allow: bool) -> Brake:
    """The brake ``allow_no_objects``: trips if nothing is ``selected`` any more where a cluster that does not lose the
    placement holds objects of it (``held``, the most that one of them holds); ``allow`` lifts it."""
    tripped = held > 0 and selected == 0
    return Brake(
        name="allow_no_objects",
        tripped=tripped,
        lifted=allow and tripped,
        message=f"{placement}: nothing is selected any more where it holds {number_of(held, 'object')} now",
        option="allow_no_objects: true",
    )


def facts_age_brake(captured_at: datetime, now: datetime, limit: timedelta) -> Brake:
    """The brake ``max_facts_age``: trips if the facts are older than ``limit`` at ``now``, both instants aware. Nothing
    lifts it, but a larger limit keeps it from tripping; ``option`` names one in seconds, a minute above the age."""
    age = now - captured_at
    return Brake(
        name="max_facts_age",
        tripped=age > limit,
        message=f"the facts were captured {_text(age)} ago, at {write_time(captured_at, SECONDS)}; "
        f"max_facts_age permits {_text(limit)}",
        option=f"max_facts_age: {int(age.total_seconds()) + 60}",
    )


def older_source_brake(
    placement: str, revision: str, last: str, older: bool | None, allow: bool, deepen: str = ""
) -> Brake:
    """The brake ``allow_older``, for a Git ``revision`` that may undo newer work: it trips unless ``older`` is False,
    which says that it descends from ``last``, the revision applied last (empty for files of no known one); None: that
    cannot be told. ``allow`` lifts it. ``deepen`` is the command after which it can be told, if there is one, with
    which the message ends."""
    of = f"{last[:12]}, applied last" if last else "what was applied last, which were files of no known revision"
    unknown = f"it cannot be told whether revision {revision[:12]} is a descendant of {of}"
    known = f"revision {revision[:12] or 'unknown'} is not a descendant of {last[:12]}, applied last"
    return Brake(
        name="allow_older",
        tripped=older is not False,
        lifted=older is not False and allow,
        message=f"{placement}: {unknown if older is None else known}" + (f"; run {deepen}" if deepen else ""),
        option="allow_older: true",
    )


def replaced_nodes_brake(placement: str, held: int, replaced: int, unread: int, limit: int | str) -> Brake:
    """The brake ``max_replaced_nodes``: of the ``held`` nodes of its clusters ``replaced`` go, or may. It trips if
    these are more than ``limit`` permits, a number as it is or a percentage, rounded down, and where the nodes of some
    clusters are not known that have NodePools or node classes of it (``unread``). ValueError for what is no limit."""
    allowed = scaled(limit, held, round_up=False)
    message = f"{replaced:,} of {number_of(held, 'node')} are or may be replaced"
    if unread:
        message += f", and those of {number_of(unread, 'cluster')} are not known"
    return Brake(
        name="max_replaced_nodes",
        tripped=replaced > allowed or unread > 0,
        message=f"{placement}: {message}; max_replaced_nodes {limit} permits {allowed:,}",
        option="leave max_replaced_nodes out" if unread else f"max_replaced_nodes: {replaced}",
    )


def _text(span: timedelta) -> str:
    """A span in words: seconds below two minutes, minutes below two hours, else hours; each cut to a whole number."""
    seconds = int(span.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h"
