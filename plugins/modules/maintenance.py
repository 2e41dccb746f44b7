#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: maintenance
short_description: Record when clusters may be touched, and nothing else
version_added: 0.1.0
description:
  - Records and deletes C(FleetMaintenance) objects. No update run or rotation is begun or carried on by that, and no
    cluster is asked; whoever carries one on goes by the new windows and freezes within 15 seconds.
  - Tells which windows, freezes and budgets come, go or change, and for which clusters an opening of the next 30 days
    moves. In check mode it tells that beforehand.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  state:
    description: V(present) records what is given, V(absent) deletes the FleetMaintenances O(names).
    type: str
    choices: [present, absent]
    default: present
  names:
    description:
      - FleetMaintenances that are deleted with O(state=absent); those that are not there are passed over. A cluster
        that names one of them is not upgraded until it names another one, or none.
    type: list
    elements: str
    default: []
  src:
    description:
      - Files and folders with manifests of C(FleetMaintenance); other kinds are passed over. All problems of all files
        are told at once, and nothing is recorded then.
    type: list
    elements: path
    default: []
  reason:
    description: Why this is done, in words that the history keeps (C(AuditEntry)).
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: See what a freeze that moves would change
  gitops.fleet.maintenance:
    src: [fleet/freezes]
  check_mode: true

- name: Record it
  gitops.fleet.maintenance:
    src: [fleet/freezes]

- name: The sales week is over
  gitops.fleet.maintenance:
    state: absent
    names: [sales]
"""

RETURN = r"""
changes:
  description:
    - Each FleetMaintenance that is other now, or would be, by C(name); C(change) is C(comes), C(goes) or C(changes).
    - Its C(parts) are windows, freezes and budgets, each with C(what) it is, C(change), and C(words).
  returned: success
  type: list
  elements: dict
moved:
  description: Names of the clusters of which an opening of the next 30 days moves, or that nothing begins on any more.
  returned: success
  type: list
  elements: str
notes:
  description: What is worth a word about the manifests, and about what was recorded.
  returned: success
  type: list
  elements: dict
table:
  description: The same as text, line by line.
  returned: success
  type: list
  elements: str
"""
