# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two clusters, an account on them that may only read, and ansible-playbook in a folder of each test."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from further_user import client_kubeconfig

sys.path.insert(0, str(Path(__file__).parent))

from playing import PLAYS, Fleet, Player, given, merged


@pytest.fixture
def play(tmp_path: Path) -> Player:
    return Player(tmp_path)


@pytest.fixture(scope="session")
def fleet(local_cluster_factory: t.Any, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    # With the controller manager: without it namespaces that are deleted never go.
    folder = tmp_path_factory.mktemp("fleet")
    made = [local_cluster_factory(name, profile="control", audit=True) for name in ("east", "west")]
    Player(folder)("fleet_rbac_info").clean()
    rights = json.loads((folder / "rights.json").read_text())
    for each in made:
        with KubeClient(connection_from_kubeconfig(Path(each.after.folder, "kubeconfig"))) as client:
            for manifest in rights:
                apply_object(client, manifest, "tests", force=True)
    files = [client_kubeconfig(Path(each.after.folder), "planner") for each in made]
    ports = local_cluster_factory.ports
    return Fleet(
        admin=merged(folder / "admin", [Path(each.after.folder, "kubeconfig") for each in made]),
        reader=merged(folder / "reader", files),
        audit_logs=tuple(Path(each.after.audit_log) for each in made),
        ports=f"{ports.first}-{ports.last}",
        root=local_cluster_factory.root,
    )


@pytest.fixture
def joined(play: Player, fleet: Fleet) -> dict[str, t.Any]:
    """Both clusters are members, reached with the account that may only read."""
    values = given(play.folder, fleet, fleet.reader)
    play("member_cluster", **values).clean()
    return values


@pytest.fixture
def driven(play: Player, joined: dict[str, t.Any]) -> dict[str, t.Any]:
    """The members have a driver, which takes their versions from files."""
    for name in ("east", "west"):
        (play.folder / f"version-{name}").write_text("v1.35.4\n")
    play(PLAYS.parent / "drive.yml", **joined).clean()
    return joined
