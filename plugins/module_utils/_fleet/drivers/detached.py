# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Operations that are processes of this machine, and outlive whoever began them. Linux.

Each has a folder: ``request.json`` (what to run), ``process.json`` (who runs it; made by that process, once),
``output.log`` (what it writes), ``result.json`` (how it ended). All are for the user alone (mode 0600). Beside these
folders ``.begun`` keeps the names of all operations, for the case that somebody deletes one.
"""

from __future__ import annotations

import glob
import hashlib
import json
import sys
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..._core.errors import FleetError
from ..._local import processes
from ..._local.locks import make_folder
from ..._local.private import own_folder, write_private
from ..._local.processes import ProcessId
from .contract import (
    FAILED,
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    OperationProgress,
)
from .host import (
    PREFIX,
    here,
    is_intent,
    known,
    machine,
    told,
)

SCRIPT = Path(__file__).with_name("detached_process.py")
# Isolated from the user's settings of Python and without site packages: it needs none, and starts faster.
_PYTHON_FLAGS = ("-I", "-S")
_START_TIMEOUT = 120.0
_PAUSE = 0.01
_TAIL = 8
_LONGEST_NAME = 200
BEGUN = ".begun"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run, and for which member: no shell, this environment and no other.

    ``files`` are written beside it first, by name; those in ``private`` are removed again when the command has ended.
    """

    member: str
    argv: tuple[str, ...]
    environ: t.Mapping[str, str]
    cwd: Path
    files: t.Mapping[str, str]
    private: tuple[str, ...] = ()


def folder_of(operations: Path, operation: str) -> Path:
    """The folder of an operation below that of all; long names are cut, and told apart by a digest."""
    if len(operation) <= _LONGEST_NAME:
        return operations / operation
    return operations / f"{operation[:_LONGEST_NAME]}-{hashlib.sha256(operation.encode()).hexdigest()[:16]}"


def start(folder: Path, request: Request) -> str:
    """Runs it detached, unless that was done before; the reference that finds it again.

    It is in a session of its own, so signals to us and to our group do not reach it. FleetError ``cannot-start``,
    ``unwritable-folder``, ``unsafe-folder``; ``operation-in-progress`` if another one of this machine is at work on the
    member; ``begun-before`` if this one was, and its folder was deleted.
    """
    if not sys.platform.startswith("linux"):
        raise FleetError("linux-only", "operations that outlive their beginner run on Linux only")
    folder = folder.absolute()
    there = _process_of(folder)
    if there is not None:
        return there.reference
    _refuse_twice(folder, request.member)
    _write_request(folder, request)
    command = [sys.executable, *_PYTHON_FLAGS, str(SCRIPT), str(folder)]
    started = processes.start(command, folder / "output.log", str(folder), request.environ)
    end = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < end:
        alive = processes.is_running(started)
        there = _process_of(folder)
        if there is not None:
            return there.reference
        if not alive:
            break
        time.sleep(_PAUSE)
    raise FleetError("cannot-start", f"the operation did not start: {output(folder)}", str(folder))


def look(folder: Path, reference: str = "") -> OperationProgress:
    """How it stands. Starts nothing; but if its process is gone without a result, what that left behind is ended.
    FleetError ``operation-unreadable``, ``cannot-stop``."""
    folder = folder.absolute()
    try:
        there = _process_of(folder)
    except FleetError as error:  # another user's: whoever cannot see it watches the member
        return OperationProgress(state=UNKNOWN, message=error.message)
    if there is None:
        return _not_there(folder, reference)
    if reference.startswith(PREFIX) and not is_intent(reference) and reference != there.reference:
        return OperationProgress(
            state=UNKNOWN, message="the operation was begun by another process than the one known here"
        )
    # In this order: whoever was not alive has recorded a result before, or never will.
    alive = there.here == machine() and processes.is_running(there.id)
    result = _read(folder / "result.json")
    if result is None and there.here != machine():
        return OperationProgress(state=UNKNOWN, message=f"the operation was begun {told(there.reference)}")
    if result is None and alive:
        return OperationProgress(state=IN_PROGRESS, message=output(folder, 1))
    if result is None:
        result = _clear_up(folder)
    return _progress(result, output(folder))


