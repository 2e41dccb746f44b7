# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole program on Pulumi's engine: one stack from a run that is killed to its end, test after test.

Each test goes on where the one before ended; none can be left out.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import is_free

sys.path.insert(0, str(Path(__file__).parents[1] / "playbooks"))
sys.path.insert(0, str(Path(__file__).parent))

from engine_stack import SECONDS, EngineStack, engine_environment, project_copy
from karpenter_kinds import CLASSES, POOLS, VNET, claimed, install
from playing import Player, inventoried

MAPS = "/api/v1/namespaces/default/configmaps"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
URN = "urn:pulumi:ci::gitops-fleet::pulumi-python:dynamic/fleet:LocalCluster::{}"
REFERENCE = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"}
LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
POOL = {
    "template": {"spec": {"nodeClassRef": REFERENCE, "requirements": [LINUX], "expireAfter": "720h"}},
    "disruption": {"consolidateAfter": "0s"},
}
NETWORK = {"subnets": {f"{VNET}nodes": {"prefixes": ["10.2.0.0/24"]}}, "serviceCIDRs": ["10.0.0.0/16"]}
ENDED = re.compile("serving.py|pulumi-language-python|pulumi.dynamic|pulumi-resource")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, local_cluster_factory: t.Any) -> Iterator[EngineStack]:
    folder = tmp_path_factory.mktemp("engine")
    project_copy(folder)
    stack = EngineStack(folder, engine_environment(folder))
    ports = local_cluster_factory.ports
    try:
        stack("stack", "init", "ci").well()
        stack.set("folder", str(folder / "made"))
        stack.set("ports", f"{ports.first}-{ports.last}")
        stack.set("members[0].version", "1.35")
        yield stack
    finally:
        for one in cluster.clusters(stack.clusters):
            cluster.absent(one.name, stack.clusters)


@pytest.fixture
def play(tmp_path: Path) -> Player:
    return Player(tmp_path)


def started_from(stack: EngineStack) -> list[str]:
    """Processes that an engine of this stack started: they have its home in their environment."""
    mark, found = f"PULUMI_HOME={stack.environ['PULUMI_HOME']}".encode(), []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if mark in (each / "environ").read_bytes().split(b"\0") and ENDED.search(words):
                found.append(f"{each.name} {words}")
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    """Not one that ended, and that nobody has asked for yet: that has no command line."""
    place = Path(f"/proc/{pid}/cmdline")
    return place.exists() and place.read_bytes() != b""


