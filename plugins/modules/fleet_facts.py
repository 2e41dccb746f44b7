#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_facts
short_description: Read the facts of all members at once
version_added: 0.1.0
description:
  - Reads version, health, nodes and resources of every member, in parallel in one process, records them, and writes
    them to a snapshot file that makes planning possible without any cluster.
  - The snapshot also carries what the fleet holds, as the records have it (specs and policies of placements, bindings,
    names and hashes of objects, but nothing of their content), so that a plan made from it alone is the plan that the
    records give.
  - A member that cannot be read keeps its older facts and is named; it does not fail the task unless no member at all
    can be read. The same holds for nodes and for pods of a member whose version and health can be read.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  dest:
    description: File to write the snapshot to.
    type: path
  record:
    description: Write what was read into the status of members in the records.
    type: bool
    default: true
  pods:
    description: Read pods too, which the C(available) resources need.
    type: bool
    default: true
  prices:
    description:
      - JSON files with the price of each instance type in US dollars an hour, as one object of numbers by type. The
        last one that has a type counts.
      - With C(source), C(version) and C(prices) at its top level a file says where it comes from, and so do the facts.
      - V(aws), V(azure) and V(gce) are short lists of common types that come with the collection, C(playbooks/prices);
        each says of which region and which day it is. Give a list of your own for other types, regions and discounts.
    type: list
    elements: path
    default: []
  threads:
    description: Members that are read at the same time, by each of the O(workers).
    type: int
    default: 32
  maintenance_commands:
    description:
      - How maintenance windows are read that live on the clusters, by the C(provider) of the C(FleetMember). Each is a
        list of arguments, run without a shell, with V({member}), V({location}) and V({group}) in it, that prints them
        as JSON, such as C(az aks maintenanceconfiguration list).
      - Other members bear them in the annotation C(gitops.fleet/maintenance) of their namespace C(kube-system), or have
        none. Both hold windows and freezes as in the C(spec) of a C(FleetMaintenance), or what C(az) prints.
      - What cannot be read is a problem of the member, and its windows stay as they were read before.
    type: dict
    default: {}
  workers:
    description:
      - Processes that share out the members. One is enough for hundreds of members; more than there are processors gain
        nothing. A process more has the memory that one has, once more.
      - Members of one whose process is lost (code V(worker-lost)), or gets no thread (V(no-workers)), are told as
        unread; nobody asked them, and what is recorded of their health stays.
    type: int
    default: 1
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
  return_snapshot:
    description: Return the snapshot too.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Capture the facts for plans in pull requests
  gitops.fleet.fleet_facts:
    dest: fleet/facts.json
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
read:
  description: Names of members that were read.
  returned: success
  type: list
  elements: str
unread:
  description: Members that could not be read, each with code and message.
  returned: success
  type: dict
together:
  description:
    - Groups of members that do not answer and have one value of a label in common, which no member has that answers; so
      a region that is out of reach is told in one line (C(sentence)). Nothing is removed for that.
  returned: success
  type: list
  elements: dict
problems:
  description:
    - Every member, and every part of one (its nodes, its pods), that could not be read, each with C(code), C(message),
      C(where) and C(hint). Of these the facts that were read before still stand.
  returned: success
  type: list
  elements: dict
notes:
  description:
    - Members whose cluster cannot be told from others because the account may not read their namespace C(kube-system),
      and clusters that are members under two names. Verbs that write refuse both.
    - Why the snapshot does not say what the fleet holds, if the records could not be read wholly.
  returned: success
  type: list
  elements: dict
digest:
  description: Hash of the snapshot, by which plans name their facts.
  returned: success
  type: str
costs:
  description:
    - What is known of each member's costs, as a list with C(property), C(value), C(unit) (V(core) or V(GiB)),
      C(currency), C(period), C(source) and C(version). Empty if a node of the member has no price.
  returned: success
  type: dict
table:
  description: The facts as text, line by line.
  returned: success
  type: list
  elements: str
snapshot:
  description: The snapshot, if O(return_snapshot) is set.
  returned: success
  type: dict
"""
