#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_disruption_budget_info
short_description: How many nodes may be disrupted now, and when that changes
version_added: 0.1.0
description:
  - Reads nodes, NodePools, NodeClaims and PodDisruptionBudgets of all members at once, and tells for each pool and each
    reason how many nodes may be disrupted now, with the sum, the budgets that decide, what blocks, the next change and
    the next openings.
  - A pool is a NodePool of Karpenter, or the nodes that a NodeRotation selects on a member. Members without Karpenter
    have only the latter.
  - What Karpenter allows is what its budgets say. Windows, freezes and budgets of FleetMaintenance objects hold back
    our own verbs, and are told beside that (C(held)); windows and freezes count in the openings and in the week.
  - Of members that share a budget of a FleetMaintenance with those in O(members) the Nodes and NodeClaims are read too,
    and nothing else, for what is disrupted there counts in it.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
  - gitops.fleet.nodes
  - gitops.fleet.nodes.asked
options:
  pools:
    description: Pools that are told of; all if empty.
    type: list
    elements: str
    default: []
  reason:
    description: Why nodes are disrupted; all reasons if absent.
    type: str
    choices: [Empty, Drifted, Underutilized]
  time_zone:
    description: IANA name of the time zone in which instants are told beside UTC.
    type: str
    default: UTC
  week:
    description: Show the limits of the coming seven days as a table, a column for each half hour.
    type: bool
    default: false
  now:
    description: Another instant than the present, such as V(2026-11-22T22:00:00Z).
    type: str
  snapshot:
    description: File to answer from, as O(dest) writes it, instead of asking members.
    type: path
  dest:
    description:
      - File to write what was read to, pods and DaemonSets too, so that nodes can be planned offline. Not with
        O(snapshot), and not in check mode.
    type: path
  window:
    description:
      - A window such as V(22:00-06:00 Europe/Berlin) or V(Mon-Fri 20:00-04:00 UTC), to be written as budgets of a
        NodePool, which know UTC only. They are right until the clocks of the zone change.
    type: str
  window_nodes:
    description: How many nodes may be disrupted at once inside O(window), as a number or a percentage.
    type: str
    default: 10%
"""

EXAMPLES = r"""
- name: What may be disrupted now, and the week as a table
  gitops.fleet.node_disruption_budget_info:
    time_zone: Europe/Vienna
    week: true

- name: A window as budgets of a NodePool
  gitops.fleet.node_disruption_budget_info:
    window: 22:00-06:00 Europe/Berlin
    window_nodes: 20%
"""

RETURN = r"""
pools:
  description:
    - A row for each pool and reason, with C(member), C(pool), C(kind), C(reason), C(total), C(limit) and C(allowed)
      (null for no limit), C(text) (the sum in words), C(budgets) (each with its arithmetic), C(binding_budgets) (their
      numbers, from 1), C(blocks), C(held), C(disrupting), C(excluded), C(next_change) and C(openings), in which
      our verbs may disrupt nodes; C(budget_openings), those of the budgets alone, which Karpenter goes by; and
      C(closed_by_fleet), spans that windows and freezes close, each with C(why).
  returned: success
  type: list
  elements: dict
utc_budgets:
  description: O(window) as C(budgets), also as C(yaml), with C(valid_until) and C(warning). Empty without a window.
  returned: success
  type: dict
problems:
  description: Members, and kinds on members, that could not be read.
  returned: success
  type: list
  elements: dict
table:
  description: The same as text, line by line.
  returned: success
  type: list
  elements: str
"""
