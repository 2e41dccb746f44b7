# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verb prints while it works (lines, warnings), how wide the terminal is, whether anybody reads the output,
waiting until all is printed; in the worker process of ansible-playbook.

What a worker says is queued, and printed by a thread of ansible-playbook. That thread ends for good when nobody reads
the output any more (``... | head``), and ansible-playbook then waits for ever for a result that nobody takes out of the
queue. So a verb looks whether it is heard, and interrupts the play if not. Private to this collection.
"""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import select
import signal
import stat
import time
import typing as t

from ansible import constants
from ansible.utils.display import Display

from ..module_utils._fleet.showing import said

DISPLAY = Display()
# Callbacks that write text for people on standard output; what others write there is for machines.
TEXT_CALLBACKS = ("default", "minimal", "oneline", "tree")
PAUSE = 0.02  # seconds between two looks at the queue
# Seconds for what was said to be printed. An ansible-playbook that was interrupted prints nothing more, and waits for
# its workers to end.
PATIENCE, HURRY = 5.0, 1.0
NARROWEST, WIDEST = 80, 200


def say(text: str) -> None:
    """Something for people, cleaned as of ``said``: on standard output, or on standard error where a callback writes
    for machines. Nothing if nobody reads it any more."""
    if _has_room():
        DISPLAY.display(said(text), stderr=not _is_text(str(constants.DEFAULT_STDOUT_CALLBACK)))


def warn(text: str) -> None:
    """A warning, cleaned as of ``said``, as Ansible shows them; nothing if nobody reads it any more."""
    if _has_room():
        DISPLAY.warning(said(text))


def width() -> int:
    """Columns of the terminal of ansible-playbook, 80 to 200; 80 without one, and where this is no worker."""
    return min(max(NARROWEST, int(DISPLAY.columns or NARROWEST)), WIDEST) if _is_terminal() else NARROWEST


def is_brief() -> bool:
    """Whether people read what callbacks write, and have not asked for more of it by ``-v``."""
    return DISPLAY.verbosity == 0 and _is_text(str(constants.DEFAULT_STDOUT_CALLBACK))


def wait_until_heard(last: t.Sequence[str] = ()) -> None:
    """Waits until everything that was said is printed, for at most ``PATIENCE`` seconds once there is room for one more
    line; sends SIGINT to ansible-playbook if nobody reads its output. Does nothing where this is no worker.

    If nothing is printed any more, the ``last`` words of one that was interrupted are written by itself, after
    ``HURRY`` seconds: ansible-playbook has heard of the interruption, too.
    """
    queue = _queue()
    if queue is None:
        return
    if _has_room():
        DISPLAY.display("", log_only=True)  # behind the last line: once it is taken out, that line was printed
    end = time.monotonic() + (HURRY if last else PATIENCE)
    while not _is_closed() and not queue.empty() and time.monotonic() < end:
        time.sleep(PAUSE)
    if last and not _is_closed() and not queue.empty():
        _write(last)
    if _is_closed() and _parent():
        with contextlib.suppress(ProcessLookupError):
            os.kill(_parent(), signal.SIGINT)


def _write(lines: t.Sequence[str]) -> None:
    """Writes the lines, cleaned as of ``said``, to standard error of ansible-playbook; nothing where that is not to be
    had without waiting."""
    *_output, errors = (*_streams(), "")[:2]
    text = "".join(f"{said(each)}\n" for each in lines)
    with contextlib.suppress(OSError):
        handle = os.open(errors, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)


def _queue() -> t.Any:
    """The way to ansible-playbook; None where this is no worker."""
    return getattr(DISPLAY, "_final_q", None)


def _parent() -> int:
    """The process id of ansible-playbook; 0 when it has ended, which leaves its worker behind, and where this is no
    worker."""
    forked_by = multiprocessing.parent_process()
    pid = forked_by.pid if forked_by else 0
    return pid if pid and os.getppid() == pid else 0


def _has_room() -> bool:
    """Waits, as long as it takes, until one more line can be sent; False if nobody listens any more, for then it would
    never be taken out. True where this is no worker."""
    queue = _queue()
    while not _is_closed():
        if queue is None or select.select([], [queue._writer], [], PAUSE)[1]:
            return True
    return False


def _is_text(callback: str) -> bool:
    """Whether the callback of this name writes for people."""
    return callback.removeprefix("ansible.builtin.") in TEXT_CALLBACKS


def _streams() -> t.Iterator[str]:
    """Paths of standard output and standard error of ansible-playbook, which a worker has not; none where this is no
    worker, or ansible-playbook has ended."""
    if _queue() is not None and _parent():
        yield from (f"/proc/{_parent()}/fd/{number}" for number in (1, 2))


def _is_terminal() -> bool:
    """Whether standard output of ansible-playbook is a terminal; False where ``_streams`` has none."""
    output = next(_streams(), "")
    return os.path.realpath(output).startswith(("/dev/pts/", "/dev/tty"))


def _is_closed() -> bool:
    """Whether ansible-playbook has ended, or one of its streams is a pipe that nobody reads, which Linux can
    tell. False where this is no worker."""
    if _queue() is not None and not _parent():
        return True
    for each in _streams():
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.stat(each).st_mode) and _without_reader(each):
                return True
    return False


def _without_reader(pipe: str) -> bool:
    """Whether nobody has the pipe open for reading. OSError where that cannot be seen."""
    try:
        handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # what a named pipe without a reader says
            return True
        raise
    try:
        looks = select.poll()
        looks.register(handle, 0)
        return any(event & select.POLLERR for _handle, event in looks.poll(0))
    finally:
        os.close(handle)
