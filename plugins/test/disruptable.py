# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: disruptable
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: Whether a pod, a node or a pool may be disrupted now
description:
  - Judges as Karpenter does before it disrupts by itself. No cluster is asked.
  - A Pod may be disrupted unless C(karpenter.sh/do-not-disrupt) protects it.
  - A Node may be if it is initialized, belongs to a pool, is not on its way out, is not protected by itself, and none
    of the given pods on it is protected or held by a PodDisruptionBudget.
  - A NodePool may lose nodes if its budgets allow at least one, for O(reason), or for every reason.
positional: pods, pod_disruption_budgets
options:
  _input:
    description: Manifest of a Pod, a Node or a NodePool.
    type: dict
    required: true
  pods:
    description: For a Node, Pods; those on other nodes are passed over.
    type: raw
    default: []
  pod_disruption_budgets:
    description: For a Node, PodDisruptionBudgets.
    type: raw
    default: []
  node_claims:
    description: For a Node or a NodePool, NodeClaims; nodes without one are then not disruptable.
    type: raw
  nodes:
    description: For a NodePool, the number of nodes that count, or the manifests of the cluster's Nodes.
    type: raw
  reason:
    description: For a NodePool, why nodes are disrupted; every reason if absent.
    type: str
    choices: [Empty, Drifted, Underutilized]
  now:
    description: Instant to decide for, such as V(2026-05-01T12:00:00Z); the present if absent.
    type: str
"""

EXAMPLES = r"""
- name: A node that one of its pods keeps
  vars:
    node:
      apiVersion: v1
      kind: Node
      metadata:
        name: web-1
        labels: {karpenter.sh/nodepool: web, karpenter.sh/initialized: "true"}
      status: {conditions: [{type: Ready, status: "True"}]}
    pod:
      apiVersion: v1
      kind: Pod
      metadata:
        name: ledger
        annotations: {karpenter.sh/do-not-disrupt: 1h}
      spec: {nodeName: web-1}
      status: {phase: Running, startTime: "2026-11-02T09:30:00Z"}
  ansible.builtin.assert:
    that:
      - node is gitops.fleet.disruptable
      - pod is not gitops.fleet.disruptable(now='2026-11-02T10:00:00Z')
      - node is not gitops.fleet.disruptable([pod], now='2026-11-02T10:00:00Z')
      - node is gitops.fleet.disruptable([pod], now='2026-11-02T11:00:00Z')

- name: A pool whose budgets are closed for drift
  vars:
    pool:
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: web}
      spec: {disruption: {budgets: [{nodes: "10%"}, {nodes: "0", reasons: [Drifted]}]}}
  ansible.builtin.assert:
    that:
      - pool is gitops.fleet.disruptable(nodes=10, reason='Empty')
      - pool is not gitops.fleet.disruptable(nodes=10, reason='Drifted')
"""

RETURN = r"""
_value:
  description: Whether it is so.
  type: bool
"""


def _is_disruptable() -> t.Callable[..., t.Any]:
    """Imports the function that the test calls."""
    from ..module_utils._fleet.templates.disruption import is_disruptable

    return is_disruptable


class TestModule:
    def tests(self) -> dict[str, t.Callable[..., t.Any]]:
        """The test's function by its name; its errors are as of ``pure``."""
        return {"disruptable": pure(_is_disruptable)}
