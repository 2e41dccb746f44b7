# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of one update run in the records: read, changed by compare-and-swap, never guessed."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._core.errors import FleetError
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.schema.codec import encode
from ..._core.updates.integrity import problems_of, recorded_digest
from ..._core.updates.record.tree import run_of, status_of
from ..._core.updates.record.trimming import trimmed
from ..._core.updates.run import RunState
from ..._core.updates.status import derive
from ..._core.values.update_states import RUNNING
from ..._store.records import Lease, Record, Records
from ..recorded import recorded
from ..updates.claims import KIND

Change = t.Callable[[RunState], RunState]


def read_run(records: Records, name: str) -> UpdateRun:
    """The recorded run; FleetError ``no-such-run``, and as ``proven``."""
    return proven(run_document(records, name))


def proven(document: Record) -> UpdateRun:
    """The run as it was recorded; goal and digest are those of its spec, whatever its status says of them.

    FleetError ``record-damaged``; ``record-altered`` if its status cannot have come of it.
    """
    run = recorded(UpdateRun, document)
    problems = problems_of(run)
    if problems:
        raise FleetError.of(problems)
    return replace(run, status=replace(run.status, target_version=run.target, digest=recorded_digest(run)))


def run_document(records: Records, name: str) -> Record:
    document = records.get(KIND, name)
    if document is None:
        there = ", ".join(each["metadata"]["name"] for each in records.list(KIND)) or "none"
        raise FleetError("no-such-run", "there is no such update run", name, f"runs that are recorded: {there}")
    return document


class Journal:
    """What a conductor knows of its run. ``state`` is what is stored, with what was noted since.

    Noted changes are kept until they are stored: after a conflict the record is read again, as somebody else left it,
    and they are applied to that. Each must change nothing where it is applied twice.
    """

    def __init__(self, records: Records, name: str, lease: Lease) -> None:
        self._records = records
        self._name = name
        self.lease = lease
        self._noted: list[Change] = []
        self.load()

    def load(self) -> None:
        """Reads the record again. FleetError ``run-deleted`` if it is gone, and as ``proven``."""
        document = self._records.get(KIND, self._name)
        if document is None or document["metadata"].get("deletionTimestamp"):
            raise FleetError(
                "run-deleted",
                "the run was deleted while it was conducted; upgrades in flight go on unobserved",
                self._name,
            )
        self._document = document
        self.run: UpdateRun = proven(document)
        self._stored = run_of(self.run)
        self.state = self._stored
        for change in self._noted:
            self.state = change(self.state)

    def note(self, change: Change) -> None:
        self._noted.append(change)
        self.state = change(self.state)

    def renew(self) -> None:
        self.lease = self._records.renew(self.lease)

    def store(self, state: RunState) -> bool:
        """Stores the state under the lease. False if somebody else wrote in between: decide anew on ``state``.

        Our epoch is stored before anything in flight is followed: from then on an older conductor's write conflicts.

        FleetError ``lease-lost`` if another conductor has taken the run over.
        """
        if state == self._stored and (self.run.status.epoch == self.lease.epoch or not _acts(state)):
            self._noted, self.state = [], state
            return True
        status = trimmed(replace(status_of(state, derive(state), self.run.status), epoch=self.lease.epoch))
        try:
            document = self._records.replace({**self._document, "status": encode(status)}, self.lease)
        except FleetError as error:
            if error.code != "conflict":
                raise
            self.load()
            return False
        self._document, self.run = document, replace(self.run, status=status)
        self._noted, self._stored, self.state = [], state, state
        return True


def _acts(run: RunState) -> bool:
    return any(row.state == RUNNING for stage in run.stages for group in stage.groups for row in group.members)
