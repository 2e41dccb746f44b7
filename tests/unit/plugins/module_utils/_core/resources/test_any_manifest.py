# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever the manifests are: their order does not matter, and nothing but our own error is raised."""

from __future__ import annotations

import copy
import typing as t
from random import Random

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override import (
    ClusterResourceOverride,
    Override,
    ResourceOverride,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
    ResourceSelector,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.scopes import likely_scopes
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import with_part_of_label
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.catalog import catalog_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.cleaning import cleaned
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.compare import differences
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.envelopes import (
    side_effect_findings,
    unpacked,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.order import hash_order_key
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.overrides.overrides import (
    acting,
    attached,
    overridden,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import object_hash, sealed
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.selection import select
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.snapshots import in_parts
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.canonical import canonical_json
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    RANDOM,
    any_json,
    anything,
    mutated,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st

Manifest = dict[str, t.Any]

PARIS = decode(MemberCluster, {"metadata": {"name": "paris", "labels": {"a": "b"}}})
NAMES = ("web", "api", "keys")
SELECTORS = [
    decode(ResourceSelector, {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}),
    decode(ResourceSelector, {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole"}),
    decode(
        ResourceSelector,
        {"group": "", "version": "v1", "kind": "Namespace", "labelSelector": {"matchLabels": {"a": "b"}}},
    ),
]


def manifest(rng: Random) -> Manifest:
    """One of a few objects that meet each other often."""
    api_version, kind, namespace = rng.choice(
        [
            ("v1", "Namespace", ""),
            ("v1", "ConfigMap", "shop"),
            ("v1", "Secret", "shop"),
            ("v1", "Service", "other"),
            ("apps/v1", "Deployment", "shop"),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", ""),
            ("placement.kubernetes-fleet.io/v1", "ResourceEnvelope", "shop"),
            ("placement.kubernetes-fleet.io/v1", "ClusterResourceEnvelope", ""),
        ]
    )
    name = "shop" if kind == "Namespace" and rng.random() < 0.5 else rng.choice(NAMES)
    labels = {"a": "b"} if rng.random() < 0.3 else {}
    out = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": labels}}
    if namespace:
        out["metadata"]["namespace"] = namespace  # type: ignore[index]
    return out | {rng.choice(("spec", "data")): {"x": anything(rng, 2)}}


def override(rng: Random) -> Override:
    cls = rng.choice((ClusterResourceOverride, ResourceOverride))
    written_down = written(rng, cls)
    written_down["kind"] = cls.__name__
    written_down["metadata"] = {"name": rng.choice("abc"), "namespace": "shop"}
    selectors = [
        {"group": "", "version": "v1", "kind": "ConfigMap", "name": "web"},
        {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"},
    ]
    for key in ("resourceSelectors", "clusterResourceSelectors"):
        if key in written_down["spec"]:
            written_down["spec"][key] = selectors
    for rule in written_down["spec"]["policy"]["overrideRules"]:
        rule["clusterSelector"] = {"clusterSelectorTerms": []}
        for patch in rule.get("jsonPatchOverrides", ()):
            patch["path"] = rng.choice(
                ("/data", "/data/x", "/spec/x/0", "/metadata/labels/a", "/spec/x/-", "/data/x/y")
            )
    return decode(cls, written_down)


MANIFESTS = st.lists(RANDOM.map(manifest), max_size=11)
GONE_WRONG = RANDOM.map(lambda rng: mutated(rng, manifest(rng)))
OVERRIDES = st.lists(RANDOM.map(override), max_size=4)


@given(manifests=MANIFESTS, data=st.data())
def test_the_order_of_manifests_does_not_matter(manifests: list[Manifest], data: st.DataObject) -> None:
    # One of each: which of two manifests of one object stands first would be told apart, and both are refused.
    manifests = list({identify(each): each for each in manifests}.values())
    shuffled = data.draw(st.permutations(manifests))

    def ordered(found: list[Manifest]) -> list[Manifest]:
        return sorted(found, key=lambda each: hash_order_key(identify(each)))

    assert ordered(manifests) == ordered(shuffled)
    one, other = (select(SELECTORS, catalog_of(each, likely_scopes(each))) for each in (manifests, shuffled))
    assert one.objects == other.objects
    assert set(one.problems) == set(other.problems)
    assert set(one.findings) == set(other.findings)


@given(overrides=OVERRIDES)
def test_the_order_of_overrides_does_not_matter(overrides: list[Override]) -> None:
    # One of each: two of a kind with one name cannot be.
    overrides = list({(each.kind, each.name): each for each in overrides}.values())
    metadata = {"name": "web", "namespace": "shop"}
    each = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": []}}
    before = copy.deepcopy(each)
    found = overridden(each, overrides, PARIS)
    assert repr(found) == repr(overridden(each, overrides[::-1], PARIS))
    assert [each.override for each in acting(overrides, PARIS)] == overrides
    assert each == before


@given(each=RANDOM.map(manifest))
def test_cleaning_twice_is_cleaning_once(each: Manifest) -> None:
    once = cleaned(each)
    assert repr(cleaned(once)) == repr(once)


@given(sizes=st.lists(st.integers(0, 60), max_size=15))
def test_parts_hold_everything_in_order_and_keep_their_size(sizes: list[int]) -> None:
    manifests = [{"a": "x" * size} for size in sizes]
    packed = in_parts(manifests, limit=80)
    assert [each for part in packed for each in part] == manifests
    assert all(len(part) == 1 or sum(len(canonical_json(each)) for each in part) <= 80 for part in packed if part)


@settings(max_examples=2 * settings().max_examples)
@given(
    one=GONE_WRONG, other=GONE_WRONG, good=RANDOM.map(manifest), odd=any_json(), overrides=OVERRIDES, full=st.booleans()
)
def test_nothing_but_our_own_error_is_raised(
    one: t.Any, other: t.Any, good: Manifest, odd: t.Any, overrides: list[Override], full: bool
) -> None:
    objects = [each for each in (one, other, good, odd) if isinstance(each, dict)]
    for namespace in ("", "shop"):
        selected = select(SELECTORS, catalog_of(objects, likely_scopes(objects)), namespace)
        side_effect_findings([identify(each) for each in selected.objects])
        unpacked(selected.objects)
    unpacked(objects)
    for each in objects:
        cleaned(each)
        _refused_or(lambda each=each: canonical_json(each))  # type: ignore[misc]
        _refused_or(lambda each=each: _placed(each, objects[0], overrides, full))  # type: ignore[misc]


def _placed(each: t.Any, live: t.Any, overrides: list[Override], full: bool) -> None:
    """What is done to an object that has a name."""
    identify(each)
    clean = cleaned(each)
    overridden(clean, overrides, PARIS)
    with_part_of_label(clean, "applyset-a")
    differences(clean, live, full=full)
    object_hash(sealed(clean, b"key", "src"))


def _refused_or(call: t.Callable[[], t.Any]) -> None:
    try:
        call()
    except FleetError as error:
        assert error.problems


@given(overrides=OVERRIDES, manifests=MANIFESTS)
def test_attached_asks_for_names_alone(overrides: list[Override], manifests: list[Manifest]) -> None:
    placement = decode(ClusterResourcePlacement, {"metadata": {"name": "a"}})
    found = attached(overrides, placement, map(identify, manifests))
    assert set(map(id, found)) <= set(map(id, overrides))
