#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_report
short_description: A report of the fleet as a page to look at, as Markdown and as JSON
version_added: 0.1.0
description:
  - Writes what is known of clusters, placements, update runs, disruption budgets and drift as C(report.html), one page
    that needs no server and no network, as C(report.md) and as C(report.json).
  - Everything comes from the records, or from a facts snapshot and manifests alone. Asks no member, and writes no
    record.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  dest:
    description: Folder that the three files are written to. In check mode none is written.
    type: path
    default: report
  title:
    description: What stands above the report.
    type: str
    default: Fleet
  src:
    description:
      - Files and folders with manifests of placements that are not recorded. Without them the report is of the recorded
        placements.
    type: list
    elements: path
  resources:
    description:
      - Files and folders with the manifests that O(src) places. With them the report tells also what an apply would do,
        in which waves, and which brakes would stop it.
    type: list
    elements: path
  facts:
    description: Facts snapshot to judge by; the recorded facts if absent.
    type: path
  pools:
    description:
      - Files and folders with the manifests of Karpenter's NodePools, for the calendar of disruptions. Those among
        O(resources) are in it too.
      - Of a pool that no cluster is known to have 100 nodes are assumed.
    type: list
    elements: path
    default: []
  what_if:
    description: A fleet to suppose, as O(gitops.fleet.placement_info#module:what_if) takes it.
    type: dict
  since:
    description: C(report.json) of an earlier report, to tell what has changed since.
    type: path
  drift:
    description:
      - File that a look for drift has written, which is the O(gitops.fleet.placement#module:result_file) of a task in
        check mode, as C(gitops.fleet.drift) makes it. With it the report shows what was found, and as of when.
      - Without it the report has what applies have recorded, and says that nobody has looked since.
    type: path
  forecast:
    description: Forecast how update runs that are not over go on, which takes some seconds for a thousand members.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Report on the fleet as it is recorded
  gitops.fleet.fleet_report:
    dest: public
    title: Production
    pools: [fleet/pools]

- name: Report on a change in a pull request, without any cluster
  gitops.fleet.fleet_report:
    src: [fleet/placements]
    resources: [fleet/resources]
    facts: fleet/facts.json
"""

RETURN = r"""
files:
  description: Paths of the files that were written, by C(html), C(md) and C(json); empty in check mode.
  returned: success
  type: dict
summary:
  description:
    - How many C(clusters) there are and how many of them are C(not ready), how many C(placements), on how many clusters
      placements would be C(gained) and C(lost), how many objects have C(drifted), how many C(runs) (update runs, staged
      runs and rotations) are not over.
      C(drifted) is null where nothing is known to have drifted and not all was looked at.
  returned: success
  type: dict
changes:
  description:
    - With O(since), what has changed, each with C(what) (cluster, placement, run, staged run, rotation, drift), C(name)
      and C(text).
  returned: success
  type: list
  elements: dict
notes:
  description: What is to be told of facts, records and manifests.
  returned: success
  type: list
  elements: str
table:
  description: The summary, line by line.
  returned: success
  type: list
  elements: str
"""
