#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_rotation
short_description: Replace nodes of members, wave by wave, within their budgets
version_added: 0.1.0
description:
  - Replaces the nodes that a NodeRotation names, by age, version or image, in waves that grow as long as all goes well.
    At no time are more nodes disrupted than every budget over them allows, those of the NodeRotation, of NodePools and
    of FleetMaintenances; nodes that are not Ready count. Nothing begins outside a maintenance window, or in a freeze.
  - A node is cordoned and looked at again; its pods are evicted through the eviction API, and whoever a
    PodDisruptionBudget holds is asked again when the server says. Then the node is replaced. One that is not emptied in
    time is let go again. Pods of DaemonSets stay.
  - A run that is killed at any instant goes on where it was when the verb is called again. One that waits is a success,
    with C(fleet.outcome=waiting) and C(fleet.resume_at).
  - In check mode it tells which nodes are due, which would begin now, and what holds back each other one.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
  - gitops.fleet.nodes
options:
  state:
    description:
      - V(conducted) begins the rotation or takes it up, and carries it on; one that has ended begins again with the
        nodes that are due by then. Without C(spec.due) these are the nodes that were there when it began first and have
        not been replaced; see O(again).
      - V(stopped) ends the rotation where no node is in flight. Else no more nodes are begun, and those in flight end
        when it is conducted the next time. One by C(olderThan) that is done does not begin again by a schedule.
      - V(absent) deletes the record.
    type: str
    choices: [conducted, stopped, absent]
    default: conducted
  name:
    description: Name of the rotation; may be left out where one is defined.
    type: str
  src:
    description: Files and folders with NodeRotations and FleetMaintenances; those in the records count too.
    type: list
    elements: path
  driver:
    description:
      - How nodes are replaced. V(local) makes another simulated node and deletes the old one. V(karpenter) deletes the
        NodeClaim, and leaves draining and replacing to Karpenter. V(command) calls O(command) once a node is empty.
      - Without it simulated nodes are V(local) ones, and nodes with a NodeClaim V(karpenter) ones.
    type: str
    choices: [local, karpenter, command]
  command:
    description:
      - A command that deletes the machine of a node, as a list of arguments, without a shell. C({member}),
        C({node}), C({operation}) and C({provider_id}) are replaced, and stand in its environment as
        C(GITOPS_FLEET_NODE) and so on.
      - It may be called again for the same node. The Node is deleted when it has ended with 0.
    type: list
    elements: str
    default: []
  command_timeout:
    description: Seconds that the command may take.
    type: int
    default: 1800
  environment:
    description: Names of variables that the command gets besides the usual ones.
    type: list
    elements: str
    default: []
  snapshot:
    description: File to plan from in check mode, as M(gitops.fleet.node_disruption_budget_info) writes it.
    type: path
  only_waiting:
    description:
      - Only what a schedule such as the playbook C(gitops.fleet.tick) carries on. That is a rotation which has begun
        and not ended, and one by age alone, which begins again as nodes grow old. Any other one stays as it is.
    type: bool
    default: false
  again:
    description:
      - Whether a rotation without C(spec.due) that has ended begins anew with all of its nodes, those that have come
        since it began first, too.
    type: bool
    default: false
  time_limit:
    description: Seconds after which nothing is begun any more, and the verb ends; nodes in flight go on next time.
    type: int
  max_idle:
    description:
      - Seconds to stay while nothing is in flight and nothing can begin. Nodes that all bear
        C(karpenter.sh/do-not-disrupt) themselves are not waited for, which only people take away.
    type: int
    default: 120
  interval:
    description: Seconds after which members are read again.
    type: int
    default: 2
  force:
    description: Delete the record of a rotation although nodes are in flight; they stay cordoned.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Replace nodes that are too old, within their budgets
  gitops.fleet.node_rotation:
    src: [fleet/rotations]
    name: blue
    time_limit: 3600
"""

RETURN = r"""
name:
  description: Name of the rotation.
  returned: success
  type: str
nodes:
  description:
    - A row for each node with C(name) (C(member/node)), C(phase), C(begins), C(due), C(replacement), C(attempts),
      C(origin) (V(manual), or V(external) where somebody else removed it), C(code), C(text) (of a node that was
      replaced what it had, and what the new one has) and C(blockers), with C(until) where it is known when a budget or
      a window opens.
  returned: state is not absent
  type: list
  elements: dict
counts:
  description: How many nodes are in each phase.
  returned: state is not absent
  type: dict
halted:
  description: Why no more nodes are begun.
  returned: state is not absent
  type: str
young:
  description: How many nodes stay because they came after the rotation began first; see O(again).
  returned: state is not absent
  type: int
origin:
  description: Who began the rotation.
  returned: state is not absent
  type: str
waits:
  description: Who waits for what, line by line.
  returned: state is not absent
  type: list
  elements: str
resume_at:
  description: When time alone can change something.
  returned: state is not absent
  type: str
notes:
  description: What is worth a word about the manifests.
  returned: state is not absent
  type: list
  elements: dict
table:
  description: The same as text, line by line.
  returned: state is not absent
  type: list
  elements: str
"""
