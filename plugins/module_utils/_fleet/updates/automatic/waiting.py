# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What besides update runs a schedule carries on: staged update runs and node rotations that were begun and have not
ended, rotations by age, and placements that are not through, which need their manifests."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...._core.errors import FleetError, Problem
from ...._core.objects.clusters.node_rotation import NodeRotation
from ...._core.objects.placements.key import PLACEMENT_KINDS
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.objects.staged.update_run import RUN, STOP
from ...._core.rollout.staged.decide import StagedState, acts_in_flight, is_over
from ...._core.values.instants import SECONDS, write_time
from ...._store.kinds import record_name
from ...._store.records import Record, Records
from ...nodes.rotation_record import is_carried_on_by_schedule
from ...nodes.sources import KIND as ROTATION
from ...placements.recorded import FROM_FILES, SOURCE, placement_of
from ...placements.staged.typed_records import recorded_run
from ...recorded import recorded


@dataclass(frozen=True, kw_only=True)
class UnfinishedPlacement:
    """A placement that was begun and is not through: ``why`` in words, so since ``since`` (None: not known);
    ``deleting``: it is being taken away. ``src`` is where its manifest came from, as records tell; empty for one that
    was made on the hub."""

    name: str
    why: str
    since: datetime | None = None
    src: tuple[str, ...] = ()
    deleting: bool = False

    def as_dict(self) -> dict[str, str]:
        """As results have it: ``name``, ``why``, and ``since`` in RFC 3339 or empty."""
        return {"name": self.name, "why": self.why, "since": write_time(self.since, SECONDS) if self.since else ""}


@dataclass(frozen=True, kw_only=True)
class WaitingWork:
    """Work that is to be carried on: names of staged update runs and of rotations, also of such as cannot be read, and
    placements that are not through, each sorted by name; ``unread`` are kinds that the account may not list,
    ``problems`` what is wrong with records of placements that cannot be read, so that some may be missing."""

    staged: tuple[str, ...] = ()
    rotations: tuple[str, ...] = ()
    placements: tuple[UnfinishedPlacement, ...] = ()
    unread: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``staged_runs``, ``rotations`` and ``unread`` as names, ``placements`` as mappings;
        without ``problems``."""
        names = {"staged_runs": self.staged, "rotations": self.rotations, "unread": self.unread}
        found = {"placements": [each.as_dict() for each in self.placements]}
        return {**{name: list(each) for name, each in names.items()}, **found}


def work_to_carry_on(records: Records) -> WaitingWork:
    """What is to be carried on now, update runs aside. A staged run or rotation whose record cannot be read is among
    it: whoever takes it up is told why. FleetErrors of the records but ``forbidden``, and for placements but
    ``record-damaged`` and ``records-damaged``, which are ``problems``."""
    unread: list[str] = []
    staged = [
        record_name(each)
        for kinds in RUN_KINDS
        for each in _listed(records, kinds.run, unread)
        if _goes_on_or_unreadable(_staged_goes_on, each)
    ]
    rotations = [
        record_name(each)
        for each in _listed(records, ROTATION, unread)
        if _goes_on_or_unreadable(_rotation_goes_on, each)
    ]
    placements, problems = _placements(records, unread)
    return WaitingWork(
        staged=tuple(sorted(staged)),
        rotations=tuple(sorted(rotations)),
        placements=tuple(sorted(placements, key=lambda each: each.name)),
        unread=tuple(unread),
        problems=tuple(problems),
    )


def _listed(records: Records, kind: str, unread: list[str]) -> list[Record]:
    """What is recorded of the kind; none where the account may not list it, which is noted in ``unread``. Other
    FleetErrors of the records are raised."""
    try:
        return list(records.list(kind))
    except FleetError as error:
        if error.code != "forbidden":
            raise
        unread.append(kind)
        return []


def _goes_on_or_unreadable(goes_on: t.Callable[[Record], bool], document: Record) -> bool:
    """Whether it goes on, or cannot be read, as ``goes_on`` says by any FleetError."""
    try:
        return goes_on(document)
    except FleetError:
        return True


def _staged_goes_on(document: Record) -> bool:
    """Whether a staged update run is carried on: it is not over, and is to run, or to stop and has clusters in flight
    to be followed. FleetError ``record-damaged``."""
    run = recorded_run(RunKey.of(record_name(document)), document)
    if is_over(run):
        return False
    return run.spec.state == RUN or (run.spec.state == STOP and bool(acts_in_flight(StagedState(run=run))))


def _rotation_goes_on(document: Record) -> bool:
    """Whether a rotation is carried on, as of ``is_carried_on_by_schedule``. FleetError ``record-damaged``."""
    return is_carried_on_by_schedule(recorded(NodeRotation, document))


def _placements(records: Records, unread: list[str]) -> tuple[list[UnfinishedPlacement], list[Problem]]:
    """Those that are not through, and what is wrong with records that cannot be read: it keeps no run from going on.
    FleetErrors of the records but ``forbidden`` and ``records-damaged``; ``unread`` as of ``_listed``."""
    found: list[UnfinishedPlacement] = []
    problems: list[Problem] = []
    for kinds in PLACEMENT_KINDS:
        try:
            listed = _listed(records, kinds.placement, unread)
        except FleetError as error:
            if error.code != "records-damaged":
                raise
            listed = []
            problems += error.problems
        for each in listed:
            try:
                unfinished = _unfinished(each)
            except FleetError as error:
                problems += error.problems
            else:
                found += [unfinished] if unfinished else []
    return found, problems


def _unfinished(document: Record) -> UnfinishedPlacement | None:
    """The placement, if it is being taken away, or a condition of its rollout does not hold; None where all hold,
    nobody has applied it, or staged runs give it to its clusters. That fewer clusters are picked than are asked for is
    no reason. FleetError ``record-damaged``."""
    name, placement = record_name(document), placement_of(document)
    origin = placement.metadata.annotations.get(SOURCE, "")
    src = tuple(origin.removeprefix(FROM_FILES).split(",")) if origin.startswith(FROM_FILES) else ()
    gone = placement.metadata.deletion_timestamp
    if gone is not None:
        why = "it is being deleted, and clusters hold it"
        return UnfinishedPlacement(name=name, why=why, since=gone, src=src, deleting=True)
    rollout = [each for each in placement.status.conditions if not each.type.endswith("Scheduled")]
    lacking = next((each for each in rollout if each.status != "True"), None)
    if lacking is None or placement.spec.strategy.type == "External":
        return None
    return UnfinishedPlacement(name=name, why=lacking.message, since=lacking.last_transition_time, src=src)
