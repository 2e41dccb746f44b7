# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which objects of a placement get the status of those on the member; when at all stands in ``test_support``."""

from __future__ import annotations

import types
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.envelope import Origin
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.reported.mirror import mirrored_objects

WEB = ObjectId("apps", "v1", "Deployment", "shop", "web")
# What a hub itself lives by.
HUBS = (
    ObjectId("", "v1", "Namespace", "", "shop"),
    ObjectId("", "v1", "ResourceQuota", "shop", "all"),
    ObjectId("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "a.example"),
    ObjectId("policy", "v1", "PodDisruptionBudget", "shop", "web"),
    ObjectId("networking.k8s.io", "v1", "ServiceCIDR", "", "more"),
    ObjectId("resource.k8s.io", "v1", "ResourceClaim", "shop", "gpu"),
    ObjectId("storage.k8s.io", "v1", "VolumeAttachment", "", "disk"),
)


def of(*objects: Rendered) -> list[ObjectId]:
    return list(mirrored_objects(t.cast(t.Any, types.SimpleNamespace(objects=objects))))


def rendered(each: ObjectId, origin: Origin | None = None) -> Rendered:
    return Rendered(id=each, hash="h", manifest={}, origin=origin)


def test_what_the_hub_itself_acts_on_is_left_alone() -> None:
    """F20: a member that says its namespace is ending does not close that of the hub."""
    assert of(rendered(WEB), *map(rendered, HUBS)) == [WEB]


def test_what_came_out_of_an_envelope_is_not_on_the_hub() -> None:
    assert of(rendered(WEB, Origin("ResourceEnvelope", "shop", "all", "web.yml"))) == []
