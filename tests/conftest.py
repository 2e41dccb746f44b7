# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a plain checkout importable as ``ansible_collections.gitops.fleet``, and property tests repeatable.

Each property test tries a few examples, the same ones every time; ``--hypothesis-profile long`` tries many new ones.
`make test` passes over many cases against clusters; pytest by itself runs all that it is given.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / ".cache" / "collections"

link = TREE / "ansible_collections" / "gitops" / "fleet"
link.parent.mkdir(parents=True, exist_ok=True)
if not link.is_symlink():
    link.symlink_to(ROOT, target_is_directory=True)
sys.path.insert(0, str(TREE))

from ansible_collections.gitops.fleet.tools import short_run  # noqa: E402  # by the link above

# Who runs the tests in the background, or by nohup, had them ignored; our programs would never see them.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")
# A busy machine is no failure.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", PATIENT, derandomize=True, max_examples=40)
settings.register_profile("long", PATIENT, max_examples=2000)
settings.load_profile("short")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if file := os.environ.get(short_run.SETTING):
        left = short_run.left_out(each.nodeid for each in items)
        config.hook.pytest_deselected(items=[each for each in items if each.nodeid in left])
        items[:] = [each for each in items if each.nodeid not in left]
        Path(file).write_text("".join(f"{name}\n" for name in sorted(left)), encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if short_run.is_late(item.nodeid, os.environ, time.time()):
        if file := os.environ.get(short_run.SETTING):
            with Path(file).open("a", encoding="utf-8") as left:
                left.write(f"{item.nodeid}\n{item.nodeid.partition('[')[0]}\n")
        pytest.skip("no time is left")
