# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Capturing the facts of a fleet: every member read, what it said recorded if that is wanted, and the snapshot with its
digest and with what placements hold (or why that cannot be read); which members do not answer together."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._core.cluster.facts.prices import PriceList
from ..._core.cluster.facts.snapshot import write_snapshot
from ..._core.cluster.silence import SILENT
from ..._core.cluster.together import SilentGroup, silent_together
from ..._core.errors import FleetError, Problem
from ..._core.values.canonical import digest_of, json_by_lines
from ..._kube.client import Timeouts
from ..placements.holdings import holdings_of
from ..session import Session
from .facts import FleetReading, read_fleet
from .identity import record_uids
from .members import no_members, open_clients, recorded_members
from .own_maintenance import ANNOTATIONS, MaintenanceCommands
from .write_facts import record_facts

NOT_CARRIED = "so the snapshot does not say what is placed, and a plan made from it alone assumes that nothing is"


@dataclass(frozen=True, kw_only=True)
class Captured:
    """``document`` is the snapshot as it is written to a file, ``digest`` the name that plans give it. ``notes`` tell
    of members whose cluster cannot be told, or has two names, and of records of placements that could not be read."""

    reading: FleetReading
    document: t.Mapping[str, t.Any]
    digest: str
    notes: tuple[Problem, ...] = ()

    @property
    def together(self) -> tuple[SilentGroup, ...]:
        """Groups of members that do not answer, as of ``silent_together``."""
        silent = {name for name, error in self.reading.failed.items() if error.code in SILENT}
        return silent_together(silent, self.reading.snapshot.members)

    @property
    def text(self) -> str:
        """The ``document`` as JSON, in lines."""
        return json_by_lines(self.document)


def capture(
    session: Session,
    *,
    pods: bool,
    prices: PriceList,
    threads: int,
    timeout: float,
    record: bool,
    workers: int = 1,
    commands: MaintenanceCommands = ANNOTATIONS,
) -> Captured:
    """Reads all members and makes the snapshot; with ``pods`` also what their pods request; with ``record`` what they
    said is recorded, even if none can be read. Where the records of placements cannot be read, the notes say so.
    ``timeout`` is seconds to connect; there are ``threads`` in each of the ``workers``, which are processes.

    FleetError ``no-members``, ``record-damaged`` for a member's record, others of the records, as of ``read_fleet``, or
    the problems of all members when none can be read.
    """
    members = recorded_members(session.records)
    if not members:
        raise no_members(session.records)
    fleet = {name: member.fleet for name, member in members.items()}
    waits = Timeouts.connecting(timeout)
    with open_clients(session, fleet, timeout=waits) as clients:
        inside = bool(session.records.names("ResourcePlacement"))
        reading = read_fleet(
            members,
            clients,
            session.clock(),
            prices,
            threads,
            workers=workers,
            pods=pods,
            namespaces=inside,
            commands=commands,
        )
    if record:
        record_uids(session.records, fleet, clients.identities.seen)
        record_facts(session.records, reading)
    if len(reading.failed) == len(members):
        raise FleetError.of([problem for error in reading.failed.values() for problem in error.problems])
    notes = clients.identities.notes()
    try:
        reading = replace(
            reading, snapshot=replace(reading.snapshot, held=holdings_of(session.records, fleet.values()))
        )
    except FleetError as error:
        notes += tuple(replace(each, hint=f"{NOT_CARRIED}; {each.hint}".rstrip("; ")) for each in error.problems)
    document = write_snapshot(reading.snapshot)
    return Captured(reading=reading, document=document, digest=digest_of(document), notes=notes)
