#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: maintenance_info
short_description: When clusters may be touched
version_added: 0.1.0
description:
  - Tells for each cluster whether an upgrade and the disruption of nodes may begin on it now, which window, freeze or
    upgrade in flight says so, when that changes, and all openings of the coming days. No update run is needed, and no
    cluster is asked.
  - Goes by what update runs go by. Windows that live on a cluster are those that were read last.
  - Windows and freezes hold for upgrades and rotations. Placements know neither; they leave evacuated clusters.
    M(gitops.fleet.node_disruption), by hand, asks for neither.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  names:
    description: Clusters that are told of; all if empty.
    type: list
    elements: str
    default: []
  days:
    description: How many days it is looked ahead, 1 to 366.
    type: int
    default: 30
  src:
    description:
      - Files and folders with FleetMaintenances that are supposed to stand for the recorded ones of the same names.
        What is other then is told beside what is recorded. Nothing is written; M(gitops.fleet.maintenance) makes it so.
    type: list
    elements: path
    default: []
  snapshot:
    description:
      - File with nodes, as O(gitops.fleet.node_disruption_budget_info#module:dest) writes it, of whose pools the
        budgets are told too.
    type: path
  write_calendar:
    description: File that gets openings, freezes and what these close as iCalendar (C(.ics)), whole or not at all.
    type: path
"""

EXAMPLES = r"""
- name: See when two clusters may be touched
  gitops.fleet.maintenance_info:
    names: [prod-eu-2, prod-eu-3]

- name: See what a freeze that moves would change, for all clusters
  gitops.fleet.maintenance_info:
    src: [freezes]
    days: 14
"""

RETURN = r"""
clusters:
  description:
    - Each cluster by C(name), with C(upgrade) and C(nodes), each with C(open), C(state) (C(open); C(closed); C(held) by
      an upgrade in flight; C(unknown), where what is recorded does not tell), C(why), C(next) (null if none is known in
      13 months) and C(openings), each with C(start), C(end) (null if nothing is known to end it), C(local_start) and
      C(local_end) by the clock of its windows, C(time_zone).
    - C(closed) is what freezes close of openings in these days, or until the next opening, in the same form, each with
      the C(freeze) and whether it takes the C(whole) opening.
    - C(placements) says in C(open) whether placements may come, C(operation) is the upgrade in flight, C(read) when the
      cluster was read last.
  returned: success
  type: list
  elements: dict
before:
  description: With O(src), the same clusters by what is recorded.
  returned: success
  type: list
  elements: dict
pools:
  description: With O(snapshot), its pools, as M(gitops.fleet.node_disruption_budget_info) returns them.
  returned: success
  type: list
  elements: dict
table:
  description: The same as text, line by line.
  returned: success
  type: list
  elements: str
"""
