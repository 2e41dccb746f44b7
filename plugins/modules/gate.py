#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gate
short_description: Approve a gate of an update run, or of a staged run of a placement
version_added: 0.1.0
description:
  - Completes a gate that a run waits for. The run goes on when it is conducted the next time, or at once if it is being
    conducted.
  - The approval is bound to the digest of the run, and records who gave it. On a hub that is the user as the API server
    sees it, and the policies of role P(gitops.fleet.hub#role) keep anybody from writing another name; without them, and
    with records in a file, the name is recorded as not verified.
  - An approval that a staged update run asks for (C(ClusterApprovalRequest), C(ApprovalRequest)) is given in the same
    way, by O(run), O(stage) and O(timing). Its request bears the digest of the run; the approval is signed in the
    message of the condition C(Approved), and the hub's policies vouch for that name too.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  run:
    description: The run; a C(StagedUpdateRun) is called C(namespace/name).
    type: str
    required: true
  kind:
    description:
      - What the run is. Needed only where there is an V(UpdateRun) and a V(ClusterStagedUpdateRun) by this name.
    type: str
    choices: [UpdateRun, ClusterStagedUpdateRun, StagedUpdateRun]
  id:
    description:
      - The gate's id, as M(gitops.fleet.update_run_info) tells it. Gates of update runs alone have one, a group and a
        display name.
    type: str
  stage:
    description: The stage that the gate guards, or whose group it guards.
    type: str
  group:
    description: The group that the gate guards.
    type: str
  timing:
    description: Whether the gate is passed before or after its stage or group.
    type: str
    choices: [Before, After]
  name:
    description: The gate's display name.
    type: str
  state:
    description:
      - V(approved) lets the run go on. V(refused) stops it at this gate; O(reason) is needed then. What is in flight
        ends, nothing new begins, and conducting the run fails with C(gate-refused).
      - A refusal stands until the gate is approved; the run can be started again after that. Only gates of update runs
        can be refused.
    type: str
    choices: [approved, refused]
    default: approved
  digest:
    description:
      - Digest of the run that was looked at, or at least 12 digits from its beginning. The approval is refused if the
        run has another one by now.
    type: str
    default: ""
  reason:
    description: Why, for the record.
    type: str
    default: ""
  allow_self_approval:
    description:
      - V(false) refuses an approval by whoever made or started the run. Whether one counts is up to the option of the
        same name of M(gitops.fleet.update_run) and M(gitops.fleet.staged_update_run), which the run keeps. By what it
        keeps you are told if your approval does not count.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Let the run go on after its canary
  gitops.fleet.gate:
    run: web-136
    stage: canary
    timing: After
    reason: no errors for a day

- name: Stop a run at its gate
  gitops.fleet.gate:
    run: web-136
    stage: canary
    timing: After
    state: refused
    reason: the canary loses requests

- name: Let a staged run of a placement begin its stage for production
  gitops.fleet.gate:
    run: shop-7
    stage: prod
    timing: Before
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
run:
  description: The run.
  returned: success
  type: str
id:
  description: The gate, or the name of the approval request.
  returned: success
  type: str
where:
  description: Where the gate stands, such as C(after canary).
  returned: success
  type: str
by:
  description: Who approved it, or refused it.
  returned: success
  type: str
verified:
  description: Whether this call approved or refused it, and the hub holds the policies that vouch for the name.
  returned: success
  type: bool
self_approval:
  description: Whether this call approved or refused it, by who made or started the run.
  returned: success
  type: bool
state:
  description:
    - C(Completed) or C(Refused), also if it was so before, or C(Skipped) if it was skipped with what it guards.
  returned: success
  type: str
digest:
  description: Digest of the run that approval or refusal is bound to.
  returned: success
  type: str
"""
