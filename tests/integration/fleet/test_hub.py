# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Making an API server a hub: once, and never where another master is at home. On m4, which is nobody's hub."""

from __future__ import annotations

import json
import time
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.hub import CRD_FOLDER, DEFINITIONS, install
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from small_fleet import OURS, Server


@pytest.fixture
def server(servers: dict[str, Server]) -> t.Iterator[Server]:
    one = servers["m4"]
    yield one
    for each in one.client.get(DEFINITIONS)["items"]:
        delete_object(one.client, f"{DEFINITIONS}/{each['metadata']['name']}")
    end = time.monotonic() + 60
    while one.client.get(DEFINITIONS)["items"]:
        assert time.monotonic() < end, "the definitions do not go"
        time.sleep(0.1)
    one.empty()


def refused(server: Server) -> FleetError:
    with server.writing() as written, pytest.raises(FleetError) as caught:
        install(server.client, write=True)
    assert written == []
    return caught.value


def test_our_definitions_are_installed_once(server: Server) -> None:
    with server.writing() as written:
        assert len(install(server.client, write=False).created) == len(list(CRD_FOLDER.glob("*.json")))
    assert written == []
    first = install(server.client, write=True)
    assert len(first.created) == len(KINDS) and server.get(OURS)
    with server.writing() as written:
        second = install(server.client, write=True)
    assert not second.changed and second.unchanged == first.created and written == []


def test_a_definition_that_somebody_changed_is_put_back(server: Server) -> None:
    name = install(server.client, write=True).created[0]
    server.patch(f"{DEFINITIONS}/{name}", {"spec": {"names": {"shortNames": ["other"]}}})
    assert install(server.client, write=True).updated == (name,)
    assert not install(server.client, write=False).changed


def test_definitions_that_are_not_ours_are_left_alone(server: Server) -> None:
    """All of them are named at once."""
    files = sorted(CRD_FOLDER.glob("*.json"))[:2]
    for file in files:
        definition = json.loads(file.read_text(encoding="utf-8"))
        del definition["metadata"]["labels"]
        server.client.post(DEFINITIONS, definition)
    error = refused(server)
    assert [each.code for each in error.problems] == ["foreign-crds"] * 2
    assert len(server.client.get(DEFINITIONS)["items"]) == 2


def test_a_hub_with_an_agent_of_its_own_is_left_alone(server: Server) -> None:
    server.client.post("/api/v1/namespaces", {"metadata": {"name": "fleet-system"}})
    try:
        assert refused(server).code == "foreign-hub"
    finally:
        server.client.delete("/api/v1/namespaces/fleet-system")
        server.finish_namespaces()
