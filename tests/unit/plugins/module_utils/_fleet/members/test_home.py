# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When our namespace on a member goes with the last placement."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import home
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.home import removable_home
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Answer, KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import Resource


class Refusing(KubeClient):
    """Every request to it ends with the error."""

    def __init__(self, error: FleetError) -> None:
        super().__init__(Connection(server="https://nowhere", name="east"))
        self.refusal = error

    def send(self, *_request: t.Any, **_options: t.Any) -> Answer:
        raise self.refusal


@pytest.mark.parametrize(
    "error",
    [ApiError("forbidden", "no", "east", status=403), FleetError("credentials-plugin", "aws ended with 255", "east")],
    ids=["forbidden", "logged out"],
)
def test_a_namespace_that_cannot_be_looked_into_stays(error: FleetError) -> None:
    """Nobody knows what is in it; what was done on the member before is done all the same."""
    assert removable_home(Refusing(error), ["web"]) is None


@pytest.mark.parametrize(("group", "goes"), [("", True), ("events.k8s.io", True), ("party.example.com", False)])
def test_a_namespace_with_events_of_somebodys_own_making_stays(
    monkeypatch: pytest.MonkeyPatch, group: str, goes: bool
) -> None:
    """The server's are about what happened; a kind that only has the name holds what people made."""
    ours = {"metadata": {"name": "gitops-fleet", "annotations": home.MADE_BY_US}}
    monkeypatch.setattr(home, "read_object", lambda *_which: ours)
    monkeypatch.setattr(
        home, "served_namespaced_resources", lambda _client: (Resource(group, "v1", "Event", "events", True),)
    )
    monkeypatch.setattr(home, "list_objects", lambda *_which, **_how: iter([{"metadata": {"name": "opening"}}]))
    monkeypatch.setattr(home, "worker_count", lambda *_lease: 1)
    assert (removable_home(t.cast(t.Any, None), ["web"]) is not None) == goes
