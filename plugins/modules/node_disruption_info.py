#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_disruption_info
short_description: Why each node may be disrupted, and what keeps it from it
version_added: 0.1.0
description:
  - Reads nodes, pods, PodDisruptionBudgets, NodePools, NodeClaims and node classes of all members at once, and tells of
    each node its image and version, whether it is empty, drifted (with the field or the cause), expired, or due by a
    NodeRotation, everything
    that keeps it from being disrupted, in words and in the order in which Karpenter asks, and who disrupts it now.
  - With O(plan) also what Karpenter would do with it, decided as Karpenter decides. Empty nodes are deleted, underused
    ones deleted or replaced by a cheaper one, with where each pod goes and what is saved, the others kept, with why.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
  - gitops.fleet.nodes
  - gitops.fleet.nodes.asked
options:
  nodes:
    description: Nodes that are told of; all if empty. A name that no node has is refused (V(unknown-node)).
    type: list
    elements: str
    default: []
  safeguards:
    description: Tell also which safeguard holds for which reason, of Karpenter and of our own rotations.
    type: bool
    default: false
  plan:
    description:
      - Tell also what the next pass of Karpenter does on each member that has it, and of each other node what would
        become of it if it were the only one that goes.
      - Reads DaemonSets too, which need room on new nodes.
    type: bool
    default: false
  look_again:
    description:
      - With O(plan) members are read once more after so many seconds, and each command of the next pass is held against
        what is there then, as Karpenter does after 15 seconds. 0 for not at all.
    type: int
    default: 0
  catalogue:
    description:
      - JSON file with the instance types that nodes can be made of, as C(instanceTypes), a list of C(name), C(labels),
        C(allocatable), C(capacity) and C(offerings), each of these with C(zone), C(capacityType), C(price) of an hour
        and C(available). Limits of NodePools count C(capacity), or where it is not told C(allocatable).
      - No API server tells them. Without the file the types are those of the nodes that are there, with the least that
        any node of the type has. Which nodes are empty, and whose pods fit on others, is decided without it. Replacing
        a node by a type that no node has yet, or by a spot node, needs it. Such answers say C(needs_catalogue).
    type: path
  prices:
    description:
      - Price lists, as M(gitops.fleet.fleet_facts) takes them, for on-demand nodes of types for which O(catalogue) has
        no price. Without a price nothing is replaced, and what is saved is not known.
    type: list
    elements: path
    default: []
  spot_to_spot:
    description: Karpenter runs with the feature gate C(SpotToSpotConsolidation).
    type: bool
    default: false
  preference_policy:
    description: Whether Karpenter takes wishes of pods for demands first, its option C(PREFERENCE_POLICY).
    type: str
    choices: [Respect, Ignore]
    default: Respect
  changes:
    description:
      - Files and folders with NodePools, AKSNodeClasses and EC2NodeClasses as they are to become. Tells of each member
        that has one which nodes are replaced by it, and, for C(vnetSubnetID) of an AKSNodeClass, what speaks against
        the new subnet. Nothing is written.
      - A field that a file leaves out stays as it is, one that is null goes.
    type: list
    elements: path
  network:
    description:
      - JSON file with what no API server tells of the network. C(subnets) are C(prefixes), and C(used) addresses, by
        the identity of the subnet; C(reached) are identities of subnets whose routes were probed; C(podCIDRs),
        C(serviceCIDRs), C(dockerBridgeCIDR) and C(addressesPerNode).
    type: path
  allow_subnet_move:
    description:
      - Take a move from one good subnet to another, which Azure does not support, for a warning and not for an error.
    type: bool
    default: false
  snapshot:
    description: File to answer from, as M(gitops.fleet.node_disruption_budget_info) writes it.
    type: path
"""

EXAMPLES = r"""
- name: Why this node does not go
  gitops.fleet.node_disruption_info:
    members: [east]
    nodes: [pool-a-17]

- name: What Karpenter would consolidate, from a file, without any cluster
  gitops.fleet.node_disruption_info:
    snapshot: nodes.json
    plan: true
    prices: [aws]
"""

RETURN = r"""
nodes:
  description:
    - A row for each node with C(member), C(node), C(pool), C(image), C(version) (of its kubelet), C(causes) (by
      V(Empty), V(Drifted), V(Expired), V(Due)), C(blockers) of graceful methods, of eventual ones and of our rotation,
      C(candidate), C(expires), C(origin) (who disrupts it now, empty for nobody) and C(drain) (how far Karpenter has
      come, until when, and which pods it waits for).
  returned: success
  type: list
  elements: dict
plans:
  description:
    - With O(plan) a row for each member with Karpenter, with C(member), C(catalogue) (V(given) or V(observed)), C(next)
      (the commands of the next pass), C(again) (with O(look_again), for each of these the C(nodes) that would still go,
      else C(failure), which is V(budget), V(scheduling) or V(churn), and C(text)), C(unknown) (why there is no plan)
      and C(nodes).
    - Each of C(nodes) has C(node), C(pool), C(decision) (V(delete), V(replace) or V(keep)), C(reason) (the one that
      budgets know), C(code) and C(text) (why), C(next) (whether the next pass does it), C(together) (with which other
      nodes), C(pods) (where each of its pods goes), C(replacements), C(saving) (an hour, of the whole command, null
      where a price is not known), C(held) (what it waits for) and C(needs_catalogue).
  returned: success
  type: list
  elements: dict
changes:
  description:
    - With O(changes) a row for each object on each member, with C(member), C(kind), C(name), C(count) (nodes that come
      from it), C(changed) (V(static), V(special), V(behaviour) or V(unhashed) by field), C(drifted) and C(unsure) (why,
      by node), C(findings), C(refused) and C(confirmed) (V(false) while a person has to look at routes).
  returned: success
  type: list
  elements: dict
safeguards:
  description: What holds back a disruption by its reason, for V(karpenter) and for our V(rotation).
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
