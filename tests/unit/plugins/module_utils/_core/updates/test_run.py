# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the record of a member says: that it is at the target, that the run left it behind, or neither."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberRow


def said(state: str, skipped_by: str = "", reason: str = "") -> str:
    row = MemberRow(name="old", state=state, skipped_by=skipped_by, reason=reason)
    assert not (row.recorded_at_target and row.skipped_behind_target)
    return "there" if row.recorded_at_target else "left behind" if row.skipped_behind_target else "neither"


def test_who_completed_or_had_nothing_to_do_is_at_the_target() -> None:
    assert said("Completed") == "there"
    assert said("Skipped", "system", "AlreadyAtTarget") == "there"


@pytest.mark.parametrize(
    "reason",
    ["Unreachable", "MemberGone", "VersionNotAvailable", "MinorGap", "OutOfSupport", "ImageMissingForPool"],
)
def test_who_was_skipped_off_the_target_is_left_behind(reason: str) -> None:
    """MinorGap and OutOfSupport are reasons of runs that a profile made."""
    assert said("Skipped", "system", reason) == "left behind"


def test_whom_people_skipped_is_neither_and_so_is_who_has_not_ended() -> None:
    assert said("Skipped", "user", "RequestedByUser") == "neither"
    assert said("Skipped", "user", "MinorGap") == "neither"
    assert {said(each) for each in ("NotStarted", "Running", "Pending", "Failed")} == {"neither"}
