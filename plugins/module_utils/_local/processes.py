# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Processes that outlive the one that started them (Linux): started (``cannot-start``), told from others, found by the
mark in their environment, ended (``cannot-stop``); their arguments and memory, and the last lines of a log."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import FleetError

# In the environment of every process we start: finds one again whose id was never written down.
MARK = "GITOPS_FLEET_LOCAL"
_PROC = Path("/proc")
_PAUSE = 0.02
_MOMENT = 0.001
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
# Python ignores SIGPIPE, and Ansible's worker handles others; a child starts with the defaults.
_TO_DEFAULT = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class ProcessId:
    """A process, told from every later one with the same number: by its start (boot id and clock ticks since boot)."""

    pid: int
    started: str


def start(arguments: t.Sequence[str], log: Path, mark: str, environ: t.Mapping[str, str]) -> ProcessId:
    """Start the program at the path ``arguments[0]`` detached, in a session of its own, with the variables ``environ``
    and the ``mark`` (a cluster's folder), by which ``processes_marked`` finds it, without input; output and errors are
    appended to ``log`` (made with mode 0600). The caller has to write down the id; its ``started`` is empty where /proc
    does not tell. FleetError ``cannot-start`` if it cannot be run, or the log is a link or cannot be opened."""
    out = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), out, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    try:
        pid = os.posix_spawn(  # pylint: disable=ansible-bad-function  # runs on the controller
            arguments[0],
            list(arguments),
            {**environ, MARK: mark},
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=_TO_DEFAULT,
        )
    except OSError as error:
        raise FleetError("cannot-start", f"{arguments[0]} cannot be started: {error.strerror}") from None
    return ProcessId(pid, _started(pid) or "")


def is_running(process: ProcessId) -> bool:
    """Whether it is still there: not if another process has its number, nor as a zombie (which is reaped if it is our
    child), nor where there is no /proc. A zombie with threads left counts: it holds its ports until the last of them
    has gone."""
    stat = _stat(process.pid)
    if stat is None:
        return False
    if stat[0] in "ZX" and int(stat[17]) <= 1:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)
        return False
    return _start_of(stat) == process.started


def stop(processes: t.Iterable[ProcessId], grace: float = 15.0) -> None:
    """End those that run, all at once: SIGTERM, and SIGKILL for those still there after ``grace`` seconds; none is left
    then. FleetError ``cannot-stop`` if one is still there 10 seconds after SIGKILL; also, at once, for the first that
    belongs to another user: those behind it get no signal."""
    left = [one for one in processes if _signal(one, signal.SIGTERM)]
    left = _left_after(left, grace)
    for one in left:
        _signal(one, signal.SIGKILL)
    left = _left_after(left, 10.0)
    if left:
        raise FleetError("cannot-stop", f"processes {', '.join(str(one.pid) for one in left)} do not end")


def processes_marked(mark: str) -> tuple[ProcessId, ...]:
    """Running processes that were started with ``mark``, whoever remembers them, and those that have it from one of
    them; of all that this user may look at. A mark names a path: in a container the same one is another folder, and its
    processes are left out. OSError without /proc."""
    wanted = f"{MARK}={mark}".encode()
    here = _view("self")
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = _environment(entry)
        except OSError:
            continue  # another user's, or ended meanwhile
        if wanted in environ.split(b"\0") and _view(entry.name) == here:
            found.append(ProcessId(int(entry.name), _started(int(entry.name)) or ""))
    return tuple(one for one in found if is_running(one))


