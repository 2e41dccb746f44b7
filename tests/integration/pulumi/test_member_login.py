# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The login of a member, called as the engine calls it, on a real API server."""

from __future__ import annotations

import json
import stat
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.member_login import (
    Account,
    login_problem,
    make_login,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig

from fleet_pulumi.member_login import MemberLoginProvider

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
LIFE = timedelta(days=90)
Properties = dict[str, t.Any]


@pytest.fixture
def account(hub: t.Any) -> t.Iterator[Account]:
    with KubeClient(connection_from_kubeconfig(hub.kubeconfig)) as client:
        client.post(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pulumi-login"}})
        yield Account(kubeconfig=hub.kubeconfig, context="", namespace="default", name="pulumi-login")
        client.delete(f"{ACCOUNTS}/pulumi-login")


@pytest.fixture
def wanted(account: Account, tmp_path: Path) -> Properties:
    return {
        "kubeconfig": account.kubeconfig,
        "context": account.context,
        "namespace": account.namespace,
        "account": account.name,
        "path": str(tmp_path / "logins" / "m1.kubeconfig"),
        "name": "m1",
        "days": 90.0,
    }


def token(path: str) -> str:
    return str(json.loads(Path(path).read_text())["users"][0]["user"]["token"])


def test_from_its_making_to_its_end(wanted: Properties):
    """Made, used, the same again is no change; lost, seen and made again; removed."""
    provider = MemberLoginProvider()
    made = provider.create(wanted)
    outs = made.outs
    assert made.id == wanted["path"] and outs is not None
    assert stat.S_IMODE(Path(wanted["path"]).stat().st_mode) == 0o600
    assert token(wanted["path"]) not in json.dumps(outs)
    with KubeClient(connection_from_kubeconfig(wanted["path"], "m1")) as client, pytest.raises(ApiError) as refused:
        client.get("/api/v1/pods")
    assert refused.value.code == "forbidden" and "system:serviceaccount:default:pulumi-login" in str(refused.value)
    assert provider.diff(made.id, outs, wanted).changes is False

    Path(wanted["path"]).unlink()
    assert provider.read(made.id, outs).id == ""
    assert provider.diff(made.id, outs, wanted).changes is True
    assert provider.update(made.id, outs, wanted).outs is not None
    assert provider.diff(made.id, outs, wanted).changes is False
    assert provider.diff(made.id, outs, {**wanted, "path": "/elsewhere"}).replaces == ["path"]

    provider.delete(made.id, outs)
    assert not Path(wanted["path"]).exists()
    provider.delete(made.id, outs)


def test_a_login_is_renewed_when_a_third_of_its_life_is_left(account: Account, tmp_path: Path):
    path, now = tmp_path / "m1.kubeconfig", datetime.now(UTC)
    ends = make_login(account, path, "m1", LIFE)
    assert timedelta(days=89) < ends - now < timedelta(days=91)
    assert login_problem(account, path, LIFE, now + timedelta(days=59)) == ""
    assert login_problem(account, path, LIFE, now + timedelta(days=61)).startswith("its token ends at")


def test_a_login_that_the_server_does_not_know_any_more_is_made_again(account: Account, tmp_path: Path):
    """The account was deleted and made again: its old tokens are void."""
    path = tmp_path / "m1.kubeconfig"
    make_login(account, path, "m1", LIFE)
    with KubeClient(connection_from_kubeconfig(account.kubeconfig)) as client:
        client.delete(f"{ACCOUNTS}/{account.name}")
        client.post(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account.name}})
    assert login_problem(account, path, LIFE, datetime.now(UTC)) == "the API server does not know its token"


def test_another_accounts_login_is_not_taken_for_ours(account: Account, tmp_path: Path):
    path = tmp_path / "m1.kubeconfig"
    make_login(account, path, "m1", LIFE)
    other = Account(kubeconfig=account.kubeconfig, context="", namespace="default", name="other")
    assert login_problem(other, path, LIFE, datetime.now(UTC)) == "it is system:serviceaccount:default:pulumi-login's"


def test_an_account_that_is_not_there_is_told(account: Account, tmp_path: Path):
    lost = Account(kubeconfig=account.kubeconfig, context="", namespace="default", name="nobody")
    with pytest.raises(FleetError) as refused:
        make_login(lost, tmp_path / "m1.kubeconfig", "m1", LIFE)
    assert refused.value.code == "not-found" and list(tmp_path.iterdir()) == []
