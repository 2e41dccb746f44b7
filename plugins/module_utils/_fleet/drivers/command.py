# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver ``command``: commands of the user, each a list of arguments, run without a shell, and what they print read
(``observe-failed``, ``poll-failed``, ``no-command``).

In every argument ``{member} {target} {operation} {attempt} {run} {type} {pool} {image} {reference}`` are replaced, and
each command has them in its environment as ``GITOPS_FLEET_MEMBER`` and so on; ``observe`` has ``{member}`` alone, and
``poll`` alone has ``{reference}``.

``observe``  prints the member's version, or JSON ``{"version": "v1.36.3", "busy": "name of an operation"}``, as its
             last line; with ``"pools"``, a list of ``{"name", "count", "version", "image"}``, its nodes are not asked.
             Without it the member's own ``/version`` is read.
``begin``    is run once per attempt, detached, as long as it takes. An exit code other than 0 is a failure; its last
             lines say why. Without ``poll``, 0 is the end of the upgrade. If the platform has a name for the operation,
             ``begin`` prints it as its last line: ``{"reference": "..."}``; another machine can follow it then.
``poll``     is run again and again after ``begin`` has ended with 0. Its last line is JSON ``{"state": "succeeded"}``,
             ``"failed"``, ``"in progress"`` or ``"unknown"`` (with a ``"message"`` for people); without such a line
             exit code 0 is success, 1 failure and 75 (EX_TEMPFAIL) in progress. Anything else says nothing: it is asked
             again. It must not change anything.
``begin_pool`` upgrades one node pool, to the version ``{target}`` and the image ``{image}``, either of which may be
             empty; run once per attempt and pool, detached, as ``begin`` is, and 0 is its end.
"""

from __future__ import annotations

import json
import re
import subprocess
import typing as t
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..._core.errors import FleetError
from ..._core.foreign import in_line
from ..._core.objects.clusters.fleet_member import FleetMemberStatus, NodePoolStatus
from ..._core.schema.codec import decode
from ..._core.values.kube_version import KubeVersion
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
from .environment import environment_passed_on
from .placeholders import environment_of, filled_arguments, placeholder_values
from .started import Started

PLATFORM = "platform:"
_STATES = (SUCCEEDED, FAILED, IN_PROGRESS, UNKNOWN)
_BY_EXIT_CODE = {0: SUCCEEDED, 1: FAILED, 75: IN_PROGRESS}
_TAIL = 8
# Characters, of a message and of a platform's name of an operation.
_MOST_SAID, _MOST_NAMED = 8_000, 4_000
_LONGEST_VERSION = 100


@dataclass(frozen=True, kw_only=True)
class CommandDriver:
    """The commands are lists of arguments, empty where there is none. ``environ`` is that of the task; of it
    ``environment.KEPT`` and the names in ``environment`` are passed on; ``timeout`` (seconds) is for ``observe`` and
    ``poll``; ``operations`` has a folder for each operation. Relative paths are below ``cwd``. Without ``by_exit_code``
    a ``poll`` that prints no state tells nothing."""

    clients: Clients
    operations: Path
    environ: t.Mapping[str, str] = field(repr=False)
    cwd: Path
    begin_argv: tuple[str, ...]
    observe_argv: tuple[str, ...] = ()
    poll_argv: tuple[str, ...] = ()
    pool_argv: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    timeout: float = 60.0
    by_exit_code: bool = True

    def observe(self, member: str) -> Observation:
        """What the command prints; without a command the member's own ``/version``. FleetError ``observe-failed``, also
        for what is no version and after ``timeout``, ``unsafe-argument``, or what reading ``/version`` raises."""
        if not self.observe_argv:
            return Observation(version=version(self.clients.get(member)))
        known = {"member": member}
        done = self._run(self.observe_argv, known, member, "observe-failed")
        if done.returncode != 0:
            raise FleetError("observe-failed", f"observe ended with {done.returncode}: {_tail(done)}", member)
        line = _last_line(done.stdout)
        told = _document(line)
        found = _version(str(told.get("version") or "") if told is not None else line, member)
        busy = in_line(str((told or {}).get("busy") or ""))
        return Observation(version=found, busy=busy, pools=_pools((told or {}).get("pools"), member))

    def begin(self, work: Work) -> str:
        """Runs the command ``begin`` detached, for a pool step ``begin_pool``; the reference of its process, the
        earlier one if it was begun before. FleetError ``no-command`` where there is none for pools,
        ``unsafe-argument``, and as of ``detached.start``."""
        known = placeholder_values(work, "")
        argv = self.pool_argv if work.pool_step else self.begin_argv
        if not argv:
            raise FleetError("no-command", "no command upgrades its node pools", work.member, "give begin_pool")
        request = detached.Request(
            member=work.member,
            argv=filled_arguments(argv, known),
            environ=self._environ(known),
            cwd=self.cwd,
            files={},
        )
        return detached.start(self._folder(work), request)

    def poll(self, work: Work) -> OperationProgress:
        """How the process of ``begin`` stands; once it has ended with 0, what the command ``poll`` tells, except of a
        pool. FleetError ``poll-failed`` if that tells nothing, or ``begin`` has printed a name of the operation that is
        none, ``unsafe-argument``, and as of ``detached.look``."""
        if work.reference.startswith(PLATFORM) and not work.pool_step:
            return self._poll_platform(work, work.reference)
        folder = self._folder(work)
        progress = detached.look(folder, work.reference)
        if progress.state != SUCCEEDED or not self.poll_argv or work.pool_step:
            return progress
        return self._poll_platform(work, f"{PLATFORM}{_reference(folder, work.member)}")

    def _poll_platform(self, work: Work, reference: str) -> OperationProgress:
        """What the command ``poll`` tells by that reference: its state as it prints it, or by its exit code, and a
        message, cut to 8000 characters. FleetError ``poll-failed`` without that command, or if it tells no state,
        ``unsafe-argument``."""
        known = placeholder_values(work, reference.removeprefix(PLATFORM))
        if not self.poll_argv:
            hint = "give the command poll again that the upgrade was begun with"
            raise FleetError("poll-failed", "no command tells how the upgrade stands", work.member, hint)
        done = self._run(self.poll_argv, known, work.member, "poll-failed")
        told = _document(_last_line(done.stdout)) or {}
        state = told.get("state") or (_BY_EXIT_CODE.get(done.returncode) if self.by_exit_code else None)
        if state not in _STATES:
            raise FleetError("poll-failed", f"poll ended with {done.returncode}: {_tail(done)}", work.member)
        message = str(told.get("message") or ("" if told else _tail(done)))[:_MOST_SAID]
        return OperationProgress(state=state, message=message, reference=reference)

    def _folder(self, work: Work) -> Path:
        """Where the operation of this work is begun, and looked for."""
        return detached.folder_of(self.operations, work.operation)

    def _environ(self, known: t.Mapping[str, str]) -> dict[str, str]:
        """What of our environment is passed on, with what is filled in as variables."""
        return environment_passed_on(self.environ, self.environment) | environment_of(known)

    def _run(
        self, argv: tuple[str, ...], known: t.Mapping[str, str], member: str, code: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end. FleetError with ``code`` if it cannot be started, or takes longer than
        ``timeout``; ``unsafe-argument``."""
        child = Started(filled_arguments(argv, known), self._environ(known), code, member, self.cwd)
        done = child.wait_for_end(self.timeout)
        if done is None:
            child.kill()
            raise FleetError(code, f"{child.program} gave no answer within {self.timeout:g} s", member)
        return done