def process_arguments(process: ProcessId) -> tuple[str, ...]:
    """Its arguments as the kernel has them, the program first, bytes that are no UTF-8 replaced; empty if it is gone or
    they cannot be read."""
    if not is_running(process):
        return ()
    try:
        raw = (_PROC / str(process.pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(raw.decode(errors="replace").split("\0")[:-1])


def memory(process: ProcessId) -> tuple[int, int]:
    """Its resident bytes: (all, its share when pages shared with other processes are divided among them). Zeros if it
    is gone, or they cannot be read."""
    if not is_running(process):
        return 0, 0
    try:
        text = (_PROC / str(process.pid) / "smaps_rollup").read_text()
    except OSError:
        return 0, 0
    if not text:  # how Linux before 4.19 tells that it has ended
        return 0, 0
    rows = {row.split(":")[0]: row.split() for row in text.splitlines()[1:]}
    return int(rows["Rss"][1]) * 1024, int(rows["Pss"][1]) * 1024


def last_lines(log: Path, count: int = 8, since: int = 0) -> str:
    """The last ``count`` lines of a log, each cut to 400 characters; where a line that is read begins with ``panic: ``,
    as of a Go program, instead ``count`` lines from the last such line on, which say why before they say where. Of the
    log the last 16 KiB are read, and nothing before the byte ``since``, unless it is shorter than that by now. Empty if
    it cannot be read."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 16384, since if since <= size else 0, 0))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    panic = next((at for at in reversed(range(len(lines))) if lines[at].startswith("panic: ")), None)
    shown = lines[-count:] if panic is None else lines[panic : panic + count]
    return "\n".join(line[:400] for line in shown)


def _environment(entry: Path) -> bytes:
    """The environment of the process; empty if it has none, or ends meanwhile. One that is just being replaced by
    another program (execve) shows none either, and is waited for, 10 seconds at most. OSError if it cannot be read, or
    is gone."""
    found = (entry / "environ").read_bytes()
    end = time.monotonic() + 10
    while not found and time.monotonic() < end and _has_environment(_stat(int(entry.name))):
        time.sleep(_MOMENT)
        found = (entry / "environ").read_bytes()
    return found


def _has_environment(stat: list[str] | None) -> bool:
    """Whether the process has one, or soon will, by the fields of ``_stat``: where in its memory it begins and ends,
    which are the same for a moment while the kernel lays it out; where the program begins is written after that."""
    if stat is None or stat[0] in "ZX" or int(stat[6]) & _KERNEL_THREAD:
        return False
    return "0" in (stat[23], stat[47]) or stat[47] != stat[48]


def _view(entry: str) -> tuple[str, int, int] | None:
    """By which numbers the process knows others (its PID namespace), and device and inode of the root that its paths
    begin at; None if that cannot be told."""
    try:
        root = (_PROC / entry / "root").stat()
        return os.readlink(_PROC / entry / "ns" / "pid"), root.st_dev, root.st_ino
    except OSError:
        return None  # another user's, or ended meanwhile


def _signal(process: ProcessId, number: signal.Signals) -> bool:
    """Sends the signal if the process runs; whether it was there to get it. FleetError ``cannot-stop`` if it is another
    user's."""
    if not is_running(process):
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        raise FleetError("cannot-stop", f"process {process.pid} belongs to another user") from None
    return True


def _left_after(processes: list[ProcessId], seconds: float) -> list[ProcessId]:
    """Waits until none of them runs, for ``seconds`` at most; gives those that still do."""
    end = time.monotonic() + seconds
    while True:
        processes = [one for one in processes if is_running(one)]
        if not processes or time.monotonic() >= end:
            return processes
        time.sleep(_PAUSE)


def _stat(pid: int) -> list[str] | None:
    """Fields of ``/proc/<pid>/stat`` from the third (state) on. None if it cannot be read."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def _started(pid: int) -> str | None:
    """When the process that has this number now was started, as ``_start_of`` writes it; None if there is none."""
    stat = _stat(pid)
    return None if stat is None else _start_of(stat)


def _start_of(stat: list[str]) -> str:
    """From the fields of ``_stat``: the boot's id, a slash, and the clock ticks from boot to the start."""
    return f"{_boot()}/{stat[19]}"


def _boot() -> str:
    """The id of this boot of the machine, without which ticks since boot would repeat after a restart; empty if it
    cannot be read."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
