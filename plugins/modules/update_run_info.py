#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: update_run_info
short_description: How far update runs are, and what they wait for
version_added: 0.1.0
description:
  - Returns recorded update runs as data and as a tree of text. Asks no member.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  names:
    description: Only these runs.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See what holds a run
  gitops.fleet.update_run_info:
    names: [web-136]
  register: update_found
"""

RETURN = r"""
runs:
  description:
    - Each run with C(name), C(state), C(run_outcome), C(digest), C(tree), C(status), C(waits_for) and C(uncovered), as
      M(gitops.fleet.update_run) returns them, and C(conducted_by), the holder of its lease.
  returned: success
  type: list
  elements: dict
problems:
  description: What is wrong with runs that are left out, as their records are damaged or were altered.
  returned: success
  type: list
  elements: dict
"""
