# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lock files that one process or thread at a time holds, waited for (``busy``); folders made; an OSError while writing
there as FleetError ``unwritable-folder``."""

from __future__ import annotations

import contextlib
import errno
import os
import time
import typing as t
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where local control planes do not run either
    fcntl = None  # type: ignore[assignment]

from .._core.errors import FleetError

_PAUSE = 0.05


@contextlib.contextmanager
def locked(
    path: Path,
    waiting: t.Callable[[], None] | None = None,
    timeout: float | None = None,
    meanwhile: t.Callable[[], None] = lambda: None,
) -> t.Iterator[None]:
    """Hold the lock file ``path`` for the body (made if missing, never removed: removing it would let two holders in).

    While another process or thread holds it, ``waiting`` is called once, and ``meanwhile`` some times a second. The
    lock ends with its holder, also by SIGKILL; a holder that takes it again waits for itself. FleetError ``busy`` after
    ``timeout`` seconds (never if it is None), ``unwritable-folder`` if the file cannot be made or locked, or is a link.
    """
    handle = _opened(path)
    try:
        _take(handle, path, waiting, timeout, meanwhile)
        yield
    finally:
        os.close(handle)


def make_folder(path: Path, mode: int = 0o755) -> Path:
    """Makes the folder ``path`` with ``mode``, less the umask, and missing parents with the usual mode; gives ``path``.
    One that is there, or a link to one, keeps its mode. FleetError ``unwritable-folder``, also where a file is there,
    or no folder can be called so."""
    try:
        with unwritable_as_error(path):
            path.mkdir(mode=mode, parents=True, exist_ok=True)
    except ValueError:
        raise _unwritable(path, OSError(errno.EINVAL, "no folder can have this name")) from None
    return path


@contextlib.contextmanager
def unwritable_as_error(folder: Path) -> t.Iterator[None]:
    """Any OSError of the body, which is to write into ``folder`` or below it, becomes FleetError ``unwritable-folder``,
    which names ``folder``."""
    try:
        yield
    except OSError as error:
        raise _unwritable(folder, error) from None


def _opened(path: Path) -> int:
    """A descriptor of the lock file, for the caller to close; the file (mode 0600) and its folders are made if missing.
    FleetError ``unwritable-folder``, also for a link."""
    make_folder(path.parent)
    with unwritable_as_error(path.parent):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _take(
    handle: int,
    path: Path,
    waiting: t.Callable[[], None] | None,
    timeout: float | None,
    meanwhile: t.Callable[[], None],
) -> None:
    """Locks the open file, waiting as ``locked`` does; ``path`` is for messages. FleetError ``busy`` after ``timeout``
    seconds, ``unwritable-folder`` if it cannot be locked at all."""
    end = None if timeout is None else time.monotonic() + timeout
    told = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise FleetError("unwritable-folder", f"{path} cannot be locked: {error.strerror}") from None
        if not told and waiting is not None:
            waiting()
        told = True
        meanwhile()
        if end is not None and time.monotonic() >= end:
            raise FleetError(
                "busy", f"another process has held {path} for more than {timeout:g} s", hint="wait for it, or end it"
            )
        time.sleep(_PAUSE)


def _unwritable(path: Path, error: OSError) -> FleetError:
    """The FleetError ``unwritable-folder``, given back, not raised."""
    why = error.strerror or type(error).__name__
    hint = "give a folder that you may write to"
    return FleetError("unwritable-folder", f"{path} cannot be written: {why}", hint=hint)
