# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose lines are looked at for how far something is: those of our verbs, in tasks and in handlers; and how wide the
bar is that tells so."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import io
import os
import pty
import struct
import sys
import termios
import typing as t
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.callback.fleet_progress import CallbackModule


@pytest.mark.parametrize("start", ["v2_playbook_on_task_start", "v2_playbook_on_handler_task_start"])
@pytest.mark.parametrize(("action", "ours"), [("gitops.fleet.update_run", True), ("ansible.builtin.debug", False)])
def test_verbs_are_heard_in_handlers_too(start: str, action: str, ours: bool) -> None:
    callback = CallbackModule()
    task = mock.Mock(resolved_action=action)
    given: tuple[t.Any, ...] = (task,) if "handler" in start else (task, False)
    getattr(callback, start)(*given)
    assert callback._ours is ours
    callback.v2_runner_on_ok(None)
    assert callback._ours is False


@contextlib.contextmanager
def terminal() -> t.Iterator[t.Callable[[int], object]]:
    """While entered, standard output is a terminal, of as many columns as the function is given."""
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as screen, mock.patch.object(sys, "stdout", screen):
        yield lambda columns: fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.close(master)


def drawn(callback: CallbackModule, line: str) -> str:
    """The bar that stands below the line once a verb of ours has said it."""
    callback.v2_playbook_on_task_start(mock.Mock(resolved_action="gitops.fleet.placement"), False)
    with mock.patch.object(callback, "get_option", return_value="always"):
        callback._display_before = mock.Mock()
        callback._display_above_bar(line)
    return callback._under


LINE = "placement-of-the-web: 4 of 10 clusters done"
WHOLE = "[########............] 40 % placement-of-the-web, 4 of 10 clusters"
OTHERS = WHOLE.replace("the-web", "the-web-and-of-all-others")


def test_a_bar_has_room_in_one_line_of_the_terminal_as_wide_as_it_is_now() -> None:
    """Of one that takes two lines, one would stay on the screen each time it is drawn anew."""
    callback = CallbackModule()
    with terminal() as has_columns:
        for columns in (132, 60, 40):
            has_columns(columns)
            assert drawn(callback, LINE) == WHOLE[: columns - 1]


def test_a_bar_without_a_terminal_has_the_columns_of_a_log() -> None:
    with mock.patch.object(sys, "stdout", io.StringIO()):
        assert drawn(CallbackModule(), LINE.replace("the-web", "the-web-and-of-all-others")) == OTHERS[:79]


def test_the_bar_of_a_play_that_was_interrupted_goes_with_the_process() -> None:
    """Ansible tells callbacks of no end then, and displays that it was interrupted above the bar."""
    callback = CallbackModule()
    with (
        mock.patch.object(callback, "_display", mock.Mock(_final_q=None)),
        mock.patch.object(sys, "stdout", io.StringIO()) as screen,
    ):
        with mock.patch.object(atexit, "register") as registered:
            callback.v2_playbook_on_start(None)
        drawn(callback, LINE)
        callback._display_above_bar("User interrupted execution")
        assert screen.getvalue().endswith(WHOLE)
        for each in registered.call_args_list:
            each.args[0](*each.args[1:])
        assert screen.getvalue().endswith(f"{WHOLE}\r\x1b[2K")
