# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub with our definitions for the whole folder; empty records and playbooks in a folder of every test."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from update_fixtures import fleet, hub_with_kinds, plays

__all__ = ["fleet", "hub_with_kinds", "plays"]
