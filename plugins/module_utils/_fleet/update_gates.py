# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Gate objects: one for every gate that was opened, so that people can see it and complete it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from .._core.errors import FleetError
from .._core.objects.schema import parse_time, write_time
from .._core.updates.run import Approval, GateRow, RunState
from .._core.updates.states import AFTER, BEFORE, COMPLETED, NOT_STARTED, PENDING
from .._store.records import Lease, Record, Records

KIND = "Gate"
API = "gitops.fleet/v1alpha1"
RUN_LABEL = "gitops.fleet/update-run"
UNVERIFIED = "unverified"


@dataclass(frozen=True)
class Placed:
    """A gate and where it stands; ``group`` is empty for a stage's own."""

    stage: str
    group: str
    timing: str
    gate: GateRow

    @property
    def position(self) -> str:
        return f"{self.timing.lower()} {self.stage}{'/' + self.group if self.group else ''}"


def gates_of(run: RunState) -> t.Iterator[Placed]:
    """Every gate of the run in the order in which they would be reached."""
    for stage in run.stages:
        yield from (Placed(stage.name, "", BEFORE, each) for each in stage.before_gates)
        for group in stage.groups:
            yield from (Placed(stage.name, group.name, BEFORE, each) for each in group.before_gates)
            yield from (Placed(stage.name, group.name, AFTER, each) for each in group.after_gates)
        yield from (Placed(stage.name, "", AFTER, each) for each in stage.after_gates)


def approvals(records: Records, run: RunState, digest: str, now: datetime) -> tuple[Approval, ...]:
    """What people completed since. An approval that names another digest than the run's is none."""
    found = []
    for placed in gates_of(run):
        if placed.gate.state != PENDING:
            continue
        status = (records.get(KIND, placed.gate.id) or {}).get("status") or {}
        approval = status.get("approval") or {}
        if status.get("state") == COMPLETED and approval.get("digest", digest) == digest:
            at = approval.get("at")
            found.append(
                Approval(gate=placed.gate.id, by=approval.get("by") or UNVERIFIED, at=parse_time(at) if at else now)
            )
    return tuple(found)


def publish(records: Records, run: RunState, digest: str, lease: Lease, known: dict[str, str]) -> None:
    """Makes the Gate objects say what the run says. ``known`` maps ids to states that were published already."""
    for placed in gates_of(run):
        gate = placed.gate
        if gate.state == known.get(gate.id, NOT_STARTED):
            continue
        _publish(records, run, placed, digest, lease)
        known[gate.id] = gate.state


def _publish(records: Records, run: RunState, placed: Placed, digest: str, lease: Lease) -> None:
    stored = records.get(KIND, placed.gate.id)
    if stored is None:
        if placed.gate.state == PENDING:  # one that was skipped before it opened has nothing to show
            records.create(_document(run, placed, digest), lease)
        return
    status = stored.get("status") or {}
    if status.get("state") == placed.gate.state or status.get("state") == COMPLETED:
        return
    try:
        records.replace({**stored, "status": {**status, "state": placed.gate.state}}, lease)
    except FleetError as error:
        if error.code != "conflict":  # somebody completes it at this very moment; the run decides
            raise


def _document(run: RunState, placed: Placed, digest: str) -> Record:
    gate = placed.gate
    position = {"name": run.name, "stage": placed.stage, "group": placed.group, "timing": placed.timing}
    spec: Record = {
        "displayName": gate.name,
        "gateType": "ScheduledStart" if gate.schedule else "Approval",
        "target": {
            "id": f"updateruns/{run.name}",
            "updateRunProperties": {key: value for key, value in position.items() if value},
        },
        "digest": digest,
    }
    if gate.schedule:
        spec["scheduledStartProperties"] = {
            "startDay": gate.schedule.day,
            "startTime": gate.schedule.time,
            "utcOffset": gate.schedule.utc_offset,
        }
        if gate.due:
            spec["scheduledStartProperties"]["absoluteStartTime"] = write_time(gate.due)
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": gate.id, "labels": {RUN_LABEL: run.name}},
        "spec": {key: value for key, value in spec.items() if value},
        "status": {"state": PENDING},
    }
