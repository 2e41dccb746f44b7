# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The process over a detached operation, run by its path with nothing but the standard library: carries out the request
in a folder, ends what is left of it unless it succeeded, and records its end.

Two processes of this file stand over the command, so that either notices the SIGKILL of the other: the outer one waits
for the inner, which the kernel sends SIGTERM when the outer dies. Whoever is left ends all processes that carry the
mark of the operation in their environment, and writes the result.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
import time
import typing as t
from pathlib import Path

_MARK = "GITOPS_FLEET_LOCAL"
_PR_SET_PDEATHSIG = 1
_GRACE = 10.0
_PAUSE = 0.05
_MOMENT = 0.001
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
_NEXT_TRY = 1.0
_CANNOT_START = 127
_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Ended(BaseException):
    """A signal that asks us to end; not to be caught by what catches exceptions."""


def main(folder: Path) -> int:
    """0 if the command was carried out here, whatever came of it; 3 if another process has or had this operation.
    OSError, ValueError, TypeError or KeyError if the request cannot be read or is none, OSError also if the folder
    cannot be written."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    # Held back until somebody is ready to record what they lead to.
    signal.pthread_sigmask(signal.SIG_BLOCK, _TO_END)
    if not _claim(folder, str(request["here"])):
        return 3
    for number in _TO_END:
        signal.signal(number, _asked_to_end)
    outer = os.getpid()
    inner = os.fork()
    if inner == 0:
        _supervise(folder, request, outer)
        os._exit(0)
    _wait_for_inner(folder, request, inner)
    return 0


def _claim(folder: Path, here: str) -> bool:
    """Whether this process is the one for the operation, and notes that. At most one is: a link to a file that is whole
    is made by one of them only. OSError if the folder cannot be written."""
    pid = os.getpid()
    mine = folder / f".process.{pid}"
    document = {"pid": pid, "started": _started(pid), "here": here, "at": time.time()}
    _write(mine, json.dumps(document))
    try:
        os.link(mine, folder / "process.json")
    except FileExistsError:
        return False
    finally:
        mine.unlink()
    return True


def _wait_for_inner(folder: Path, request: dict[str, t.Any], inner: int) -> None:
    """Waits for the inner process, which does the work. SIGTERM goes on to it, and it is waited for all the same. If it
    has left no result, ends all processes of the operation and writes one. Signals must be blocked, and have
    ``_asked_to_end`` as their handler. OSError as of ``_finish``."""
    while True:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_END)
            os.waitpid(inner, 0)
            break
        except _Ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGTERM)
    _ignore_signals()
    if not (folder / "result.json").exists():
        left = _end_all(str(folder))
        _finish(folder, request, _result(None, "the process that supervised it was killed", left))


def _supervise(folder: Path, request: dict[str, t.Any], outer: int) -> None:
    """The inner process: runs the command to its end, or ends it and all below it when asked to, and writes the
    result. Signals as for ``_wait_for_inner``. OSError as of ``_finish``."""
    try:
        _die_with_parent(signal.SIGTERM, outer)
        child = _launch(request)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_END)
        status = os.waitpid(child, 0)[1]
        _ignore_signals()
        code = os.waitstatus_to_exitcode(status)
        if code:  # killed, or failed: what goes on of it would go on beside the next attempt
            _end_all(str(folder))
        result = _result(code, "", 0)
    except _Ended:
        _ignore_signals()
        left = _end_all(str(folder))
        by = "SIGTERM" if os.getppid() == outer else "the death of the process over it, which was killed"
        result = _result(None, f"ended by {by}", left)
    except OSError as error:
        result = _result(_CANNOT_START, f"{request['argv'][0]} cannot be started: {error.strerror}", 0)
    _finish(folder, request, result)


def _launch(request: dict[str, t.Any]) -> int:
    """Starts the command in a process group of its own, and gives its pid; the kernel kills it if this process dies.
    OSError if it cannot be started."""
    reads, writes = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.chdir(request["cwd"])
            _die_with_parent(signal.SIGKILL, parent)
            for number in (*_TO_END, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_END)
            os.execvpe(request["argv"][0], request["argv"], os.environ)
        except OSError as error:
            os.write(writes, str(error.errno).encode())
        except ValueError:  # words that no program can be given
            os.write(writes, str(errno.EINVAL).encode())
        finally:
            os._exit(_CANNOT_START)
    os.close(writes)
    with os.fdopen(reads, "rb") as failure:
        failed = failure.read()
    if failed:
        os.waitpid(child, 0)
        raise OSError(int(failed), os.strerror(int(failed)))
    return child


def _die_with_parent(number: signal.Signals, parent: int) -> None:
    """Has the kernel send this process that signal when its parent dies, where it can; elsewhere the mark is all there
    is to find what is left. If the parent is gone already, the signal comes now."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def _end_all(mark: str) -> int:
    """Ends all processes that carry the mark, but those that stand over them: SIGTERM, after 10 seconds SIGKILL until
    none is left. How many there were at first."""
    found = _marked(mark)
    end = time.monotonic() + _GRACE
    number: int = signal.SIGTERM
    left = found
    while left:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        until = end if number == signal.SIGTERM else time.monotonic() + _PAUSE
        while left and time.monotonic() < until:
            time.sleep(_PAUSE)
            _reap()
            left = _marked(mark)
        number = signal.SIGKILL
        left = _marked(mark)
    return len(found)


