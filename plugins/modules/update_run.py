#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: update_run
short_description: Upgrade the clusters of a fleet in stages
version_added: 0.1.0
description:
  - Makes update runs from their manifests, starts and stops them, and carries them on, stage by stage and group by
    group, with limits of concurrency and of failures, waits and gates.
  - A run that is killed, or whose time is up, goes on where it was when it is conducted again. Every upgrade is
    recorded before it is begun, and looked for on its member before anything is repeated.
  - C(docs/updates.md) tells how runs, drivers and gates work together.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
  - gitops.fleet.manifests
options:
  state:
    description:
      - V(present) records the run with its sequence and its members, and starts nothing.
      - V(checked) looks at all members, and returns everything that speaks against the run, as it is defined or
        recorded. Nothing is recorded; the task fails if something blocks. Each driver looks at its member; give
        O(drivers) as the run will have them.
      - V(started) starts it, also again after it was stopped or has failed; failed members are tried once more.
      - V(conducted) starts it if it never was, and carries it on until it ends, waits, or O(time_limit) is over.
      - V(stopped) lets nothing new begin. Upgrades in flight go on, and are followed while the run is conducted.
      - V(skipped) leaves out what O(targets) names.
      - V(retried) records a run that repeats what O(name) left behind once it has ended, its failed and skipped
        members, with the same target, sequence and images whatever is newer by now, and starts nothing. Its name ends
        with C(-retry), then C(-retry-2). Asked for again, it is the same.
      - V(absent) deletes the run and its gates.
    type: str
    choices: [present, checked, started, conducted, stopped, skipped, retried, absent]
    default: present
  name:
    description: The run. Not needed where O(src) and O(definition) define exactly one.
    type: str
  src:
    description:
      - Files and folders with manifests of C(UpdateRun) and C(UpdateStrategy), and of the C(FleetMaintenance) and
        C(ReleaseCatalog) that runs go by. Without a definition the run has to be recorded already.
    type: list
    elements: path
    default: []
  digest:
    description:
      - Digest of the approved run, or at least 12 digits from its beginning; a run that would do anything else is
        refused.
    type: str
    default: ""
  targets:
    description:
      - What O(state=skipped) leaves out, as V(Member:c-1), V(Group:eu), V(Stage:prod) or V(AfterStageWait:canary).
      - All of them, or none if one is refused.
    type: list
    elements: str
    default: []
  reason:
    description: Why O(targets) are left out, in words that are kept with the members and in the history.
    type: str
    default: ""
  restart:
    description: With O(state=conducted), start a run that is Stopped or Failed again, as V(started) does, before that.
    type: bool
    default: false
  force:
    description: With O(state=absent), delete a run with upgrades or nodes in flight too, which nobody follows any more.
    type: bool
    default: false
  drivers:
    description: How members are upgraded, by the name of the driver in their C(FleetMember).
    type: dict
    default: {}
    suboptions:
      local:
        description: Local clusters of M(gitops.fleet.local_cluster), found by members' connections. Needs no options.
        type: dict
        suboptions:
          root:
            description: Folder that holds the clusters, as in M(gitops.fleet.local_cluster).
            type: path
          binaries_dir:
            description: Folder with the binaries, as in M(gitops.fleet.local_cluster).
            type: path
          timeout:
            description: Seconds for the upgraded cluster to be ready.
            type: int
      cluster_api:
        description:
          - Clusters of Cluster API with a managed topology (v1beta2). The version of the topology is raised with all
            pools put off, which are let go one after another.
        type: dict
        suboptions:
          kubeconfig:
            description: Kubeconfig file of the management cluster.
            type: path
            required: true
          context:
            description: Context in it.
            type: str
          namespace:
            description:
              - Namespace of the Cluster, V(default) if not given. V({member}), V({location}), V({group}) are replaced.
            type: str
          name:
            description: Name of the Cluster, V({member}) if not given.
            type: str
          timeout:
            description: Seconds to wait for a connection to the management cluster.
            type: int
      command:
        description:
          - Commands, each a list of arguments, run without a shell, or a ready C(definition).
          - In commands V({member}), V({target}), V({operation}), V({attempt}), V({run}), V({type}), V({pool}),
            V({image}) and, in C(poll), V({reference}) are replaced; in C(observe) V({member}) alone.
        type: dict
        suboptions:
          providers:
            description:
              - In place of all others. The options for members of each provider, by the C(provider) of their
                C(FleetMember), so that members of several clouds are in one run.
              - Members whose platform never has a version written like the target are skipped
                (C(VersionNotAvailable)); a run of nothing but those is refused.
            type: dict
          definition:
            description:
              - A ready definition, in place of commands of your own. It upgrades control planes, node pools and node
                images with the command line of the cloud, which has to be installed and logged in.
            type: str
            choices: [az_aks, eksctl, gcloud]
          settings:
            description:
              - Settings of the C(definition). V({member}), V({location}) and V({group}) stand for the name, location
                and group of the C(FleetMember).
              - All have C(name) (V({member})), C(patience) (600) and C(interval) (15), both in seconds. C(az_aks) has
                C(resource_group) and C(subscription), C(eksctl) has C(region) (V({location})), C(profile), C(timeout)
                (V(2h)) and C(aws), C(gcloud) has C(location) (V({location})) and C(project).
            type: dict
          members:
            description: Settings of single members, by name of the member.
            type: dict
          begin:
            description:
              - Upgrades one member. Runs once per attempt, outside of this process, as long as it takes.
              - Needed without C(definition).
            type: list
            elements: str
          observe:
            description:
              - Prints the version of a member, or JSON with C(version), C(busy) and C(pools). Without it C(/version) of
                its API server is read.
            type: list
            elements: str
          poll:
            description: Tells how an operation stands that goes on after C(begin) has ended. Changes nothing.
            type: list
            elements: str
          begin_pool:
            description:
              - Upgrades the node pool V({pool}) of one member to the version V({target}) and the image V({image}), of
                which one may be empty. Runs once per attempt and pool, as C(begin) does.
              - Without it C(Full) and C(NodeImageOnly) refuse members of this driver with node pools.
            type: list
            elements: str
          environment:
            description: Names of environment variables that are passed on besides the usual ones.
            type: list
            elements: str
          timeout:
            description: Seconds for C(observe) and C(poll) to answer.
            type: int
          stops_unattended_updates:
            description: Declares that nodes do not update their operating system by themselves any more. Plans tell it.
            type: bool
      role:
        description: A role, run in an C(ansible-playbook) of its own for each member.
        type: dict
        suboptions:
          role:
            description: Name of the role, or path of its folder.
            type: str
            required: true
          inventory:
            description: Inventories that are given to it.
            type: list
            elements: path
          extra_vars:
            description:
              - Variables that are given to it. They are on disk only while the role runs.
              - They are data there. Templates over what the role is told belong into an inventory.
            type: dict
          environment:
            description: Names of environment variables that are passed on besides the usual ones.
            type: list
            elements: str
          roles_path:
            description: Folders in which roles are looked for first.
            type: list
            elements: path
          collections_path:
            description: Folders in which collections are looked for first.
            type: list
            elements: path
          executor:
            description:
              - Where the role runs; a Job in a cluster of yours goes on whatever becomes of this machine.
            type: dict
            suboptions:
              kind:
                description:
                  - With V(kubernetes_job) the role, its inventories, Ansible and this collection come from C(image).
                    Their paths are absolute there; C(environment), C(roles_path) and C(collections_path) are refused.
                type: str
                choices: [process, kubernetes_job]
                default: process
              image:
                description: Image of the Jobs. C(extensions/execution-environment) is the definition of one.
                type: str
              namespace:
                description: Namespace of the Jobs, which has to be there; V(gitops-fleet-jobs) if not given.
                type: str
              service_account:
                description: Service account of the Jobs. Without it they have no token.
                type: str
              kubeconfig:
                description: Kubeconfig of the cluster in which Jobs run. Without it that is the hub.
                type: path
              context:
                description: Context in it.
                type: str
              deadline:
                description: Seconds after which a Job is ended, 7200 if not given.
                type: int
              keep:
                description: Seconds for which a Job is kept after its end, at least 60; 86400 if not given.
                type: int
              resources:
                description: C(requests) and C(limits) of the container.
                type: dict
          stops_unattended_updates:
            description: Declares that nodes do not update their operating system by themselves any more. Plans tell it.
            type: bool
  operations:
    description:
      - Folder with a folder for every upgrade, of its output and result. It has to be kept from run to run, and nobody
        else may write to it (C(unsafe-folder)). What has ended is removed 90 days after a run was told of the end.
      - The default is C(gitops-fleet/operations) in C(XDG_STATE_HOME) or C(~/.local/state).
    type: path
  events:
    description: File to which a line of JSON is added for everything that happens.
    type: path
  time_limit:
    description: Seconds after which nothing new is begun and the task ends. Upgrades in flight go on.
    type: int
  max_idle:
    description:
      - Seconds to stay while nothing is in flight or can begin. A wait that ends sooner is waited for, no approval is.
    type: int
    default: 120
  allow_self_approval:
    description:
      - V(false) wants four eyes, an approval by whoever made or started the run does not count; it stays with the run.
      - This needs names that the hub vouches for, as O(verified_approvals) does, those of the run among them.
    type: bool
    default: true
  verified_approvals:
    description:
      - Only approvals count whose approver the hub vouches for, by the policies that role P(gitops.fleet.hub#role)
        installs. With records in a file there are none. It stays with the run, whoever carries it on.
    type: bool
    default: false
  approval_expires:
    description: Seconds after which an approval that was not used does not count any more. They stay with the run.
    type: int
  interval:
    description: Seconds between two looks at an upgrade in flight.
    type: int
    default: 2
  settle:
    description: Seconds for a member to be at the target after its driver says that it is done.
    type: int
    default: 120
  lost_after:
    description:
      - Seconds to watch a member whose upgrade cannot be seen from here (begun on another machine, or with another
        folder O(operations)), before that counts as failed. It is never begun again.
    type: int
    default: 900
  threads:
    description: Members that are looked at at the same time before the start.
    type: int
    default: 16
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Record a run, to be looked at and approved
  gitops.fleet.update_run:
    src: [fleet/updates]
    name: web-136
  register: update_recorded

- name: Carry out just what was approved
  gitops.fleet.update_run:
    state: conducted
    name: web-136
    digest: "{{ update_recorded.digest }}"
    drivers:
      role:
        role: acme.platform.upgrade_cluster
    time_limit: 3000

- name: Once more for those that failed, when the cause is mended
  gitops.fleet.update_run:
    state: retried
    name: web-136

- name: Leave out a cluster that is in use
  gitops.fleet.update_run:
    state: skipped
    name: web-136
    targets: ["Member:west-2"]
"""

RETURN = r"""
connection_notes:
  description:
    - What is to be told of the connections that were used, by member (by context for a hub), such as that the
      certificate is not checked (C(insecure-skip-tls-verify) in its kubeconfig). They are warnings of the task too.
  returned: there are any
  type: dict
name:
  description: The run; with O(state=retried) the one that was made.
  returned: success
  type: str
state:
  description: C(NotStarted), C(Running), C(Pending), C(Stopping), C(Stopped), C(Failed), C(Skipped) or C(Completed).
  returned: unless the run is absent
  type: str
run_outcome:
  description: C(Succeeded), C(CompletedWithFailures) or C(CompletedWithSkips), once the run has ended.
  returned: unless the run is absent
  type: str
digest:
  description: Digest of what the run does; approvals of its gates are bound to it.
  returned: unless the run is absent
  type: str
findings:
  description: What speaks against the run, each with C(member), C(code), C(message), and whether it C(blocks) it.
  returned: state is checked
  type: list
  elements: dict
table:
  description: The same as lines of text, what blocks first.
  returned: state is checked
  type: list
  elements: str
plan:
  description:
    - Versions and images that control planes and node pools have and would get, as of now or when last read, and why,
      as lines of text. C(ControlPlaneOnly) without C(chain) tells only who answers.
  returned: unless the run is absent; empty but in check mode and with state checked
  type: list
  elements: str
tree:
  description: Stages, groups, members, gates and waits, as lines of text.
  returned: unless the run is absent
  type: list
  elements: str
status:
  description: The status of the C(UpdateRun).
  returned: unless the run is absent
  type: dict
waits_for:
  description: Gates, waits and members that hold the run now, each with C(type), C(where) and what is known of it.
  returned: unless the run is absent
  type: list
  elements: dict
uncovered:
  description: Members of the fleet that no group takes; they are not updated.
  returned: unless the run is absent
  type: list
  elements: str
notes:
  description: What is worth a word about the definition.
  returned: unless the run is absent
  type: list
  elements: dict
"""
