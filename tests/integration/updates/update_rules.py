# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequences that several tests of update runs have."""

from __future__ import annotations

from update_fleet import Document


def allowing(failures: int) -> Document:
    """One group of all members, two at once, so many of which may fail."""
    group = {"name": "all", "maxConcurrency": "2", "maxAllowedFailures": str(failures)}
    return {"stages": [{"name": "all", "groups": [group], "maxAllowedFailures": str(failures)}]}
