# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Several pieces of work at once, each in a process that is forked from this one and ends with it: their answers and
errors in order (``worker-lost``, ``no-workers``).

They are forked, not started anew, so that they have what this one has read already, and nothing secret goes through an
argument or a file.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import typing as t
import warnings

from .._core.errors import FleetError, fault

T = t.TypeVar("T")
LOST = "worker-lost"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def in_processes(shares: t.Sequence[t.Callable[[], T]]) -> list[T | FleetError]:
    """What each share gives, in their order; there must be one at least. The first is done here, every other one in a
    process of its own.

    Answers must be made of what ``pickle`` knows. In place of a later share that raises stands a FleetError,
    ``worker-lost`` if its process ended without an answer; what the first raises is raised. Then, and when this process
    ends in whatever way, the others end too. FleetError ``no-workers`` if not all can be started; those that were end
    then.
    """
    alive = keeps_alive = -1
    workers: list[tuple[int, int]] = []
    try:
        alive, keeps_alive = _pipe()
        workers.extend(_forked(share, alive, keeps_alive) for share in shares[1:])
        os.close(alive)
        alive = -1
        here = shares[0]()
        return [here, *(_answer_of(answer) for _pid, answer in workers)]
    finally:
        for each in (alive, keeps_alive, *(answer for _pid, answer in workers)):
            with contextlib.suppress(OSError):
                os.close(each)
        for pid, _answer in workers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _forked(share: t.Callable[[], t.Any], alive: int, keeps_alive: int) -> tuple[int, int]:
    """Forks a process that does the share, writes its answer into a pipe and ends; its pid, and the descriptor where
    the answer can be read. FleetError ``no-workers``."""
    reads, writes = _pipe()
    try:
        pid = fork()
    except OSError as error:
        os.close(reads)
        os.close(writes)
        raise no_workers(error) from error
    if pid:
        os.close(writes)
        return pid, reads
    try:
        os.close(keeps_alive)
        os.close(reads)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
        with os.fdopen(writes, "wb") as answer:
            answer.write(_done(share))
    finally:
        os._exit(0)  # nothing of what the other process has begun is ended here


def _end_with(alive: int) -> None:
    """Waits, and ends this process as soon as the one that forked it has ended, or wants no answer any more."""
    os.read(alive, 1)
    os._exit(1)


def fork() -> int:
    """As ``os.fork``, OSError too, without Python's DeprecationWarning where other threads run: the new process must
    use nothing that these could hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def no_workers(error: OSError) -> FleetError:
    """The error ``no-workers``, to be raised: a process, or a pipe to it, cannot be had."""
    return FleetError("no-workers", f"no process can be started: {error.strerror}", "workers", "ask for fewer")


def _pipe() -> tuple[int, int]:
    """The ends to read and to write. FleetError ``no-workers``."""
    try:
        return os.pipe()
    except OSError as error:
        raise no_workers(error) from error


def _done(share: t.Callable[[], t.Any]) -> bytes:
    """The answer of the share, pickled, or the problems of what it raised or of an answer that cannot be pickled, as
    ``_Refused``; exceptions other than FleetErrors as of ``fault``. Nothing is raised."""
    try:
        return pickle.dumps(share())
    except FleetError as error:
        return pickle.dumps(_Refused(error.problems))
    except BaseException as error:  # noqa: BLE001  # told by the process that waits for the answer
        return pickle.dumps(_Refused(fault(error).problems))


class _Refused(tuple[t.Any, ...]):
    """The problems of an error, which does not go through a pipe itself."""

    __slots__ = ()


def _answer_of(reads: int) -> t.Any:
    """Waits for the end of the pipe: the answer in it, or, given and not raised, a FleetError: that of the share, or
    ``worker-lost`` if the answer is not there or not whole. The pipe stays open."""
    with os.fdopen(reads, "rb", closefd=False) as answer:
        content = answer.read()
    try:
        told = pickle.loads(content)
    except (EOFError, pickle.UnpicklingError):
        return FleetError(LOST, "a process that worked for this one has ended without an answer", hint="run again")
    return FleetError.of(told) if isinstance(told, _Refused) else told
