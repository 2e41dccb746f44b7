# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A copy of the records in a file, for reading alone: by what a job without a login plans and looks
(``write_copy``)."""

from __future__ import annotations

import os
from pathlib import Path

from .._core.errors import FleetError
from .._store.sqlite import SqliteRecords, copy_of
from .files import refuse_unwritable, write_file
from .session import Session


def write_copy(session: Session, path: str, *, write: bool = True) -> None:
    """Writes a copy of the records to the file, for this user only, in place of an empty file or an earlier copy there,
    a link replaced and not followed; without ``write`` it only looks whether the file could be written. FleetError
    ``no-records`` as of ``Session.refuse_no_records`` (a hub without any is copied as a fleet of nothing);
    ``unwritable-file``, also where anything else than a copy stands, the records themselves among it, and a copy that
    is damaged, locked or of a newer schema; and as of ``copy_of``, which leaves what stood there."""
    session.refuse_no_records("name those to be copied by records")
    refuse_unwritable(path)
    if os.path.exists(path) and os.path.getsize(path) and not _is_copy(session, path):
        text = "what stands there is no copy of records, and not written over"
        raise FleetError("unwritable-file", text, path, "give another path, or take it away")
    if write:
        write_file(path, copy_of(session.records, session.clock()), 0o600)


def _is_copy(session: Session, path: str) -> bool:
    """Whether the file is a copy of records, by what it says of itself; False too where that cannot be read."""
    records = SqliteRecords(Path(path), session.clock)
    try:
        return records.origin is not None
    except FleetError:
        return False
    finally:
        records.close()
