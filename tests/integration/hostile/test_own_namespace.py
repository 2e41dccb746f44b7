# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A placement reaches for what the fleet lives on: its namespace, members' credentials, its definitions (F20)."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from small_fleet import OURS, PARENTS, Document, Fleet

NAMESPACE = ("", "v1", "Namespace")
BY_LABEL = {"matchLabels": {"app.kubernetes.io/managed-by": "gitops.fleet"}}
WAYS: dict[str, list[Document]] = {
    "by name": [{"name": "gitops-fleet"}],
    "by label": [{"labelSelector": BY_LABEL}],
    "the namespace alone": [{"name": "gitops-fleet", "selectionScope": "NamespaceOnly"}],
    "Secrets inside it": [
        {"name": "gitops-fleet", "selectionScope": "NamespaceWithResourceSelectors"},
        {"group": "", "version": "v1", "kind": "Secret"},
    ],
}


def placing(fleet: Fleet, selectors: list[Document]) -> Document:
    document = fleet.placement()
    first = dict(zip(("group", "version", "kind"), NAMESPACE, strict=True))
    document["spec"]["resourceSelectors"] = [{**first, **each} for each in selectors]
    return document


def no_trace(fleet: Fleet, name: str, *texts: str) -> None:
    """Nothing of it is on the member, in no Secret and no ConfigMap of any namespace."""
    for path in ("/api/v1/secrets", "/api/v1/configmaps"):
        found = json.dumps(fleet.servers[name].client.get(path))
        assert [text for text in texts if text in found] == []


def texts_of(content: str) -> tuple[str, str]:
    return content, base64.b64encode(content.encode()).decode()


@pytest.mark.parametrize("way", WAYS)
def test_the_hubs_own_namespace_is_never_selected(hub_fleet: Fleet, way: str) -> None:
    fleet, hub = hub_fleet, hub_fleet.hub
    assert hub is not None
    fleet.join("m1")
    hub.patch(OURS, {"metadata": {"labels": BY_LABEL["matchLabels"]}})
    key = (hub.data(f"{OURS}/secrets/gitops-fleet-digest-key") or {})["value"]
    with fleet.servers["m1"].writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(definition=placing(fleet, WAYS[way]), resources=None)
    assert "reserved-namespace" in {each.code for each in refused.value.problems}
    assert "gitops-fleet" in str(refused.value)
    assert written == []
    no_trace(fleet, "m1", key)


def test_nothing_from_files_gets_into_the_members_own_namespace(file_fleet: Fleet) -> None:
    """Not over the parent of another placement either, by which that would lose track of what it holds."""
    fleet = file_fleet
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    before = fleet.servers["m1"].get(f"{PARENTS}/{fleet.name}")
    forged = fleet.configmap(fleet.name, inventory="[]")
    forged["metadata"]["namespace"] = "gitops-fleet"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gitops-fleet"}}
    fleet.resources(space, forged)
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(definition={**placing(fleet, WAYS["by name"]), "metadata": {"name": f"{fleet.name}-evil"}})
    assert refused.value.code == "reserved-namespace" and written == []
    assert fleet.servers["m1"].get(f"{PARENTS}/{fleet.name}") == before


def joined_by_secret(fleet: Fleet, name: str) -> tuple[str, str]:
    """The member is reached by a Secret in the very namespace that a tenant's placement selects."""
    assert fleet.hub is not None
    content = fleet.kubeconfig(name).read_text(encoding="utf-8")
    for document in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace, "labels": {"tenant": "a"}}},
        {"metadata": {"name": f"{name}-access", "namespace": fleet.namespace}, "stringData": {"kubeconfig": content}},
        {"metadata": {"name": "settings", "namespace": fleet.namespace}, "stringData": {"color": "blue"}},
    ):
        path = "/api/v1/namespaces" if document.get("kind") == "Namespace" else fleet.namespaced("secrets")
        fleet.hub.client.post(path, document)
    reference = {"secretRef": {"name": f"{name}-access", "namespace": fleet.namespace, "key": "kubeconfig"}}
    join(fleet.session(), [MemberSpec(name=name, connection=reference)], write=True)
    return texts_of(content)


@pytest.fixture
def emptied(hub_fleet: Fleet) -> t.Iterator[Fleet]:
    yield hub_fleet
    assert hub_fleet.hub is not None
    hub_fleet.hub.client.request("DELETE", hub_fleet.namespaced("secrets"))
    hub_fleet.hub.client.delete(hub_fleet.namespaced())
    hub_fleet.hub.finish_namespaces()


@pytest.mark.parametrize(
    "selectors",
    [
        [{"labelSelector": {"matchLabels": {"tenant": "a"}}}],
        [
            {"selectionScope": "NamespaceWithResourceSelectors"},
            {"kind": "Secret", "name": "m1-access"},
            {"kind": "Secret", "name": "settings"},
        ],
    ],
    ids=["with all that is in its namespace", "by its name"],
)
def test_a_secret_by_which_a_member_is_reached_stays_on_the_hub(emptied: Fleet, selectors: list[Document]) -> None:
    fleet = emptied
    texts = joined_by_secret(fleet, "m1")
    named = [{"name": fleet.namespace, **each} if "selectionScope" in each else each for each in selectors]
    report = fleet.apply(definition=placing(fleet, named), resources=None)
    told = [each for each in report.plan.plans[0].findings if each.code == "never-placed"]
    assert len(told) == 1 and told[0].where.endswith(f"Secret {fleet.namespace}/m1-access")
    assert "a member is reached by the credentials in it" in told[0].message
    assert fleet.servers["m1"].get(fleet.namespaced("secrets", "settings"))
    assert fleet.servers["m1"].get(fleet.namespaced("secrets", "m1-access")) is None
    no_trace(fleet, "m1", *texts)


def test_such_a_secret_is_not_taken_from_files_either(emptied: Fleet) -> None:
    fleet = emptied
    texts = joined_by_secret(fleet, "m1")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m1-access", "namespace": fleet.namespace}}
    fleet.resources(fleet.configmap(), {**secret, "stringData": {"kubeconfig": texts[0]}})
    fleet.place()
    report = fleet.apply()
    assert "m1-access" in str(report.plan.plans[0].findings)
    no_trace(fleet, "m1", *texts)


def test_the_definitions_of_our_own_kinds_are_not_placed(hub_fleet: Fleet) -> None:
    """On a hub that is a member too, their end would take all records along."""
    assert hub_fleet.hub is not None
    both = Fleet(hub_fleet.number, hub_fleet.folder / "own", hub_fleet.options, hub_fleet.hub, {"hub": hub_fleet.hub})
    both.join("hub")
    wish = {"group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition"}
    both.apply(definition=placing(both, [wish]), resources=None)
    found = hub_fleet.hub.client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    names = [each["metadata"]["name"] for each in found]
    ours = [name for name in names if name.endswith((".gitops.fleet", ".kubernetes-fleet.io"))]
    assert ours and [each for each in ours if both.is_ours("hub", _definition(each))] == []
    selected = both.records.list("ClusterResourceSnapshot")[0]["spec"]["selectedResources"]
    assert {each["metadata"]["name"] for each in selected}.isdisjoint(ours)


def _definition(name: str) -> str:
    return f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
