# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_progress
type: notification
short_description: How far runs, rollouts, builds and downloads are, as a bar or as a line now and then
version_added: 0.1.0
author: Contributors to the gitops.fleet project (@gitops-fleet)
description:
  - On a terminal, a bar below what the verbs of this collection say while they work, with the time that is left at the
    pace so far. It goes when the task ends.
  - Elsewhere, and in CI, now and then a line that begins with C(progress:).
  - It adds to the callback that writes the output, and works with all that write text for people.
requirements:
  - named in the setting C(callbacks_enabled) as C(gitops.fleet.fleet_progress)
options:
  bar:
    description: Whether there is a bar. V(auto) is a terminal, and not CI.
    type: str
    choices: [auto, always, never]
    default: auto
    env:
      - name: FLEET_PROGRESS_BAR
    ini:
      - section: callback_fleet_progress
        key: bar
  interval:
    description: Seconds between two lines about the same, where there is no bar.
    type: int
    default: 30
    env:
      - name: FLEET_PROGRESS_INTERVAL
    ini:
      - section: callback_fleet_progress
        key: interval
"""

import atexit
import contextlib
import os
import sys
import threading
import time
import typing as t

from ansible.plugins.callback import CallbackBase

from ..module_utils._report.far_along import FarAlong, SubjectPace, drawn_bar, far_along, log_line

OURS = "gitops.fleet."
ERASE = "\r\x1b[2K"
COLUMNS = 80


class CallbackModule(CallbackBase):
    """Stands between what is displayed and the screen: the callback interface tells nothing of a task that still works,
    and what verbs say meanwhile goes through Display alone."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "gitops.fleet.fleet_progress"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: t.Any, **named: t.Any) -> None:
        super().__init__(*args, **named)
        self._lock = threading.RLock()
        self._ours = False
        self._under = ""
        self._pace = SubjectPace()
        self._told: dict[str, tuple[float, int]] = {}
        self._display_before: t.Any = None

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        """From now on what this process displays goes through ``_display_above_bar``; the bar goes with it."""
        # Lines of workers come through the one Display of this process, which looks its method up by name.
        self._display_before = self._display.display
        self._display.display = self._display_above_bar
        atexit.register(self._end)  # a play that is interrupted has no stats

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Takes the bar of the task before away, and notes whether this one is a verb of ours."""
        self._end()
        self._ours = str(task.resolved_action or task.action).startswith(OURS)

    def v2_playbook_on_handler_task_start(self, task: t.Any) -> None:
        """As for any other task."""
        self.v2_playbook_on_task_start(task, is_conditional=False)

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Takes the bar away; until the next task no progress is told any more, of other hosts neither."""
        self._end()

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """As ``v2_runner_on_ok``, also for a failure that is ignored."""
        self._end()

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """Takes the bar away; what is displayed from now on goes to the screen as before the playbook."""
        self._end()
        if self._display_before is not None:
            self._display.display = self._display_before

    def _display_above_bar(self, msg: str, *args: t.Any, **named: t.Any) -> None:
        """Displays the text as Display would, above the bar; if a verb of ours tells how far it is, the bar or a line
        for a log tells so, too."""
        # A worker only sends the line on; and what is for a file alone is not seen.
        if getattr(self._display, "_final_q", None) is not None or named.get("log_only"):
            self._display_before(msg, *args, **named)
            return
        with self._lock:
            self._erase()
            self._display_before(msg, *args, **named)
            far = far_along(msg) if self._ours and isinstance(msg, str) else None
            if far is not None:
                self._tell_progress(far, named)
            self._draw()

    def _tell_progress(self, far: FarAlong, named: t.Mapping[str, t.Any]) -> None:
        """Keeps the bar that is to be drawn. Without a bar, displays a line ``progress:``, if the percentage is another
        than in the last one about the same subject, and ``interval`` seconds have gone by since, or it is 100.
        ``named`` are the arguments of Display."""
        now = time.monotonic()
        left = self._pace.left(far, now)
        if self._has_bar():
            self._under = drawn_bar(far, left, _room())
            return
        at, percent = self._told.get(far.subject, (float("-inf"), -1))
        if far.percent != percent and (far.percent == 100 or now >= at + self.get_option("interval")):
            self._told[far.subject] = now, far.percent
            self._display_before(log_line(far, left), stderr=bool(named.get("stderr")))

    def _has_bar(self) -> bool:
        """Whether there is a bar: as the option says, for ``auto`` on a terminal that is not dumb, and not in CI."""
        wanted = self.get_option("bar")
        if wanted == "auto":
            dumb = os.environ.get("TERM", "dumb") == "dumb" or bool(os.environ.get("CI"))
            return sys.stdout.isatty() and not dumb
        return bool(wanted == "always")

    def _end(self) -> None:
        """Takes the bar away for good, and what is said is no verb's of ours until the next task starts."""
        with self._lock:
            self._erase()
            self._under = ""
            self._ours = False

    def _erase(self) -> None:
        """Clears the line of the terminal that the bar stands on, if there is one; it can be drawn again."""
        if self._under:
            sys.stdout.write(ERASE)

    def _draw(self) -> None:
        """Writes the bar to standard output, if there is one."""
        if self._under:
            sys.stdout.write(self._under)
            sys.stdout.flush()


def _room() -> int:
    """Columns that a bar may take: one less than standard output has now, or than ``COLUMNS`` where that is no
    terminal."""
    columns = 0
    with contextlib.suppress(OSError, ValueError):
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    return (columns or COLUMNS) - 1
