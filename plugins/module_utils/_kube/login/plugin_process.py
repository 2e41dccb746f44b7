# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Supervises one exec plugin of a kubeconfig, and ends all that it started; run by its path, with the standard library.

``plugin_process.py PARENT COMMAND ARGUMENT...``: environment, folder and standard output are the plugin's, and so is
the exit code. When the plugin ends, when SIGTERM comes, or, on Linux, when the thread of the process PARENT that
started this ends, whatever the plugin started ends too: on Linux also what made itself a daemon, for its new parent is
this process, elsewhere its process group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GRACE, _LONGEST, _PAUSE = 1.0, 10.0, 0.01
_CANNOT_START, _ENDED = 126, 143
_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_AWAITED = (*_TO_END, signal.SIGCHLD)


def main(parent: int, command: list[str]) -> int:
    """Runs the command until it ends, a signal says so, or (on Linux) ``parent``, a process ID, ends; then ends what it
    started. For the main thread of a process of its own, whose signals and children it handles.

    Returns its exit status, 128 and the number for a signal that ended it; 126 if it cannot be started, 143 if this was
    told to end or the parent is gone.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    _adopt()
    if os.getppid() != parent:
        return _ENDED
    try:
        child = os.posix_spawnp(  # pylint: disable=ansible-bad-function  # runs on the controller
            command[0], command, os.environ, setpgroup=0, setsigmask=(), setsigdef=(*_TO_END, signal.SIGPIPE)
        )
    except OSError:
        return _CANNOT_START
    code = None
    while code is None:
        code = _ENDED if signal.sigwait(_AWAITED) in _TO_END else _exit_code(*os.waitpid(child, os.WNOHANG))
    _end_all(child)
    return code


def _adopt() -> None:
    """Where the kernel can: orphans of the plugin become our children, and the end of our parent is a signal to us."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def _end_all(child: int) -> None:
    """SIGTERM, and SIGKILL for what is there a second later, for ten seconds at most; then SIGKILL for the group of
    ``child``. What is another user's by then cannot be ended."""
    begun = time.monotonic()
    number = signal.SIGTERM
    while (left := _descendants()) and time.monotonic() < begun + _LONGEST:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        time.sleep(_PAUSE)
        if time.monotonic() > begun + _GRACE:
            number = signal.SIGKILL
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)


def _descendants() -> list[int]:
    """Processes below this one that have not ended, or are children still to be reaped, which the next call does:
    unreaped they stay for ever where process 1 takes no orphans, as in many containers. Empty without /proc."""
    own = os.getpid()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                    if state not in "ZX" or int(parent) == own:
                        children.setdefault(int(parent), []).append(int(entry.name))
    found, above = [], [own]
    while above:
        below = children.get(above.pop(), [])
        found += below
        above += below
    return found


def _exit_code(ended: int, status: int) -> int | None:
    """The exit status by what ``waitpid`` gave, 128 and its number for a signal; None if nothing has ended."""
    code = os.waitstatus_to_exitcode(status)
    return None if not ended else code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))  # pylint: disable=ansible-bad-function  # a command
