# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Forking one process that serves at the other end of a pipe and dies with this one; waiting two seconds for its end,
or killing it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import time
import types
import typing as t

from ...in_processes import SIGNALS, fork
from .message_pipe import MessagePipe

_PR_SET_PDEATHSIG = 1
_PATIENCE = 2.0


def forked(serve: t.Callable[[MessagePipe], None], others: t.Iterable[MessagePipe]) -> tuple[int, MessagePipe]:
    """Forks a process that does ``serve`` with its end of a pipe, and ends when that returns; gives its pid and our
    end. ``others`` are our ends of the pipes to earlier ones, which it must not keep open. OSError if no pipe or no
    process can be had.

    To be called by a thread that lives as long as the process is needed: on Linux the kernel kills it with that thread.
    """
    ours, theirs = map(MessagePipe, socket.socketpair())
    parent = os.getpid()
    try:
        pid = fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid:
        theirs.close()
        return pid, ours
    try:
        _die_with(parent)
        gc.freeze()  # what was there before is shared; nobody looks for cycles in it
        for end in (ours, *others):
            end.close()
        for each in SIGNALS:  # those who are told to end are told by the process that they work for
            signal.signal(each, _unheeded)
        serve(theirs)
    finally:
        os._exit(0)  # nothing of what the other process has begun is ended here


def wait_or_kill(pid: int) -> None:
    """Waits until the process has ended, which it was told to; kills it after two seconds. One that is no child of ours
    any more is no error."""
    end = time.monotonic() + _PATIENCE
    with contextlib.suppress(ChildProcessError):
        while not os.waitpid(pid, os.WNOHANG)[0]:
            if time.monotonic() > end:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return
            time.sleep(0.005)


def _die_with(parent: int) -> None:
    """Where the kernel can, it kills this process before anybody can see that its parent has ended; elsewhere it ends
    as soon as nobody is at the other end of what connects them."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _unheeded(_number: int, _frame: types.FrameType | None) -> None:
    """Does nothing: a handler of our own and not SIG_IGN, which programs that are started would inherit."""
