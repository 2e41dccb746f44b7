# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands of the user that answer to us: begun without a shell, and ended with all that they have begun."""

from __future__ import annotations

import os
import signal
import subprocess
import typing as t
from pathlib import Path

from ..._core.errors import FleetError


class Started:
    """Starts a command in a session of its own. FleetError with ``code`` at ``where`` if it cannot be started; with
    ``merged`` its error output comes with the other."""

    def __init__(
        self,
        argv: t.Sequence[str],
        environ: t.Mapping[str, str],
        code: str,
        where: str,
        cwd: Path | None = None,
        merged: bool = False,
    ) -> None:
        self.program = argv[0]
        try:
            self._child = subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
                list(argv),
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise FleetError(code, f"{self.program} cannot be started: {error.strerror}", where) from None

    def ended(self, timeout: float) -> subprocess.CompletedProcess[str] | None:
        """Waits for its end, and gives what it has said; None if it has not ended within so many seconds."""
        try:
            out, err = self._child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return subprocess.CompletedProcess(self._child.args, self._child.returncode, out, err)

    def kill(self) -> None:
        """Kills its process group, and waits until nobody, in the group or not, holds its output open any more."""
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.communicate()
