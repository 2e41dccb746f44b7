# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is told of making a hub. On API servers it is shown by ``integration/fleet/test_hub.py``."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import hub
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

Document = dict[str, t.Any]


class Server:
    """Has our definitions, and knows no policies."""

    server_name = "hub"

    def __init__(self) -> None:
        found = [json.loads(path.read_text()) for path in hub.CRD_FOLDER.glob("*.json")]
        self.kept: dict[str, Document] = {f"{hub.DEFINITIONS}/{each['metadata']['name']}": each for each in found}

    def get(self, path: str) -> Document:
        if path not in self.kept:
            raise ApiError("not-found", path, status=404)
        return self.kept[path]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    made = Server()

    def apply(_client: t.Any, document: Document, _manager: str, force: bool) -> None:
        assert force and document["kind"] == "Namespace"
        made.kept[f"/api/v1/namespaces/{document['metadata']['name']}"] = document

    monkeypatch.setattr(hub, "apply_object", apply)
    return made


def test_the_namespace_is_a_change_too(server: t.Any):
    """For who makes it, and for who is told beforehand."""
    for write in (False, True):
        found = hub.install(server, write)
        assert (found.namespace, found.changed, found.new) == (hub.CREATED, True, (f"Namespace/{NAMESPACE}",))
    assert server.kept[f"/api/v1/namespaces/{NAMESPACE}"]
    found = hub.install(server, write=True)
    assert (found.namespace, found.changed, found.new) == (hub.UNCHANGED, False, ())


def test_those_that_are_not_served_yet_are_named(server: t.Any):
    (one, two, *_others) = (path.rpartition("/")[2] for path in server.kept)
    server.kept[f"{hub.DEFINITIONS}/{one}"]["status"] = {"conditions": [{}, {"type": "Established", "status": "True"}]}
    assert hub.not_established(server, (one, two, "none")) == (two, "none")


def test_what_was_installed_and_what_was_there_is_said_by_group_with_versions(server: t.Any):
    before = hub.told(hub.install(server, write=False), check=True)
    assert before[0] == f"would be installed: namespace {NAMESPACE}"
    assert before[1] == (
        "there already: 1 definition of cluster.kubernetes-fleet.io (v1, v1beta1), 9 definitions of gitops.fleet"
        " (v1alpha1), 21 definitions of placement.kubernetes-fleet.io (v1, v1beta1)"
    )
    assert before[2].startswith("not served by this API server, so that nobody vouches for approvals: 5 Validating")
    after = hub.told(hub.install(server, write=True), check=False)
    assert after[0] == f"installed: namespace {NAMESPACE}"
    again = hub.told(hub.install(server, write=True), check=False)
    assert again[0].startswith("there already: 1 definition of cluster") and again[0].endswith(f"namespace {NAMESPACE}")
    new = hub.HubOutcome(created=("a.g",), updated=("b.g",), policies={"P/x": hub.CREATED}, versions={"g": ("v1",)})
    assert hub.told(new, check=False) == [
        "installed: 1 definition of g (v1), 1 P",
        "updated: 1 definition of g (v1)",
        f"there already: namespace {NAMESPACE}",
    ]
