#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: placement
short_description: Plan placements of resources on clusters and carry them out
version_added: 0.1.0
description:
  - Decides which clusters get the resources of a C(ClusterResourcePlacement) or C(ResourcePlacement), explains every
    decision, and brings the resources there by server-side apply.
  - In check mode, and with O(state=planned), nothing is written but the files of O(write_plan), O(write_markdown) and
    O(result_file).
    With a file in O(facts) and O(state=planned) no cluster is needed at all.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  state:
    description:
      - V(present) carries the plan out. V(planned) only decides, without a look at the members.
      - V(absent) ends the placements in O(names); what they put on their clusters is removed, under the brakes.
      - V(rolled_back) brings the content of an earlier snapshot of the placements in O(names) back, under the same
        brakes; clusters are decided as in every apply. It is recorded as a new snapshot. What an apply from files or
        the hub does afterwards is to roll forward again, and its plan says so.
    type: str
    choices: [present, planned, absent, rolled_back]
    default: present
  to:
    description:
      - With O(state=rolled_back) the index of the snapshot whose content comes back, as M(gitops.fleet.placement_info)
        lists them with its option C(snapshots). The default is the one before the latest.
      - Where the latest snapshot was made by a roll back, the default is to stay there; so one that was cut short goes
        on, and asking twice changes nothing.
    type: int
  evacuate:
    description:
      - A label selector as C(kubectl -l) takes it, such as C(region=west); where no cluster has such labels, names of
        clusters, separated by commas.
      - The clusters that it selects count as not available, whatever a placement tolerates; the placements of this run
        that they hold go to other clusters under the same policy, and are taken off them when the others are available,
        under the budgets of the rollout; see O(empty_first).
      - It is recorded as the taint C(gitops.fleet/evacuated) of each C(MemberCluster), so that no later apply moves
        anything back; it holds until O(readmit). M(gitops.fleet.member_cluster) keeps it.
      - A cluster that cannot be reached keeps what it holds, which is told in RV(left_behind); the first apply that it
        answers takes it away.
      - Clusters that are evacuated do not count for O(max_removals).
      - Give the same O(src) and O(resources) as in every apply. With O(state=planned) or in check mode nothing is
        recorded.
    type: str
  readmit:
    description:
      - A label selector, or names, as in O(evacuate); the clusters that it selects are evacuated no longer. What still
        lies there of a placement that is at home elsewhere by now is taken away.
    type: str
  empty_first:
    description:
      - Whether clusters that are evacuated are emptied before others have what they hold, as far as the budgets of the
        rollout allow. Without it each keeps what it holds until that is available on the cluster that was picked in its
        place, and longer if there is none; RV(table) says who waits for what.
      - The digest of a plan that empties a cluster covers it.
    type: bool
    default: false
  src:
    description:
      - Files and folders with manifests of placements. Without O(src) and O(definition) those on the hub are taken.
      - A placement that came from the same O(src) before and is not there any more ends, unless O(names) is given.
      - With O(state=rolled_back) only the overrides in it count; clusters that hold a placement with overrides need
        them then, too.
    type: list
    elements: path
  definition:
    description: One placement's manifest, in place of O(src), and never with O(state=rolled_back).
    type: dict
  names:
    description: Only placements of these names, C(namespace/name) for a C(ResourcePlacement). An empty list is refused.
    type: list
    elements: str
  resources:
    description:
      - Files and folders with the resources to select from. Without it resources are selected on the hub.
      - With O(state=rolled_back) a Git checkout of them. Records hold no content of Secrets; it is read again from the
        revision that it came from, as Git has it, and the checkout stays as it is.
    type: list
    elements: path
  facts:
    description:
      - What is known of the members to decide on.
      - With V(auto) it is what M(gitops.fleet.fleet_facts) has recorded of members that were well then, at most
        O(max_facts_age) seconds ago (600 if it is not given). All other members are read now. A member that is worked
        on after recorded facts must first say that it is ready, or nothing is done there (code C(not-ready)).
      - With V(read) all members are read now.
      - Any other value is the path of a facts snapshot. It is only what was known. A recorded member that it lacks
        keeps what it has; a cluster that is not recorded gets nothing. A file named C(auto) is C(./auto).
    type: path
    default: auto
  strict:
    description: Refuse manifests that would be repaired otherwise.
    type: bool
    default: false
  digest:
    description:
      - Digest of the approved plan; any other plan is refused (C(digest-mismatch)), in check mode and with
        O(state=planned) too. An empty one is refused.
      - As it is shown it is enough, with at least 12 of its digits. A pipeline that trusts nobody gives all of them.
    type: str
  approved_plan:
    description:
      - File with the approved plan, as O(write_plan) wrote it, in place of O(digest).
      - Its digest is computed from what it shows; a file that shows something else than its digest stands for is
        refused.
    type: path
  max_removals:
    description:
      - Most clusters that may lose a placement in one apply, a number or a percentage of those that hold it.
      - One cluster may always leave.
    type: str
    default: "30%"
  allow_empty:
    description: Permit a plan that picks no cluster at all where some hold the placement now.
    type: bool
    default: false
  max_object_removals:
    description:
      - Most objects that may be deleted on a cluster that keeps a placement, in one apply; a number or a percentage of
        those that it holds there. One object may always go.
      - It also limits what is deleted on a member that holds more than the records know; with an approved digest
        nothing of that is deleted.
    type: str
    default: "30%"
  allow_no_objects:
    description: Permit a plan that selects no object at all where the placement holds some now.
    type: bool
    default: false
  max_facts_age:
    description:
      - Most seconds since the facts were captured. The default is 600 for an apply, and 86400 for a plan, a look in
        check mode and an apply with O(digest) or O(approved_plan).
    type: int
  allow_older:
    description:
      - Permit a Git revision that does not descend from the one applied last, or of which that cannot be told, as in a
        shallow clone.
    type: bool
    default: false
  prune_kinds:
    description:
      - Kinds that are deleted when they leave a placement although they may hold more than it put there.
      - Otherwise objects of these kinds are released; they stay without our label. Other objects that leave are always
        deleted.
      - It is part of what is approved, so give it to the plan as to the apply.
    type: list
    elements: str
    choices: [Namespace, CustomResourceDefinition]
    default: []
  removal_timeout:
    description:
      - Seconds to wait until deleted objects are really gone; finalizers may keep them.
      - What is not gone by then is told with the outcome C(partial), and stays recorded until a run finds it gone.
    type: int
    default: 60
  time_limit:
    description: Seconds after which nothing new is begun. The outcome is C(waiting); the next run goes on.
    type: int
  max_idle:
    description:
      - Seconds to stay while a rollout waits for clusters. Then it ends as C(waiting), and says who waits for what.
    type: int
    default: 120
  wait:
    description:
      - Whether to stay, as long as O(max_idle) says, until the clusters that were changed last are available too. No
        cluster waits for them, so that the task ends without it as soon as everything is applied.
    type: bool
    default: false
  readiness:
    description:
      - When a cluster that was changed counts as ready, so that the next ones may be. V(available) is when its objects
        are available; V(applied) is when they were applied C(unavailablePeriodSeconds) ago, whatever became of them.
    type: str
    choices: [available, applied]
    default: available
  validate:
    description:
      - V(server) adds a dry run on every member that would be written, for accounts that may write.
      - What is in a namespace, or of a kind, that the same apply would bring first is not tried.
    type: str
    choices: [none, server]
    default: none
  unreachable:
    description:
      - Whether the task fails when a member cannot be reached, or only reports it. Nothing is removed either way.
      - The same holds for members of which a part could not be read, such as its nodes (C(partly-read)).
    type: str
    choices: [fail, report]
    default: fail
  fail_on:
    description:
      - Outcomes that fail the task besides C(partial) and C(failed). V(stopped) is a plan that a brake stops, which as
        an apply would be refused; V(unfulfilled) one that finds fewer clusters than a policy asks for.
      - V(drifted) is a look in check mode after which an apply would write to a member, because somebody else did or
        because the manifests are newer. It is an outcome only where it is asked for.
    type: list
    elements: str
    choices: [stopped, unfulfilled, drifted]
    default: []
  threads:
    description: Members that are worked on at the same time, by each of the O(workers).
    type: int
    default: 16
  workers:
    description:
      - Processes that share out the members, by a hash of their names. With one the task does all itself; with more it
        decides, records and tells, and they do what is done on members. More than there are processors gain nothing.
      - A member whose process is lost meanwhile is a problem (code V(worker-lost)); what was written there is found by
        the next run.
    type: int
    default: 1
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
  render:
    description:
      - The name of a cluster. The result has RV(rendered), every object as that cluster gets it, with what overrides
        make of it. What Secrets hold is left out.
    type: str
  nodes_file:
    description:
      - File with the nodes of members, as M(gitops.fleet.node_disruption_budget_info) writes it (its option C(dest)).
        With it the plan tells how many nodes of which clusters Karpenter replaces where a placement changes a NodePool,
        an AKSNodeClass or an EC2NodeClass, or takes one away. It is no part of the digest.
    type: path
  max_replaced_nodes:
    description:
      - Most nodes that one apply of a placement may replace, by O(nodes_file); a number, or a percentage of the nodes
        of its clusters. Nodes that may be replaced count too, and a cluster with NodePools that is not in it stops it.
    type: str
  write_plan:
    description: File to write the plan to, as JSON; in check mode too, so that it can be approved.
    type: path
  write_markdown:
    description: File to write the plan to, as Markdown for a pull request; in check mode too.
    type: path
  reason:
    description: Why this is done, in words that the history keeps (C(AuditEntry)), also of clusters that are evacuated.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Plan in a pull request, from a facts snapshot and without any cluster
  gitops.fleet.placement:
    state: planned
    src: [fleet/placements]
    resources: [fleet/resources]
    facts: fleet/facts.json
    nodes_file: fleet/nodes.json
    write_markdown: plan.md

