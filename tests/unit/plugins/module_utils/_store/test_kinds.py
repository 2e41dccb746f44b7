# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of records are those that the hub has definitions of."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KIND_OF
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import Resource
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS

# Resources that a placement selects.
NO_RECORDS = {"ClusterResourceEnvelope"}


def test_records_are_of_all_kinds_of_no_namespace():
    wide = {name: kind for name, kind in KIND_OF.items() if not kind.namespaced and name not in NO_RECORDS}
    assert dict(KINDS) == {
        name: Resource(kind.group, kind.stored, name, kind.plural, False) for name, kind in wide.items()
    }
