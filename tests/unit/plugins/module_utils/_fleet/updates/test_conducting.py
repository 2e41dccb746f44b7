# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to that left members behind."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import conducting
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import skip_targets, targets_of
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)


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
    monkeypatch.setattr(conducting, "local_driver_problems", lambda _drivers, _target: problems)
    run: t.Any = SimpleNamespace(status=SimpleNamespace(phase=phase), target="1.36.3")
    drivers: t.Any = {"a": Old(), "b": Old()}
    if not refused:
        conducting._refuse_unknown(run, drivers)
        return
    with pytest.raises(FleetError) as error:
        conducting._refuse_unknown(run, drivers)
    assert [each.where for each in error.value.problems] == without
    assert str(error.value).count("look elsewhere") == 1, "told once"


def test_who_is_left_out_by_people_keeps_no_run_from_its_start(tmp_path: Path) -> None:
    """Whatever is wrong with it, such as that nothing says how to upgrade it: that is why it was left out."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name, spec in {"a": {}, "b": {"driver": "command"}}.items():
        records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": {}})
        records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})
    update = {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
    document = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
                "spec": {"managedClusterUpdate": update}}  # fmt: skip
    run = define_run(records, "r", update_manifests([], [document], strict=False), write=True).run
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    wish = conducting.ConductOptions(drivers={"command": {"begin": ["true"]}}, operations=str(tmp_path / "operations"))
    with pytest.raises(FleetError) as refused:
        conducting.refuse_unfit(session, run, UpdateManifests(), wish)
    assert [(each.code, each.where) for each in refused.value.problems] == [("no-driver", "member a")]
    run = skip_targets(session, "r", targets_of(["Member:a"], wanted=True), write=True).run
    assert conducting.refuse_unfit(session, run, UpdateManifests(), wish) == ()
    records.close()
