# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Exactly one line in ``<root>/upgrades.log`` for each upgrade that happened, however often it was cut off.

The intent is written into the cluster's folder first, with an id of its own. The line with that id is written when the
data are about to be touched by the newer API server, unless it is there. So it is there whenever the cluster answers
with the newer version. The intent is taken back at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import typing as t
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from .._core.errors import FleetError
from .._core.values.instants import SECONDS, write_time
from .._kube.files import open_to_append
from .locks import locked
from .private import write_private

LOG = "upgrades.log"
_INTENT = "upgrade.json"


@dataclass(frozen=True)
class Intent:
    """An upgrade that was begun and is not known to be over. Versions as the API server tells them, ``v1.36.3``."""

    id: str
    operation: str
    before: str
    after: str


def pending(folder: Path) -> Intent | None:
    """The intent in a cluster's folder, which an upgrade leaves that was cut short; None if there is none. FleetError
    ``state-unreadable``."""
    try:
        return Intent(**json.loads((folder / _INTENT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise FleetError("state-unreadable", f"{folder / _INTENT} cannot be read: {error}") from None


def intend(folder: Path, operation: str, before: str, after: str) -> Intent | None:
    """Writes down the intent to go from ``before`` to ``after``, and gives it; one to ``after`` that was cut off
    earlier is kept instead. None, and nothing is written, if both are the same."""
    kept = pending(folder)
    if kept is not None and kept.after == after:
        return kept
    if before == after:
        return None
    intent = Intent(secrets.token_hex(8), operation, before, after)
    write_private(folder / _INTENT, (json.dumps(asdict(intent)) + "\n").encode())
    return intent


def note(root: Path, member: str, operation: str, intent: Intent, at: datetime) -> None:
    """Appends the line (``at, operation, member, from, to, id``) to the log, unless there is one with the intent's id;
    ``at`` is aware. FleetError ``busy``, ``unwritable-folder``."""
    line = {
        "at": write_time(at, SECONDS),
        "operation": operation,
        "member": member,
        "from": intent.before,
        "to": intent.after,
        "id": intent.id,
    }
    with locked(root / ".locks" / "upgrades", timeout=60):
        if any(found.get("id") == intent.id for found in _lines(root / LOG)):
            return
        with os.fdopen(open_to_append(root / LOG, 0o600), "wb") as file:
            file.write((json.dumps(line) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())


def finish(folder: Path) -> None:
    """The upgrade is over: its intent is deleted."""
    (folder / _INTENT).unlink(missing_ok=True)


def _lines(log: Path) -> t.Iterator[dict[str, t.Any]]:
    if not log.exists():
        return
    for line in log.read_bytes().splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)
