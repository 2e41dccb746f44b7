# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Upgrades as detached processes of this machine (Linux), which outlive whoever began them: the folder of each, its
start (``cannot-start``, ``begun-before``, ``operation-in-progress``), how it stands (``operation-unreadable``), the
last lines that it wrote.

Each has a folder: ``request.json`` (what to run), ``process.json`` (who runs it; made by that process, once),
``output.log`` (what it writes), ``result.json`` (how it ended), ``told`` (somebody was told that), for the user alone
(mode 0600). Beside these folders ``.begun`` keeps the names of all operations, for the case that somebody deletes one.
Folders of those that ended long ago, and were told, are removed, and private files of such as nobody came to begin;
their names stay.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import sys
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError
from ..._kube.files import is_there
from ..._local import processes
from ..._local.locks import make_folder, unwritable_as_error
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
    BEGUN,
    PREFIX,
    folder_number,
    intent_reference,
    is_earlier_boot,
    is_intent,
    machine,
    place_words,
)
from .old_operations import TOLD, tidy

SCRIPT = Path(__file__).with_name("detached_process.py")
# Isolated from the user's settings of Python and without site packages: it needs none, and starts faster.
_PYTHON_FLAGS = ("-I", "-S")
_START_TIMEOUT = 120.0
_PAUSE = 0.01
_TAIL = 8
_LONGEST_NAME = 200
_LONGEST_LINE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run, in ``cwd``, and for which member: no shell, and no environment but ``environ`` and our mark.
    ``files`` are written into the operation's folder first, text by name; those that ``private`` names are removed when
    the command has ended."""

    member: str
    argv: tuple[str, ...]
    environ: t.Mapping[str, str] = field(repr=False)
    cwd: Path
    files: t.Mapping[str, str] = field(repr=False)
    private: tuple[str, ...] = ()


def folder_of(operations: Path, operation: str) -> Path:
    """The folder of an operation below that of all, not made; names above 200 characters are cut, and end with a
    digest."""
    if len(operation) <= _LONGEST_NAME:
        return operations / operation
    return operations / f"{operation[:_LONGEST_NAME]}-{hashlib.sha256(operation.encode()).hexdigest()[:16]}"


def start(folder: Path, request: Request) -> str:
    """Runs the request detached, in a session of its own, unless that was done before, and waits until its process has
    taken it up; the reference that finds it again. Now and then ``tidy`` is called before.

    FleetError ``linux-only``, ``cannot-start``, ``unwritable-folder``, ``unsafe-folder``; ``operation-in-progress`` if
    another one of this machine is at work on the member, ``operation-unreadable`` or ``cannot-stop`` if one may be;
    ``begun-before`` if this one was, and its folder was deleted. Where it did not start, it may be begun again, and
    private files are removed as far as they can be.
    """
    if not sys.platform.startswith("linux"):
        raise FleetError("linux-only", "operations that outlive their beginner run on Linux only")
    folder = folder.absolute()
    there = _process_of(folder)
    if there is not None:
        return there.reference
    _refuse_twice(folder, request.member)
    tidy(folder.parent)
    try:
        _write_request(folder, request)
        command = [sys.executable, *_PYTHON_FLAGS, str(SCRIPT), str(folder)]
        started = processes.start(command, folder / "output.log", str(folder), request.environ)
    except BaseException:
        _leave_nothing_private(folder, request)
        raise
    there = _begun_by(folder, started)
    if there is not None:
        if there.id != started and _read(folder / "result.json") is not None:
            _remove(folder, request.private)  # who was faster has ended, and removes them no more
        return there.reference
    _leave_nothing_private(folder, request)
    raise FleetError("cannot-start", f"the operation did not start: {output(folder)}", str(folder))


def _begun_by(folder: Path, started: ProcessId) -> _Process | None:
    """Who carries the operation out, as soon as that is known: the process that was ``started`` for it, or one of
    somebody who was faster; None, and it is ended, if it does not get that far. FleetError as of ``_process_of``,
    ``cannot-stop``."""
    end = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < end:
        alive = processes.is_running(started)
        there = _process_of(folder)
        if there is not None:
            return there
        if not alive:
            break
        time.sleep(_PAUSE)
    processes.stop([started])
    return _process_of(folder)


def look(folder: Path, reference: str = "") -> OperationProgress:
    """How it stands. NOT_BEGUN where the ``reference`` is the intent of this machine and folder, which would show it.
    UNKNOWN where its folder was deleted, it may have been begun elsewhere, its process is another than that of the
    reference or cannot be read, or its end was not written whole. If its process is gone without a result, what that
    left behind is ended, private files are removed, and it has FAILED. From now on an end counts as told, if that can
    be written. FleetError ``operation-unreadable`` where its result, or which files are private, cannot be read,
    ``cannot-stop``, and ``unwritable-folder`` where a private file cannot be removed."""
    found = _look(folder.absolute(), reference)
    if found.state in (SUCCEEDED, FAILED) and not (folder / TOLD).exists():
        with contextlib.suppress(OSError):  # it is kept for longer then
            write_private(folder / TOLD, b"")
    return found


def _look(folder: Path, reference: str) -> OperationProgress:
    """As ``look``, errors too, but no end counts as told. One whose process cannot be read, as in the folder of another
    user, is UNKNOWN."""
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
        if is_earlier_boot(there.here):
            _remove_private(folder)
        return OperationProgress(state=UNKNOWN, message=f"the operation was begun {place_words(there.reference)}")
    if result is None and alive:
        return OperationProgress(state=IN_PROGRESS, message=output(folder, 1))
    if result is None and not is_there(folder):  # removed in this very moment
        return _not_there(folder, reference)
    if result is None:
        result = _clear_up(folder)
    return _progress(result, output(folder))


def output(folder: Path, lines: int = _TAIL) -> str:
    """The last ``lines`` of what the operation wrote, as of ``processes.last_lines``; empty if it wrote nothing, or
    that cannot be read."""
    return processes.last_lines(folder / "output.log", lines).strip()


def last_line(folder: Path) -> str | None:
    """The whole last line of what the operation wrote, empty if it wrote nothing; None if it cannot be read, or is
    longer than 1 MB."""
    try:
        with (folder / "output.log").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LONGEST_LINE))
            lines = file.read(_LONGEST_LINE).strip().splitlines()
    except OSError:
        return None
    if len(lines) < 2 and size > _LONGEST_LINE:
        return None
    return lines[-1].decode(errors="replace").strip() if lines else ""


@dataclass(frozen=True)
class _Process:
    id: ProcessId
    here: str

    @property
    def reference(self) -> str:
        """What ``start`` gives for it: the machine, its pid and when it was started."""
        return f"{self.here}:{self.id.pid}:{self.id.started}"


def _write_request(folder: Path, request: Request) -> None:
    """Makes the folder, writes what is to be run and then its files, and notes the name. FleetError
    ``unwritable-folder``, ``unsafe-folder``."""
    document = {
        "argv": list(request.argv),
        "cwd": str(request.cwd),
        "private": list(request.private),
        "here": machine(),
        "member": request.member,
    }
    intent_reference(folder.parent)
    make_folder(folder.parent / BEGUN, 0o700)
    own_folder(make_folder(folder, 0o700))
    try:
        # First of all: it says which files are private, whatever becomes of this process.
        write_private(folder / "request.json", (json.dumps(document, indent=2) + "\n").encode())
        for name, text in request.files.items():
            write_private(folder / name, text.encode())
        write_private(folder.parent / BEGUN / folder.name, b"")
    except OSError as error:
        raise FleetError("unwritable-folder", f"{folder} cannot be written: {error.strerror}") from None


def _refuse_twice(folder: Path, member: str) -> None:
    """Nothing is begun a second time, nor beside another operation on the member, whatever the records say; nor beside
    one that cannot be read. FleetError ``begun-before``, ``operation-in-progress``, and as of ``_is_under_way``."""
    if _was_deleted(folder):
        hint = "look at the member; another attempt, or another run, has another name"
        message = f"{folder.name} was begun here before, and its folder was deleted"
        raise FleetError("begun-before", message, member, hint)
    for other in folder.parent.glob(f"*.{glob.escape(member)}.*"):
        if other != folder and _is_under_way(other, member):
            raise FleetError("operation-in-progress", f"{other.name} is under way on this machine", member)


def _is_under_way(folder: Path, member: str) -> bool:
    """Whether an operation on the member is known to be. FleetError ``operation-unreadable`` where its files cannot be
    read, and as of ``_look``, which ends what a killed one left behind."""
    try:
        request = _read(folder / "request.json")
        if not request or request.get("member") != member or _read(folder / "result.json") is not None:
            return False
        return _process_of(folder) is not None and _look(folder, "").state == IN_PROGRESS
    except FleetError as error:
        hint = "see that nothing is under way on the member, then delete the folder of that operation"
        raise FleetError(error.code, error.message, member, hint) from None


def _not_there(folder: Path, reference: str) -> OperationProgress:
    """Of one without a process: NOT_BEGUN if the reference is that of this machine and folder, which would show it;
    else UNKNOWN."""
    if (
        reference
        and folder_number(folder.parent)
        and reference == intent_reference(folder.parent)
        and not _was_deleted(folder)
    ):
        return OperationProgress(state=NOT_BEGUN, message="the operation was not begun")
    place = place_words(reference)
    return OperationProgress(state=UNKNOWN, message=f"the operation may have been begun {place}" if place else "")


def _was_deleted(folder: Path) -> bool:
    """Whether it was begun in this folder, which is gone by now."""
    return is_there(folder.parent / BEGUN / folder.name) and not is_there(folder)


def _process_of(folder: Path) -> _Process | None:
    """The process that carries it out, or did; None if none has begun to. FleetError ``operation-unreadable``;
    ``unsafe-folder`` where somebody else may have written its files, for they say what is run, ended and removed."""
    for each in (folder.parent, folder):
        try:
            own_folder(each)
        except (FileNotFoundError, NotADirectoryError):
            break
        except (OSError, RuntimeError) as error:
            raise FleetError("operation-unreadable", f"{each} cannot be read: {error}") from None
    found = _read(folder / "process.json")
    if found is None:
        return None
    pid, started, where = found.get("pid"), found.get("started"), found.get("here")
    if not isinstance(pid, int) or not isinstance(started, str) or not isinstance(where, str):
        raise FleetError("operation-unreadable", f"{folder / 'process.json'} does not name a process")
    return _Process(ProcessId(pid, started), where)


def _read(path: Path) -> dict[str, t.Any] | None:
    """The map in a JSON file; None if it is not there; it is whole if it is. FleetError ``operation-unreadable``."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise FleetError("operation-unreadable", f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise FleetError("operation-unreadable", f"{path} holds no mapping")
    return found


