# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: allowed_disruptions
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: How many nodes of a pool may be disrupted now, and why
description:
  - Evaluates budgets as Karpenter does, with the arithmetic of each of them. No cluster is asked.
positional: nodes, reason
extends_documentation_fragment:
  - gitops.fleet.pools
  - gitops.fleet.pools.counted
options:
  node_claims:
    description:
      - Manifests of the cluster's NodeClaims. Then only nodes with one count, as in Karpenter.
      - Without them each node with the label C(karpenter.sh/nodepool) counts as having one.
    type: raw
  now:
    description: Instant to decide for, such as V(2026-05-01T12:00:00Z); the present if absent.
    type: str
"""

EXAMPLES = r"""
- name: Ask for a pool of 20 nodes, at two instants
  vars:
    pool:
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata:
        name: batch
      spec:
        disruption:
          budgets:
            - nodes: "10%"
            - nodes: "0"
              schedule: "0 8 * * mon-fri"
              duration: 10h
    night: "{{ pool | gitops.fleet.allowed_disruptions(20, 'Drifted', now='2026-11-02T02:00:00Z') | first }}"
    day: "{{ pool | gitops.fleet.allowed_disruptions(20, 'Drifted', now='2026-11-02T09:00:00Z') | first }}"
  ansible.builtin.assert:
    that:
      - night.allowed == 2
      - night.text == '20 nodes count, limit 2 (10% of 20 nodes is 2) = 2'
      - night.next_change.at == '2026-11-02T08:00:00Z'
      - day.allowed == 0
      - day.binding == [1]

- name: Go on only if any pool may lose a drifted node now
  vars:
    pools:
      resources:
        - metadata: {name: web}
          apiVersion: karpenter.sh/v1
          kind: NodePool
          spec: {disruption: {budgets: [{nodes: "2"}]}}
    nodes:
      resources:
        - metadata:
            name: web-1
            labels: {karpenter.sh/nodepool: web, karpenter.sh/initialized: "true"}
          status: {conditions: [{type: Ready, status: "True"}]}
        - metadata:
            name: web-2
            labels: {karpenter.sh/nodepool: web, karpenter.sh/initialized: "true"}
          status: {conditions: [{type: Ready, status: "Unknown"}]}
  ansible.builtin.debug:
    msg: A node may go
  when: pools | gitops.fleet.allowed_disruptions(nodes, 'Drifted') | selectattr('allowed', 'gt', 0) | length > 0
"""

RETURN = r"""
_value:
  description:
    - A row for each pool and reason, with C(pool), C(reason), C(total), C(limit), C(allowed), C(binding), C(budgets),
      C(disrupting), C(excluded), C(error), C(text) and C(next_change).
    - C(limit) and C(allowed) are V(null) where nothing limits; C(binding) has the places of the budgets that decide.
    - C(next_change) has C(at) and C(limit), and is V(null) if nothing changes within a year.
  type: list
  elements: dict
"""


def _allowed_disruptions() -> t.Callable[..., t.Any]:
    """Imports the function that the filter calls."""
    from ..module_utils._fleet.templates.disruption import allowed_disruptions

    return allowed_disruptions


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter's function by its name; its errors are as of ``pure``."""
        return {"allowed_disruptions": pure(_allowed_disruptions)}
