# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: quantity
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: A Kubernetes quantity as a number
description:
  - Reads amounts such as V(500m), V(16Gi) and V(1e3) exactly as Kubernetes does.
positional: unit
options:
  _input:
    description: The quantity.
    type: raw
    required: true
  unit:
    description: Suffix of the unit that the number is to be of, such as V(m), V(Mi) or V(G); ones if empty.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Amounts can be compared, added and sorted
  ansible.builtin.assert:
    that:
      - "'1500m' | gitops.fleet.quantity == 1.5"
      - "'16Gi' | gitops.fleet.quantity('Mi') == 16384"
      - "['500m', '2', '1e0'] | map('gitops.fleet.quantity') | sum == 3.5"
"""

RETURN = r"""
_value:
  description: The amount; a whole number where it is one, else the nearest float.
  type: float
"""


def _quantity() -> t.Callable[..., t.Any]:
    """Imports the function that the filter calls."""
    from ..module_utils._fleet.templates.amounts import quantity

    return quantity


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter's function by its name; its errors are as of ``pure``."""
        return {"quantity": pure(_quantity)}
