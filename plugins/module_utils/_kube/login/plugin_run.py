# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One call of a credential plugin (``exec`` in a kubeconfig): no terminal, no input, its output taken up to a limit and
never shown."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
import typing as t
from pathlib import Path

SCRIPT = Path(__file__).with_name("plugin_process.py")
# Isolated from the user's settings of Python and without site packages: it needs none, and starts faster.
_PYTHON_FLAGS = ("-I", "-S")
_MOST_OUTPUT = 1_000_000  # bytes; a certificate with its key has three thousand
_LOOK = 0.2
_PATIENCE = 15.0
_CHUNK = 1 << 16


class PluginFailed(Exception):
    """The text says what the plugin did, without a word of what it printed."""


def run_plugin(command: t.Sequence[str], environ: t.Mapping[str, str], folder: Path, seconds: float) -> bytes:
    """Runs the plugin, for at most ``seconds``; what it printed. PluginFailed if it is not installed, cannot be
    started, prints more than 1 MB, takes longer, or ends with another code than 0. Whatever it started ends with it,
    with us, or when the time is over, as far as ``plugin_process`` can."""
    program = shutil.which(command[0], path=environ.get("PATH", os.defpath))
    if program is None:
        raise PluginFailed("cannot be executed" if os.path.exists(command[0]) else "is not installed")
    try:
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
            [sys.executable, *_PYTHON_FLAGS, str(SCRIPT), str(os.getpid()), program, *command[1:]],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise PluginFailed(f"cannot be started: {getattr(error, 'strerror', None) or 'impossible arguments'}") from None
    try:
        answer = _answer(process, time.monotonic() + seconds)
    finally:
        _end(process)
    if answer is None:
        raise PluginFailed(f"gave no answer within {seconds:g} s")
    if len(answer) > _MOST_OUTPUT:
        raise PluginFailed(f"printed more than {_MOST_OUTPUT // 1_000_000} MB")
    if process.returncode:
        raise PluginFailed(f"failed with exit code {process.returncode}")
    return answer


def _answer(process: subprocess.Popen[bytes], end: float) -> bytes | None:
    """All that is printed until the process ends, or more than is allowed; None if it takes until after ``end``
    (monotonic)."""
    if process.stdout is None:
        raise AssertionError("started with a pipe")
    handle, found = process.stdout.fileno(), bytearray()
    poll = select.poll()
    poll.register(handle, select.POLLIN | select.POLLHUP)
    while len(found) <= _MOST_OUTPUT:
        left = end - time.monotonic()
        if left <= 0:
            return None
        if poll.poll(min(left, _LOOK) * 1000):
            chunk = os.read(handle, _CHUNK)
            if not chunk:
                break
            found += chunk
        elif process.poll() is not None and not poll.poll(0):  # asked again: it may have come meanwhile
            break  # something that cannot be ended keeps the pipe open
    return bytes(found)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process if it is still there, by SIGTERM and, 15 s later, SIGKILL; it is gone then."""
    if process.stdout is not None:
        process.stdout.close()
    try:
        process.terminate()
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
