# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``kubectl delete namespace`` on a hub with its controllers: a ResourcePlacement there ends on its members first."""

from __future__ import annotations

import json
import re
import time
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install, not_established
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from member_gateway import until
from small_fleet import Document, Fleet, Server, changes, codes

PAGE = Path(__file__).resolve().parents[3] / "docs" / "placement.md"
LIFTED = BrakeLimits(max_removals="100%", max_object_removals="100%")
KEPT = ("ResourcePlacement", "ResourceBinding", "ResourceSnapshot")
WAVES: Document = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}


@pytest.fixture(scope="module")
def whole_hub(module_clusters: t.Any) -> Server:
    """A hub whose controllers end namespaces."""
    server = Server(t.cast(LocalOutcome, module_clusters("whole-hub", profile="control", audit=True)))
    install(server.client, write=True)
    names = [f"{each.plural}.{each.group}" for each in KINDS.values()]
    until(lambda: not not_established(server.client, names))
    until(lambda: all(server.client.send("GET", each.path(), expect=(404,)).status == 200 for each in KINDS.values()))
    return server


@pytest.fixture
def shop(whole_hub: Server, servers: dict[str, Server], tmp_path: Path) -> t.Iterator[Fleet]:
    """Two members of four, and a namespace that they and the hub have."""
    whole_hub.forget_records()
    for each in servers.values():
        each.empty()
    number = 7000 + time.monotonic_ns() % 1000
    options = {"type": "hub", "kubeconfig": whole_hub.made.kubeconfig}
    fleet = Fleet(number=number, folder=tmp_path, options=options, hub=whole_hub, servers=servers)
    fleet.resources(fleet.configmap())
    fleet.join("m1", "m2")
    for server in (whole_hub, servers["m1"], servers["m2"]):
        server.client.post("/api/v1/namespaces", namespace(fleet))
    yield fleet
    for records in fleet.opened:
        records.close()


def namespace(fleet: Fleet) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace}}


def placed(fleet: Fleet, strategy: Document) -> str:
    """A ResourcePlacement that both members hold, and its name."""
    fleet.place()
    path = fleet.folder / "placements" / f"{fleet.name}.yml"
    selector = {"group": "", "version": "v1", "kind": "ConfigMap"}
    document = fleet.placement()
    document |= {"kind": "ResourcePlacement", "metadata": {"name": fleet.name, "namespace": fleet.namespace}}
    document["spec"] = {"resourceSelectors": [selector], "strategy": strategy}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert not codes(fleet.apply())
    assert held(fleet) == ["m1", "m2"]
    return f"{fleet.namespace}/{fleet.name}"


def held(fleet: Fleet) -> list[str]:
    return [name for name in ("m1", "m2") if fleet.servers[name].data(fleet.namespaced("configmaps", "settings"))]


def deleted(fleet: Fleet) -> None:
    """The namespace on the hub, as far as its controllers get by themselves."""
    hub = server_of(fleet)
    hub.client.delete(fleet.namespaced())
    until(lambda: any(each["type"] == "NamespaceFinalizersRemaining" for each in terminating(fleet)))
    until(lambda: not fleet.records.list("SchedulingPolicySnapshot", namespace=fleet.namespace))


def refused(fleet: Fleet) -> set[str]:
    """Why an apply does not do all of it."""
    try:
        return codes(fleet.apply())
    except FleetError as error:
        return {each.code for each in error.problems}


def terminating(fleet: Fleet) -> list[Document]:
    found = server_of(fleet).get(fleet.namespaced()) or {}
    return [each for each in (found.get("status") or {}).get("conditions") or () if each["status"] == "True"]


def server_of(fleet: Fleet) -> Server:
    assert fleet.hub is not None
    return fleet.hub


def gone(fleet: Fleet) -> Callable[[], bool]:
    return lambda: server_of(fleet).get(fleet.namespaced()) is None


def test_it_waits_until_the_placement_has_left_its_members(shop: Fleet) -> None:
    """Its file may be there still. What is known of the members stays with it, and the brakes hold."""
    name = placed(shop, WAVES)
    deleted(shop)
    for kind in KEPT:
        found = shop.records.list(kind, namespace=shop.namespace)
        assert found and all(each["metadata"]["deletionTimestamp"] for each in found), kind
    assert held(shop) == ["m1", "m2"]
    looked = shop.look()
    assert changes(looked, name) == {"m1": "lost", "m2": "lost"}
    assert refused(shop) == {"brake-max-removals"} and held(shop) == ["m1", "m2"]
    assert server_of(shop).get(shop.namespaced()) is not None
    report = shop.apply(limits=LIFTED)
    assert not codes(report) and report.changed and held(shop) == []
    until(gone(shop))
    assert not any(shop.records.list(kind) for kind in KEPT)


def test_a_member_that_does_not_answer_holds_it(shop: Fleet) -> None:
    """What is on such a member is not forgotten; when it has left the fleet, or answers, the namespace goes."""
    placed(shop, WAVES)
    deleted(shop)
    shop.cut("m2")
    shop.apply(limits=LIFTED)
    assert held(shop) == ["m2"] and not gone(shop)()
    assert [each["spec"]["targetCluster"] for each in shop.records.list("ResourceBinding")] == ["m2"]
    left = leave(shop.session(), LeaveRequest(names=("m2",), forget_unreachable=True, max_removals="100%"), write=True)
    assert left.unreachable == ("m2",) and not left.failed
    shop.apply(limits=LIFTED)
    until(gone(shop))


def test_a_binding_that_somebody_deletes_changes_nothing(shop: Fleet) -> None:
    name = placed(shop, WAVES)
    for each in shop.records.list("ResourceBinding"):
        shop.records.delete("ResourceBinding", f"{shop.namespace}/{each['metadata']['name']}")
    report = shop.apply()
    assert changes(report, name) == {"m1": "kept", "m2": "kept"} and not report.changed
    assert not codes(shop.apply(absent=True, names=(name,), limits=LIFTED)) and held(shop) == []
    assert not any(shop.records.list(kind) for kind in KEPT)


def test_who_has_no_runner_any_more_lifts_it_by_hand(shop: Fleet) -> None:
    """As the page says. What is on members stays there, and can be recovered."""
    name = placed(shop, WAVES)
    deleted(shop)
    page = PAGE.read_text(encoding="utf-8")
    command = re.search(r"for kind in ([a-z ]+); do\n.*\n.*patch --type=merge -p '(.*)'", page)
    assert command and set(command[1].split()) == {KINDS[each].plural for each in KEPT}
    assert command[2] == '{"metadata":{"finalizers":null}}'
    for kind in KEPT:
        for each in shop.records.list(kind, namespace=shop.namespace):
            path = KINDS[kind].path(shop.namespace, each["metadata"]["name"])
            server_of(shop).patch(path, {"metadata": {"finalizers": None}})
    until(gone(shop))
    assert held(shop) == ["m1", "m2"]
    server_of(shop).client.post("/api/v1/namespaces", namespace(shop))
    assert refused(shop) == {"foreign-applyset"}
    assert recover_records(shop.session(), shop.asked(write=True)).recovered == {name: ("m1", "m2")}
    assert not codes(shop.apply(absent=True, names=(name,), limits=LIFTED)) and held(shop) == []
