# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a printed command of a staged run repeats."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.action.staged_update_run import _repeated

GIVEN = {"src": ["fleet/web"], "resources": ["objects"], "time_limit": 5, "prune_kinds": []}


def test_a_run_whose_overrides_are_in_files_alone_goes_on_by_the_same_files() -> None:
    """Without these the overrides are not those that it began with (``overrides-changed``)."""
    runs, resources = {"runs": ["fleet/web"]}, {"resources": ["objects"]}
    assert _repeated(GIVEN, True) == ({**runs, **resources}, runs)
    assert _repeated(GIVEN, False) == (resources, runs)
    assert _repeated({}, True) == ({}, {})
