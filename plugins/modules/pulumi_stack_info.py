#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pulumi_stack_info
short_description: What is known of a Pulumi stack
version_added: 0.1.0
description:
  - Outputs, resources, the last run, operations that were cut off, and who holds the lock.
  - Runs no program, and builds no engine; one that will do has to be there. Secret outputs are not given.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.stack
"""

EXAMPLES = r"""
- name: See whether a run was cut off
  gitops.fleet.pulumi_stack_info:
    project_dir: pulumi/environments
    stack: dev
    backend_url: file:///srv/fleet-state
    passphrase_file: /run/secrets/passphrase
  register: known
"""

RETURN = r"""
exists:
  description: Whether the backend has the stack.
  returned: success
  type: bool
outputs:
  description: Outputs of the stack; secret ones are C([secret]).
  returned: success
  type: dict
resources:
  description: Numbers of resources by type.
  returned: success
  type: dict
urns:
  description: URNs of all resources.
  returned: success
  type: list
  elements: str
last_run:
  description: Kind, result, times and changes of the last run.
  returned: success
  type: dict
pending_operations:
  description: What was cut off, by URN.
  returned: success
  type: dict
locks:
  description: Who holds the stack, with C(username), C(hostname), C(pid) and C(timestamp); of a state in files only.
  returned: success
  type: list
  elements: dict
"""
