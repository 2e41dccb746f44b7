# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One run of ours at a time on a Pulumi stack, from its preview to its end (``stack-locked``): the engine's own lock is
given back in between."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import typing as t
from datetime import UTC, datetime
from pathlib import Path

from ..._core.errors import FleetError
from ..._core.foreign import in_line
from ..._core.values.instants import SECONDS, write_time
from ..._kube.files import read_file
from ..._local.locks import locked, unwritable_as_error
from ..._local.private import write_private
from .place import StackPlace, project_name

_MOST = 4096


@contextlib.contextmanager
def stack_held(where: StackPlace) -> t.Iterator[None]:
    """Keeps other runs with the same home of the engine (by default this user's on this machine) from the stack while
    entered; ends with its holder, also by SIGKILL, and is not waited for. FleetError ``stack-locked`` with who has it
    and since when, as far as that can be read, ``unwritable-folder``, and as of ``project_name``."""
    path = where.home / ".gitops-fleet" / f"{_digest(where)}.lock"
    note = path.with_suffix(".holder")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(path, timeout=0))
        except FleetError as error:
            if error.code != "busy":
                raise
            text = f"the stack is locked by {_holder(note)}, which goes on"
            raise FleetError("stack-locked", text, f"stack {where.stack}", "wait for that run, or end it") from None
        with unwritable_as_error(path.parent):
            write_private(note, f"{_me()} since {write_time(datetime.now(UTC), SECONDS)}\n".encode())
        yield


def _digest(where: StackPlace) -> str:
    """What tells the stack from all others, whichever checkout of its project is used; a state in files by its real
    folder. FleetError as of ``project_name``."""
    backend = os.path.realpath(where.folder) if where.folder is not None else where.backend
    return hashlib.sha256("\0".join((backend, project_name(where), where.stack)).encode()).hexdigest()[:16]


def _me() -> str:
    """This process, for people on this machine and others."""
    return f"{os.environ.get('USER') or 'user'} on {platform.node()} (process {os.getpid()})"


def _holder(note: Path) -> str:
    """Who has noted beside the lock that it is theirs, and since when; ``another run`` where nobody has yet."""
    with contextlib.suppress(OSError, ValueError):
        return in_line(read_file(note, _MOST).decode().strip()) or "another run"
    return "another run"
