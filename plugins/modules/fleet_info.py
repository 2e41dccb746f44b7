#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_info
short_description: What the records hold of the fleet, and its state in one view
version_added: 0.1.0
description:
  - Returns members, placements and leases as they are recorded. Asks no member.
  - Says how the fleet stands, clusters that ask for attention first, and as of when that is known.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  drift:
    description:
      - File that a look for drift has written, which is the O(gitops.fleet.placement#module:result_file) of a task in
        check mode, as C(gitops.fleet.drift) makes it. With it the view shows what was found, and as of when.
      - Without it the view has what applies have recorded, and says that nobody has looked since.
    type: path
  write_copy:
    description:
      - File to write a copy of the records to, for jobs without a login to the hub, those of pull requests for example.
      - Given as O(records=dict(path='fleet.db')) it serves every verb that only reads, and the others in check mode.
        These say what it is a copy of, and how old it is; whoever would record something is refused (C(records-copy)).
      - It has all objects and leases, without the journal, the key of the digests of Secrets and the login of the hub.
        Only this user may read it. An earlier copy is written over, and nothing else is.
    type: path
"""

EXAMPLES = r"""
- name: Read the records
  gitops.fleet.fleet_info:
  register: fleet_records

- name: Say how the fleet stands, with what a look for drift has found
  gitops.fleet.fleet_info:
    drift: drift.json

- name: Copy the records of a hub, for jobs that cannot reach it
  gitops.fleet.fleet_info:
    records:
      type: hub
    write_copy: fleet.db
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
overview:
  description:
    - One row for each cluster, what asks for attention first, with C(name), C(group), C(state) and C(why),
      C(heartbeat), and its C(age) in seconds.
    - C(version) is that of the API server, C(kubelets) have the C(oldest) and the C(newest) version as node pools tell
      them, how many minors the oldest is C(behind) and the newest C(ahead) of that server, and whether the oldest is
      C(tooOld); C(images) are nodes by image, as far
      as pools tell it; C(imagesUncounted) are the nodes of which no image is known. A pool that was read by a version
      before images were counted, or by a driver that does not count them, has the oldest for all of its nodes.
    - C(certificate) is the one that ends next, with C(which) (C(server) or C(client)), C(ends) and C(days); null where
      none is known.
    - C(placements) tell how many it has (C(held)), and what fails there (C(failing)), by name; C(late) are those
      that were not available yet when they were last seen. C(names) are all that it has, C(leaving) those that are no
      longer placed there, with what takes them away.
    - C(drift) has C(objects) that drifted, and as of when (C(seen)); C(objects) is null where nobody looked, and
      C(words) say since when. Then C(evacuated), and C(runs) in flight.
    - C(concerns) name what asks for attention, C(silent), C(not-reached), C(not-ready), C(seen-since) (an update run
      has upgraded it, or does not reach it, after it was read), C(certificate-ended), C(placement-fails),
      C(certificate-ends) (within 30 days), C(kubelet-too-new), C(kubelet-too-old), C(drifted),
      C(placement-late), C(never-read),
      C(evacuated) or C(leaving).
  returned: success
  type: list
  elements: dict
drift:
  description: The same of drift in the whole fleet, as C(drift) of a row.
  returned: success
  type: dict
drifted:
  description:
    - What is not as it was placed, a row for each field, with C(placement), C(cluster), C(object), C(path), C(live) and
      C(placed); C(looked) tells whether a look has found it, else an apply, and C(seen) when. Without a C(path) the
      object is missing, or no field is named.
  returned: success
  type: list
  elements: dict
runs:
  description:
    - The runs that failed or wait, each with C(kind) (C(update run), C(staged run) or C(rotation)) and C(name).
    - C(needs) is C(failed), C(stuck), or what it waits for, C(approval), C(unreachable) (members that it does not
      reach, within the time that it gives them), C(window), C(nodes) (that may go; a rotation does not record whether a
      window, a budget or something else holds them back) or C(pause) (after a stage or a wave); C(approved) is one that
      only has to be carried on, C(conductor) one that has something in flight, and nobody seems to conduct it (C(since)
      tells since when), C(blocked) a rotation all of whose waiting nodes are held back by something of their own in an
      open window, such as a pod or its PodDisruptionBudget.
  returned: success
  type: list
  elements: dict
notes:
  description: Records that could not be read, and are not counted; and that a look for drift went by other records.
  returned: success
  type: list
  elements: str
table:
  description: The state of the fleet as text, line by line; of a large fleet others are counted by group.
  returned: success
  type: list
  elements: str
copy:
  description: File that O(write_copy) was written to; empty without it and in check mode.
  returned: success
  type: str
place:
  description: Where the records are.
  returned: success
  type: str
"""
