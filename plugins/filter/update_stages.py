# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible.utils.display import Display

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: update_stages
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: Clusters in the order of an update strategy
description:
  - Lays a strategy over members, for plays that go through clusters with C(serial) and without an update run.
  - Warns of members that are in no group, and of groups without members. No cluster is asked.
positional: members
options:
  _input:
    description:
      - An UpdateStrategy, an UpdateRun with a strategy of its own, or a strategy in the JSON of its service.
      - Without one (V(null)) all members go one after another.
    type: raw
    required: true
  members:
    description:
      - FleetMembers, which have the groups, and MemberClusters, which have the labels, in one list.
      - Rows with C(name), C(group) and C(labels) do as well.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Two stages, of which the second has two groups side by side
  vars:
    waves:
      apiVersion: gitops.fleet/v1alpha1
      kind: UpdateStrategy
      metadata:
        name: waves
      spec:
        strategy:
          stages:
            - name: canary
              groups: [{name: canary}]
            - name: rest
              groups:
                - {name: eu, maxConcurrency: "2"}
                - {name: us}
    members:
      - {name: c1, group: canary}
      - {name: eu1, group: eu}
      - {name: eu2, group: eu}
      - {name: eu3, group: eu}
      - {name: us1, group: us}
    stages: "{{ waves | gitops.fleet.update_stages(members) }}"
  ansible.builtin.assert:
    that:
      - stages | map(attribute='stage') == ['canary', 'rest']
      - stages[1].batches == [['eu1', 'eu2', 'us1'], ['eu3']]
      - stages[1].serial == [3, 1]

- name: The hosts of the play that follows, in the order and the batches of the strategy
  vars:
    waves: {stages: [{name: first, groups: [{name: a}]}, {name: second, groups: [{name: b, maxConcurrency: "2"}]}]}
    members:
      - {name: b1, group: b}
      - {name: b2, group: b}
      - {name: a1, group: a}
  ansible.builtin.add_host:
    name: "{{ item }}"
    groups: [in_order]
  loop: "{{ waves | gitops.fleet.update_stages(members) | map(attribute='clusters') | flatten }}"
"""

RETURN = r"""
_value:
  description:
    - A row for each stage, with C(stage), C(clusters), C(batches), C(serial), C(groups), C(max_concurrency),
      C(max_allowed_failures), C(wait_seconds) and C(gates).
    - C(batches) are the clusters that may go at once, batch after batch, and C(serial) their sizes, for the keyword of
      that name in a play over C(clusters).
  type: list
  elements: dict
"""


def update_stages(strategy: t.Any, members: t.Any) -> list[dict[str, t.Any]]:
    """A row for each stage of the strategy, in order, with the keys that RETURN names; members in no group, groups
    without members, and numbers that are cut, are warned of on the screen. FleetError ``not-a-strategy``, and what is
    wrong with either."""
    from ..module_utils._fleet.showing import said
    from ..module_utils._fleet.templates.stages import update_stages as stages_of

    rows, warnings = stages_of(strategy, members)
    for each in warnings:
        Display().warning(said(f"gitops.fleet.update_stages: {each.message}"))
    return rows


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter's function by its name; its errors are as of ``pure``."""
        return {"update_stages": pure(lambda: update_stages)}