def _version(text: str, member: str) -> str:
    """The text, which has to be a version. FleetError ``observe-failed`` for an empty one, and for what is none."""
    if not text:
        raise FleetError("observe-failed", "observe printed no version", member)
    try:
        if len(text) > _LONGEST_VERSION:
            raise ValueError("too long")
        KubeVersion.parse(text)
    except ValueError:
        message = f"what observe printed is no version of Kubernetes: {in_line(text, _LONGEST_VERSION)}"
        raise FleetError("observe-failed", message, member, "its last line is to be such as v1.36.3") from None
    return text


def _reference(folder: Path, member: str) -> str:
    """The platform's name of what ``begin`` has begun; empty if it told none. FleetError ``poll-failed`` if that cannot
    be said, or is no name."""
    line = detached.last_line(folder)
    if line is None:
        raise FleetError("poll-failed", "the last line of begin cannot be read", member)
    found = (_document(line) or {}).get("reference")
    if found is None:
        return ""
    if isinstance(found, bool) or not isinstance(found, (str, int)) or len(str(found)) > _MOST_NAMED:
        message = f"begin printed a reference that is no text of at most {_MOST_NAMED} characters"
        raise FleetError("poll-failed", message, member)
    return str(found)


def _pools(told: t.Any, member: str) -> tuple[NodePoolStatus, ...] | None:
    """None if nothing is told of them. FleetError ``observe-failed`` for what is no list of pools."""
    if told is None:
        return None
    try:
        found = decode(FleetMemberStatus, {"nodePools": told}).node_pools
        names: set[str] = set()
        for each in found:
            if not each.name or each.name in names or each.count < 0:
                raise ValueError("each has a name of its own, and a count of 0 or more")
            names.add(each.name)
            if each.version:
                KubeVersion.parse(each.version)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise FleetError("observe-failed", f"observe printed pools that cannot be read: {error}", member) from None
    return tuple(
        replace(each, name=in_line(each.name), image=in_line(each.image), mode=in_line(each.mode)) for each in found
    )


def _document(line: str) -> dict[str, t.Any] | None:
    """The JSON object in the line; None if it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _last_line(text: str) -> str:
    """Without spaces around; empty if there is none. Only what ends lines for a terminal does, not what may stand in a
    text of JSON."""
    return re.split(r"[\r\n]", text.strip())[-1].strip()


def _tail(done: subprocess.CompletedProcess[str]) -> str:
    """The last 8 lines of its error output, or, without any, of its output."""
    return "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-_TAIL:])
