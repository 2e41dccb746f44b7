# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Envelopes are opened before anything is applied: members get what is in them, the hub is not touched by it."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from small_fleet import Document, Fleet, Server

API = "placement.kubernetes-fleet.io/v1beta1"
RBAC = "rbac.authorization.k8s.io"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NOWHERE = {"url": "https://127.0.0.1:1/"}


def clusterwide(fleet: Fleet, **data: Document) -> Document:
    return {"apiVersion": API, "kind": "ClusterResourceEnvelope", "metadata": {"name": fleet.name}, "data": data}


def inside(fleet: Fleet, **data: Document) -> Document:
    metadata = {"name": "limits", "namespace": fleet.namespace}
    return {"apiVersion": API, "kind": "ResourceEnvelope", "metadata": metadata, "data": data}


def quota(fleet: Fleet, pods: str = "3") -> Document:
    metadata = {"name": "few", "namespace": fleet.namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": pods}}}


def secret(fleet: Fleet) -> Document:
    metadata = {"name": "login", "namespace": fleet.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"word": "open-sesame"}}


def role(fleet: Fleet) -> Document:
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": fleet.name}, "rules": [rule]}


def binding(fleet: Fleet) -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": fleet.name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": fleet.name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": fleet.name}],
    }


def webhook(fleet: Fleet) -> Document:
    """Nobody answers at its address, so that it refuses every ConfigMap of the namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    one = {
        "name": "never.example.com",
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": fleet.namespace}},
        "clientConfig": NOWHERE,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    api = "admissionregistration.k8s.io/v1"
    metadata = {"name": fleet.name}
    return {"apiVersion": api, "kind": "ValidatingWebhookConfiguration", "metadata": metadata, "webhooks": [one]}


def flow(fleet: Fleet) -> Document:
    spec = {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9000}
    api = "flowcontrol.apiserver.k8s.io/v1"
    return {"apiVersion": api, "kind": "FlowSchema", "metadata": {"name": fleet.name}, "spec": spec}


def placing(fleet: Fleet) -> Document:
    """The namespace with what is in it, and the cluster-scoped envelope."""
    document = fleet.placement()
    group, version = API.split("/")
    envelope = {"group": group, "version": version, "kind": "ClusterResourceEnvelope", "name": fleet.name}
    document["spec"]["resourceSelectors"].append(envelope)
    return document


def place(fleet: Fleet) -> None:
    (fleet.folder / "placements" / "web.yml").write_text(json.dumps(placing(fleet)), encoding="utf-8")


def test_members_get_what_is_in_an_envelope_and_not_the_envelope_d4_64(fleet: Fleet) -> None:
    fleet.join("m1")
    place(fleet)
    fleet.resources(
        fleet.configmap(), inside(fleet, a=quota(fleet), b=secret(fleet)), clusterwide(fleet, a=role(fleet))
    )
    report = fleet.apply()
    assert not report.problems
    member = fleet.servers["m1"]
    assert (member.get(fleet.namespaced("resourcequotas", "few")) or {})["spec"] == {"hard": {"pods": "3"}}
    assert fleet.is_ours("m1", fleet.namespaced("secrets", "login"))
    assert fleet.is_ours("m1", f"/apis/{RBAC}/v1/clusterroles/{fleet.name}")
    (status,) = report.statuses.values()
    named = {each.kind: (each.name, each.namespace) for each in status.selected_resources}
    assert named["ResourceEnvelope"] == ("limits", fleet.namespace)
    assert named["ClusterResourceEnvelope"] == (fleet.name, "")
    assert set(named) == {"Namespace", "ConfigMap", "ResourceEnvelope", "ClusterResourceEnvelope"}
    recorded = json.dumps([fleet.records.list(kind) for kind in ("ClusterResourceSnapshot", "ClusterResourceBinding")])
    assert "open-sesame" not in recorded and "b3Blbi1zZXNhbWU" not in recorded and "hmac-sha256:" in recorded
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []


def test_what_leaves_an_envelope_leaves_the_member(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    place(fleet)
    others = (fleet.configmap(), fleet.configmap("a"), fleet.configmap("b"))
    fleet.resources(*others, inside(fleet, a=quota(fleet), b=secret(fleet)), clusterwide(fleet, a=role(fleet)))
    fleet.apply()
    fleet.resources(*others, inside(fleet, a=quota(fleet, "5")), clusterwide(fleet, a=role(fleet)))
    look = fleet.look()
    (row,) = look.plan.plans[0].clusters
    assert [str(each) for each in row.prune] == [f"Secret {fleet.namespace}/login"]
    fleet.apply()
    assert fleet.servers["m1"].get(fleet.namespaced("secrets", "login")) is None
    assert (fleet.servers["m1"].get(fleet.namespaced("resourcequotas", "few")) or {})["spec"]["hard"] == {"pods": "5"}


def test_what_may_not_be_in_an_envelope_is_refused_before_anything_is_written(file_fleet: Fleet) -> None:
    """Every problem of every envelope at once, each with envelope, entry and path (D4-68)."""
    fleet = file_fleet
    fleet.join("m1")
    place(fleet)
    stray = quota(fleet)
    stray["metadata"]["namespace"] = "elsewhere"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": fleet.namespace}}
    fleet.resources(inside(fleet, a=stray, b=pod, c=role(fleet)), clusterwide(fleet, a=quota(fleet)))
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply()
    assert written == []
    told = {(each.code, each.where.partition(f"{fleet.name} ")[2]) for each in refused.value.problems}
    about = f"ResourceEnvelope/{fleet.namespace}/limits"
    assert told == {
        ("enveloped-scope", f"{about} data[a].metadata.namespace"),
        ("enveloped-never-placed", f"{about} data[b]"),
        ("enveloped-scope", f"{about} data[c]"),
        ("enveloped-scope", f"ClusterResourceEnvelope/{fleet.name} data[a].metadata.namespace"),
    }


def test_what_a_member_refuses_is_told_with_its_envelope(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    fleet.place()
    fleet.resources(fleet.configmap(), inside(fleet, bad=fleet.configmap("bad", **{"no key": "x"}), a=quota(fleet)))
    report = fleet.apply()
    (status,) = report.statuses.values()
    (failed,) = status.placement_statuses[0].failed_placements
    assert (failed.kind, failed.name, failed.condition.reason) == ("ConfigMap", "bad", "ManifestApplyFailed")
    envelope = failed.envelope
    assert envelope and (envelope.type, envelope.namespace, envelope.name) == (
        "ResourceEnvelope",
        fleet.namespace,
        "limits",
    )
    assert fleet.is_ours("m1", fleet.namespaced("resourcequotas", "few"))


@pytest.fixture
def enveloped(hub_fleet: Fleet) -> t.Iterator[Fleet]:
    """Both envelopes lie on the hub, with webhook, rights, limits and a flow schema in them."""
    fleet, hub = hub_fleet, hub_fleet.hub
    assert hub is not None
    hub.client.post("/api/v1/namespaces", {"metadata": {"name": fleet.namespace}})
    wide = clusterwide(fleet, a=webhook(fleet), b=role(fleet), c=binding(fleet), d=flow(fleet))
    paths = {
        f"/apis/{API}/clusterresourceenvelopes": wide,
        f"/apis/{API}/namespaces/{fleet.namespace}/resourceenvelopes": inside(fleet, a=quota(fleet, "0")),
    }
    for path, document in paths.items():
        hub.client.post(path, document)
    fleet.join("m1")
    yield fleet
    for server in (hub, fleet.servers["m1"]):
        if server.get(f"{WEBHOOKS}/{fleet.name}"):
            server.client.delete(f"{WEBHOOKS}/{fleet.name}")
    for path, document in paths.items():
        hub.client.delete(f"{path}/{document['metadata']['name']}")
    hub.client.delete(fleet.namespaced())
    hub.finish_namespaces()


def admits(server: Server, fleet: Fleet) -> bool:
    try:
        body = {"metadata": {"name": "tried"}}
        server.client.request("POST", fleet.namespaced("configmaps"), body, {"dryRun": "All"})
    except ApiError as error:
        assert "never.example.com" in str(error)
        return False
    return True


def may_list_secrets(server: Server, fleet: Fleet) -> bool:
    wish = {"user": fleet.name, "resourceAttributes": {"resource": "secrets", "verb": "list"}}
    answer = server.client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": wish})
    return bool(answer["status"]["allowed"])


def test_what_is_in_envelopes_acts_on_members_and_never_on_the_hub(enveloped: Fleet) -> None:
    """Webhooks (D4-65), rights (D4-66), quotas and flow schemas (D4-67)."""
    fleet, hub, member = enveloped, enveloped.hub, enveloped.servers["m1"]
    assert hub is not None
    report = fleet.apply(definition=placing(fleet), resources=None)
    assert not report.problems
    assert "acts-on-hub" not in {each.code for each in report.plan.plans[0].findings}
    assert admits(hub, fleet) and not admits(member, fleet)
    assert may_list_secrets(member, fleet) and not may_list_secrets(hub, fleet)
    quotas, flows = fleet.namespaced("resourcequotas"), "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    assert [each["metadata"]["name"] for each in member.client.get(quotas)["items"]] == ["few"]
    assert hub.client.get(quotas)["items"] == []
    assert member.get(f"{flows}/{fleet.name}") and hub.get(f"{flows}/{fleet.name}") is None
    assert not fleet.apply(definition=placing(fleet), resources=None).changed


def test_what_lies_bare_on_the_hub_is_told_to_act_there_d4_69(enveloped: Fleet) -> None:
    fleet, hub = enveloped, enveloped.hub
    assert hub is not None
    hub.client.post(fleet.namespaced("resourcequotas"), {"metadata": {"name": "bare"}, "spec": {"hard": {"pods": "1"}}})
    report = fleet.look(definition=fleet.placement(), resources=None)
    (told,) = [each for each in report.plan.plans[0].findings if each.code == "acts-on-hub"]
    assert f"ResourceQuota {fleet.namespace}/bare" in told.message and told.hint == "put them into an envelope"
    hub.client.delete(fleet.namespaced("resourcequotas", "bare"))
