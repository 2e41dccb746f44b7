# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What stands beside placements and would change them is never passed over in silence."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.rendering import Sealing
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.selection import Selected
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import (
    credentials_of,
    hubs_among,
    no_manifests_findings,
    placements_in,
    rendered,
    selected_from_hub,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import MAX_DEPTH, Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import Manifest, read_manifests
from ansible_collections.gitops.fleet.tests.data.manifest_parts import crp
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    approval_request,
    budget,
    eviction,
    override,
    resource_override,
    staged,
    staged_run,
    staged_strategy,
    twin,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering


class Refusing(Answering):
    """A hub whose account may read nothing."""

    def send(self, *_arguments: t.Any, **_named: t.Any) -> Answer:
        raise ApiError("forbidden", "no", self.server_name, status=403)


def read_all(*documents):
    return placements_in(
        [Manifest(each, f"web.yml:{at}", "web.yml") for at, each in enumerate(documents)], strict=False
    )


@pytest.mark.parametrize(
    "document",
    [approval_request(), twin(approval_request())],
    ids=lambda document: document["kind"],
)
def test_what_would_change_a_placement_and_is_not_carried_out_is_refused(document):
    with pytest.raises(FleetError) as refused:
        read_all(crp(), document)
    assert (refused.value.code, refused.value.where) == ("not-a-placement", "web.yml:1")
    assert document["kind"] in refused.value.message and "not carried out yet" in refused.value.hint


def test_a_broken_one_is_told_what_is_wrong_with_it():
    with pytest.raises(FleetError) as refused:
        read_all(crp(), eviction(clusterName=None))
    assert [each.code for each in refused.value.problems] == ["missing-field"]


def test_the_fleet_s_own_objects_may_stand_beside_placements():
    update_strategy = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "UpdateStrategy", "metadata": {"name": "a"}}
    assert [each.placement.name for each in read_all(crp(), update_strategy)] == ["crp"]
    beside = (eviction(), budget(maxUnavailable=1))
    assert [each.placement.name for each in read_all(*beside, crp())] == ["crp"]
    runs = (staged_strategy(staged()), staged_run())
    assert [each.placement.name for each in read_all(*runs, *map(twin, runs), crp())] == ["crp"]


def test_overrides_may_stand_beside_placements():
    assert [each.placement.name for each in read_all(crp(), override(), resource_override())] == ["crp"]


def test_a_path_that_adds_nothing_is_told(tmp_path: Path):
    (tmp_path / "full").mkdir()
    (tmp_path / "empty").mkdir()
    file = tmp_path / "full" / "a.yml"
    file.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    (tmp_path / "again").symlink_to(tmp_path / "full")
    paths = [str(tmp_path / name) for name in ("full", "again", "empty", "full/a.yml")]
    found = no_manifests_findings(paths, read_manifests(paths), "resources")
    assert [(each.code, each.where) for each in found] == [("no-manifests", str(tmp_path / "empty"))]
    assert no_manifests_findings(["/"], read_manifests(paths), "resources") == ()


def test_the_secrets_by_which_members_are_reached():
    connections = (
        {"secretRef": {"name": "m1", "namespace": "access"}},
        {"kubeconfig": "/k"},
        {"secretRef": {"name": "m2", "namespace": "other", "key": "k"}},
    )
    members = [decode(FleetMember, {"metadata": {"name": "m"}, "spec": {"connection": each}}) for each in connections]
    assert credentials_of(members) == {("access", "m1"), ("other", "m2")}


def test_a_hub_that_is_a_member_is_told_by_its_own_uid():
    uids = ["0b0f3b1e-0000-4000-8000-000000000001", "0b0f3b1e-0000-4000-8000-000000000002"]
    specs = [{"connection": {"context": "m"}, "clusterUID": uid} for uid in uids]
    members = {f"m{at}": decode(FleetMember, {"spec": spec}) for at, spec in enumerate(specs)}
    hub = Answering({"/api/v1/namespaces/kube-system": {"metadata": {"name": "kube-system", "uid": uids[1]}}})
    assert hubs_among(members, hub, writes=True) == {"m1"}
    assert hubs_among(members, None, writes=True) == hubs_among({}, hub, writes=True) == set()


def test_whoever_writes_must_know_which_member_is_the_hub_whose_originals_are_never_deleted():
    spec = {"connection": {"context": "m"}, "clusterUID": "0b0f3b1e-0000-4000-8000-000000000001"}
    members = {"m": decode(FleetMember, {"spec": spec})}
    hub = Refusing({})
    with pytest.raises(FleetError) as caught:
        hubs_among(members, hub, writes=True)
    assert caught.value.code == "forbidden" and "grant" in caught.value.hint
    assert hubs_among(members, hub, writes=False) == set()


