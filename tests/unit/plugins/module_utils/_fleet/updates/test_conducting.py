# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to that left members behind."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import conducting
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding


class Old:
    """A driver whose members answer with an old version."""

    def observe(self, _name: str) -> SimpleNamespace:
        return SimpleNamespace(version="v1.30.0")


def ended(*members: MemberRow) -> RunEnding:
    """A settled run to 1.36.3 with these members; ``old`` answers with an older version."""
    group = GroupRow(name="g", members=members, max_concurrency=1, max_allowed_failures=0)
    stage = StageRow(name="s", groups=(group,), max_concurrency=1, max_allowed_failures=0)
    run: t.Any = SimpleNamespace(target="1.36.3")
    ending = RunEnding(
        run=run, state=RunState(name="r", uid="u", stages=(stage,), phase="active"), why="settled", changed=True
    )
    drivers: t.Any = {"old": Old()}
    return replace(ending, behind=conducting._behind(ending, drivers, 1, None))


@pytest.mark.parametrize("reason", ["MinorGap", "OutOfSupport", "VersionNotAvailable", "ImageMissingForPool"])
def test_members_that_the_run_left_out_are_not_upgraded_and_nobody_recorded_otherwise(reason: str) -> None:
    left = MemberRow(name="old", state="Skipped", skipped_by="system", reason=reason, message="1.30.0 is too far")
    ending = ended(MemberRow(name="new", state="Completed"), left)
    found = conducting.verdict(ending)
    assert (found.outcome, found.code, ending.behind) == ("partial", "not-all-members", {})
    assert found.message == "old Skipped: 1.30.0 is too far" and found.brief == "not upgraded: old"


def test_one_that_is_recorded_at_the_target_and_answers_otherwise_is_told() -> None:
    skipped = MemberRow(name="old", state="Skipped", skipped_by="system", reason="AlreadyAtTarget")
    found = conducting.verdict(ended(MemberRow(name="new", state="Completed"), skipped))
    assert (found.outcome, found.code) == ("partial", "not-at-target")
    assert found.message == "recorded as if at 1.36.3: old is at v1.30.0"


@pytest.mark.parametrize(
    ("phase", "without", "refused"),
    [("new", ["a"], True), ("active", ["a"], False), ("active", ["a", "b"], True), ("active", [], False)],
)
def test_clusters_are_looked_for_before_anything_is_begun(
    monkeypatch: pytest.MonkeyPatch, phase: str, without: list[str], refused: bool
) -> None:
    """A run that goes on with no cluster of it there is conducted with other options than before, by which none may
    fail. One that is gone alone fails at its turn."""
    problems = tuple(Problem("no-such-cluster", "it is none", name, "look elsewhere") for name in without)
    monkeypatch.setattr(conducting, "without_cluster", lambda _drivers: problems)
    run: t.Any = SimpleNamespace(status=SimpleNamespace(phase=phase))
    drivers: t.Any = {"a": Old(), "b": Old()}
    if not refused:
        conducting._refuse_unknown(run, drivers)
        return
    with pytest.raises(FleetError) as error:
        conducting._refuse_unknown(run, drivers)
    assert [each.where for each in error.value.problems] == without
    assert str(error.value).count("look elsewhere") == 1, "told once"
