#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_info
short_description: What the records hold of the fleet
version_added: 0.1.0
description:
  - Returns members, placements and leases as they are recorded. Asks no member.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
"""

EXAMPLES = r"""
- name: Read the records
  gitops.fleet.fleet_info:
  register: fleet_records
"""

RETURN = r"""
members:
  description: The C(FleetMember) objects.
  returned: success
  type: list
  elements: dict
clusters:
  description: The C(MemberCluster) objects.
  returned: success
  type: list
  elements: dict
evacuated:
  description: Names of the clusters that are evacuated, see O(gitops.fleet.placement#module:evacuate).
  returned: success
  type: list
  elements: str
placements:
  description: The C(ClusterResourcePlacement) objects.
  returned: success
  type: list
  elements: dict
leases:
  description: Who may write what, with epoch.
  returned: success
  type: list
  elements: dict
place:
  description: Where the records are.
  returned: success
  type: str
"""
