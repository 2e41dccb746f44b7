# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What filters over NodePools take: the same for each of them."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  _input:
    description:
      - A NodePool, a list of them, or what M(kubernetes.core.k8s_info) returns for them.
      - A part of a NodePool that begins at C(spec), C(disruption) or C(budgets), or a list of budgets, counts as one
        pool.
    type: raw
    required: true
"""

    COUNTED = r"""
options:
  nodes:
    description:
      - Number of nodes of the pool that count, or the manifests of the cluster's Nodes.
      - Of manifests those that are leaving or are not Ready are subtracted from what is allowed.
    type: raw
    required: true
  reason:
    description: Why nodes are disrupted; all reasons if absent.
    type: str
    choices: [Empty, Drifted, Underutilized]
"""
