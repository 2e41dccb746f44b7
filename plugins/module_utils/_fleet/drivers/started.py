# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands of the user that answer to us: begun without a shell, waited for, heard up to 4 MB, and killed with their
process group."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import typing as t
from pathlib import Path

from ..._core.errors import FleetError

# Bytes of each output that are kept, the last ones.
MOST_KEPT = 4_000_000
_CHUNK = 1 << 16
# Seconds: what a selector can count to, and for a process to be gone that was killed.
_LONGEST_WAIT = 3600.0
_PATIENCE = 10.0


class Started:
    """Starts a command in a session of its own, without input, with ``environ`` and nothing else, in ``cwd`` (None:
    ours); with ``merged`` its error output comes with the other. It goes on until it ends or is killed: whoever has
    started it calls one of both methods."""

    def __init__(
        self,
        argv: t.Sequence[str],
        environ: t.Mapping[str, str],
        code: str,
        where: str,
        cwd: Path | None = None,
        merged: bool = False,
    ) -> None:
        """Starts the command. FleetError with ``code`` at ``where`` if it cannot be started."""
        self.program = argv[0]
        try:
            self._child = subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
                list(argv),
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "no program can be given such arguments"
            raise FleetError(code, f"{self.program} cannot be started: {why}", where) from None
        self._said: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
        self._open = selectors.DefaultSelector()
        for name, pipe in (("out", self._child.stdout), ("err", self._child.stderr)):
            if pipe is not None:
                self._open.register(pipe, selectors.EVENT_READ, name)

    def wait_for_end(self, timeout: float) -> subprocess.CompletedProcess[str] | None:
        """Waits for its end, and gives the last 4 MB of each output; a code below 0 is the signal that ended it. None
        if it, or somebody it began who holds its output open, has not ended within ``timeout`` seconds: it may be
        waited for again."""
        end = time.monotonic() + timeout
        while self._open.get_map():
            left = end - time.monotonic()
            for key, _events in self._open.select(min(max(left, 0.0), _LONGEST_WAIT)):
                self._take(key)
            if left <= 0 and self._open.get_map():
                return None
        try:
            code = self._child.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        self._open.close()
        return subprocess.CompletedProcess(self._child.args, code, self._text("out"), self._text("err"))

    def kill(self) -> None:
        """Kills its process group with SIGKILL, and hears nothing any more; the command itself is waited for, up to 10
        seconds."""
        with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
            os.killpg(self._child.pid, signal.SIGKILL)
        self._open.close()
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_PATIENCE)

    def _take(self, key: selectors.SelectorKey) -> None:
        """Reads what is there; of much that is said only the end is kept. At its end the pipe is closed."""
        chunk = os.read(key.fd, _CHUNK)
        if not chunk:
            self._open.unregister(key.fileobj)
            t.cast(t.IO[bytes], key.fileobj).close()
            return
        heard = self._said[key.data]
        heard += chunk
        if len(heard) > 2 * MOST_KEPT:
            del heard[:-MOST_KEPT]

    def _text(self, name: str) -> str:
        """The last 4 MB of ``out`` or ``err``."""
        return bytes(self._said[name][-MOST_KEPT:]).decode("utf-8", "replace")
