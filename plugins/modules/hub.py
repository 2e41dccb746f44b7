#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hub
short_description: Make an API server a hub that holds specs and records
version_added: 0.1.0
description:
  - Installs the CustomResourceDefinitions of the fleet, the namespace of its leases, and the admission policies by
    which the hub vouches for who approved a gate, and who made and who started a run. Nothing runs there.
  - A policy that differs from the one that is shipped, as an older one does, is made anew. Where proof is wanted,
    approvals that were given before that do not count any more, and are asked for anew.
  - Refuses an API server where these definitions exist without our label, or where a fleet hub agent is at home.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
options:
  kubeconfig:
    description: Kubeconfig file; as C(kubectl) finds it if absent.
    type: path
  context:
    description: Context in that file.
    type: str
"""

EXAMPLES = r"""
- name: Install the definitions
  gitops.fleet.hub:
    kubeconfig: ~/.kube/hub
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
created:
  description: Definitions that are new.
  returned: success
  type: list
  elements: str
updated:
  description: Definitions that were changed.
  returned: success
  type: list
  elements: str
unchanged:
  description: Definitions that are as they should be.
  returned: success
  type: list
  elements: str
policies:
  description:
    - C(created), C(updated) or C(unchanged) for each policy and binding, by kind and name.
    - C(not served) if the API server is too old for them (Kubernetes 1.30); approvals are not verified then.
  returned: success
  type: dict
namespace:
  description: C(created) or C(unchanged), for the namespace of leases.
  returned: success
  type: str
"""
