#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: staged_update_run
short_description: Roll a placement out in stages
version_added: 0.1.0
description:
  - Makes staged update runs (C(ClusterStagedUpdateRun)), starts and stops them, and carries them on, stage by stage in
    the order of their C(ClusterStagedUpdateStrategy), with limits, waits and approvals. They alone change the clusters
    of a placement with the strategy C(External).
  - A C(StagedUpdateRun) does the same for the C(ResourcePlacement) of its namespace, by the C(StagedUpdateStrategy) of
    its namespace, and asks for approvals there (C(ApprovalRequest)).
  - A run gives its clusters what M(gitops.fleet.placement) recorded last, or the snapshot that it names. Apply the
    placement first.
  - A run that is killed, waits, or whose time is up goes on where it was when it is carried on again. What a cluster is
    to get is recorded before it is written there.
  - In check mode it tells the stages, and who is in each, from the records alone. No cluster is needed.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  state:
    description:
      - V(present) records the run, with its stages and who is in each, and gives nothing to any cluster.
      - V(started) tells it to go on (C(Run)), also after it was stopped; V(stopped) tells it to stop (C(Stop)). Both
        only tell it, and hold whoever carries it on.
      - V(conducted) starts it if it never was, and carries it on until it ends, waits, or O(time_limit) is over. One
        that is to stop begins no other cluster; those in flight are followed to their end.
      - V(absent) deletes the run and its approval requests.
    type: str
    choices: [present, started, conducted, stopped, absent]
    default: present
  name:
    description:
      - The run; a C(StagedUpdateRun) is called C(namespace/name). Not needed where O(src) and O(definition) define
        exactly one.
    type: str
  src:
    description:
      - Files and folders with manifests of C(ClusterStagedUpdateRun) and C(ClusterStagedUpdateStrategy), or of their
        twins in a namespace, and of the overrides of the placement; others are passed over. Without a definition the
        run has to be recorded already, on a hub by anybody.
      - What a manifest says of the run's C(state) counts, unless it says nothing or C(Initialize).
    type: list
    elements: path
    default: []
  resources:
    description:
      - Files and folders with the resources of the placement. What its Secrets hold is not recorded, and is read there;
        if they have changed since, from the Git revision that was applied. Without it they are read on the hub.
      - Overrides that lie there count, too.
    type: list
    elements: path
    default: []
  digest:
    description:
      - Digest of the approved run, or at least 12 digits from its beginning; a run that would do anything else is
        refused.
    type: str
    default: ""
  allow_self_approval:
    description:
      - V(false) wants four eyes, an approval by whoever made or started the run does not count; it stays with the run.
      - This needs names that the hub vouches for, as O(verified_approvals) does, those of these two among them.
    type: bool
    default: true
  verified_approvals:
    description:
      - Only approvals count whose approver the hub vouches for, by the policies that role P(gitops.fleet.hub#role)
        installs. With records in a file there are none; nor is an approval verified that does not say by whom it is.
      - It stays with the run, whoever carries it on.
    type: bool
    default: false
  approval_expires:
    description: Seconds after which an approval that was not used does not count any more. They stay with the run.
    type: int
  max_removals:
    description:
      - Most clusters that may lose the placement in one run, a number or a percentage of those that hold it.
      - One cluster may always leave.
    type: str
    default: "30%"
  allow_empty:
    description: Permit a run that leaves the placement on no cluster at all.
    type: bool
    default: false
  max_object_removals:
    description:
      - Most objects that may be deleted on a cluster that keeps the placement; a number or a percentage of those that
        it holds there. One object may always go.
    type: str
    default: "30%"
  allow_no_objects:
    description: Permit a run of a snapshot without any object where the placement holds some now.
    type: bool
    default: false
  prune_kinds:
    description:
      - Kinds that are deleted when they leave although they may hold more than the placement put there. Otherwise
        objects of these kinds are released; they stay without our label.
    type: list
    elements: str
    choices: [Namespace, CustomResourceDefinition]
    default: []
  removal_timeout:
    description:
      - Seconds to wait until deleted objects are really gone; finalizers may keep them.
    type: int
    default: 60
  force:
    description: With O(state=absent), delete a run with clusters in flight too. They stay as they are.
    type: bool
    default: false
  time_limit:
    description: Seconds after which nothing new is begun and the task ends with the outcome C(waiting).
    type: int
  max_idle:
    description:
      - Seconds to stay while nothing comes on. A wait that ends sooner is waited for; an approval is not. After that
        the task ends with the outcome C(waiting), and says who waits for what.
    type: int
    default: 120
  threads:
    description: Members that are written or read at the same time.
    type: int
    default: 16
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Look at the stages, without any cluster
  gitops.fleet.staged_update_run:
    src: [fleet/runs]
    name: shop-7
  check_mode: true
  register: staged

- name: Carry out just what was looked at
  gitops.fleet.staged_update_run:
    state: conducted
    src: [fleet/runs]
    name: shop-7
    resources: [fleet/resources]
    digest: "{{ staged.digest }}"
    time_limit: 3000
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
name:
  description: The run, with its namespace if it lies in one.
  returned: success
  type: str
state:
  description:
    - C(NotStarted), C(Running), C(Waiting) (for an approval, or a time), C(Stuck) (a cluster has been in flight for
      five minutes), C(Stopping), C(Stopped), C(Succeeded) or C(Failed).
  returned: unless the run is absent
  type: str
digest:
  description: Digest of what the run does; its approvals are bound to it. Empty where its stages are not known.
  returned: unless the run is absent
  type: str
tree:
  description: Stages, clusters, approvals and waits, as lines of text.
  returned: unless the run is absent
  type: list
  elements: str
waits:
  description: Who waits for whom and what, a sentence each.
  returned: unless the run is absent
  type: list
  elements: str
approvals:
  description:
    - What has to be approved now, each with C(name) of the C(ClusterApprovalRequest) or C(ApprovalRequest)
      (C(namespace/name)), C(stage) and C(timing), as M(gitops.fleet.gate) takes them.
  returned: unless the run is absent
  type: list
  elements: dict
status:
  description: The status of the C(ClusterStagedUpdateRun) or C(StagedUpdateRun).
  returned: unless the run is absent
  type: dict
members:
  description: What was done on each cluster, by name.
  returned: unless the run is absent
  type: dict
problems:
  description: Members and objects that failed; in check mode brakes that would stop the run.
  returned: unless the run is absent
  type: list
  elements: dict
notes:
  description: What is worth a word about the definition.
  returned: unless the run is absent
  type: list
  elements: dict
fleet:
  description:
    - Outcome, a code, and when to resume. The outcome is C(done), C(planned) or C(stopped) in check mode (the latter by
      a brake), C(waiting) (with the code C(awaiting-approval), C(stuck), C(stopped), C(time-limit), C(interrupted) or
      C(waiting)), C(partial) where members fail, C(failed) where the run has ended so. A stuck run is no failure of the
      task, for its cluster may come right yet.
  returned: always
  type: dict
  sample: {"outcome": "waiting", "code": "awaiting-approval", "resume_at": ""}
"""
