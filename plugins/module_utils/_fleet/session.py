# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one call of a verb works with, opened once from its options (``records``, ``holder``, ``reason``) and handed
down: records (``no-records``), hub, holder of leases, the present, who is told; a line in the journal of an object."""

from __future__ import annotations

import contextlib
import os
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from .._core.errors import FleetError
from .._core.values.instants import SECONDS, write_time
from .._kube.client import KubeClient
from .._store.hub import HubRecords
from .._store.open_records import guard_durable, open_records
from .._store.records import Clock, Records
from .._store.sqlite_file import copy_refused
from .leases import holder_name

# Tells people a line of what goes on; called from any thread of the verb.
Say = t.Callable[[str], None]


def present() -> datetime:
    """The present in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def silent(_line: str) -> None:
    """Says nothing."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """``hub`` is the API server that keeps the records, None where a file does. ``holder`` is the name under which
    leases are taken; ``clock`` gives the present as aware UTC; ``say`` tells people a line; ``environ`` is the
    environment of the task, not always that of this process. ``reason`` is why people call the verb, for the history,
    or empty. ``once`` keeps what is asked or told once only."""

    records: Records
    hub: KubeClient | None = None
    holder: str
    clock: Clock = present
    say: Say = silent
    reason: str = ""
    environ: t.Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    once: dict[str, str] = field(default_factory=dict, repr=False)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes the records."""
        self.records.close()

    @property
    def origin_place(self) -> str:
        """Where the records are, as of ``Records.place``; of a copy, where those are that it was made of. FleetError as
        of ``SqliteRecords.origin``."""
        origin = self.records.origin
        return origin.place if origin else self.records.place

    def refuse_no_records(self, hint: str) -> None:
        """FleetError ``no-records``, with the hint, where there is no file of the records, or an empty one. Never for a
        hub."""
        place = self.records.place
        if self.hub is None and not (os.path.exists(place) and os.path.getsize(place)):
            raise FleetError("no-records", "there are no records", place, hint)

    def journal(self, kind: str, name: str, reason: str, message: str, type: str = "Normal") -> None:
        """Adds a line for people to the journal of one object; one that cannot be kept is left out."""
        with contextlib.suppress(FleetError):
            self.records.event(kind, name, type, reason, message, self.clock())


def open_session(
    options: t.Mapping[str, t.Any],
    environ: t.Mapping[str, str],
    *,
    writes: bool,
    say: Say = silent,
    clock: Clock = present,
) -> Session:
    """Opens the records that the option ``records`` describes (a mapping, or None for those of this folder), without
    what is None in it, a false ``durable``, and ``path`` and ``durable`` of a hub. Leases are taken as the option
    ``holder`` says, else as ``holder_name``; the option ``reason`` is kept, if there is one. FleetErrors of
    ``open_records``; a verb that ``writes`` refuses records that would be lost (``no-durable-records``), and a copy
    (``records-copy``)."""
    given = {key: value for key, value in (options.get("records") or {}).items() if value is not None}
    if given.get("type") == "hub":
        given = {key: value for key, value in given.items() if key not in ("path", "durable")}
    if not given.get("durable"):
        given.pop("durable", None)
    records = open_records(given, environ, clock)
    if writes:
        if told := copied_words(records, clock()):
            records.close()
            raise copy_refused(records.place, told)
        guard_durable(records, environ)
    return Session(
        records=records,
        hub=records.client if isinstance(records, HubRecords) else None,
        holder=options.get("holder") or holder_name(environ),
        clock=clock,
        say=say,
        environ=environ,
        reason=options.get("reason") or "",
    )


def copied_words(records: Records, now: datetime) -> str:
    """Of which records this is a copy, made when and how many hours before ``now``, aware, to go on after a noun; empty
    for records themselves, and for what cannot be read."""
    try:
        origin = records.origin
    except FleetError:
        return ""
    if origin is None:
        return ""
    hours = (now - origin.at) // timedelta(hours=1)
    ago = f", {hours} h ago" if hours > 0 else ""
    return f"of {origin.place}, made at {write_time(origin.at, SECONDS)}{ago}"
