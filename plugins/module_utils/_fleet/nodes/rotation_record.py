# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The record of one rotation: whether it has begun, or waits for a schedule; written with its nodes
(``rotation-too-large``) or another state, told to stop, deleted (``rotation-in-flight``, ``rotation-deleted``)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ..._core.disruption.origins import LET_GO
from ..._core.disruption.rotation.decide import DONE, RUNNING, acts_in_flight, outcome, stopped_at_once
from ..._core.disruption.rotation.packed import is_packed, read_state, size_at_end, written_state
from ..._core.disruption.rotation.state import BLOCKED, ENDED, GIVEN_UP, ROTATED, RotationState
from ..._core.errors import FleetError
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.clusters.node_rotation import NodeRotation, NodeRotationStatus
from ..._core.schema.codec import encode
from ..._core.schema.record_size import LIMIT
from ..._store.records import Record, Records, replace_unless_moved
from ..recorded import DAMAGED, delete_as_read, recorded
from .sources import KIND

STOPPED_PHASE = "Stopped"
_PHASES = {RUNNING: "Running", "waiting": "Waiting", DONE: "Done"}
_ATTEMPTS = 10


class RotationBook:
    """How a rotation stands in the records while it is conducted; ``rotation`` is the one read or written last, ``uid``
    that of the one that is meant, empty for whichever has the name."""

    kind = KIND
    rotation: NodeRotation

    def __init__(self, name: str, uid: str = "") -> None:
        self.name, self.uid = name, uid

    def read(self, document: Record) -> RotationState:
        """The state in the document, whose rotation is remembered. FleetError ``record-damaged``."""
        self.rotation = recorded(NodeRotation, document)
        return rotation_state(self.rotation)

    def written(self, document: Record, state: RotationState, epoch: int) -> Record:
        """The document with this state, under the epoch of the lease; nothing is stored. ``rotation`` becomes this by
        ``remember``. After ``read``."""
        status = _status(replace(self.rotation.status, epoch=epoch), state)
        self._written = replace(self.rotation, status=status)
        return {**document, "status": encode(status)}

    def remember(self) -> None:
        """Has ``rotation`` be what ``written`` gave last, which must have been called."""
        self.rotation = self._written

    def epoch(self) -> int:
        """The epoch of the lease under which ``rotation`` was written. After ``read``."""
        return self.rotation.status.epoch

    def gone(self) -> FleetError:
        """The FleetError ``rotation-deleted``, not raised; whether it is gone is not asked."""
        message = "the rotation was deleted while it was carried out; nodes that were cordoned stay so"
        return FleetError("rotation-deleted", message, f"{KIND}/{self.name}", f"let them go: {LET_GO}")


def _status(before: NodeRotationStatus, state: RotationState) -> NodeRotationStatus:
    """The status with what the state says, packed if it was; epoch, origin and whether it is to stop are as before."""
    return replace(
        before,
        phase=STOPPED_PHASE if state.done and before.stop_requested else _PHASES[outcome(state)],
        rotated=state.count(ROTATED),
        left=len(state.nodes) - state.count(*ENDED),
        failed=state.failed(GIVEN_UP, BLOCKED),
        message=state.halted,
        state=written_state(state, is_packed(before.state)),
    )


def rotation_state(rotation: NodeRotation) -> RotationState:
    """Where the rotation stands, by its ``status.state``; one that has not begun is without nodes, and done. FleetError
    ``record-damaged``."""
    if not rotation.status.state:
        return RotationState()
    try:
        return read_state(rotation.status.state)
    except (ValueError, TypeError, AttributeError) as error:
        hint = f"delete the rotation, and let its nodes go: {LET_GO}"
        raise FleetError(DAMAGED, f"status.state cannot be read: {error}", f"{KIND}/{rotation.name}", hint) from None


def has_begun(rotation: NodeRotation) -> bool:
    """Whether the rotation has begun, be it over or not: its nodes are fixed in the record."""
    return bool(rotation.status.state)


def is_carried_on_by_schedule(rotation: NodeRotation) -> bool:
    """Whether a schedule carries the rotation on: it has begun, and is not over; or it is over and begins again as
    nodes grow old, unless it was stopped, was halted or left nodes behind on members still in the fleet. False for one
    of an update run, which carries it on, and once over for one with a due version or image: these might be due after
    every replacement. FleetError ``record-damaged``."""
    status, due = rotation.status, rotation.spec.due
    if not has_begun(rotation) or status.origin.startswith("UpdateRun "):
        return False
    if not rotation_state(rotation).over:
        return True
    by_age = bool(due.older_than) and not due.version_other_than and not due.image_other_than
    return by_age and not (status.stop_requested or status.failed or status.message)


def rotation_document(records: Records, name: str) -> Record:
    """The record of the rotation. FleetError ``no-such-rotation`` with the names of those that are there."""
    document = records.get(KIND, name)
    if document is None:
        there = ", ".join(sorted(records.names(KIND))) or "none"
        hint = f"rotations that are recorded in {records.place}: {there}"
        raise FleetError("no-such-rotation", "there is no such rotation", name, hint)
    return document


