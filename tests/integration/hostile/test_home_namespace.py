# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The end of the last placement, in a namespace ``gitops-fleet`` that other people use too."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import MemberLeases
from member_gateway import Gateway, until
from small_fleet import OURS, PARENTS, Document, Fleet

LIFTED = BrakeLimits(max_removals="100%")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/gitops-fleet"
FOREIGN: dict[str, tuple[str, Document]] = {
    "a ConfigMap": (PARENTS, {"metadata": {"name": "theirs"}}),
    "a Secret": (f"{OURS}/secrets", {"metadata": {"name": "theirs"}}),
    "a ServiceAccount": (f"{OURS}/serviceaccounts", {"metadata": {"name": "theirs"}}),
    "a Role": (f"{RBAC}/roles", {"metadata": {"name": "theirs"}, "rules": []}),
    "a Lease": ("/apis/coordination.k8s.io/v1/namespaces/gitops-fleet/leases", {"metadata": {"name": "theirs"}}),
}


@pytest.fixture
def held(file_fleet: Fleet) -> t.Iterator[Fleet]:
    """m1 holds a placement, in a namespace that we made for it."""
    fleet = file_fleet
    _without_home(fleet)
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    yield fleet
    _without_home(fleet)


def _without_home(fleet: Fleet) -> None:
    server = fleet.servers["m1"]
    if server.get(OURS):
        for path, _document in FOREIGN.values():
            server.client.request("DELETE", path)
        server.client.delete(OURS)
        server.finish_namespaces()


def is_there(fleet: Fleet) -> bool:
    found = fleet.servers["m1"].get(OURS)
    return found is not None and not found["metadata"].get("deletionTimestamp")


def says_so(fleet: Fleet, report: t.Any) -> bool:
    return "Namespace gitops-fleet" in [str(each.id) for each in report.outcomes_of(fleet.name)["m1"].steps]


def test_what_we_made_goes_when_nothing_is_in_it_and_the_plan_says_so(held: Fleet) -> None:
    assert says_so(held, held.look(absent=True, names=(held.name,)))
    assert says_so(held, held.end(limits=LIFTED))
    assert not is_there(held)


@pytest.mark.parametrize("what", FOREIGN)
def test_with_anything_of_others_in_it_it_stays(held: Fleet, what: str) -> None:
    path, document = FOREIGN[what]
    server = held.servers["m1"]
    server.client.post(path, document)
    assert not says_so(held, held.look(absent=True, names=(held.name,)))
    assert not says_so(held, held.end(limits=LIFTED))
    assert is_there(held) and server.get(f"{path}/theirs") and server.get(f"{PARENTS}/{held.name}") is None


def test_so_it_does_with_an_object_of_a_kind_that_only_this_server_has(held: Fleet) -> None:
    server = held.servers["m1"]
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    server.client.post(DEFINITIONS, {"metadata": {"name": "gadgets.example.org"}, "spec": spec})
    path = "/apis/example.org/v1/namespaces/gitops-fleet/gadgets"
    until(lambda: server.client.send("GET", path, expect=(404,)).status == 200)
    try:
        server.client.post(path, {"apiVersion": "example.org/v1", "kind": "Gadget", "metadata": {"name": "theirs"}})
        held.end(limits=LIFTED)
        assert is_there(held) and server.get(f"{path}/theirs")
    finally:
        server.client.delete(f"{path}/theirs")
        server.client.delete(f"{DEFINITIONS}/gadgets.example.org")
        until(lambda: server.get(f"{DEFINITIONS}/gadgets.example.org") is None)


def test_what_cannot_be_listed_counts_as_being_there(held: Fleet) -> None:
    gateway = Gateway(held.servers["m1"])
    gateway.rule = lambda method, path: 403 if path.endswith("/gitops-fleet/secrets") and method == "GET" else None
    try:
        held.log_in("m1", gateway.kubeconfig(held.folder / "through"))
        report = held.end(limits=LIFTED)
    finally:
        gateway.close()
    assert not report.problems and is_there(held) and not says_so(held, report)


def test_while_another_run_of_the_same_records_begins_here_it_stays(held: Fleet) -> None:
    """That one has taken the lease and has not written its parent yet: it would be written into what goes."""
    gateway, begun = Gateway(held.servers["m1"]), list[t.Any]()
    leases = MemberLeases(held.records, "runner-2")
    leases.learn_owner()

    def comes(method: str, path: str) -> int | None:
        if path.endswith("/gitops-fleet/secrets") and method == "GET" and not begun:
            begun.append(leases.take(held.servers["m1"].client, "placement/other"))
        return None

    gateway.rule = comes
    try:
        held.log_in("m1", gateway.kubeconfig(held.folder / "through"))
        report = held.end(limits=LIFTED)
    finally:
        gateway.close()
    assert begun and not report.problems and is_there(held)
    begun[0].release()


def test_a_namespace_that_others_made_stays_though_it_is_empty(file_fleet: Fleet) -> None:
    fleet = file_fleet
    _without_home(fleet)
    labels = {"app.kubernetes.io/managed-by": "gitops.fleet"}
    fleet.servers["m1"].client.post("/api/v1/namespaces", {"metadata": {"name": "gitops-fleet", "labels": labels}})
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    fleet.end(limits=LIFTED)
    assert is_there(fleet)
    _without_home(fleet)


def test_a_member_that_leaves_with_several_placements_names_it_once(held: Fleet) -> None:
    held.place(name=f"{held.name}-b")
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{held.namespace}-b"}}
    held.resources(other, namespace=False)
    document = held.placement(name=f"{held.name}-b")
    document["spec"]["resourceSelectors"][0]["name"] = other["metadata"]["name"]
    held.apply(definition=document)
    wish = LeaveRequest(names=("m1",), remove=True, max_removals="100%")
    for write in (False, True):
        found = leave(held.session(hub=None), wish, write=write)
        steps = [str(step.id) for each in found.outcomes["m1"].values() for step in each.steps]
        assert "Namespace gitops-fleet" in steps
    assert not is_there(held)
