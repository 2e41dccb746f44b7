# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a plain checkout importable as ``ansible_collections.gitops.fleet``, and property tests repeatable.

Each property test tries a few examples, the same ones every time; ``--hypothesis-profile long`` tries many new ones.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / ".cache" / "collections"

link = TREE / "ansible_collections" / "gitops" / "fleet"
link.parent.mkdir(parents=True, exist_ok=True)
if not link.is_symlink():
    link.symlink_to(ROOT, target_is_directory=True)
sys.path.insert(0, str(TREE))

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
