# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: disruption_openings
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: When nodes of a pool may be disrupted in the next days
description:
  - Computes all spans in which budgets permit disruption. No cluster is asked.
positional: nodes, reason, days
extends_documentation_fragment:
  - gitops.fleet.pools
  - gitops.fleet.pools.counted
options:
  days:
    description: How many days to look ahead, 1 to 3660.
    type: int
    default: 7
  now:
    description: Instant to begin at, such as V(2026-05-01T12:00:00Z); the present if absent.
    type: str
"""

EXAMPLES = r"""
- name: Find the next opening of a pool of 12 nodes
  vars:
    budgets:
      - nodes: "25%"
      - nodes: "0"
        schedule: "0 6 * * mon-sat"
        duration: 18h
    openings: "{{ budgets | gitops.fleet.disruption_openings(12, 'Drifted', now='2026-11-02T12:00:00Z') }}"
  ansible.builtin.assert:
    that:
      - openings[0].start == '2026-11-03T00:00:00Z'
      - openings[0].end == '2026-11-03T06:00:00Z'
      - openings[0].highest == 3
"""

RETURN = r"""
_value:
  description:
    - A row for each span, with C(pool), C(reason), C(start), C(end), C(lowest) and C(highest).
    - The end is not in the span. C(lowest) and C(highest) are the fewest and the most nodes that may go in it, and
      V(null) where nothing limits.
  type: list
  elements: dict
"""


def _disruption_openings() -> t.Callable[..., t.Any]:
    """Imports the function that the filter calls."""
    from ..module_utils._fleet.templates.disruption import disruption_openings

    return disruption_openings


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter's function by its name; its errors are as of ``pure``."""
        return {"disruption_openings": pure(_disruption_openings)}
