#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: placement_eviction
short_description: Take placements off clusters, as far as their disruption budgets permit
version_added: 0.1.0
description:
  - Carries out evictions (C(ClusterResourcePlacementEviction)) under the C(ClusterResourcePlacementDisruptionBudget) of
    the same name as the placement. What the placement put on the cluster is removed there, and the cluster does not
    hold it any more.
  - Each is judged as KubeFleet judges it, one after another, and tried once; what became of it stands in its
    conditions. No other brake applies.
  - The cluster may be picked again by the next apply, as in KubeFleet. The result says whether it would be; a taint
    keeps it away.
  - In check mode it says what would be permitted, and what would leave the member.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.records
options:
  placement:
    description:
      - Name of the placement, together with O(clusters). An eviction that is refused is not recorded then, so that the
        same task may be run again.
      - Without it the evictions in O(src) are carried out, and all that are recorded (on a hub, created there by
        anybody) and were not tried yet.
    type: str
  clusters:
    description: Names of the clusters that the placement is to leave.
    type: list
    elements: str
  src:
    description:
      - Files and folders with manifests of evictions and of disruption budgets; others are passed over. Budgets are
        recorded, so that they hold where they are not given, and are gone when they are gone from the same O(src).
    type: list
    elements: path
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
      - What is not gone by then is told with the outcome C(partial), and the next run goes on with it.
    type: int
    default: 60
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Take a placement off a cluster, if its budget permits that
  gitops.fleet.placement_eviction:
    placement: web
    clusters: [prod-eu-1]
    src: [fleet/placements]

- name: Carry out the evictions that were created on the hub
  gitops.fleet.placement_eviction:
    records:
      type: hub
      context: hub
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
evictions:
  description:
    - What became of each, or would. C(state) is V(executed), V(refused), V(underway) (begun, and not at its end; the
      next run goes on), or V(over) (an earlier run tried it). C(permitted), C(why) and C(message) are the verdict,
      C(arithmetic) the numbers of the budget where one decided. C(member) is what was done there, C(next) what the next
      apply would do.
  returned: success
  type: list
  elements: dict
table:
  description: The same as text, line by line.
  returned: success
  type: list
  elements: str
problems:
  description: Evictions that were refused, and members and objects that keep one from its end.
  returned: success
  type: list
  elements: dict
fleet:
  description:
    - Outcome, a code, and when to resume. The outcome is C(done); C(planned) or C(stopped) in check mode, the latter
      where an eviction is not permitted; C(partial) where some are refused or not at their end, C(failed) where all
      are refused.
  returned: always
  type: dict
  sample: {"outcome": "done", "code": "", "resume_at": ""}
"""
