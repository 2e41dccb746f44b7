# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members with nodes: kubelets hold back a control plane that would be too new, and are left alone by its upgrade."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from conducting import Plays
from update_fleet import NEW, OLD, Document, UpdateFleet, sequence

NODES = "/api/v1/nodes"


def node(name: str, kubelet: str) -> Document:
    info = dict.fromkeys(("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID"), "")
    info |= {"systemUUID": "", "architecture": "amd64", "operatingSystem": "linux", "osImage": "Simulated Linux 1"}
    metadata = {"name": name, "labels": {"kubernetes.azure.com/agentpool": "np"}}
    status = {"nodeInfo": {**info, "kubeletVersion": kubelet}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def client_of(fleet: UpdateFleet, member: str) -> KubeClient:
    return KubeClient(connection_from_kubeconfig(fleet.clusters.root / member / "kubeconfig"))


def nodes(fleet: UpdateFleet, member: str) -> list[Document]:
    with client_of(fleet, member) as client:
        found = client.get(NODES)["items"]
    return [{"name": each["metadata"]["name"], "info": each["status"]["nodeInfo"]} for each in found]


def test_kubelets_hold_back_and_are_left_alone(fleet: UpdateFleet, plays: Plays) -> None:
    """D3-23, D3-25. Two members have kubelets that 1.36 still takes, one has a node of 1.32: found at its turn first,
    and, once its facts were read, before anything begins."""
    old, fine = names = fleet.members("all", "all")
    for name, kubelets in {old: ("v1.35.4", "v1.32.9"), fine: ("v1.33.1", "v1.35.4")}.items():
        with client_of(fleet, name) as client:
            for number, kubelet in enumerate(kubelets):
                client.request("POST", NODES, node(f"{name}-{number}", kubelet))
        with client_of(fleet, name) as client:
            budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
                      "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}  # fmt: skip
            path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
            made = client.request("POST", path, budget)
            counts = {"expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0}
            client.put(f"{path}/web/status", {**made, "status": counts})
    before = {name: nodes(fleet, name) for name in names}
    fleet.write(sequence({"name": "all", "maxAllowedFailures": "1", "groups": [
        {"name": "all", "maxAllowedFailures": "1"}]}))  # fmt: skip

    checked = plays("gitops.fleet.preflight", **fleet.variables()).code(2)
    found = " ".join(checked.output.split())
    for each in (
        "[kubelet-skew]",
        "[nodes-not-ready]",
        f"{fine}: disruption budgets allow no eviction now: default/web",
    ):
        assert each in found, found
    assert f"{fine}: pool" not in found and "[not-looked-at]" not in found and not fleet.records.list("UpdateRun")

    ended = plays("gitops.fleet.update", **fleet.variables()).code(2)
    words = "pool np has kubelets of v1.32.9, too old for an API server of 1.36.3; upgrade it before"
    assert words in " ".join(ended.output.split()), ended.output
    assert fleet.states() == {old: "Failed", fine: "Completed"} and fleet.row(old).reason == "PreconditionFailed"
    assert [fleet.version(old), fleet.version(fine)] == [OLD, NEW] and fleet.upgrades() == {fine: 1}
    assert {name: nodes(fleet, name) for name in names} == before, "kubelets and images are as they were"

    facts = plays("gitops.fleet.facts", records=fleet.options, dest=str(fleet.folder / "facts.json")).code(0)
    assert facts.changed == 0
    fleet.run_name += "-again"
    fleet.write(sequence(("all",)))
    refused = plays("gitops.fleet.update", **fleet.variables()).code(2)
    assert "kubelet-skew" in refused.output and words in " ".join(refused.output.split())
    assert fleet.states() == {old: "NotStarted", fine: "NotStarted"}
    assert fleet.upgrades() == {fine: 1}