def refuse_too_large(name: str, state: RotationState) -> bool:
    """Whether the nodes of a rotation, just begun, are to be packed so that a record holds them to its end. FleetError
    ``rotation-too-large`` where it could not: the rotation would stop halfway, with nodes in flight."""
    if size_at_end(state, packed=False) <= LIMIT:
        return False
    count, size = len(state.nodes), size_at_end(state, packed=True)
    if size <= LIMIT:
        return True
    most = count * LIMIT // size
    text = f"{count} nodes are too many for one record, which holds about {most} of them to their end"
    hint = (
        f"write {-(-count // most)} rotations with names of their own, each for a part: of members by spec.members or "
        "spec.memberSelector, or of nodes by spec.nodes.byLabel; how many nodes each member has is told by "
        "ansible-playbook gitops.fleet.nodes; begin one after the other: ansible-playbook gitops.fleet.rotate -e "
        "rotations=rotations.yml -e rotation=NAME"
    )
    raise FleetError("rotation-too-large", text, f"{KIND}/{name}", hint)


def record_begun(
    records: Records, rotation: NodeRotation, state: RotationState, origin: str, judged: Record | None
) -> NodeRotation:
    """Writes the rotation with its nodes over ``judged``, the record, or None for none, of which the caller has seen
    that nothing goes on. Only a new record gets its labels and annotations; the status is made anew, so that no earlier
    stop counts. A new record, or another ``spec``, stays if the write of the status fails. ``origin`` says who began
    it. FleetError ``conflict`` if somebody has written it since, as of ``refuse_too_large`` before anything is written,
    others of the records, and ``record-damaged`` afterwards if the rules for manifests refuse it."""
    written = written_state(state, refuse_too_large(rotation.name, state))
    status = {"phase": "Waiting", "left": len(state.nodes), "origin": origin, "state": written}
    metadata: Record = {"name": rotation.name}
    for key, value in (("labels", rotation.metadata.labels), ("annotations", rotation.metadata.annotations)):
        if value:
            metadata[key] = dict(value)
    body = {"apiVersion": FLEET_API, "kind": KIND, "spec": encode(rotation.spec)}
    try:
        stored = judged
        if stored is None:
            stored = records.create({**body, "metadata": metadata})
        elif stored.get("spec") != body["spec"]:
            stored = records.replace({**stored, "spec": body["spec"]})
        return recorded(NodeRotation, records.replace({**stored, "status": status}))
    except FleetError as error:
        if error.code not in ("already-exists", "conflict"):
            raise
    hint = "nothing was begun by this run; start it again to see where the rotation stands"
    raise FleetError("conflict", "somebody else has begun or written it meanwhile", f"{KIND}/{rotation.name}", hint)


def ask_to_stop(records: Records, name: str, now: datetime) -> bool:
    """Says in the record that no more nodes are to be begun, and ends the rotation where nothing is in hand; whether
    that changes the record, as of ``status_once_stopped``. A conductor meets it and goes on by it. FleetError
    ``no-such-rotation``, ``record-damaged``, ``conflict``."""
    for _attempt in range(_ATTEMPTS):
        document = rotation_document(records, name)
        status = status_once_stopped(recorded(NodeRotation, document), now)
        if status is None:
            return False
        if replace_unless_moved(records, {**document, "status": encode(status)}) is not None:
            return True
    raise FleetError("conflict", "the rotation is being written all the time", name, "try again")


def status_once_stopped(rotation: NodeRotation, now: datetime) -> NodeRotationStatus | None:
    """The status of a recorded rotation once it is asked to stop. None where that changes nothing: it was asked already
    and nodes are in hand, it has not begun, or it is over and no schedule begins it again. FleetError
    ``record-damaged``."""
    state = rotation_state(rotation)
    status = replace(rotation.status, stop_requested=True)
    if state.over:
        return _status(status, state) if is_carried_on_by_schedule(rotation) else None
    ended = stopped_at_once(state, now)
    if ended is not None:
        return _status(status, ended)
    return None if rotation.status.stop_requested else status


def delete_rotation(records: Records, name: str, *, force: bool, write: bool) -> bool:
    """Deletes the record, if it is to ``write``; whether there was one. Nodes that it has cordoned stay so. Without
    ``force`` FleetError ``rotation-in-flight`` where acts are in flight (``acts_in_flight``), ``record-damaged`` where
    that cannot be read, and ``conflict`` where somebody has written it since it was read."""
    document = records.get(KIND, name)
    if document is None:
        return False
    try:
        flying = [each.node for each in acts_in_flight(rotation_state(recorded(NodeRotation, document)))]
    except FleetError:
        if not force:
            raise
        flying = []
    if flying and not force:
        hint = "state stopped, conducted to its end, lets them go; force: true leaves them as they are"
        raise FleetError("rotation-in-flight", f"nodes are in flight: {', '.join(flying)}", f"{KIND}/{name}", hint)
    if write:
        delete_as_read(records, KIND, document, force)
    return True
