# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is told of making a hub. On API servers it is shown by ``integration/fleet/test_hub.py``."""

from __future__ import annotations

import copy
import json
import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import MANAGED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import hub
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.approval_policy import (
    OF_UPDATES,
    path_of,
    shipped,
    vouched_since,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

Document = dict[str, t.Any]
LOOSE, NAME = next(
    (path_of(each), f"{each['kind']}/{each['metadata']['name']}")
    for each in shipped()
    if each["kind"] == "ValidatingAdmissionPolicy" and each["metadata"]["name"] in OF_UPDATES
)


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


class PolicyServer(Server):
    """Serves policies, too: what is made bears the present as its creation time."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.killed, self.made = datetime(2026, 3, 1, tzinfo=UTC), False, 0
        self.kept |= {path_of(each).rpartition("/")[0]: {} for each in shipped()}

    def post(self, path: str, body: Document) -> None:
        assert f"{path}/{body['metadata']['name']}" not in self.kept
        if self.killed:
            raise KeyboardInterrupt
        self.made += 1
        own = {"creationTimestamp": write_time(self.now), "resourceVersion": "7", "uid": f"u{self.made}"}
        metadata = {**body["metadata"], **own}
        self.kept[f"{path}/{body['metadata']['name']}"] = copy.deepcopy({**body, "metadata": metadata})

    def delete(self, path: str, body: Document) -> None:
        if body["preconditions"] != {"uid": self.kept[path]["metadata"]["uid"]}:
            raise ApiError("conflict", path, status=409)
        del self.kept[path]


@pytest.fixture
def policies(server: t.Any, monkeypatch: pytest.MonkeyPatch) -> PolicyServer:
    """With our policies for an hour by now, the second of which lets one more through."""
    made = PolicyServer()
    monkeypatch.setattr(hub, "_namespace", lambda *_each: hub.UNCHANGED)
    assert set(hub.install(t.cast(t.Any, made), write=True).policies.values()) == {hub.CREATED}
    made.now += timedelta(hours=1)
    loose = made.kept[LOOSE]
    loose["spec"] = {**loose["spec"], "failurePolicy": "Ignore"}
    loose["metadata"] |= {"labels": {"team": "a"}, "annotations": {"why": "b"}}
    return made


def test_a_policy_with_another_spec_is_made_anew_so_that_nothing_older_is_vouched_for(policies: t.Any) -> None:
    """Put right in place it kept its creation time, and what was written under the looser one counted as true."""
    assert vouched_since(policies) is None
    foretold = hub.install(policies, write=False)
    assert policies.kept[LOOSE]["spec"]["failurePolicy"] == "Ignore"
    done = hub.install(policies, write=True)
    assert done == foretold and [name for name, what in done.policies.items() if what == hub.UPDATED] == [NAME]
    assert vouched_since(policies) == policies.now
    metadata = policies.kept[LOOSE]["metadata"]
    assert metadata["labels"] == {"team": "a", **MANAGED_BY} and metadata["annotations"]["why"] == "b"
    assert hub.outcome_lines(done, check=False)[-1] == hub.OLDER and hub.OLDER not in hub.outcome_lines(
        hub.install(policies, True), False
    )
    assert not hub.install(policies, write=True).changed


def test_a_policy_that_another_installation_has_just_made_anew_stays(
    policies: t.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was deleted, and what was approved in between counted as unverified; for a moment there was none."""
    found, others = policies.get, list[t.Any]()

    def get(path: str) -> Document:
        before = copy.deepcopy(found(path))
        if path == LOOSE and not others:
            others.append(None)
            others.append(hub.install(policies, write=True).policies[NAME])
        return before

    monkeypatch.setattr(policies, "get", get)
    with pytest.raises(ApiError) as refused:
        hub.install(policies, write=True)
    assert (refused.value.code, others[1]) == ("conflict", hub.UPDATED)
    assert vouched_since(policies) == policies.now


def test_an_installation_that_was_killed_while_a_policy_is_made_anew_vouches_for_nothing(policies: t.Any) -> None:
    policies.killed = True
    with pytest.raises(KeyboardInterrupt):
        hub.install(policies, write=True)
    assert vouched_since(policies) is None
    policies.killed, policies.now = False, policies.now + timedelta(minutes=5)
    assert hub.install(policies, write=True).policies[NAME] == hub.CREATED
    assert vouched_since(policies) == policies.now


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
    before = hub.outcome_lines(hub.install(server, write=False), check=True)
    assert before[0] == f"would be installed: namespace {NAMESPACE}"
    assert before[1] == (
        "there already: 1 definition of cluster.kubernetes-fleet.io (v1, v1beta1), 9 definitions of gitops.fleet"
        " (v1alpha1), 21 definitions of placement.kubernetes-fleet.io (v1, v1beta1)"
    )
    assert before[2].startswith("not served by this API server, so that nobody vouches for approvals: 5 Validating")
    after = hub.outcome_lines(hub.install(server, write=True), check=False)
    assert after[0] == f"installed: namespace {NAMESPACE}"
    again = hub.outcome_lines(hub.install(server, write=True), check=False)
    assert again[0].startswith("there already: 1 definition of cluster") and again[0].endswith(f"namespace {NAMESPACE}")
    new = hub.HubOutcome(created=("a.g",), updated=("b.g",), policies={"P/x": hub.CREATED}, versions={"g": ("v1",)})
    assert hub.outcome_lines(new, check=False) == [
        "installed: 1 definition of g (v1), 1 P",
        "updated: 1 definition of g (v1)",
        f"there already: namespace {NAMESPACE}",
    ]
