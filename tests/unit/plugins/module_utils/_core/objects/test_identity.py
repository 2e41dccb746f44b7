# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Identity of objects."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId, identify

SHOP = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "web"}}


def test_an_object_is_named_for_people() -> None:
    shop = identify(SHOP)
    assert shop == ObjectId("apps", "v1", "Deployment", "web", "shop")
    assert str(shop) == "Deployment web/shop"
    assert shop.api_version == "apps/v1"


def test_the_core_group_and_cluster_scope_are_left_out() -> None:
    web = identify({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}})
    assert str(web) == "Namespace web"
    assert web.api_version == "v1"


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({}, "apiVersion, kind, metadata.name"),
        ({**SHOP, "metadata": None}, "metadata.name"),
        ({**SHOP, "metadata": {"generateName": "shop-"}}, "generateName"),
        ({**SHOP, "kind": 3}, "kind"),
    ],
)
def test_an_object_without_a_name_is_refused(manifest: dict[str, t.Any], told: str) -> None:
    with pytest.raises(FleetError) as refused:
        identify(manifest)
    assert refused.value.code == "unnamed-object"
    assert told in str(refused.value)
