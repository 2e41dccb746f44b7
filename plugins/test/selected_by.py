# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: selected_by
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: Whether a cluster is selected
description:
  - Judges labels, and properties of MemberClusters, as placements and update strategies do. No cluster is asked.
  - A property that a cluster does not report does not match.
positional: selector
options:
  _input:
    description: A MemberCluster, any other object with labels, or a row with C(labels).
    type: dict
    required: true
  selector:
    description:
      - A text as for C(kubectl -l), alone or as C(byLabel) of an update group.
      - A label selector with C(matchLabels) and C(matchExpressions).
      - A term of a placement with C(labelSelector) and C(propertySelector), or a list of terms, alone or as
        C(clusterSelectorTerms), of which one is enough.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Clusters by label and by property
  vars:
    cluster:
      apiVersion: cluster.kubernetes-fleet.io/v1
      kind: MemberCluster
      metadata:
        name: prod-eu-1
        labels: {env: prod, region: eu}
      status:
        properties:
          kubernetes-fleet.io/node-count: {value: "12"}
    clusters: ["{{ cluster }}", {metadata: {name: prod-us-1}}]
    testing:
      matchLabels: {env: test}
    large:
      propertySelector:
        matchExpressions:
          - {name: kubernetes-fleet.io/node-count, operator: Ge, values: ["10"]}
  ansible.builtin.assert:
    that:
      - cluster is gitops.fleet.selected_by('env=prod,region in (eu,us)')
      - cluster is not gitops.fleet.selected_by(testing)
      - cluster is gitops.fleet.selected_by(large)
      - "cluster is gitops.fleet.selected_by([{'labelSelector': testing}, large])"
      - clusters | select('gitops.fleet.selected_by', 'region') | map(attribute='metadata.name') == ['prod-eu-1']
"""

RETURN = r"""
_value:
  description: Whether it is so.
  type: bool
"""


def _selected_by() -> t.Callable[..., t.Any]:
    """Imports the function that the test calls."""
    from ..module_utils._fleet.templates.selecting import selected_by

    return selected_by


class TestModule:
    def tests(self) -> dict[str, t.Callable[..., t.Any]]:
        """The test's function by its name; its errors are as of ``pure``."""
        return {"selected_by": pure(_selected_by)}
