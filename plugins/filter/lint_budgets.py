# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: lint_budgets
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: What is wrong with NodePools and their budgets
description:
  - Tells what cannot be read, and what is proved over a year, such as budgets that never permit anything, and spans in
    which nothing limits. No cluster is asked.
positional: nodes
extends_documentation_fragment:
  - gitops.fleet.pools
options:
  nodes:
    description: Number of nodes of the pool where it is known, for messages.
    type: int
  definition:
    description:
      - CustomResourceDefinition C(nodepools.karpenter.sh) of the cluster that the pools are for, which tells what
        consolidation policies its Karpenter has. Without it those of version 1.14 count.
    type: dict
  now:
    description: Instant at which the year begins, such as V(2026-05-01T12:00:00Z); the present if absent.
    type: str
"""

EXAMPLES = r"""
- name: A list that looks as if it opened at weekends, and never does
  vars:
    budgets:
      - nodes: "30%"
        schedule: "0 0 * * sat"
        duration: 48h
      - nodes: "0"
    findings: "{{ budgets | gitops.fleet.lint_budgets }}"
  ansible.builtin.assert:
    that:
      - findings[0].code == 'budget-never-permits'
      - findings[0].mended['spec.disruption.budgets'] | gitops.fleet.lint_budgets == []
"""

RETURN = r"""
_value:
  description:
    - A row for each finding, with C(pool), C(code), C(level), C(path), C(message), C(mended), C(reasons), C(spans) and
      C(consent).
    - C(level) is V(error), V(warning) or V(note). C(mended) maps field paths to what should stand there, V(null) to
      nothing.
  type: list
  elements: dict
"""


def _lint_budgets() -> t.Callable[..., t.Any]:
    """Imports the function that the filter calls."""
    from ..module_utils._fleet.templates.disruption import lint_budgets

    return lint_budgets


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter's function by its name; its errors are as of ``pure``."""
        return {"lint_budgets": pure(_lint_budgets)}
