# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Making an API server a hub: once, and never where another master is at home. On m4, which is nobody's hub."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import MANAGED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.hub import CRD_FOLDER, DEFINITIONS, install
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from small_fleet import OURS, Server


@pytest.fixture
def server(servers: dict[str, Server]) -> t.Iterator[Server]:
    """With our definitions, or without any; afterwards those that are there are ours."""
    one = servers["m4"]
    yield one
    for each in one.client.get(DEFINITIONS)["items"]:
        one.patch(f"{DEFINITIONS}/{each['metadata']['name']}", {"metadata": {"labels": MANAGED_BY}})


def refused(server: Server) -> FleetError:
    with server.writing() as written, pytest.raises(FleetError) as caught:
        install(server.client, write=True)
    assert written == []
    return caught.value


def test_our_definitions_are_installed_once(server: Server) -> None:
    with server.writing() as written:
        foretold = install(server.client, write=False)
    assert len(foretold.created + foretold.unchanged) == len(list(CRD_FOLDER.glob("*.json"))) and written == []
    assert install(server.client, write=True) == foretold and server.get(OURS)
    with server.writing() as written:
        second = install(server.client, write=True)
    assert not second.changed and len(second.unchanged) == len(KINDS) and written == []


def test_a_definition_that_somebody_changed_is_put_back(server: Server) -> None:
    install(server.client, write=True)
    name = "fleetmembers.gitops.fleet"
    server.patch(f"{DEFINITIONS}/{name}", {"spec": {"names": {"shortNames": ["other"]}}})
    assert install(server.client, write=True).updated == (name,)
    assert not install(server.client, write=False).changed


def test_definitions_that_are_not_ours_are_left_alone(server: Server) -> None:
    """Those without our label; all of them are named at once."""
    install(server.client, write=True)
    for kind in ("MemberCluster", "FleetMember"):
        path = f"{DEFINITIONS}/{KINDS[kind].plural}.{KINDS[kind].group}"
        server.patch(path, {"metadata": {"labels": dict.fromkeys(MANAGED_BY)}})
    error = refused(server)
    assert [each.code for each in error.problems] == ["foreign-crds"] * 2
    assert "memberclusters" in str(error) and "fleetmembers" in str(error)


def test_a_hub_with_an_agent_of_its_own_is_left_alone(server: Server) -> None:
    server.client.post("/api/v1/namespaces", {"metadata": {"name": "fleet-system"}})
    try:
        assert refused(server).code == "foreign-hub"
    finally:
        server.client.delete("/api/v1/namespaces/fleet-system")
        server.finish_namespaces()
