# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Users of a local cluster, as tests of permissions need them, and the log of what each did."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import who_am_i
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import TokenUser
from further_user import client_kubeconfig


def test_a_further_client_is_its_user_in_its_groups_and_may_nothing_by_itself(hub, open_client):
    path = client_kubeconfig(Path(hub.after.folder), "ada", ("readers", "writers"))
    assert path.stat().st_mode & 0o077 == 0
    with open_client(path) as client:
        user = who_am_i(client)
        assert user.name == "ada" and {"readers", "writers"} <= set(user.groups)
        with pytest.raises(FleetError) as refused:
            client.get("/api/v1/nodes")
    assert refused.value.code == "forbidden"


def test_an_expired_client_is_refused(hub, open_client):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    path = client_kubeconfig(Path(hub.after.folder), "late", not_after=yesterday)
    with open_client(path) as client, pytest.raises(FleetError) as refused:
        client.get("/version")
    assert refused.value.code in ("unauthorized", "credentials-expired")


def test_the_audit_log_names_user_and_verb(hub, open_client):
    path = client_kubeconfig(Path(hub.after.folder), "watched")
    with open_client(path) as client, pytest.raises(FleetError):
        client.get("/api/v1/secrets")
    events = [json.loads(line) for line in Path(hub.after.audit_log).read_text().splitlines()]
    mine = [event for event in events if event["user"].get("username") == "watched"]
    assert [(event["verb"], event["objectRef"]["resource"], event["responseStatus"]["code"]) for event in mine] == [
        ("list", "secrets", 403)
    ]


def test_token_users_log_in_and_stay_out_of_the_state(module_clusters):
    users = (TokenUser("not-so-secret-token", "grace", ("readers",)),)
    made = module_clusters("tokens", tokens=users)
    authority = Path(made.after.folder, "pki", "ca.crt").read_bytes()
    with KubeClient(Connection(made.server, ca=authority, token="not-so-secret-token")) as client:
        user = who_am_i(client)
    assert (user.name, "readers" in user.groups) == ("grace", True)
    folder = Path(made.after.folder)
    holding = [path.name for path in folder.iterdir() if path.is_file() and b"not-so-secret" in path.read_bytes()]
    assert len(holding) == 1 and holding[0].startswith("tokens-")
    assert "not-so-secret" not in repr(users)
    assert not module_clusters("tokens", tokens=users).changed