def output(folder: Path, lines: int = _TAIL) -> str:
    """The last ``lines`` of what the operation wrote; empty if it wrote nothing."""
    return processes.last_lines(folder / "output.log", lines).strip()


@dataclass(frozen=True)
class _Process:
    id: ProcessId
    here: str

    @property
    def reference(self) -> str:
        return f"{self.here}:{self.id.pid}:{self.id.started}"


def _write_request(folder: Path, request: Request) -> None:
    document = {
        "argv": list(request.argv),
        "cwd": str(request.cwd),
        "private": list(request.private),
        "here": machine(),
        "member": request.member,
    }
    here(folder.parent)
    make_folder(folder.parent / BEGUN, 0o700)
    own_folder(make_folder(folder, 0o700))
    try:
        for name, text in request.files.items():
            write_private(folder / name, text.encode())
        write_private(folder / "request.json", (json.dumps(document, indent=2) + "\n").encode())
        write_private(folder.parent / BEGUN / folder.name, b"")
    except OSError as error:
        raise FleetError("unwritable-folder", f"{folder} cannot be written: {error.strerror}") from None


def _refuse_twice(folder: Path, member: str) -> None:
    """Nothing is begun a second time, nor beside another operation on the member, whatever the records say."""
    if _was_deleted(folder):
        hint = "look at the member; another attempt, or another run, has another name"
        message = f"{folder.name} was begun here before, and its folder was deleted"
        raise FleetError("begun-before", message, member, hint)
    for other in folder.parent.glob(f"*.{glob.escape(member)}.*"):
        request = _read(other / "request.json") if other != folder else None
        if request and request.get("member") == member and look(other).state == IN_PROGRESS:
            raise FleetError("operation-in-progress", f"{other.name} is under way on this machine", member)


def _not_there(folder: Path, reference: str) -> OperationProgress:
    if reference and known(folder.parent) and reference == here(folder.parent) and not _was_deleted(folder):
        return OperationProgress(state=NOT_BEGUN, message="the operation was not begun")
    place = told(reference)
    return OperationProgress(state=UNKNOWN, message=f"the operation may have been begun {place}" if place else "")


def _was_deleted(folder: Path) -> bool:
    return (folder.parent / BEGUN / folder.name).exists() and not folder.exists()


def _process_of(folder: Path) -> _Process | None:
    found = _read(folder / "process.json")
    return None if found is None else _Process(ProcessId(found["pid"], found["started"]), found["here"])


def _read(path: Path) -> dict[str, t.Any] | None:
    """None if it is not there; it is whole if it is."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise FleetError("operation-unreadable", f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else None


def _clear_up(folder: Path) -> dict[str, t.Any]:
    """Its process is gone and has recorded nothing. Whoever was below it may be about to, or be there alone."""
    left = processes.processes_marked(str(folder))
    processes.stop(left)
    words = f"; {len(left)} process{'es' if len(left) > 1 else ''} that it left behind had to be ended" if left else ""
    for name in (_read(folder / "request.json") or {}).get("private", ()):
        (folder / name).unlink(missing_ok=True)
    return _read(folder / "result.json") or {"rc": None, "message": f"its process was killed{words}"}


def _progress(result: t.Mapping[str, t.Any], tail: str) -> OperationProgress:
    rc = result["rc"]
    if rc == 0:
        return OperationProgress(state=SUCCEEDED, message=tail)
    words = result["message"] or (f"ended by signal {-rc}" if rc < 0 else f"ended with exit code {rc}")
    return OperationProgress(state=FAILED, message=f"{words}\n{tail}" if tail else words)