def test_hashes_without_a_key_do_not_hang_on_what_secrets_hold():
    def hashes(value: str, key: bytes) -> list[str]:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}}
        return [
            each.hash
            for each in rendered(Selected(({**secret, "stringData": {"p": value}},)), Sealing(key=key, source="files"))
        ]

    assert hashes("one", b"") == hashes("two", b"")
    assert hashes("one", b"key") != hashes("two", b"key")
    assert hashes("one", b"key") != hashes("one", b"other key")


class Hub(Answering):
    """A hub with Namespace ``shop``, metrics of its pods, things of a definition, and nothing else."""

    def __init__(self, *things: dict[str, t.Any]) -> None:
        def kind(group: str, plural: str, name: str) -> dict[str, t.Any]:
            row = {"resource": plural, "responseKind": {"kind": name}, "scope": "Namespaced", "verbs": ["list"]}
            return {"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [row]}]}

        groups = [kind("metrics.k8s.io", "pods", "PodMetrics"), kind("example.com", "things", "Thing")]
        super().__init__(
            {
                "/apis": {"kind": "APIGroupDiscoveryList", "items": groups},
                "/api/v1/namespaces": listed({"metadata": {"name": "shop", "uid": "1"}}, kind="Namespace"),
                "/apis/example.com/v1/namespaces/shop/things": listed(*things, api="example.com/v1", kind="Thing"),
            }
        )
        self.asked: list[str] = []

    def send(self, method: str, path: str, *arguments: t.Any, **named: t.Any) -> Answer:
        self.asked.append(path)
        self.documents = {path: listed(), **self.documents}
        return super().send(method, path, *arguments, **named)


def listed(*items: dict[str, t.Any], api: str = "v1", kind: str = "Other") -> dict[str, t.Any]:
    return {"apiVersion": api, "kind": f"{kind}List", "metadata": {}, "items": list(items)}


def thing(name: str, **fields: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": name, "namespace": "shop", **fields.pop("metadata", {})}, **fields}


def shop() -> ClusterResourcePlacement:
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    return decode(ClusterResourcePlacement, {"metadata": {"name": "web"}, "spec": {"resourceSelectors": [selector]}})


def test_objects_that_an_api_server_makes_up_without_a_uid_are_told_apart_by_their_names():
    found = selected_from_hub(shop(), Hub(thing("a"), thing("b"), thing("c", metadata={"uid": "2"})))
    assert sorted(str(identify(each)) for each in found.objects) == [
        "Namespace shop",
        "Thing shop/a",
        "Thing shop/b",
        "Thing shop/c",
    ]


def test_kinds_that_are_never_placed_are_not_even_listed():
    hub = Hub()
    assert not selected_from_hub(shop(), hub).problems
    lists = {each.rpartition("/")[2] for each in hub.asked if "/shop/" in each}
    assert {"configmaps", "things"} <= lists and not lists & {"pods", "events"}


def stale(hub: Hub, group: str) -> Hub:
    """The hub while the API server behind the group does not answer, and its kinds are not known."""
    rows = [each for each in hub.documents["/apis"]["items"] if each["metadata"]["name"] != group]
    away = {"metadata": {"name": group}, "versions": [{"version": "v1", "freshness": "Stale"}]}
    hub.documents = {**hub.documents, "/apis": {**hub.documents["/apis"], "items": [*rows, away]}}
    return hub


def test_a_kind_of_which_the_hub_cannot_tell_now_is_not_taken_for_one_of_which_it_has_nothing():
    """What is selected no more is pruned on every member."""
    with pytest.raises(FleetError, match=r"the API servers behind example.com/v1 do not answer") as refused:
        selected_from_hub(shop(), stale(Hub(thing("a")), "example.com"))
    assert (refused.value.code, refused.value.hint) == ("server-error", "see kubectl get apiservices")


def test_a_kind_that_is_never_placed_may_be_unknown():
    found = selected_from_hub(shop(), stale(Hub(thing("a")), "metrics.k8s.io"))
    assert [str(identify(each)) for each in found.objects] == ["Namespace shop", "Thing shop/a"]


def test_an_object_that_is_too_deep_is_refused():
    deep: dict[str, t.Any] = {}
    for _level in range(MAX_DEPTH):
        deep = {"a": deep}
    with pytest.raises(FleetError, match=r"things is damaged: cr has more than 200 levels") as refused:
        selected_from_hub(shop(), Hub(thing("cr", spec=deep)))
    assert refused.value.code == "bad-answer"
