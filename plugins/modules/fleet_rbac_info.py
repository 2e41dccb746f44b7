#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_rbac_info
short_description: The smallest set of rights on a member, as manifests
version_added: 0.1.0
description:
  - Returns roles and bindings that are enough to read facts and to plan in check mode, or to apply the given kinds.
  - Both may read namespaces, by which a cluster is told from all others (C(kube-system)), and whoever writes may take
    the Lease on the member.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
options:
  purpose:
    description:
      - V(read) for facts, plans and check mode; V(apply) for carrying plans out. An update run needs V(apply) without
        any O(kinds), and V(nodes) where it upgrades node pools. V(nodes) for rotations and other disruptions of nodes.
      - The others are rights on the hub, by the part that somebody has in update runs. V(hub_reader) sees how far they
        are and forecasts, V(hub_approver) approves gates and nothing else, V(hub_conductor) makes runs and carries them
        on, V(hub_scheduler) besides evaluates profiles, as the playbook C(tick) does with C(read_members=false).
      - V(hub_staged_approver) reads placements with their records and staged update runs, and approves these.
      - V(hub_maintainer) records and deletes windows and freezes (M(gitops.fleet.maintenance)), and begins nothing.
      - V(jobs) is for the cluster in which roles of update runs run as Jobs, in the namespace C(gitops-fleet-jobs).
    type: str
    choices:
      - read
      - apply
      - nodes
      - jobs
      - hub_reader
      - hub_approver
      - hub_staged_approver
      - hub_maintainer
      - hub_conductor
      - hub_scheduler
    default: read
  subject:
    description: Who gets the rights.
    type: dict
    required: true
    suboptions:
      kind:
        description: Kind of the subject.
        type: str
        choices: [User, Group, ServiceAccount]
        default: User
      name:
        description: Name of the subject.
        type: str
        required: true
      namespace:
        description: Namespace of a ServiceAccount.
        type: str
  resources:
    description:
      - Files and folders with the resources that are placed; their kinds are added to O(kinds). Plural and scope of a
        kind that is not Kubernetes' own are read from its definition, if that is among them.
    type: list
    elements: path
    default: []
  dest:
    description: File to write the manifests to, as YAML for C(kubectl apply -f). Without it they are printed.
    type: path
  kinds:
    description: Kinds that are placed.
    type: list
    elements: dict
    default: []
    suboptions:
      api_version:
        description: API version, such as V(apps/v1).
        type: str
        required: true
      kind:
        description: Kind.
        type: str
        required: true
      plural:
        description: Plural name; only for kinds that are not Kubernetes' own.
        type: str
      namespaced:
        description: Whether such objects live in namespaces; only for kinds that are not Kubernetes' own.
        type: bool
        default: true
"""

EXAMPLES = r"""
- name: Rights for plans in pull requests
  gitops.fleet.fleet_rbac_info:
    subject:
      name: fleet-planner
    resources: [fleet/resources]
    dest: rights.yml
  register: rights
"""

RETURN = r"""
yaml:
  description: The same manifests as YAML.
  returned: success
  type: str
manifests:
  description: Roles and bindings, to be applied on each member, or on the hub, by its owner.
  returned: success
  type: list
  elements: dict
"""
