# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What besides update runs a schedule carries on: staged update runs and node rotations that were begun and have not
ended, and rotations by age, which begin again as nodes grow old."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...._core.errors import FleetError
from ...._core.objects.clusters.node_rotation import NodeRotation
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.objects.staged.update_run import RUN, STOP
from ...._core.rollout.staged.decide import StagedState, acts_in_flight, is_over
from ...._store.kinds import record_name
from ...._store.records import Record, Records
from ...nodes.rotation_record import is_waiting
from ...nodes.sources import KIND as ROTATION
from ...placements.staged.typed_records import recorded_run
from ...recorded import recorded


@dataclass(frozen=True, kw_only=True)
class WaitingWork:
    """Names in order; ``unread`` are kinds that the account may not list."""

    staged: tuple[str, ...] = ()
    rotations: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, list[str]]:
        """The names as results have them: ``staged_runs``, ``rotations``, ``unread``."""
        return {"staged_runs": list(self.staged), "rotations": list(self.rotations), "unread": list(self.unread)}


def waiting(records: Records) -> WaitingWork:
    """What is to be carried on now. One whose record cannot be read is among them: whoever takes it up is told why.
    FleetErrors of the records but ``forbidden``."""
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
    return WaitingWork(staged=tuple(sorted(staged)), rotations=tuple(sorted(rotations)), unread=tuple(unread))


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
    """Whether a rotation is carried on, as of ``is_waiting``. FleetError ``record-damaged``."""
    return is_waiting(recorded(NodeRotation, document))
