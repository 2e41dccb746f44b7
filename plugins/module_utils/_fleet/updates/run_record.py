# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The record of one update run: read by its name (``no-such-run``), proven against its digest (``record-altered``),
written with another state and epoch, found deleted (``run-deleted``)."""

from __future__ import annotations

from dataclasses import replace

from ..._core.errors import FleetError
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.integrity import problems_of, recorded_digest
from ..._core.updates.record.run_state import run_of, status_of
from ..._core.updates.record.trimming import trimmed
from ..._core.updates.run import RunState
from ..._core.updates.status import derive
from ..._store.records import Record, Records
from ..recorded import recorded
from .claims import KIND


class RunBook:
    """How a run stands in the records while it is conducted. ``run`` is the one that was read or written last, there
    once it was read. ``uid`` is that of the run that is meant; empty: whichever has the name."""

    kind = KIND
    run: UpdateRun

    def __init__(self, name: str, uid: str = "") -> None:
        self.name, self.uid = name, uid

    def read(self, document: Record) -> RunState:
        """The state in the document, whose run is remembered. FleetError as of ``proven``."""
        self.run = proven(document)
        return run_of(self.run)

    def written(self, document: Record, state: RunState, epoch: int) -> Record:
        """The document with this state and epoch, its status ``trimmed`` where it is too large. After ``read``."""
        status, encoded = trimmed(replace(status_of(state, derive(state), self.run.status), epoch=epoch))
        self._written = replace(self.run, status=status)
        return {**document, "status": encoded}

    def remember(self) -> None:
        """From now on ``run`` is what ``written`` gave last."""
        self.run = self._written

    def epoch(self) -> int:
        """The epoch of the lease under which the run was written last. After ``read``."""
        return self.run.status.epoch

    def gone(self) -> FleetError:
        """The FleetError ``run-deleted``, to be raised where the record is gone, being deleted or of another run."""
        message = "the run was deleted while it was conducted; upgrades in flight go on unobserved"
        return FleetError("run-deleted", message, self.name)


def read_run(records: Records, name: str) -> UpdateRun:
    """The recorded run; FleetError ``no-such-run``, and as ``proven``."""
    return proven(run_document(records, name))


def proven(document: Record) -> UpdateRun:
    """The run as it was recorded, with the goal of its spec and the digest among its metadata, whatever its status says
    of them. Before it was laid out the digest is empty, and nothing is proven.

    FleetError ``record-damaged``; ``record-altered`` if the status of one that was laid out cannot have come of it.
    """
    return proven_run(recorded(UpdateRun, document))


def proven_run(run: UpdateRun) -> UpdateRun:
    """As ``proven``, of a run that was ``recorded``. FleetError ``record-altered``."""
    problems = problems_of(run)
    if problems:
        raise FleetError.of(problems)
    return replace(run, status=replace(run.status, target_version=run.target, digest=recorded_digest(run)))


def run_document(records: Records, name: str) -> Record:
    """The record as it is; FleetError ``no-such-run`` with the names of those that are there."""
    document = records.get(KIND, name)
    if document is None:
        there = ", ".join(each["metadata"]["name"] for each in records.list(KIND)) or "none"
        hint = f"runs that are recorded in {records.place}: {there}"
        raise FleetError("no-such-run", "there is no such update run", name, hint)
    return document
