# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Making an API server a hub: once, and never where another master is at home. On m4, which is nobody's hub."""

from __future__ import annotations

import time
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import MANAGED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import (
    CRD_FOLDER,
    DEFINITIONS,
    install,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from small_fleet import OURS, Document, Server


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
    assert not second.changed and len(second.unchanged) == len(list(CRD_FOLDER.glob("*.json"))) and written == []


def test_a_definition_that_somebody_changed_is_put_back(server: Server) -> None:
    install(server.client, write=True)
    name = "fleetmembers.gitops.fleet"
    server.patch(f"{DEFINITIONS}/{name}", {"spec": {"names": {"shortNames": ["other"]}}})
    assert install(server.client, write=True).updated == (name,)
    assert not install(server.client, write=False).changed


def until_gone(server: Server, names: t.Iterable[str]) -> None:
    end = time.monotonic() + 120
    while any(server.get(f"{DEFINITIONS}/{name}") for name in names):
        assert time.monotonic() < end, "the definitions are still there"
        time.sleep(0.1)


def properties_of(definition: Document) -> Document:
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


@pytest.mark.parametrize("lacking", [False, True], ids=["a field too many", "a field that is lacking"])
def test_the_fields_of_another_version_of_ours_are_noticed(server: Server, lacking: bool) -> None:
    """As an older collection left them, or somebody changed them: foretold without writing, then put right once."""
    install(server.client, write=True)
    name = "fleetmembers.gitops.fleet"
    older = server.client.get(f"{DEFINITIONS}/{name}")
    older["metadata"].pop("managedFields")
    if lacking:
        del properties_of(older)["group"]
    else:
        properties_of(older)["former"] = {"type": "string"}
    server.client.put(f"{DEFINITIONS}/{name}", older)
    assert install(server.client, write=False).updated == (name,)
    assert install(server.client, write=True).updated == (name,)
    fields = properties_of(server.client.get(f"{DEFINITIONS}/{name}"))
    assert "group" in fields and "former" not in fields
    assert not install(server.client, write=True).changed


def test_kinds_that_an_older_set_lacks_are_added(server: Server) -> None:
    install(server.client, write=True)
    new = ("gates.gitops.fleet", "updateruns.gitops.fleet", "updatestrategies.gitops.fleet")
    for name in new:
        server.client.delete(f"{DEFINITIONS}/{name}")
    until_gone(server, new)
    assert install(server.client, write=True).created == new
    assert not install(server.client, write=True).changed


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
