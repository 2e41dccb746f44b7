# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import (
    CLUSTER_SCOPED,
    NAMESPACED,
    PARENT,
    PlacementKey,
)


@pytest.mark.parametrize(("namespace", "name"), [("", "web"), ("shop", "web"), ("", "shop.web")])
def test_a_key_and_its_text_are_one(namespace: str, name: str) -> None:
    key = PlacementKey(namespace, name)
    assert PlacementKey.of(str(key)) == key
    assert PlacementKey.of_record({"metadata": key.metadata(name)}) == key
    assert PlacementKey.of_parent({"metadata": {**key.metadata("web-1"), "labels": key.labels}}) == key


def test_one_name_in_two_namespaces_is_two_placements() -> None:
    assert len({str(PlacementKey(each, "web")) for each in ("", "shop", "pub")}) == 3


def test_a_record_that_does_not_say_whose_it_is_belongs_to_nobody() -> None:
    assert PlacementKey.of_parent({"metadata": {"name": "web-1", "labels": None}}).name == ""
    assert PlacementKey.of_parent({"metadata": {"name": "web-1", "labels": {PARENT: "web"}}}).name == "web"


def test_the_kinds_of_what_belongs_to_a_placement() -> None:
    assert PlacementKey.of("web").kinds is CLUSTER_SCOPED
    assert PlacementKey.of("shop/web").kinds is NAMESPACED
    assert PlacementKey.of("shop/web").record("web-0") == "shop/web-0"
