# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run is about the placements that were named, and about the plan that was approved, whether it writes or not."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import PlacementRequest, run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import REVISION
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.manifest_parts import crp
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import cluster

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
FACTS = FactsSnapshot(captured_at=NOW, members=(cluster("a"),))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, holder="me", clock=lambda: NOW, environ={})
    records.close()


@pytest.fixture
def asked(tmp_path: Path) -> PlacementRequest:
    (tmp_path / "app.yml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n")
    return PlacementRequest(definition=crp(), resources=(str(tmp_path),), facts=FACTS, look=False)


def test_a_plan_that_only_looks_is_that_of_the_digest_or_refused(session: Session, asked: PlacementRequest) -> None:
    """Whoever asks before the apply is told what the apply would say."""
    digest = run(session, asked).plan.digest
    assert run(session, replace(asked, approved=digest[:12])).plan.digest == digest
    with pytest.raises(FleetError) as refused:
        run(session, replace(asked, approved="0123456789abcdef"))
    assert refused.value.code == "digest-mismatch" and digest[:16] in refused.value.message


def test_a_definition_of_another_name_than_was_asked_for_is_refused(session: Session, asked: PlacementRequest) -> None:
    assert [each.name for each in run(session, replace(asked, names=("crp",))).plan.plans] == ["crp"]
    with pytest.raises(FleetError) as refused:
        run(session, replace(asked, names=("shop",)))
    assert (refused.value.code, refused.value.where) == ("no-such-placement", "definition")


def git(folder: Path, *arguments: str) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=kept).stdout.strip()


def test_what_git_says_it_says_in_the_environment_of_the_task(
    session: Session, asked: PlacementRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That may say where Git is, and whose checkouts it trusts: who asked for the commit asks for its ancestors too."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "crp.json").write_text(json.dumps(crp()))
    git(folder, "init", "-q")
    for text in ("older", "newer"):
        git(folder, "commit", "-q", "--allow-empty", "-m", text)
    metadata = {**crp()["metadata"], "annotations": {REVISION: git(folder, "rev-parse", "HEAD~1")}}
    session.records.create({**crp(), "metadata": metadata})
    session = replace(session, environ={"PATH": os.environ["PATH"]})
    monkeypatch.setenv("PATH", "/nonexistent")
    (plan,) = run(session, replace(asked, definition=None, src=(str(folder),))).plan.plans
    assert [each.tripped for each in plan.brakes if each.name == "allow_older"] == [False]