def _clear_up(folder: Path) -> dict[str, t.Any]:
    """Its process is gone and has recorded nothing. Whoever was below it may be about to, or be there alone: ends all
    that are left, and removes private files. Gives the result, or one that says that its process was killed; an empty
    one where that was after the command had ended, and nobody can tell how. FleetError ``cannot-stop``,
    ``operation-unreadable``, ``unwritable-folder`` where a private file cannot be removed."""
    left = processes.processes_marked(str(folder))
    processes.stop(left)
    words = f"; {len(left)} process{'es' if len(left) > 1 else ''} that it left behind had to be ended" if left else ""
    _remove_private(folder)
    result = _read(folder / "result.json")
    if result is None and any(folder.glob(".result.*")):  # its end was being written
        return {}
    return result or {"rc": None, "message": f"its process was killed{words}"}


def _leave_nothing_private(folder: Path, request: Request) -> None:
    """Removes what is private in a request that nobody has begun to carry out, as far as it can be."""
    with contextlib.suppress(FleetError):
        if _process_of(folder) is None:
            _remove(folder, request.private)


def _remove_private(folder: Path) -> None:
    """Removes the files that its request calls private. FleetError ``operation-unreadable``, ``unwritable-folder``."""
    _remove(folder, (_read(folder / "request.json") or {}).get("private", ()))


def _remove(folder: Path, names: t.Iterable[str]) -> None:
    """Removes those files, of what is in the folder itself. FleetError ``unwritable-folder``."""
    for name in names:
        if "/" not in name:
            with unwritable_as_error(folder):
                (folder / name).unlink(missing_ok=True)


def _progress(result: t.Mapping[str, t.Any], tail: str) -> OperationProgress:
    """SUCCEEDED for exit code 0, else FAILED with why, and ``tail``; UNKNOWN for a result that cannot be read."""
    rc, words = result.get("rc"), str(result.get("message") or "")
    if rc == 0:
        return OperationProgress(state=SUCCEEDED, message=tail)
    if not words and isinstance(rc, int):
        words = f"ended by signal {-rc}" if rc < 0 else f"ended with exit code {rc}"
    if not words:
        return OperationProgress(state=UNKNOWN, message="its end was recorded, and cannot be read")
    return OperationProgress(state=FAILED, message=f"{words}\n{tail}" if tail else words)
