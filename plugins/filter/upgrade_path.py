# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: upgrade_path
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: The versions that a cluster goes through to a target
description:
  - A control plane goes up one minor at a time, and never back. No cluster is asked.
positional: target, releases
options:
  _input:
    description: Version that the cluster has.
    type: str
    required: true
  target:
    description: Version that it is to have; without a patch any of that minor.
    type: str
    required: true
  releases:
    description:
      - Versions that there are. Each step is then the newest release of its minor.
      - Without them the minors between are named without a patch.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Three steps, the patches taken from what a platform offers
  vars:
    offered: [v1.32.9, v1.33.5, v1.33.4, v1.34.2, v1.34.0]
  ansible.builtin.assert:
    that:
      - "'v1.31.4' | gitops.fleet.upgrade_path('v1.34.2', offered) == ['v1.32.9', 'v1.33.5', 'v1.34.2']"
      - "'v1.31.4' | gitops.fleet.upgrade_path('v1.33') == ['v1.32', 'v1.33']"
      - "'v1.34.2' | gitops.fleet.upgrade_path('v1.33.5') == []"
"""

RETURN = r"""
_value:
  description: The versions after the present one, the target last; empty if it is reached.
  type: list
  elements: str
"""


def _upgrade_path() -> t.Callable[..., t.Any]:
    """Imports the function that the filter calls."""
    from ..module_utils._fleet.templates.versions import upgrade_path

    return upgrade_path


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter's function by its name; its errors are as of ``pure``."""
        return {"upgrade_path": pure(_upgrade_path)}
