# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A copy of the records as a file that is only read, by which a job without a login plans and looks
(``write_copy``)."""

from __future__ import annotations

import os
from pathlib import Path

from .._core.errors import FleetError
from .._store.sqlite import SqliteRecords, copy_of
from .files import refuse_unwritable, write_file
from .session import Session


def write_copy(session: Session, path: str, *, write: bool = True) -> None:
    """Writes a copy of the records to the file (mode 0600), in place of an empty file or an earlier copy; a link is
    replaced, not followed. Without ``write`` it only looks whether the file could be written. FleetError as of
    ``Session.refuse_no_records``; ``unwritable-file``, also where anything but a copy that can be read stands there;
    and as of ``copy_of``, which leaves what stood there."""
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
