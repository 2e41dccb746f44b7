# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Stands in for ``az``: ``aks show``, ``aks upgrade``, ``aks nodepool upgrade``, as their public reference has them.

An upgrade of a control plane goes on for so many looks (``looks``) after the command has ended.
"""

from __future__ import annotations

import json
import os
import sys

from made_up import Cloud, parsed, refuse

NOT_FOUND = """ERROR: (ResourceNotFound) The Resource 'Microsoft.ContainerService/managedClusters/{0}' under resource \
group '{1}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix
Code: ResourceNotFound"""
NEWEST = "202602.10.0"


def main(words: list[str]) -> None:
    cloud = Cloud(os.environ["AZURE_CONFIG_DIR"])
    of = "resource-group"
    if words[:2] == ["aks", "show"]:
        given = parsed("az aks show", words[2:], f"name {of} output", "subscription")
        name = given.name
    elif words[:2] == ["aks", "upgrade"]:
        flags = "control-plane-only yes no-wait"
        given = parsed("az aks upgrade", words[2:], f"name {of} kubernetes-version output", "subscription", flags)
        name = given.name
    elif words[:3] == ["aks", "nodepool", "upgrade"]:
        what = "node-image-only" if "--node-image-only" in words else ""
        options = "subscription kubernetes-version"
        given = parsed("az aks nodepool upgrade", words[3:], f"cluster-name name {of} output", options, f"yes {what}")
        name = given.cluster_name
    else:
        refuse(2, f"ERROR: '{' '.join(words)}' is misspelled or not recognized by the system.")
    cluster = cloud.clusters.get(name)
    if cluster is None or cluster["resourceGroup"] != given.resource_group:
        refuse(3, NOT_FOUND.format(name, given.resource_group))
    if words[1] == "show":
        if cluster["provisioningState"] == "Upgrading":
            cluster["looks"] -= 1
            if cluster["looks"] <= 0:
                wrong = cluster.get("fails")
                cluster["provisioningState"] = "Failed" if wrong else "Succeeded"
                if not wrong:
                    cluster["kubernetesVersion"] = cluster["currentKubernetesVersion"] = cluster.pop("target")
        print(json.dumps(cluster))
    elif words[1] == "upgrade":
        cluster |= {"provisioningState": "Upgrading", "target": given.kubernetes_version, "looks": 3}
    else:
        pool = next(each for each in cluster["agentPoolProfiles"] if each["name"] == given.name)
        version = given.kubernetes_version or pool["currentOrchestratorVersion"]
        family = pool["nodeImageVersion"].rpartition("-")[0]
        pool |= {"currentOrchestratorVersion": version, "orchestratorVersion": version}
        pool["nodeImageVersion"] = f"{family}-{NEWEST}"
    cloud.keep()


if __name__ == "__main__":
    main(sys.argv[1:])
