#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: local_cluster
short_description: Real Kubernetes control planes on this machine
version_added: 0.1.0
description:
  - Makes clusters of real C(etcd) and C(kube-apiserver) processes on loopback, and where asked
    C(kube-controller-manager), C(kube-scheduler), C(kwok) for simulated nodes and C(karpenter). No containers are used.
  - Binaries are those of a given folder or of the cache. Where they are missing they are downloaded once from their
    publishers, or built once from their Go modules where that cannot be; E(FLEET_RELEASES) is V(off) or names a mirror.
  - Linux only.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
options:
  state:
    description:
      - Whether the clusters run, are stopped (data, keys and ports are kept), or are gone.
      - V(present) makes each as O(clusters) describes it, also one that was stopped; with a newer version it is
        upgraded, and nodes that are not described are deleted. V(started) starts it as it was.
    type: str
    choices: [present, started, stopped, absent]
    default: present
  clusters:
    description:
      - The clusters. But for V(present) only O(clusters[].name) is looked at.
      - Needed unless O(fleet) says which.
    type: list
    elements: dict
    suboptions:
      name:
        description: At most 40 lower-case letters, digits and C(-).
        type: str
        required: true
      version:
        description: A minor version, or an exact one. A cluster is upgraded in place by one minor, never taken back.
        type: str
        default: "1.36"
      profile:
        description:
          - V(api) is etcd and API server. V(control) adds the controller manager. V(fleet) adds scheduler and kwok.
          - V(karpenter) adds a real Karpenter with its CRDs, which makes simulated nodes for pending pods and disrupts
            them as NodePools say.
        type: str
        choices: [api, control, fleet, karpenter]
        default: api
      region:
        description: Label C(topology.kubernetes.io/region) of all nodes.
        type: str
        default: ""
      audit:
        description: Log every request, without bodies, to C(logs/audit.log) in the cluster's folder.
        type: bool
        default: false
      tokens:
        description: Users who log in by a static bearer token.
        type: list
        elements: dict
        default: []
        suboptions:
          token:
            description: The token.
            type: str
            required: true
          user:
            description: Name of the user.
            type: str
            required: true
          groups:
            description: Groups of the user.
            type: list
            elements: str
            default: []
      nodes:
        description: Pools of simulated nodes; profiles V(fleet) and V(karpenter) only.
        type: list
        elements: dict
        default: []
        suboptions:
          count:
            description: Number of nodes.
            type: int
            required: true
          pool:
            description: Name of the pool, label C(karpenter.sh/nodepool).
            type: str
            default: default
          version:
            description: Kubelet version; that of the cluster at the time the node is made if empty.
            type: str
            default: ""
          image:
            description: Operating system image.
            type: str
            default: Simulated Linux 1
          age:
            description: How much older than its creation a node is to be taken for, such as V(30d).
            type: str
            default: ""
          cpu:
            description: CPU capacity.
            type: str
            default: "4"
          memory:
            description: Memory capacity.
            type: str
            default: 16Gi
          pods:
            description: Most pods on a node.
            type: int
            default: 110
          zone:
            description: Label C(topology.kubernetes.io/zone).
            type: str
            default: ""
          instance_type:
            description: Label C(node.kubernetes.io/instance-type).
            type: str
            default: ""
          labels:
            description: Further labels.
            type: dict
            default: {}
  fleet:
    description:
      - Name of what the clusters belong to. New ones are marked as made for it, and one that is there and was made for
        another, or for none, is refused with C(cluster-of-others).
      - V(started), V(stopped) and V(absent) are then about all clusters that were made for it, and about those of
        O(clusters) whoever made them. What others made is left as it is, and named.
    type: str
  root:
    description:
      - Folder of keys, data, logs and kubeconfigs; C(gitops-fleet/local) in the user's state folder if absent.
      - A cluster's folder in it that is another user's, or that others may write to, is refused (C(unsafe-folder)).
    type: path
  binaries_dir:
    description: Folder with ready binaries.
    type: path
  ports:
    description: Range of loopback ports to choose from; each cluster holds six, with Karpenter seven.
    type: str
  timeout:
    description: Seconds that a cluster may take to become ready, not counting a build of binaries.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: A hub and a member with three nodes
  gitops.fleet.local_cluster:
    clusters:
      - name: hub
      - name: member-1
        profile: fleet
        nodes:
          - count: 3

- name: Remove all that was made for one fleet, and nothing else
  gitops.fleet.local_cluster:
    state: absent
    fleet: demo
"""

RETURN = r"""
clusters:
  description: State, version, server, kubeconfig, processes and ports of each cluster.
  returned: success
  type: list
  elements: dict
kubeconfig:
  description:
    - Path of one kubeconfig with a context for every cluster of the folder; where none was ever made, it is not there.
  returned: success
  type: str
others:
  description: Names of clusters in the same folder that are not among O(clusters).
  returned: success
  type: list
  elements: str
kubectl:
  description: Path of a kubectl, if one is at hand.
  returned: state is present
  type: str
"""
