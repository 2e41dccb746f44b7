# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import guard_durable, open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}, {name: d, cluster: {server: "https://127.0.0.1:2"}}]
users: [{name: u, user: {token: canary}}]
contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: d, user: u}}]
"""


def opened(options: t.Mapping[str, t.Any], **environ: str) -> Records:
    return open_records(options, environ, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_the_default_is_a_file_in_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert opened({}).place == str(tmp_path / ".gitops-fleet" / "records.db")
    assert opened({"type": "sqlite", "path": None}).place == opened({}).place
    assert list(tmp_path.iterdir()) == []


def test_paths_may_start_at_home(tmp_path: Path) -> None:
    assert opened({"path": "~/r.db"}, HOME=str(tmp_path)).place == str(tmp_path / "r.db")


@pytest.mark.parametrize(
    ("options", "environ", "refused"),
    [
        ({}, {}, False),
        ({}, {"CI": "true"}, True),
        ({}, {"CI": "1"}, True),
        ({}, {"CI": "false"}, False),
        ({}, {"CI": ""}, False),
        ({"durable": True}, {"CI": "true"}, False),
        ({"durable": False}, {}, False),
        ({"durable": False}, {"CI": "true"}, True),
        ({}, {"TF_BUILD": "True"}, True),
        ({}, {"TEAMCITY_VERSION": "2026.1"}, True),
        ({}, {"CODEBUILD_BUILD_ID": "fleet:1"}, True),
        ({"durable": True}, {"TF_BUILD": "True"}, False),
    ],
)
def test_in_ci_a_file_must_be_called_durable_by_its_owner(
    options: t.Mapping[str, t.Any], environ: dict[str, str], refused: bool
) -> None:
    records = opened(options, **environ)
    if not refused:
        return guard_durable(records, environ)
    with pytest.raises(FleetError) as caught:
        guard_durable(records, environ)
    assert caught.value.code == "no-durable-records"
    assert "type: hub" in caught.value.hint and "durable: true" in caught.value.hint
    return None


def test_a_hub_is_durable_and_named_by_its_server(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    for options, environ, port in (
        ({"kubeconfig": str(kubeconfig)}, {}, 1),
        ({"kubeconfig": str(kubeconfig), "context": "b"}, {}, 2),
        ({}, {"KUBECONFIG": str(kubeconfig)}, 1),
    ):
        records = opened({"type": "hub"} | options, CI="true", **environ)
        assert isinstance(records, HubRecords)
        assert records.place == f"hub https://127.0.0.1:{port}"
        guard_durable(records, {"CI": "true"})


def test_a_kubeconfig_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as caught:
        opened({"type": "hub"}, HOME=str(tmp_path))
    assert caught.value.code == "kubeconfig-missing"


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(FleetError) as caught:
        opened({"path": 5, "durable": "yes", "context": "x"})
    assert [problem.code for problem in caught.value.problems] == ["bad-option"] * 3
    with pytest.raises(FleetError) as caught:
        opened({"type": "etcd"})
    assert "sqlite, hub" in caught.value.hint
