# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``command``: commands of the user, each a list of arguments, run without a shell.

In every argument ``{member} {target} {operation} {attempt} {run} {reference}`` are replaced, and each command has them
in its environment as ``GITOPS_FLEET_MEMBER`` and so on.

``observe``  prints the member's version, or JSON ``{"version": "v1.36.3", "busy": "name of an operation"}``, as its
             last line. Without it the member's own ``/version`` is read.
``begin``    is run once per attempt, detached, as long as it takes. An exit code other than 0 is a failure; its last
             lines say why. Without ``poll``, 0 is the end of the upgrade. If the platform has a name for the operation,
             ``begin`` prints it as its last line: ``{"reference": "..."}``; another machine can follow it then.
``poll``     is run again and again after ``begin`` has ended with 0. Its last line is JSON ``{"state": "succeeded"}``,
             ``"failed"``, ``"in progress"`` or ``"unknown"`` (with a ``"message"`` for people); without such a line
             exit code 0 is success, 1 failure and 75 (EX_TEMPFAIL) in progress. Anything else says nothing: it is asked
             again. It must not change anything.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..._core.errors import FleetError
from ..._kube.access import version
from ..members.members import Clients
from . import detached
from .contract import (
    FAILED,
    IN_PROGRESS,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)
from .environment import allowed
from .placeholders import filled, values

PLATFORM = "platform:"
_STATES = (SUCCEEDED, FAILED, IN_PROGRESS, UNKNOWN)
_BY_EXIT_CODE = {0: SUCCEEDED, 1: FAILED, 75: IN_PROGRESS}
_TAIL = 8


@dataclass(frozen=True, kw_only=True)
class CommandDriver:
    """``environ`` is ours, of which ``environment`` adds names to those that are passed on; ``timeout`` (seconds) is
    for ``observe`` and ``poll``. Relative paths are below ``cwd``."""

    clients: Clients
    operations: Path
    environ: t.Mapping[str, str]
    cwd: Path
    begin_argv: tuple[str, ...]
    observe_argv: tuple[str, ...] = ()
    poll_argv: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    timeout: float = 60.0

    def observe(self, member: str) -> Observation:
        """FleetError ``observe-failed``, or what reading ``/version`` raises."""
        if not self.observe_argv:
            return Observation(version=version(self.clients.get(member)))
        known = {"member": member}
        done = self._run(self.observe_argv, known, member, "observe-failed")
        if done.returncode != 0:
            raise FleetError("observe-failed", f"observe ended with {done.returncode}: {_tail(done)}", member)
        line = _last_line(done.stdout)
        told = _document(line)
        found = str(told.get("version") or "") if told is not None else line
        if not found:
            raise FleetError("observe-failed", "observe printed no version", member)
        return Observation(version=found, busy=str((told or {}).get("busy") or ""))

    def begin(self, work: Work) -> str:
        known = values(work, "")
        request = detached.Request(
            member=work.member,
            argv=filled(self.begin_argv, known),
            environ=self._environ(known),
            cwd=self.cwd,
            files={},
        )
        return detached.start(self._folder(work), request)

    def poll(self, work: Work) -> OperationProgress:
        """FleetError ``poll-failed`` if the user's command tells nothing."""
        if work.reference.startswith(PLATFORM):
            return self._poll_platform(work, work.reference)
        folder = self._folder(work)
        progress = detached.look(folder, work.reference)
        if progress.state != SUCCEEDED or not self.poll_argv:
            return progress
        told = _document(detached.output(folder, 1)) or {}
        return self._poll_platform(work, f"{PLATFORM}{told.get('reference') or ''}")

    def _poll_platform(self, work: Work, reference: str) -> OperationProgress:
        known = values(work, reference.removeprefix(PLATFORM))
        done = self._run(self.poll_argv, known, work.member, "poll-failed")
        told = _document(_last_line(done.stdout)) or {}
        state = told.get("state") or _BY_EXIT_CODE.get(done.returncode)
        if state not in _STATES:
            raise FleetError("poll-failed", f"poll ended with {done.returncode}: {_tail(done)}", work.member)
        message = str(told.get("message") or ("" if told else _tail(done)))
        return OperationProgress(state=state, message=message, reference=reference)

    def _folder(self, work: Work) -> Path:
        return detached.folder_of(self.operations, work.operation)

    def _environ(self, known: t.Mapping[str, str]) -> dict[str, str]:
        ours = {f"GITOPS_FLEET_{name.upper()}": value for name, value in known.items()}
        return {**allowed(self.environ, self.environment), **ours}

    def _run(
        self, argv: tuple[str, ...], known: t.Mapping[str, str], member: str, code: str
    ) -> subprocess.CompletedProcess[str]:
        """One that answers soon. In a session of its own, so that all of it can be ended."""
        command = filled(argv, known)
        try:
            child = subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
                command,
                cwd=self.cwd,
                env=self._environ(known),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise FleetError(code, f"{command[0]} cannot be started: {error.strerror}", member) from None
        try:
            out, err = child.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise FleetError(code, f"{command[0]} gave no answer within {self.timeout:g} s", member) from None
        return subprocess.CompletedProcess(command, child.returncode, out, err)


def _document(line: str) -> dict[str, t.Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _tail(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-_TAIL:])
