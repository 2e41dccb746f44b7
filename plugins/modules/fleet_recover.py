#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_recover
short_description: Rebuild the records of placements from the members
version_added: 0.1.0
description:
  - Reads what each member says of the placements that it holds, and writes placements, snapshots and bindings into
    records that were lost. The next plan is then empty.
  - It works in any order, also after an apply with new records that was refused with C(foreign-applyset).
  - Members are joined again first; manifests of placements and resources come from files or from the hub.
  - The marks on the members are updated to the new records; the placed objects themselves are not touched.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  src:
    description: Files and folders with manifests of placements; those on the hub if absent.
    type: list
    elements: path
  resources:
    description: Files and folders with the resources; those on the hub if absent.
    type: list
    elements: path
  former:
    description:
      - UIDs that placements had in records of this fleet which are given up, as C(foreign-applyset) and C(mixed-fleets)
        tell them. Needed only where these records have been applied to some members already, and to others those.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Rebuild the records after their disk was lost
  gitops.fleet.fleet_recover:
    src: [fleet/placements]
    resources: [fleet/resources]

- name: Go on with new records on the hub, of which some members know already
  gitops.fleet.fleet_recover:
    records: {type: hub, context: hub}
    src: [fleet/placements]
    resources: [fleet/resources]
    former: [4f0b8a1e-8c25-4b29-9d0e-0d6f4d0a7b11]
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
recovered:
  description: Placements whose records were rebuilt, with the clusters that hold them.
  returned: success
  type: dict
unknown:
  description: Placements that members hold and that no manifest describes; they are left alone.
  returned: success
  type: dict
"""
