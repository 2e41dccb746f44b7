# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of records are those that the hub has definitions of."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KIND_OF
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import Resource
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS, namespace_and_name, record_name

# Resources that a placement selects.
NO_RECORDS = {"ClusterResourceEnvelope", "ResourceEnvelope"}


def test_records_are_of_all_our_kinds():
    wanted = {name: kind for name, kind in KIND_OF.items() if name not in NO_RECORDS}
    assert dict(KINDS) == {
        name: Resource(kind.group, kind.stored, name, kind.plural, kind.namespaced) for name, kind in wanted.items()
    }


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("ClusterResourcePlacement", "web", ("", "web")),
        ("ClusterResourcePlacement", "shop/web", None),
        ("ResourcePlacement", "shop/web", ("shop", "web")),
        ("ResourcePlacement", "web", None),
        ("ResourcePlacement", "/web", None),
        ("ResourcePlacement", "shop/", None),
        ("ResourcePlacement", "sh.op/web", None),
        ("ResourcePlacement", "a/shop/web", None),
        ("ResourcePlacement", f"{'a' * 64}/web", None),
        ("ClusterResourcePlacement", "../secrets", None),
    ],
)
def test_where_a_record_lies_or_that_none_can_be_called_so(kind, name, place):
    assert namespace_and_name(kind, name) == place
    if place:
        metadata = {"name": place[1], **({"namespace": place[0]} if place[0] else {})}
        assert record_name({"metadata": metadata}) == name
