#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_disruption
short_description: Delete nodes of a member by hand, protect them, stop, release and patch their pools
version_added: 0.1.0
description:
  - Does by hand what no budget of nodes holds back, on one member. In check mode it tells how many nodes would be
    replaced or gone, which, and what holds their pods.
  - Nodes are drained through the eviction API first and replaced as by M(gitops.fleet.node_rotation); one that is not
    empty in time is let go again. What cannot be replaced so is refused before anything is done.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  member:
    description: Name of the member.
    type: str
    required: true
  state:
    description:
      - V(deleted) deletes O(nodes), those with O(label_selector), or all of O(pool).
      - V(pool_deleted) deletes the NodePool O(pool), whose nodes Karpenter drains then.
      - V(stopped) sets the budgets of O(pool) to C(0), which touches no node; V(released) gives it back those it had.
      - V(patched) writes O(patches), once the nodes that they rotate are meant (O(consent)) and a new subnet will do.
      - V(protected) sets C(karpenter.sh/do-not-disrupt) on nodes, V(unprotected) takes it away.
    type: str
    choices: [deleted, pool_deleted, stopped, released, patched, protected, unprotected]
    required: true
  nodes:
    description: Names of nodes.
    type: list
    elements: str
    default: []
  label_selector:
    description: Nodes with these labels, such as V(karpenter.sh/nodepool) for all that Karpenter manages.
    type: str
  pool:
    description: Name of a pool. Empty is never all of them.
    type: str
  confirm_count:
    description: How many nodes are meant, where they are not named one by one. Another number is refused.
    type: int
  patches:
    description:
      - NodePools, AKSNodeClasses and EC2NodeClasses, whole or only what is to change, with C(apiVersion), C(kind) and
        C(metadata.name). What C(kubectl) keeps of a manifest in an annotation is left out.
    type: list
    elements: dict
    default: []
  consent:
    description: Write O(patches) although they mark existing nodes Drifted, which replaces them within the budgets.
    type: bool
    default: false
  network:
    description: JSON file about the network, as in M(gitops.fleet.node_disruption_info), for a new C(vnetSubnetID).
    type: path
  allow_subnet_move:
    description: Move from one good subnet to another, which Azure does not support.
    type: bool
    default: false
  confirm_routes:
    description:
      - Somebody has looked that nodes of the new subnet reach the API server and the registries, and are reached back.
        Without it nothing is written, unless O(network) has the subnet under C(reached).
    type: bool
    default: false
  driver:
    description: How nodes are deleted and replaced, as in M(gitops.fleet.node_rotation).
    type: str
    choices: [local, karpenter, command]
  command:
    description: A command that deletes the machine of a node, as in M(gitops.fleet.node_rotation).
    type: list
    elements: str
    default: []
  node_timeout:
    description: Seconds after which nodes that are not gone are let go.
    type: int
    default: 3600
  timeout:
    description: Seconds to wait for a connection to the member.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Delete one node
  gitops.fleet.node_disruption:
    member: east
    state: deleted
    nodes: [pool-a-17]

- name: No disruption in this pool until it is released
  gitops.fleet.node_disruption:
    member: east
    state: stopped
    pool: default
"""

RETURN = r"""
nodes:
  description:
    - The nodes that go or are replaced, each with who does it and what holds its pods, or why it drifts; C(perhaps)
      before that where nobody can tell whether it does.
  returned: success
  type: dict
replaced:
  description: How many these are, with those that are replaced perhaps.
  returned: success
  type: int
patches:
  description:
    - What is written to objects, by their path, as merge patches, without C(userData). Of annotations only the values
      of Karpenter's and ours are told.
  returned: success
  type: dict
unconfirmed:
  description: What somebody has to look at before O(patches) are written; empty with O(confirm_routes).
  returned: success
  type: list
  elements: str
failures:
  description: Nodes that stay, with why.
  returned: success
  type: list
  elements: dict
origin:
  description: V(manual); who disrupts by this verb is a person.
  returned: success
  type: str
table:
  description: The same as text, line by line.
  returned: success
  type: list
  elements: str
"""
