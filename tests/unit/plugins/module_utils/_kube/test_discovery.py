# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How often a server is asked for its kinds, when many objects are of one that it has not."""

from __future__ import annotations

import json
import time
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Answer, Credential, KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import (
    resource_for,
    resource_of,
    served_namespaced_resources,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webs.example.org"


class Server(KubeClient):
    """Has the kinds of ``kinds``; ``asked`` counts how often it was asked for them."""

    def __init__(self) -> None:
        super().__init__(Connection(server="https://nowhere", name="m1"))
        self.kinds: list[str] = ["Other"]
        self.asked = 0

    def _once(
        self, method: str, target: str, data: bytes | None, content_type: str, accept: str, credential: Credential
    ) -> Answer:
        self.asked += target == "/apis"
        rows = [
            {"resource": f"{kind.lower()}s", "scope": "Cluster", "responseKind": {"kind": kind}, "verbs": ["list"]}
            for kind in self.kinds
        ]
        group = {"metadata": {"name": "example.org"}, "versions": [{"version": "v1", "resources": rows}]}
        found = {"kind": "APIGroupDiscoveryList", "items": [group]}
        return Answer(200, "application/json", json.dumps(found).encode())


def code(server: Server, kind: str = "Web") -> str:
    try:
        return resource_for(server, "example.org/v1", kind).plural
    except ApiError as error:
        return error.code


def test_a_kind_that_is_missing_is_not_asked_for_again_for_each_object() -> None:
    server = Server()
    assert {code(server, f"Web{number % 10}") for number in range(1000)} == {"unknown-kind"}
    assert server.asked <= 2
    assert set(in_parallel({str(each): lambda: code(server) for each in range(50)}).values()) == {"unknown-kind"}
    assert code(server, "Other") == "others" and server.asked <= 4


def test_what_we_have_defined_ourselves_is_found_at_once() -> None:
    server = Server()
    assert code(server) == "unknown-kind"
    server.kinds.append("Web")
    server.request("PATCH", CRD, {})
    assert code(server) == "webs" and server.asked == 2
    assert code(server, "Other") == "others" and server.asked == 2


def test_what_others_have_defined_is_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    assert code(server) == "unknown-kind"
    server.kinds.append("Web")
    later = time.monotonic() + 2
    monkeypatch.setattr(time, "monotonic", t.cast(t.Any, lambda: later))
    assert code(server) == "webs"


@pytest.mark.parametrize(("api_version", "kind"), [("v1", "Binding"), ("v1", "ComponentStatus"), ("v1", "Deployment")])
def test_nobody_is_sent_for_a_definition_of_a_kind_of_the_core_group(api_version: str, kind: str) -> None:
    """No CRD can add to it, and a kind that is misplaced there has another apiVersion."""
    server = Server()
    with pytest.raises(ApiError) as unknown:
        resource_of(server, ObjectId("", api_version, kind, "", "one"))
    assert (unknown.value.code, server.asked) == ("unknown-kind", 0)
    assert kind in unknown.value.message and "kubectl api-resources" in unknown.value.hint
    assert "CustomResourceDefinition" not in unknown.value.hint


def test_a_core_group_of_which_the_server_cannot_tell_is_called_as_everywhere() -> None:
    class Stale(Server):
        def _once(self, _method: str, target: str, *_arguments: t.Any) -> Answer:
            group = {"versions": [{"version": "v1", "freshness": "Stale"}]}
            found = {"kind": "APIGroupDiscoveryList", "items": [group] if target == "/api" else []}
            return Answer(200, "application/json", json.dumps(found).encode())

    with pytest.raises(ApiError) as unknown:
        served_namespaced_resources(Stale())
    assert unknown.value.code == "server-error" and "behind v1 " in unknown.value.message
