# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides of files and of a hub, and those that concern a placement."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.overrides import (
    LoadedOverrides,
    Unreadable,
    merged_overrides,
    overrides_concerning,
    overrides_in,
    overrides_on,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import Manifest
from ansible_collections.gitops.fleet.tests.data.manifest_parts import crp
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    RULE,
    override,
    patched,
    resource_override,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering, listing

PLACEMENT = decode(ClusterResourcePlacement, {"metadata": {"name": "web"}})
WEB = ObjectId("apps", "v1", "Deployment", "shop", "web")
ROLE = ObjectId("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "reader")


def read(*documents: dict[str, t.Any]) -> LoadedOverrides:
    found = [Manifest(each, f"all.yml:{at}", "all.yml") for at, each in enumerate(documents)]
    return overrides_in(found, strict=False)


def names(found: t.Iterable[t.Any]) -> list[str]:
    return [each.name for each in found]


def test_overrides_are_found_among_whatever_stands_beside_them() -> None:
    found = read(crp(), override(), {"apiVersion": "example.com/v1", "kind": "ResourceOverride"}, resource_override())
    assert [each.kind for each in found.overrides] == ["ClusterResourceOverride", "ResourceOverride"]


def test_every_problem_of_every_override_comes_at_once() -> None:
    with pytest.raises(FleetError) as refused:
        read(patched(path="/kind"), resource_override(selectors=()))
    assert len(refused.value.problems) == 2
    assert [each.where.split(" ")[0] for each in refused.value.problems] == ["all.yml:0", "all.yml:1"]


def test_one_name_for_two_overrides_is_a_problem_and_a_copy_is_none() -> None:
    assert len(read(override(), override()).overrides) == 1
    with pytest.raises(FleetError) as refused:
        read(override(), override(RULE, RULE))
    assert (refused.value.code, refused.value.where) == ("duplicate-override", "all.yml:1")


def test_what_acts_nowhere_is_told() -> None:
    (found,) = read(override({"jsonPatchOverrides": RULE["jsonPatchOverrides"]})).findings
    assert found.code == "rule-without-clusters" and found.where.startswith("all.yml:0")


def test_a_file_counts_before_the_hub() -> None:
    files, hub = read(override(RULE, RULE)), read(override(), resource_override())
    both = merged_overrides(files, hub)
    assert [len(each.spec.policy.override_rules) for each in both.overrides] == [2, 1]
    assert [(each.code, each.where) for each in both.findings] == [("override-in-file", "hub")]
    assert merged_overrides(hub, hub) == LoadedOverrides(overrides=hub.overrides)


def test_a_file_counts_before_one_on_the_hub_that_cannot_be_read() -> None:
    """It is mended in Git, and stands in nobody's way on the hub."""
    base = "/apis/placement.kubernetes-fleet.io/v1beta1"
    broken = {"clusterresourceoverrides": patched(path="/kind"), "resourceoverrides": resource_override(selectors=())}
    lists = {f"{base}/{kind}": listing(each["kind"], [each]) for kind, each in broken.items()}
    hub = overrides_on(Answering(lists))
    assert len(hub.unreadable) == 2
    files = read(override(), resource_override())
    both = merged_overrides(files, hub)
    assert both.overrides == files.overrides and both.unreadable == ()
    assert [each.code for each in both.findings] == ["override-in-file"] * 2
    assert merged_overrides(read(), hub) == hub


def test_only_what_names_an_object_of_the_placement_concerns_it() -> None:
    loaded = read(override(), resource_override())
    assert names(overrides_concerning(loaded, PLACEMENT, [WEB])) == ["web"]
    assert names(overrides_concerning(loaded, PLACEMENT, [WEB, ROLE])) == ["roles", "web"]
    other = read(resource_override(placement={"name": "other"}))
    assert overrides_concerning(other, PLACEMENT, [WEB]) == ()


def test_two_of_one_kind_for_one_object_are_refused_where_both_concern_the_placement() -> None:
    again = resource_override()
    again["metadata"] = {**again["metadata"], "name": "again"}
    with pytest.raises(FleetError) as refused:
        overrides_concerning(read(resource_override(), again), PLACEMENT, [WEB])
    assert refused.value.code == "overridden-twice"
    again["spec"] = {**again["spec"], "placement": {"name": "other"}}
    assert names(overrides_concerning(read(resource_override(), again), PLACEMENT, [WEB])) == ["web"]


def test_one_that_cannot_be_read_stops_what_it_may_concern() -> None:
    problems = tuple(read_problems(patched(path="/kind")))
    loaded = LoadedOverrides(unreadable=(Unreadable("shop", problems),))
    assert overrides_concerning(loaded, PLACEMENT, [ROLE]) == ()
    with pytest.raises(FleetError):
        overrides_concerning(loaded, PLACEMENT, [WEB])
    with pytest.raises(FleetError):
        overrides_concerning(LoadedOverrides(unreadable=(Unreadable("", problems),)), PLACEMENT, [ROLE])


def read_problems(document: dict[str, t.Any]) -> t.Iterable[t.Any]:
    with pytest.raises(FleetError) as refused:
        read(document)
    return refused.value.problems
