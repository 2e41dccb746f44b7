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
    recorded, and says for each named cluster all that is against it, in the order in which KubeFleet judges. With
    O(what_if) it decides twice, on the fleet as it is and on one that is supposed, and says what would move and why.
  - Asks no member.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  name:
    description: Name of the placement (of a C(ResourcePlacement) C(namespace/name)); all placements if absent.
    type: str
  definition:
    description:
      - Manifest of a placement, which counts before what is recorded of it; for O(explain) and O(what_if), which then
        are about it, whatever O(name) says.
    type: dict
  src:
    description:
      - Files and folders with manifests of placements, which count before what is recorded of them; for O(explain) and
        O(what_if), which then are about these alone.
    type: list
    elements: path
  explain:
    description: Clusters to explain; V(*) stands for all of them.
    type: list
    elements: str
    default: []
  what_if:
    description:
      - A fleet to suppose, in which the placement (all placements without O(name)) is decided again. Nothing is
        written, and no member is asked.
      - Everything that is given is supposed at once. What is not known is refused, with its path.
      - The policy, unless O(src) or O(definition) has it, and what holds the placement now are those of the records, or
        of the facts snapshot where no member is recorded.
    type: dict
    suboptions:
      gone:
        description: Clusters that have left the fleet.
        type: list
        elements: str
      new:
        description:
          - Clusters that have joined it and are well, each a mapping with V(name), and like the values of
            O(what_if.change). With V(like) a cluster shares the facts of another one.
        type: list
        elements: dict
      change:
        description:
          - What is other about clusters, by name. V(labels) and V(properties) map keys to texts, or to null where they
            are gone. V(taints) are all taints that the cluster then has. V(prices) has the price of an hour in US
            dollars, V(cpu) for a core and V(memory) for a GiB.
        type: dict
      numberOfClusters:
        description: The number of clusters that one placement of type PickN asks for.
        type: int
  snapshots:
    description:
      - List the resource snapshots that are kept of the placement (of all placements without O(name)), with what
        differs in each from the one before. M(gitops.fleet.placement) with C(state=rolled_back) brings one back.
    type: bool
    default: false
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

- name: Ask what would move if two clusters were taken out of service, from a facts snapshot alone
  gitops.fleet.placement_info:
    facts: fleet/facts.json
    what_if:
      change:
        prod-eu-1: {taints: [{key: service, effect: NoSchedule}]}
      gone: [prod-eu-2]
"""

RETURN = r"""
what_if:
  description:
    - With O(what_if), for each placement what would become of it. C(sentence) says it in one sentence. C(gained),
      C(lost) and C(kept) are clusters, C(rows) has the reason of each change, then and now, C(objects) are those that
      each cluster holds that has the placement. C(fulfilledBefore) and C(fulfilledAfter) say whether as many clusters
      are picked as the policy asks for.
  returned: success
  type: list
  elements: dict
placements:
  description: The recorded placements with their status.
  returned: success
  type: list
  elements: dict
table:
  description:
    - The answers to O(explain), and to O(what_if) or else O(snapshots), line by line; without any of these the state of
      placements and of each cluster.
  returned: success
  type: list
  elements: str
snapshots:
  description:
    - With O(snapshots), those that are kept, by placement and index. C(revision) is the Git revision that the content
      came from, where it is known, C(ageSeconds) the time since it was recorded, C(objects) how many there are,
      C(clusters) who holds it, C(added), C(removed) and C(changed) the objects that differ from the one before.
    - C(rolledBackTo) is the index that a roll back went to which made this snapshot. C(whole) is V(false) where the
      content is not known any more, and cannot be rolled back to.
  returned: success
  type: list
  elements: dict
staged_runs:
  description:
    - The staged update runs of placements with the strategy C(External), with C(name), C(placement), C(state) as
      M(gitops.fleet.staged_update_run) tells it, how many of its C(stages) and C(clusters) are done (C(stagesDone),
      C(clustersDone)), and C(message).
  returned: success
  type: list
  elements: dict
bindings:
  description: The recorded bindings of these placements.
  returned: success
  type: list
  elements: dict
explanations:
  description:
    - The answer and the data behind it for each cluster in O(explain). C(blockers) are all rules that refuse the
      cluster, C(refusal) is the first of them, which alone KubeFleet says. C(changes) are what becomes of its bindings,
      in order; C(change) is what it ends with.
    - C(won), of a cluster that holds a placement of type PickN, has its C(score) and that of the best cluster that was
      not picked (C(rival), C(rivalScore), C(rivalTerms)), what decided between them (C(decidedBy), V(spread),
      V(affinity), V(name) or V(held)), whether the scores are those recorded with the decision (C(known) V(recorded)),
      and the same in sentences (C(lines)). The table has them for clusters that are named, and for all of a few.
    - C(lost), of a cluster that passes and was not picked by a placement of type PickN, has the same. Its C(rival) is
      one that has the placement, of those in O(explain) if there is one; C(decidedBy) is null where by the facts of now
      the rival would not be picked before it again.
    - C(read) is when the facts of the cluster were read, in RFC 3339; empty where that is not known.
    - C(left_until) is what takes the placement off a cluster that still holds it and is no longer picked (V(a
      staged run) or V(an apply)); empty for others.
  returned: success
  type: list
  elements: dict
"""
