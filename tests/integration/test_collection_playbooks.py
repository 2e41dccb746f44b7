# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's playbooks in the order in which the README shows them, on real API servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig

TREE = Path(__file__).resolve().parents[2] / ".cache" / "collections"
PLACEMENT = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ClusterResourcePlacement",
    "metadata": {"name": "shop"},
    "spec": {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}],
        "policy": {"placementType": "PickN", "numberOfClusters": 1},
    },
}
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


class Shell:
    """A folder in which playbooks are started as a user would; ``CI`` is not set, so records may lie in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def play(self, name: str, *arguments: str, **variables: t.Any) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if key != "CI"} | {
            "ANSIBLE_COLLECTIONS_PATH": str(TREE),
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
        }
        command = [sys.executable, "-m", "ansible", "playbook", f"gitops.fleet.{name}", "-e", json.dumps(variables)]
        return subprocess.run(
            [*command, *arguments], cwd=self.folder, env=environ, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def kubeconfig(local_cluster_factory: t.Any) -> str:
    for name in ("prod-1", "prod-2"):
        local_cluster_factory(name)
    return str(Path(local_cluster_factory.root) / "kubeconfig")


def wiped(kubeconfig: str) -> str:
    """All that was placed is gone from the member that had it, and so is what was noted of it there; its name."""
    for name in ("prod-1", "prod-2"):
        with KubeClient(connection_from_kubeconfig(kubeconfig, name)) as client:
            try:
                client.delete("/api/v1/namespaces/gitops-fleet/configmaps/shop")
            except ApiError as error:
                assert error.code == "not-found"
                continue
            found = client.delete("/api/v1/namespaces/shop")  # nobody else is here to finish that
            client.put("/api/v1/namespaces/shop/finalize", {**found, "spec": {"finalizers": []}})
            return name
    raise AssertionError("nobody holds it")


def test_a_stranger_gets_from_rights_to_an_applied_placement(tmp_path: Path, kubeconfig: str) -> None:
    shell = Shell(tmp_path)
    for folder, document in (("placements", PLACEMENT), ("resources", SHOP)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shop.json").write_text(json.dumps(document))
    rights = shell.play("rbac", subject="you@example.com")
    assert rights.returncode == 0 and "gitops-fleet-read" in rights.stdout, rights.stdout + rights.stderr
    files = {"placements": "placements", "resources": "resources"}
    steps: list[tuple[str, dict[str, t.Any]]] = [
        ("join", {"kubeconfig": kubeconfig, "pattern": "prod-*"}),
        ("facts", {"dest": "facts.json"}),
        ("budgets", {"dest": "nodes.json"}),
        ("plan", {**files, "facts": "facts.json", "nodes_file": "nodes.json", "write_markdown": "plan.md"}),
        ("apply", files),
        ("drift", files),
    ]
    for name, variables in steps:
        done = shell.play(name, **variables)
        assert done.returncode == 0, (name, done.stdout + done.stderr)
        assert "WARNING" not in done.stderr + done.stdout, (name, done.stdout + done.stderr)
    assert "Fleet plan" in (tmp_path / "plan.md").read_text()
    again = shell.play("apply", **files)
    assert "changed=0" in again.stdout, again.stdout
    member = wiped(kubeconfig)
    drift = shell.play("drift", **files)
    told = drift.stdout + drift.stderr
    assert drift.returncode == 2 and f"something is due on 1 cluster ({member})" in told, told
    assert "changed=1" in shell.play("apply", **files).stdout
    assert shell.play("drift", **files).returncode == 0
    (tmp_path / ".gitops-fleet" / "records.db").unlink()
    shell.play("join", kubeconfig=kubeconfig, pattern="prod-*")
    recovered = shell.play("recover", **files)
    assert recovered.returncode == 0 and "changed=1" in recovered.stdout, recovered.stdout + recovered.stderr
    after = shell.play("apply", "--check", **files)
    assert "changed=0" in after.stdout, after.stdout


def test_a_variable_that_no_playbook_knows_applies_nothing(tmp_path: Path, kubeconfig: str) -> None:
    """Whoever mistypes ``approved_plan`` has approved nothing."""
    shell = Shell(tmp_path)
    for folder, document in (("placements", PLACEMENT), ("resources", SHOP)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shop.json").write_text(json.dumps(document))
    joined = shell.play("join", kubeconfig=kubeconfig, patern="prod-1")
    assert joined.returncode == 2 and "did you mean pattern?" in joined.stdout + joined.stderr
    assert not (tmp_path / ".gitops-fleet").exists()
    assert shell.play("join", kubeconfig=kubeconfig, pattern="prod-1").returncode == 0
    files = {"placements": "placements", "resources": "resources"}
    applied = shell.play("apply", **files, aproved_plan="plan.json")
    assert applied.returncode == 2 and "did you mean approved_plan?" in applied.stdout + applied.stderr
    own = shell.play("apply", "--check", **files, tenant="blue", extra_variables=["tenant"])
    assert own.returncode == 0 and "changed=1" in own.stdout, own.stdout + own.stderr
