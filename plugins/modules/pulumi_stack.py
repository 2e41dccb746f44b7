#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pulumi_stack
short_description: Carry out a Pulumi program, refresh its stack, or take it down
version_added: 0.1.0
description:
  - Runs Pulumi's engine on the controller, a C(pulumi) 3.259.0 or a newer 3.x of the C(PATH) with its Python host, or
    one that is built from its Go modules and cached.
  - Deletions and replacements are refused before anything is done, unless O(allow_delete).
  - The stack's settings are those of the project's C(Pulumi.<stack>.yaml), and over them O(config) and
    O(secret_config).
  - In check mode the program is previewed; a stack that is not there is previewed in a state of its own.
  - Nothing of Pulumi's variables of the shell is used but C(PULUMI_ACCESS_TOKEN).
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb
  - gitops.fleet.stack
options:
  state:
    description:
      - V(present) makes it what the program says. V(refreshed) takes over into its state what is true. V(absent)
        deletes its resources and then the stack with its history; with O(targets) only those of them that are there.
    type: str
    choices: [present, absent, refreshed]
    default: present
  config:
    description: Settings by name; one without a namespace is the project's. Values may have any shape.
    type: dict
    default: {}
  secret_config:
    description: The same for settings that are secret; they are handed over by no argument and kept encrypted.
    type: dict
    default: {}
  targets:
    description:
      - URNs of the only resources that are looked at; all without it. An empty list is refused, as of a variable that
        lost its content.
    type: list
    elements: str
  parallel:
    description: How many resources are worked on at once; what Pulumi does if absent.
    type: int
  allow_delete:
    description: Whether V(present) may delete or replace resources.
    type: bool
    default: false
  force_unlock:
    description:
      - Take away a lock that a run has left which was killed. A run that goes on would be disturbed by it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: A hub and its members
  gitops.fleet.pulumi_stack:
    project_dir: pulumi/environments
    stack: dev
    backend_url: file:///srv/fleet-state
    passphrase_file: /run/secrets/passphrase
  register: environment
"""

RETURN = r"""
changes:
  description: Resources by operation, C(same) among them.
  returned: success
  type: dict
resources:
  description: What was, or would be, done to which resources, each with C(op), C(type), C(name) and C(urn).
  returned: success
  type: list
  elements: dict
outputs:
  description:
    - Outputs of the stack; secret ones are C([secret]). Empty for V(absent), and for V(present) in check mode.
  returned: success
  type: dict
stack_warnings:
  description: What the engine and the program warned of.
  returned: success
  type: list
  elements: str
"""
