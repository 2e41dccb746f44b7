# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The log of upgrades, one line in ``<root>/upgrades.log`` for each by ``cluster.upgraded``, however often it was cut
off, by an intent (``upgrade.json``) that is written down before and taken back at the end.

The line, which has the id of the intent, is written when the data are about to be touched by the newer API server,
unless it is there. So it is there whenever the cluster answers with the newer version, but for one that
``cluster.present`` has brought there after an upgrade was cut off: its line is written when the upgrade is taken up
again.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import typing as t
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path

from .._core.errors import FleetError
from .._core.values.instants import SECONDS, write_time
from .._kube.files import open_to_append, refuse_special
from .locks import locked, unwritable_as_error
from .private import write_private

LOG = "upgrades.log"
_INTENT = "upgrade.json"


@dataclass(frozen=True)
class Intent:
    """An upgrade that was begun and is not known to be over. Versions as the API server tells them, ``v1.36.3``."""

    id: str
    before: str
    after: str


def pending(folder: Path) -> Intent | None:
    """The intent in a cluster's folder, which an upgrade leaves that was cut short; None if there is none. FleetError
    ``state-unreadable`` if it cannot be read or is none of ours."""
    try:
        found = json.loads((folder / _INTENT).read_text(encoding="utf-8"))
        named = {each.name: found[each.name] for each in fields(Intent)}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(folder, str(error.strerror)) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _unreadable(folder, "it is no intent of ours") from None
    if not all(isinstance(each, str) for each in named.values()):
        raise _unreadable(folder, "it is no intent of ours")
    return Intent(**named)


def _unreadable(folder: Path, why: str) -> FleetError:
    """The FleetError ``state-unreadable`` for the intent in ``folder``, given back, not raised."""
    hint = "delete the file, and upgrade the cluster again"
    return FleetError("state-unreadable", f"{folder / _INTENT} cannot be read: {why}", hint=hint)


def intend(folder: Path, before: str, after: str) -> Intent | None:
    """The intent to go from ``before`` to ``after``. One to ``after`` that was cut off earlier is kept and given; else
    None if both are the same; else a new one, written down in the place of one to another version. FleetError
    ``unwritable-folder``, and as of ``pending``."""
    kept = pending(folder)
    if kept is not None and kept.after == after:
        return kept
    if before == after:
        return None
    intent = Intent(secrets.token_hex(8), before, after)
    with unwritable_as_error(folder):
        write_private(folder / _INTENT, (json.dumps(asdict(intent)) + "\n").encode())
    return intent


def log_upgrade(root: Path, member: str, operation: str, intent: Intent, at: datetime) -> None:
    """Appends the line (JSON: ``at, operation, member, from, to, id``) to the log, and to the disk, unless there is one
    with the intent's id; ``at`` is aware, ``operation`` that which brings the upgrade to its end. FleetError ``busy``
    after a minute, ``unwritable-folder``."""
    line = {
        "at": write_time(at, SECONDS),
        "operation": operation,
        "member": member,
        "from": intent.before,
        "to": intent.after,
        "id": intent.id,
    }
    with locked(root / ".locks" / "upgrades", timeout=60), unwritable_as_error(root):
        written = _written(root / LOG)
        if any(each.get("id") == intent.id for each in _lines(written)):
            return
        # What a process that was killed, or a full disk, has left of a line must not swallow this one.
        begin = "\n" if written and not written.endswith(b"\n") else ""
        with os.fdopen(open_to_append(root / LOG, 0o600), "wb") as file:
            file.write(f"{begin}{json.dumps(line)}\n".encode())
            file.flush()
            os.fsync(file.fileno())


def finish(folder: Path) -> None:
    """The upgrade is over: its intent is deleted, if there is one, whichever upgrade it is of. FleetError
    ``unwritable-folder``."""
    with unwritable_as_error(folder):
        (folder / _INTENT).unlink(missing_ok=True)


def _written(log: Path) -> bytes:
    """All bytes of the log, none if there is no log; OSError if it cannot be read, or is a pipe, which would be waited
    for."""
    refuse_special(log)
    try:
        return log.read_bytes()
    except FileNotFoundError:
        return b""


def _lines(written: bytes) -> t.Iterator[dict[str, t.Any]]:
    """The log's lines that are JSON objects, in their order; others are passed over."""
    for line in written.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found