def until(what: str, holds: t.Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def written(stack: EngineStack) -> list[str]:
    """Requests to any cluster of the stack that changed something, but for what its API servers do for themselves."""
    found = []
    for one in cluster.clusters(stack.clusters):
        for event in map(json.loads, Path(one.audit_log).read_text().splitlines()):
            own = str(event["user"].get("username", "")).startswith("system:")
            dry = "dryRun=All" in event["requestURI"] or "selfsubject" in event["requestURI"]
            if event["verb"] in WRITES and not own and not dry:
                found.append(f"{one.name}: {event['verb']} {event['requestURI']}")
    return found


def test_a_run_that_is_killed_is_told_by_its_lock_and_taken_up_by_the_next(stack: EngineStack):
    """F5. Killed while the hub's definitions are made: some are there, and the state does not know of them.

    Beside a state the engine writes a file of no use to us, ``ci.json.attrs``, and not in one step: killed then it
    leaves half of it, and the state cannot be read. The backend's URL therefore says ``metadata=skip``.
    """
    log = stack.folder / "killed.log"
    with log.open("w") as output:
        command = stack.command("up", "--yes", "--skip-preview")
        killed = subprocess.Popen(
            command, env=stack.environ, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            until(
                "the hub's definitions are begun",
                lambda: re.search("CustomResourceDefinition.* creating", log.read_text()) or killed.poll() is not None,
            )
            assert killed.poll() is None, log.read_text()
        finally:
            killed.send_signal(signal.SIGKILL)
            killed.wait(300)
    refused = stack.up()
    assert refused.code != 0 and "locked" in refused.output
    until("its dynamic resources end with it", lambda: not [e for e in started_from(stack) if "pulumi.dynamic" in e])
    assert list((stack.folder / "state").rglob("*.attrs")) == []
    stack("cancel", "--yes", "ci").well()
    done = stack.up().well()
    assert done.changes["create"] > 30 and "delete" not in done.changes, done.changes
    assert {one.state for one in cluster.clusters(stack.clusters)} == {"running"}


def test_the_stack_is_an_inventory(stack: EngineStack, play: Player):
    inventory = play.folder / "ci.fleet.yml"
    inventory.write_text(json.dumps({"plugin": "gitops.fleet.fleet", "stack": stack.place()}))
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(inventory), "--list"]
    done = subprocess.run(
        command, cwd=play.folder, env=play.environment(), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    found = inventoried(done.stdout)
    assert (found["fleet_hub"]["hosts"], found["fleet_members"]["hosts"]) == (["hub"], ["member"])
    member = found["_meta"]["hostvars"]["member"]
    assert (member["fleet_environment"], member["fleet_labels"]) == ("ci", {"environment": "ci"})
    assert member["fleet_kubeconfig"] == str(stack.folder / "made" / "logins" / "member.kubeconfig")
    assert "client-key-data" not in done.stdout


def test_what_it_tells_ansible_leads_to_clusters_with_the_rights_of_a_member(stack: EngineStack):
    told = stack.output()["fleet_inventory"]
    assert (told["schema_version"], told["environment"], told["hub"]["name"]) == (1, "ci", "hub")
    (member,) = told["members"]
    assert (member["name"], member["version"], member["labels"]) == ("member", "1.35.4", {"environment": "ci"})
    with KubeClient(connection_from_kubeconfig(told["hub"]["kubeconfig"], told["hub"]["context"])) as hub:
        found = hub.get("/apis/gitops.fleet/v1alpha1/fleetmembers/member")
        connection = found["spec"]["connection"]
        assert (connection["kubeconfig"], connection["context"]) == (member["kubeconfig"], "member")
        assert found["metadata"]["labels"]["gitops.fleet/environment"] == "ci"
    with KubeClient(connection_from_kubeconfig(member["kubeconfig"], member["context"])) as client:
        whoami = client.post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        )
    assert whoami["status"]["userInfo"]["username"] == "system:serviceaccount:gitops-fleet:gitops-fleet"


def test_the_second_run_finds_everything_the_same_and_writes_nothing(stack: EngineStack):
    """D4-03. The audit logs of all API servers say so."""
    before = written(stack)
    done = stack.up().well()
    assert set(done.changes) == {"same"} and done.changes["same"] > 40, done.changes
    assert len(before) > 40 and written(stack) == before


def test_the_exported_state_holds_no_key(stack: EngineStack):
    """Neither of a cluster nor of a member's login, in any writing; what is looked for is taken from the files."""
    state = stack.exported()
    decoded = [base64.b64decode(word).decode(errors="replace") for word in re.findall("[A-Za-z0-9+/=]{400,}", state)]
    kept = [*stack.clusters.glob("*/kubeconfig"), *(stack.folder / "made" / "logins").glob("*")]
    secrets = set()
    for file in kept:
        for user in yaml.safe_load(file.read_text())["users"]:
            secrets |= {user["user"][key] for key in ("client-key-data", "token") if key in user["user"]}
    for key in stack.clusters.glob("*/pki/**/*.key"):
        lines = key.read_text().splitlines()
        secrets |= {lines[1], base64.b64encode(key.read_bytes()).decode()}
    assert len(secrets) > 5
    for text in (state, *decoded):
        assert "PRIVATE KEY" not in text and "client-key-data" not in text
        assert not [secret for secret in secrets if secret in text]


def test_what_died_or_was_deleted_is_seen_by_refresh_and_mended_and_a_new_version_keeps_objects(
    stack: EngineStack, play: Player
):
    """A cluster whose API server was killed; rights that somebody took away; then a version up in place."""
    told = stack.output()["fleet_inventory"]["members"][0]
    status = cluster.status(stack.clusters, "member")
    with KubeClient(connection_from_kubeconfig(status.kubeconfig)) as client:
        client.post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
        uid = client.get(f"{MAPS}/kept")["metadata"]["uid"]
    os.kill(status.processes["kube-apiserver"]["pid"], signal.SIGKILL)
    until("the API server is gone", lambda: cluster.status(stack.clusters, "member").state == "degraded")
    seen = stack("refresh", "--yes", "--skip-preview", "--diff", "--target", URN.format("member")).well()
    assert re.search('state *: "running" => "degraded"', seen.output), seen.output

    mended = stack.up().well()
    assert mended.changes.pop("update") == 1 and set(mended.changes) == {"same"}, mended.changes
    assert cluster.status(stack.clusters, "member").state == "running"

    (urn,) = (each for each in stack.urns() if "ClusterRoleBinding::" in each)
    with KubeClient(connection_from_kubeconfig(status.kubeconfig)) as client:
        client.delete(f"{BINDINGS}/{urn.rpartition('/')[2]}")
    gone = stack("refresh", "--yes", "--skip-preview", "--target", urn).well()
    assert gone.changes == {"delete": 1}, gone.changes

    stack.set("members[0].version", "1.36")
    newer = play("gitops.fleet.environment_up", **stack.place()).clean()
    assert newer.changed == 1
    told_of = re.findall(r"^(?:create|update|delete|replace)\w* .*", newer.output, re.MULTILINE)
    assert sorted({each.split("/")[0].split(" (")[0] for each in told_of}) == ["create member", "update member"], (
        told_of
    )
    now = stack.output()["fleet_inventory"]["members"][0]
    assert now == {**told, "version": "1.36.3"}
    with KubeClient(connection_from_kubeconfig(status.kubeconfig)) as client:
        assert client.get(f"{MAPS}/kept")["metadata"]["uid"] == uid
        assert client.get(f"{BINDINGS}/{urn.rpartition('/')[2]}")


def of_nodes(subnet: str, pool: dict[str, t.Any] | None = None, **network: t.Any) -> dict[str, t.Any]:
    """Settings of a member: a pool, and the class that its nodes come from."""
    node_class = {"name": "default", "spec": {"vnetSubnetID": f"{VNET}{subnet}"}}
    return {"node_classes": [node_class], "node_pools": [{"name": "general", "spec": pool or POOL}], **network}


def test_the_plan_names_the_nodes_that_a_change_replaces_and_then_it_is_made(stack: EngineStack):
    """D0-47, D0-48. A subnet, then a field of the pool; an overlap stops all, and neither preview writes anything."""
    expired = {**POOL, "template": {"spec": {**POOL["template"]["spec"], "expireAfter": "24h"}}}
    with KubeClient(connection_from_kubeconfig(cluster.status(stack.clusters, "member").kubeconfig)) as client:
        install(client)
        stack.give_member(**of_nodes("gone"))
        made = stack.up().well()
        assert made.changes["create"] == 3 and "replaces" not in made.output, made.output
        claimed(client, "node-of-a-stack")
        before = written(stack)

        stack.give_member(**of_nodes("nodes", network=NETWORK))
        told = stack("preview").well().output
        assert "member: this change of AKSNodeClass default replaces 1 node: node-of-a-stack" in told, told
        stack.give_member(network={**NETWORK, "podCIDRs": ["10.2.0.0/16"]})
        for refused in (stack("preview"), stack.up()):
            assert refused.code != 0 and "Traceback" not in refused.output, refused.output
            assert all(each in refused.output for each in ("subnet-overlap", "10.2.0.0/24", "10.2.0.0/16"))
        assert written(stack) == before
        assert client.get(f"{CLASSES}/default")["spec"]["vnetSubnetID"] == f"{VNET}gone"

        stack.give_member(network=NETWORK)
        moved = stack.up().well()
        assert moved.changes.pop("update") == 1 and set(moved.changes) == {"same"}, moved.changes
        assert "replaces 1 node: node-of-a-stack" in moved.output
        assert client.get(f"{CLASSES}/default")["spec"]["vnetSubnetID"] == f"{VNET}nodes"

        stack.give_member(**of_nodes("nodes", expired))
        told = stack("preview").well().output
        assert "member: this change of NodePool general replaces 1 node: node-of-a-stack" in told, told
        stack.up().well()
        assert client.get(f"{POOLS}/general")["spec"]["template"]["spec"]["expireAfter"] == "24h"


def test_in_the_end_no_process_file_or_port_is_left(stack: EngineStack, play: Player):
    ports = [port for one in cluster.clusters(stack.clusters) for port in one.ports.values()]
    pids = [row["pid"] for one in cluster.clusters(stack.clusters) for row in one.processes.values()]
    assert "locks: []" in play("gitops.fleet.environment_status", **stack.place()).clean().output.replace('"', "")
    assert play("gitops.fleet.environment_down", **stack.place()).clean().changed == 1
    assert play("gitops.fleet.environment_down", **stack.place()).clean().changed == 0
    assert len(ports) > 8 and all(map(is_free, ports)) and len(pids) >= 4
    assert not [pid for pid in pids if alive(pid)]
    assert cluster.clusters(stack.clusters) == ()
    left = {each.name for each in (stack.folder / "made").rglob("*") if each.is_file() and each.parent.name != ".locks"}
    assert left == {"kubeconfig"}, "of the folder of local clusters, which stays"
    until("nothing of the engine goes on", lambda: not [e for e in started_from(stack) if "language" not in e])
