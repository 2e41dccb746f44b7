# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of verbs that take manifests of several kinds."""

from __future__ import annotations


class ModuleDocFragment:
    """Where manifests come from beside ``src``."""

    DOCUMENTATION = r"""
options:
  definition:
    description: Manifests given in place, besides those in O(src).
    type: list
    elements: dict
    default: []
  strict:
    description: Refuse manifests that would be repaired otherwise.
    type: bool
    default: false
"""
