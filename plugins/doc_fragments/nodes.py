# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verbs about nodes take: how rotations are given, and how members are read."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  definition:
    description: The same as they are.
    type: list
    elements: dict
    default: []
  strict:
    description: Refuse manifests that an API server would refuse, instead of repairing them.
    type: bool
    default: false
  threads:
    description: Members that are read at the same time.
    type: int
    default: 32
  timeout:
    description: Seconds to wait for a connection to a member.
    type: int
    default: 5
"""

    ASKED = r"""
options:
  src:
    description: Files and folders with NodeRotations and FleetMaintenances; those in the records count too.
    type: list
    elements: path
    default: []
  members:
    description: Members that are asked; all if empty.
    type: list
    elements: str
    default: []
"""
