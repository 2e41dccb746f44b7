#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_history_info
short_description: Who did what in the fleet, when and why
version_added: 0.1.0
description:
  - Tells from the records who did what, when, why, from which Git revision and under which approved digest. Every verb
    that changes something writes an AuditEntry before it begins and one when it has ended.
  - Approvals, starts of runs and snapshots of which there is no entry are told by what is recorded of them.
  - Asks no member, and writes no record.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  since:
    description: From when on, as an instant (RFC 3339), a day of UTC, or a span before now such as V(30d) or V(12h).
    type: str
  until:
    description: Until when, in the same forms.
    type: str
  object:
    description:
      - What it was done to, as a kind, a name or both, such as V(UpdateRun/1-31). What lies in a namespace is called
        V(namespace/name).
    type: str
  member:
    description: Name of a member that it was done on.
    type: str
  by:
    description: Who did it, as it is told.
    type: str
  what:
    description:
      - What was done, such as V(Applied) or V(GateApproved). V(Approved) stands for the approvals of all kinds of runs.
      - A word that no act has is refused, with those that are known.
    type: str
  journal:
    description:
      - Tell the lines of the journal of these objects, too, and on a hub what the controllers of KubeFleet wrote of
        placements, with today's reasons. A hub forgets them after an hour, unless its API server is told otherwise.
    type: bool
    default: false
  dest:
    description:
      - File to write it to, whose suffix says as what, C(.csv), C(.json) or C(.md). It is written whole or not at all,
        and not in check mode.
      - In C(.csv) an apostrophe stands before what a spreadsheet would take for a formula.
    type: path
"""

EXAMPLES = r"""
- name: Who did what in the last month
  gitops.fleet.fleet_history_info:
    since: 30d

- name: Evidence of one update run, for an auditor
  gitops.fleet.fleet_history_info:
    object: UpdateRun/1-31
    journal: true
    dest: evidence/1-31.csv
"""

RETURN = r"""
entries:
  description:
    - What was done, the newest last. Each has C(at), C(ended), C(by), C(holder), C(action), C(kind), C(object),
      C(members), C(member_count), C(versions), C(digest), C(approved_digest), C(reason), C(revision), C(outcome),
      C(message), C(source) and C(entry), the name of the AuditEntry.
    - "C(versions) has, of an upgrade, a text for each member with the version before and after it, and the images that
      its nodes had then, such as C(east-1: 1.35.4 -> 1.36.3, images Ubuntu-12)."
    - C(source) is C(entry), C(record) for what another record tells, or C(journal).
    - C(outcome) is C(done), C(waiting), C(partial) or C(failed), C(does not count) for an approval that was found so
      later, C(going on) or C(not ended...) for what has no end.
  returned: success
  type: list
  elements: dict
problems:
  description: What is wrong with records that are left out, and which could not be read.
  returned: success
  type: list
  elements: dict
file:
  description: The file that was written, empty if none was.
  returned: success
  type: str
table:
  description: The same for people, line by line.
  returned: success
  type: list
  elements: str
"""
