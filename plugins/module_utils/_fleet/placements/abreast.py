# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placements carried out or looked at side by side in threads; carried out, one after another on a member, as a later
one may need there what an earlier one brings."""

from __future__ import annotations

import threading
import typing as t
from dataclasses import dataclass
from queue import SimpleQueue

from ..._kube.parallel import no_threads_error

# So many times the threads are the members that are asked for at once; two placements, however many they have.
DEPTH, FEWEST = 4, 2


@dataclass(frozen=True)
class PlacementWork:
    """What is done for one placement, on ``members``: ``run`` is called at most once, in a thread."""

    members: t.Collection[str]
    run: t.Callable[[], None]


def side_by_side(
    courses: t.Sequence[PlacementWork], threads: int, ordered: bool = True, stops: t.Callable[[], bool] = lambda: False
) -> list[int]:
    """Runs the courses, each in a thread, until all that began have ended; gives the indices of those that were not
    begun.

    With ``ordered`` a course begins once every earlier one that shares a member with it has ended; one for which there
    is no room holds back all after it. Two have room in any case, more by ``threads`` and the members of those that run
    (DEPTH). None begins any more once ``stops`` says so or one has raised; the first exception is raised when the
    others have ended. FleetError ``no-workers`` where not even one can be started.
    """
    waiting = dict(enumerate(_masks(courses, ordered)))
    running: dict[int, int] = {}
    begun: dict[int, threading.Thread] = {}
    ended: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
    raised: list[BaseException] = []
    while True:
        for place in _due_courses(waiting, running, courses, threads) if not (raised or stops()) else ():
            thread = threading.Thread(target=_run, args=(place, courses[place], ended), daemon=True)
            try:
                thread.start()
            except RuntimeError as why:
                raised += [] if running else [no_threads_error(why)]
                break
            running[place], begun[place] = waiting.pop(place), thread
        if not running:
            break
        place, error = ended.get()
        begun.pop(place).join()  # until then the machine counts it
        del running[place]
        raised += [error] if error else []
    if raised:
        raise raised[0]
    return sorted(waiting)


def _run(place: int, course: PlacementWork, ended: SimpleQueue[tuple[int, BaseException | None]]) -> None:
    """Runs the course, and puts into ``ended`` its place with what it raised, None for nothing."""
    error: BaseException | None = None
    try:
        course.run()
    except BaseException as caught:  # noqa: BLE001  # raised again by abreast
        error = caught
    ended.put((place, error))


def _masks(courses: t.Sequence[PlacementWork], ordered: bool) -> t.Iterator[int]:
    """For each course, in order, a number with a bit for each of its members; 0 if nothing is ``ordered``."""
    bits: dict[str, int] = {}
    for each in courses:
        mask = 0
        for member in each.members if ordered else ():
            mask |= 1 << bits.setdefault(member, len(bits))
        yield mask


def _due_courses(
    waiting: t.Mapping[int, int], running: t.Mapping[int, int], courses: t.Sequence[PlacementWork], threads: int
) -> list[int]:
    """Places of the courses that begin now, in order: those that share no member with one that runs or waits before
    them. One for which there is no room holds back all after it."""
    found: list[int] = []
    taken = 0
    for mask in running.values():
        taken |= mask
    members = sum(len(courses[place].members) for place in running)
    for place, mask in waiting.items():
        count = len(running) + len(found)
        room = count < FEWEST or members + len(courses[place].members) <= DEPTH * threads
        if count >= max(threads, FEWEST) or not room:
            break
        if not taken & mask:
            found.append(place)
            members += len(courses[place].members)
        taken |= mask
    return found