- name: Move everything off a region that is lost
  gitops.fleet.placement:
    src: [fleet/placements]
    resources: [fleet/resources]
    evacuate: topology.kubernetes.io/region=west

- name: Carry it out
  gitops.fleet.placement:
    src: [fleet/placements]
    resources: [fleet/resources]

- name: End a placement and remove everything that it put on its clusters
  gitops.fleet.placement:
    state: absent
    names: [web]
    max_removals: 100%
    prune_kinds: [Namespace]

- name: Bring the content before the latest one back
  gitops.fleet.placement:
    state: rolled_back
    names: [web]
    resources: [fleet/resources]
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
digest:
  description: Digest of the plan, to be approved.
  returned: success
  type: str
plan:
  description: The plan, placement by placement; the same as O(write_plan) writes.
  returned: success
  type: dict
table:
  description: The plan as text, line by line.
  returned: success
  type: list
  elements: str
rendered:
  description:
    - With O(render), what each placement brings to that cluster. C(objects) have their C(manifest), and C(overridden)
      tells whether overrides have changed it; C(leftOut) are objects that the cluster does not get; C(overrides) are
      the names under which the binding of the cluster has them.
  returned: success
  type: list
  elements: dict
members:
  description: What was done, or would be done, on each member, by placement and cluster.
  returned: success
  type: dict
