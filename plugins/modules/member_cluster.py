#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: member_cluster
short_description: Join clusters to the fleet, change them, let them go
version_added: 0.1.0
description:
  - Records a C(MemberCluster) and a C(FleetMember) for each cluster. Nothing is installed on it.
  - A new member, one with a new connection and one that is C(rebuilt) are reached once before anything is recorded. If
    one cannot be reached, none is recorded.
  - The UID of the cluster's namespace C(kube-system) is recorded, and compared whenever the member is used. A cluster
    that is a member under another name is refused, however it is reached.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  state:
    description:
      - Whether the clusters are members. V(absent) needs their names in O(members); those that are no members are
        passed over.
    type: str
    choices: [present, absent]
    default: present
  members:
    description: The clusters.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the member, at most 63 lower-case letters, digits, C(-) and C(.).
        type: str
        required: true
      kubeconfig:
        description: Kubeconfig file; O(kubeconfig) if only a context is given.
        type: path
      context:
        description: Context in that file.
        type: str
      secret_ref:
        description: Secret on the hub that holds a kubeconfig.
        type: dict
        suboptions:
          name:
            description: Name of the Secret.
            type: str
            required: true
          namespace:
            description: Namespace of the Secret.
            type: str
            required: true
          key:
            description: Key of the kubeconfig in the Secret, C(kubeconfig) by default.
            type: str
      in_cluster:
        description: Use the service account of the pod that runs this.
        type: bool
        default: false
      labels:
        description:
          - Labels of the member, exactly these, beside what its nodes tell of their cloud when it joins.
          - For AWS, Google and Azure that is C(gitops.fleet/provider), C(topology.kubernetes.io/region), where all
            nodes are in one C(topology.kubernetes.io/zone), for Google C(gitops.fleet/account), and for Azure
            C(fleet.azure.com/location), C(fleet.azure.com/resource-group) and C(fleet.azure.com/subscription-id).
            Those that are given stand above them. One of these that was given or told stays when it is given no more,
            until the cluster is O(members[].rebuilt); give it another value.
        type: dict
      taints:
        description:
          - Taints of the member, exactly these; whether it is evacuated (C(gitops.fleet/evacuated)) stays as it is, see
            O(gitops.fleet.placement#module:evacuate).
        type: list
        elements: dict
      group:
        description: Update group of the member.
        type: str
      provider:
        description: Platform that it runs on, as the C(ReleaseCatalog) names it.
        type: str
      location:
        description: Where it runs.
        type: str
      driver:
        description: How the cluster itself is upgraded.
        type: str
        choices: [local, cluster_api, command, role]
      maintenance:
        description: Name of its C(FleetMaintenance).
        type: str
      rebuilt:
        description:
          - Accept another cluster under this name than the one that joined, because it was built anew. Without this a
            member with another cluster is refused (C(other-cluster)), here and by every other verb.
        type: bool
        default: false
  kubeconfig:
    description: Kubeconfig file for O(context_pattern), and for members that name only a context.
    type: path
  context_pattern:
    description:
      - Join every context of O(kubeconfig) that matches this shell pattern, under the context's name. The names are
        told before anything is done.
    type: str
  labels:
    description: Labels of members that give none of their own.
    type: dict
  taints:
    description: Taints of members that give none of their own.
    type: list
    elements: dict
  group:
    description: Update group of members that give none of their own.
    type: str
  provider:
    description: Platform of members that give none of their own, as the C(ReleaseCatalog) names it.
    type: str
  location:
    description: Where members run that do not say it themselves.
    type: str
  driver:
    description: How clusters are upgraded whose members give no driver of their own; update runs need one.
    type: str
    choices: [local, cluster_api, command, role]
  maintenance:
    description: Name of the C(FleetMaintenance) of members that give none of their own.
    type: str
  placed:
    description:
      - What happens to resources that placements put on a member that leaves.
      - V(keep) leaves them there without our marks. V(remove) deletes them, under O(max_removals).
    type: str
    choices: [keep, remove]
    default: keep
  max_removals:
    description:
      - Most clusters that may lose a placement, a number or a percentage, but one at least; for O(placed=remove).
    type: str
    default: "30%"
  prune_kinds:
    description: Kinds that are deleted with O(placed=remove) although they may hold more than was placed.
    type: list
    elements: str
    choices: [Namespace, CustomResourceDefinition]
    default: []
  removal_timeout:
    description:
      - Seconds to wait until what was deleted with O(placed=remove) is really gone; finalizers may keep it.
      - A member on which something is not gone by then stays a member, and the outcome is C(partial).
    type: int
    default: 60
  forget_unreachable:
    description:
      - Let members go that cannot be reached, or whose connection leads to another cluster than the one that joined.
        What is on them stays.
    type: bool
    default: false
  reason:
    description: Why members join, change or leave, in words that the history keeps (C(AuditEntry)).
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Join every production cluster of a kubeconfig
  gitops.fleet.member_cluster:
    kubeconfig: ~/.kube/config
    context_pattern: prod-*
    driver: command
    labels:
      env: prod

- name: Let one go; what was placed there stays
  gitops.fleet.member_cluster:
    state: absent
    members:
      - name: prod-eu-3
"""

RETURN = r"""
connection_notes:
  description:
    - What is to be told of the connections that were used, by member (by context for a hub), such as that the
      certificate is not checked (C(insecure-skip-tls-verify) in its kubeconfig). They are warnings of the task too.
  returned: there are any
  type: dict
  sample:
    m1: ["its certificate is not checked: anybody on the way can pose as it (insecure-skip-tls-verify)"]
joined:
  description: Names of new members.
  returned: state is present
  type: list
  elements: str
updated:
  description: Names of members that were changed.
  returned: state is present
  type: list
  elements: str
unchanged:
  description: Names of members that are as they should be.
  returned: state is present
  type: list
  elements: str
without_driver:
  description: Those of all these members that have no driver, which update runs need.
  returned: state is present
  type: list
  elements: str
versions:
  description: Kubernetes versions by member, of those that were reached.
  returned: state is present
  type: dict
left:
  description: Names of members that left.
  returned: state is absent
  type: list
  elements: str
unasked:
  description: Those of them that were let go without being asked, by O(forget_unreachable).
  returned: state is absent
  type: list
  elements: str
doubles:
  description: Those of them that were only forgotten, because their cluster is a member under another name.
  returned: state is absent
  type: list
  elements: str
others:
  description: By member, placements of other records that were left alone there.
  returned: state is absent
  type: dict
members:
  description: What was done, or would be done, to what was placed, by member and placement.
  returned: state is absent
  type: dict
problems:
  description: Why members stay.
  returned: state is absent
  type: list
  elements: dict
"""
