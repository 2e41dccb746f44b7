# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that others may carry out is recorded before the freezes that were given beside it."""

from __future__ import annotations

import contextlib
import typing as t
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action import auto_upgrade_profile, update_run
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Run


def now() -> datetime:
    return datetime(2026, 8, 17, 12, tzinfo=UTC)


def manifest(kind: str, name: str, **spec: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": FLEET_API, "kind": kind, "metadata": {"name": name}, "spec": spec}


FREEZE = manifest("FleetMaintenance", "sales", freezes=[{"name": "week", "start": "2026-08-17", "end": "2026-08-21"}])
RUN = manifest(
    "UpdateRun", "r", managedClusterUpdate={"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
)
PROFILE = manifest("AutoUpgradeProfile", "p", channel="Stable")


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Records]:
    with contextlib.closing(SqliteRecords(tmp_path / "records.db", now)) as found:
        found.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": {}})
        found.create(manifest("FleetMember", "a", connection={"kubeconfig": "none"}, driver="local"))
        yield found


def refused(*_arguments: object) -> bool:
    """What a hub says that lets nobody write windows."""
    raise FleetError("forbidden", "no", "FleetMaintenance/sales")


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_run(monkeypatch: pytest.MonkeyPatch, records: Records, is_refused: bool) -> None:
    if is_refused:
        monkeypatch.setattr(update_run, "record_with_evidence", refused)
    session = Session(records=records, holder="tests", clock=now, environ={})
    given = update_manifests([], [FREEZE, RUN], strict=False)
    with pytest.raises(FleetError, match="no") if is_refused else contextlib.nullcontext():
        made = update_run._made(session, "r", given, {"state": "conducted", "digest": "", "src": None}, write=True)
        assert made.changed and made.run.status.digest
    assert [bool(records.get(kind, name)) for kind, name in (("UpdateRun", "r"), ("FleetMaintenance", "sales"))] == [
        not is_refused
    ] * 2


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_profile(monkeypatch: pytest.MonkeyPatch, records: Records, is_refused: bool) -> None:
    if is_refused:
        monkeypatch.setattr(auto_upgrade_profile, "record_with_evidence", refused)
    options = {"src": None, "definition": [FREEZE, PROFILE], "strict": False, "names": None, "state": "present"}
    run = mock.MagicMock(spec=Run, check_mode=False)
    run.open.return_value.__enter__.return_value = Session(records=records, holder="tests", clock=now, environ={})
    run.open.return_value.__exit__.return_value = None
    verb = auto_upgrade_profile.ActionModule(mock.Mock(), None, None, None, None, None)
    with pytest.raises(FleetError, match="no") if is_refused else contextlib.nullcontext():
        assert verb.carry_out(options, run).changed
    there = (("AutoUpgradeProfile", "p"), ("FleetMaintenance", "sales"))
    assert [bool(records.get(kind, name)) for kind, name in there] == [not is_refused] * 2