def _marked(mark: str) -> list[int]:
    """The pids of living processes with the mark in their environment, but this one and its parent."""
    wanted = f"{_MARK}={mark}".encode()
    over = {os.getpid(), os.getppid()}
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in over:
            continue
        with contextlib.suppress(OSError, IndexError):
            if wanted in _environment(entry).split(b"\0"):
                found.append(int(entry.name))
    return found


def _environment(entry: Path) -> bytes:
    """As ``_local.processes`` reads it: a process that is just being replaced by another program is waited for."""
    found = (entry / "environ").read_bytes()
    end = time.monotonic() + _GRACE
    while not found and time.monotonic() < end and _has_environment(entry):
        time.sleep(_MOMENT)
        found = (entry / "environ").read_bytes()
    return found


def _has_environment(entry: Path) -> bool:
    """Whether the process has one, or soon will, as of ``_local.processes``. OSError if the process is gone."""
    stat = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
    if stat[0] in "ZX" or int(stat[6]) & _KERNEL_THREAD:
        return False
    return "0" in (stat[23], stat[47]) or stat[47] != stat[48]


def _reap() -> None:
    """Takes note of children that have ended, so that they are no zombies."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _result(rc: int | None, message: str, left: int) -> dict[str, t.Any]:
    """A result as it is written: its exit code (None if that is not known), the message, with how many processes were
    ended, and the present in seconds since 1970."""
    ended = f"; {left} process{'es' if left > 1 else ''} of it ended with it" if left else ""
    return {"rc": rc, "message": message + ended if message else "", "at": time.time()}


def _finish(folder: Path, request: dict[str, t.Any], result: dict[str, t.Any]) -> None:
    """As ``_record``. On a disk that is full, or else cannot be written, it waits until it can: what ended well has not
    failed for that. OSError if the folder is gone."""
    while True:
        try:
            return _record(folder, request, result)
        except OSError:
            if not folder.is_dir():
                raise
        time.sleep(_NEXT_TRY)


def _record(folder: Path, request: dict[str, t.Any], result: dict[str, t.Any]) -> None:
    """Removes private files, and writes the result, unless there is one: the first result stays. OSError if the folder
    cannot be written; what is there of ``.result.*`` then shows that the command has ended."""
    for name in request["private"]:
        if "/" not in name:
            (folder / name).unlink(missing_ok=True)
    making = folder / f".result.{os.getpid()}"
    _write(making, json.dumps(result))
    with contextlib.suppress(FileExistsError):
        os.link(making, folder / "result.json")
    making.unlink()


def _write(path: Path, text: str) -> None:
    """Writes the text to disk, in a file for the user alone; what was there is lost. OSError, also where a link is
    there."""
    with open(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _started(pid: int) -> str:
    """Boot and clock ticks since boot, as ``_local.processes`` writes them."""
    ticks = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{ticks}"


def _asked_to_end(_number: int, _frame: t.Any) -> None:
    """The handler of signals: raises _Ended."""
    raise _Ended


def _ignore_signals() -> None:
    """From now on the signals that ask us to end do nothing."""
    for number in _TO_END:
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))  # pylint: disable=ansible-bad-function  # a command, which has an exit code