availability:
  description:
    - How far each placement is, by name, if members were looked at or written. C(clusters) is the number of clusters
      that are to hold it, C(applied) of those that hold all of it, C(available) of those where all is available too.
    - C(waiting) has the objects that are not available yet, by cluster. C(keeping) names the clusters that keep an
      old version, of which nothing was replaced yet.
  returned: success
  type: dict
observed_at:
  description:
    - When the look at members began, in check mode; empty for what was applied or only planned. The O(result_file) of
      such a look is what O(gitops.fleet.fleet_report#module:drift) takes.
  returned: success
  type: str
drifted:
  description: Objects that were changed or deleted on members by others, with field and field manager.
  returned: success
  type: list
  elements: dict
due:
  description:
    - Objects that were written, or would be, with what is done to each. After a look with nothing due an apply would
      write nothing to any member.
  returned: success
  type: list
  elements: dict
evacuated:
  description: Names of the clusters that O(evacuate) selects.
  returned: success
  type: list
  elements: str
left_behind:
  description:
    - What evacuated clusters that cannot be reached still hold, with C(placement), C(cluster) and C(objects).
  returned: success
  type: list
  elements: dict
together:
  description:
    - Groups of members that do not answer and have one value of a label in common, which no member has that answers; so
      a region that is out of reach is told in one line (C(sentence)). Nothing is removed for that.
  returned: success
  type: list
  elements: dict
waves:
  description: The clusters that change, by placement and wave, if each is available soon after its own.
  returned: success
  type: dict
rollouts:
  description:
    - By name, the rollouts that have not come to their end. C(why) says what ended the run, C(lines) who waits, in
      sentences, and C(waits) has a row for all C(clusters) that wait for the same, with C(reason), what they want
      (C(wants), V(bind), V(update) or V(remove); empty for those that are only not ready), the clusters that they wait
      C(for), and a C(message) where there are none.
  returned: success
  type: dict
problems:
  description: Objects and members that failed or could not be reached.
  returned: success
  type: list
  elements: dict
validated_by:
  description: How the prediction was made.
  returned: success
  type: str
fleet:
  description:
    - Outcome, a code, and when to resume. The outcome is C(done) or C(planned); C(waiting) (with the code
      C(rollout-waits) or C(time-limit)) where a rollout has not come to its end; C(stopped) where a brake stops the
      plan (an apply is refused then); C(unfulfilled) where fewer clusters are picked than a policy asks for;
      C(drifted) where O(fail_on) asks for it; C(partial) or C(failed).
  returned: always
  type: dict
  sample: {"outcome": "done", "code": "", "resume_at": ""}
"""
