#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: placement_info
short_description: Status of placements, and why a cluster has one or has it not
version_added: 0.1.0
description:
  - Returns what the records hold of placements. With O(explain) it also decides anew on the facts given, or on those
    recorded, and says for each named cluster all that is against it, in the order in which KubeFleet judges.
  - Asks no member.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  name:
    description: Name of the placement; all placements if absent.
    type: str
  definition:
    description: Manifest of a placement that is not recorded; for O(explain).
    type: dict
  src:
    description: Files and folders with manifests of placements that are not recorded; for O(explain).
    type: list
    elements: path
  explain:
    description: Clusters to explain.
    type: list
    elements: str
    default: []
  facts:
    description: Facts snapshot to decide on; the recorded facts if absent.
    type: path
"""

EXAMPLES = r"""
- name: Ask why a cluster was left out
  gitops.fleet.placement_info:
    name: web
    explain: [prod-eu-3]
  register: why

- name: Show it
  ansible.builtin.debug:
    var: why.explanations
"""

RETURN = r"""
placements:
  description: The recorded placements with their status.
  returned: success
  type: list
  elements: dict
table:
  description: The answers, or without O(explain) the state of placements and of each cluster, line by line.
  returned: success
  type: list
  elements: str
bindings:
  description: The recorded bindings of these placements.
  returned: success
  type: list
  elements: dict
explanations:
  description:
    - The answer and the data behind it for each cluster in O(explain). C(blockers) are all rules that refuse the
      cluster, C(refusal) is the first of them, which alone KubeFleet says.
  returned: success
  type: list
  elements: dict
"""
