# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conductor is for every machine; tests/simulation drives it."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor import loop
from ansible_collections.gitops.fleet.tests.arrows import imports

ROOT = Path(__file__).resolve().parents[6]
CONDUCTOR = ROOT / "plugins" / "module_utils" / "_fleet" / "conductor"
# Below _core: the shape of machines, errors, and words that many speak.
NEUTRAL = {"machine", "errors", "values"}
# Below _fleet: itself, leases, and what drivers promise.
BESIDE = {"conductor", "leases", "drivers"}


def test_it_knows_no_machine_in_particular():
    seen = set()
    for file in CONDUCTOR.glob("*.py"):
        for one in imports(file, ROOT):
            room, *inside = one.target[one.target.index("module_utils") + 1 :] if one.room else ("", "")
            assert room in ("", "_core", "_fleet", "_store"), one
            assert room != "_core" or inside[0] in NEUTRAL, one
            assert room != "_fleet" or inside[0] in BESIDE, one
            seen.add(room)
    assert seen == {"", "_core", "_fleet", "_store"}


def test_it_says_nothing_of_members():
    """Operations of every machine pass through it, on members or on nodes: it speaks of what they act on."""
    for file in CONDUCTOR.glob("*.py"):
        assert not re.findall(r"(?i)\bmembers?\b", file.read_text(encoding="utf-8")), file


def test_the_loop_knows_no_drivers_either():
    text = Path(loop.__file__).read_text(encoding="utf-8")
    assert not any(word in text for word in ("driver", "member", "stage", "gate", "node", "placement"))
