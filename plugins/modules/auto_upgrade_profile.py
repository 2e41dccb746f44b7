#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: auto_upgrade_profile
short_description: Make update runs of what is new, by the channel of a profile
version_added: 0.1.0
description:
  - Records C(AutoUpgradeProfile) objects, and evaluates them against the recorded release catalogues and against
    members as they were read last. A run is made where members are behind what the channel comes to, once for each
    goal; nothing else makes a run by itself, and nothing evaluates a profile but this verb.
  - Tells why no run is due, which members no automatic run moves and by which runs they would come level, and which
    other runs have the same members. Two runs never work on one member at a time, the later one waits.
  - A profile whose run cannot be made or started keeps no other from its run, and the task fails (C(partial)) with why;
    not for what passes by itself, such as a release that is in no catalogue yet.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  state:
    description:
      - V(present) records the profiles in O(src) and O(definition), and evaluates nothing.
      - V(evaluated) does so, and makes and starts the run of each profile that is due; C(update_run) with
        C(state=conducted) carries it on. Disabled profiles make none.
      - V(generated) makes the run without starting it, for review, of disabled profiles too; one that is there already
        stays as it is.
      - V(absent) deletes the profiles O(names); runs that they made stay.
    type: str
    choices: [present, evaluated, generated, absent]
    default: present
  names:
    description:
      - Only these profiles; all of them without it, but with O(state=absent). An empty list is refused, as of a
        variable that lost its content.
    type: list
    elements: str
  src:
    description:
      - Files and folders with manifests of C(AutoUpgradeProfile), and of the C(UpdateStrategy), C(ReleaseCatalog) and
        C(FleetMaintenance) that they go by. All are recorded.
    type: list
    elements: path
    default: []
"""

EXAMPLES = r"""
- name: What would be made, and why
  gitops.fleet.auto_upgrade_profile:
    state: evaluated
    src: [fleet/updates]
  check_mode: true
  register: profiles_planned

- name: Make and start what is due
  gitops.fleet.auto_upgrade_profile:
    state: evaluated
    src: [fleet/updates]
"""

RETURN = r"""
profiles:
  description:
    - For each profile C(name); C(type), C(target) and C(images) that its channel comes to; C(run), which is there for
      it or would be; C(made) and C(started), whether that was done now; members that are C(behind); C(reasons), each
      with C(code), C(message) and C(member), why there is no run or why a member is not moved; C(levelling), runs by
      hand that would bring members near enough; C(notes).
  returned: state is evaluated or generated
  type: list
  elements: dict
notes:
  description: What is worth a word about the manifests that are given.
  returned: state is not absent
  type: list
  elements: dict
table:
  description: The same as lines of text.
  returned: state is evaluated or generated
  type: list
  elements: str
"""
