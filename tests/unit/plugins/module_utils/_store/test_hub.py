# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What others may write into the namespace of the records: Leases, Events and a Secret that need not have our form."""

from __future__ import annotations

import base64
import json
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import records_id
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._store.digest_key import digest_key, known_digest_key
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering, listing

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gitops-fleet/leases"
MEMBERS = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters"
SECRET = "/api/v1/namespaces/gitops-fleet/secrets/gitops-fleet-digest-key"
FORM = {
    "holderIdentity": "ci-1",
    "leaseTransitions": 3,
    "leaseDurationSeconds": 60,
    "renewTime": "2026-01-02T03:04:05Z",
}


CRP, OLDER = "ClusterResourcePlacement", "cluster-resource-placement-controller"


def records(documents: dict[str, t.Any]) -> HubRecords:
    return HubRecords(Answering(documents), lambda: NOW)


def lease(name: str, **more: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": name, "uid": "u", "resourceVersion": "1"}, **more}


def test_leases_without_a_form_do_not_hide_the_others() -> None:
    odd = [lease("other.app"), lease("run.a", spec=[]), lease("run.b", spec={"holderIdentity": 0})]
    huge = {**FORM, "leaseTransitions": "x", "leaseDurationSeconds": 10**30, "renewTime": "9999-12-31T23:59:59Z"}
    rows = [*odd, lease("run.c", spec=huge), lease("placement.web", spec=FORM), lease("member", spec=FORM)]
    found = records({LEASES: listing("Lease", rows)}).leases()
    assert [(each.name, each.holder, each.epoch) for each in found] == [
        ("placement/web", "ci-1", 3),
        ("run/c", "ci-1", 0),
    ]
    assert not found[1].expired(NOW)


def test_a_list_in_a_namespace_of_a_kind_that_has_none_asks_for_nothing() -> None:
    """It gave all of the fleet, where a file of records gave none."""
    all_of_them = listing("MemberCluster", [{"metadata": {"name": "m1"}}])
    hub = records({MEMBERS: all_of_them})
    assert [each["metadata"]["name"] for each in hub.list("MemberCluster")] == ["m1"]
    with pytest.raises(FleetError) as caught:
        hub.list("MemberCluster", namespace="default")
    assert caught.value.code == "invalid" and "leave the namespace out" in caught.value.hint


M1 = {"kind": "MemberCluster", "metadata": {"name": "m1", "uid": "u", "resourceVersion": "1", "generation": 1}}
NO_RECORDS = {
    "a status": {"kind": "Status", "status": "Success", "metadata": {}},
    "another kind": {**M1, "kind": "Namespace"},
    "another name": {**M1, "metadata": {**M1["metadata"], "name": "m2"}},
    "no uid": {**M1, "metadata": {"name": "m1", "resourceVersion": "1"}},
    "no version": {**M1, "metadata": {"name": "m1", "uid": "u"}},
    "a version that is no text": {**M1, "metadata": {**M1["metadata"], "resourceVersion": 1}},
}


@pytest.mark.parametrize("answer", NO_RECORDS.values(), ids=NO_RECORDS)
def test_another_answer_than_the_record_is_none(answer: dict[str, t.Any]) -> None:
    """A proxy that answers everything with 200; nothing is taken for recorded that was not."""
    wanted = {"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "spec": {}, **M1}
    hub = records({MEMBERS: answer, f"{MEMBERS}/m1": answer})
    for asked in (
        lambda: hub.get("MemberCluster", "m1"),
        lambda: hub.create(wanted),
        lambda: hub.create({**wanted, "status": {"a": 1}}),
        lambda: hub.replace(wanted),
    ):
        with pytest.raises(FleetError) as caught:
            asked()
        assert caught.value.code == "bad-answer" and MEMBERS in caught.value.message
    assert records({f"{MEMBERS}/m1": M1}).get("MemberCluster", "m1") == M1


@pytest.mark.parametrize("spec", [None, [], "x", {**FORM, "leaseTransitions": "3"}])
def test_a_lease_that_lost_its_form_is_no_right_to_write(spec: t.Any) -> None:
    hub = records({f"{LEASES}/placement.web": lease("placement.web", spec=spec)})
    with pytest.raises(FleetError) as caught:
        hub.delete("MemberCluster", "m1", lease=Lease("placement/web", "ci-1", 3, NOW, NOW, 60))
    assert caught.value.code == "lease-lost"


@pytest.mark.parametrize("about", [{}, {"involvedObject": []}, {"involvedObject": {"kind": ["x"], "name": 5}}])
def test_events_that_only_look_like_ours(about: dict[str, t.Any]) -> None:
    event = {"metadata": {"name": "e"}, "reportingComponent": "gitops-fleet", "eventTime": 5, "type": None, **about}
    (found,) = records({"/api/v1/namespaces/default/events": listing("Event", [event])}).events("MemberCluster", "m1")
    assert (found.type, found.reason, found.at.year) == ("", "", 1970)


@pytest.mark.parametrize("writer", [{"reportingComponent": "placement-controller"}, {"source": {"component": OLDER}}])
def test_lines_of_kubefleet_are_read_and_those_of_others_are_not_d4_94(writer: dict[str, t.Any]) -> None:
    """Its older reasons read as today's; a recorder of that time tells no ``eventTime``."""
    about = {"kind": CRP, "name": "web"}
    line = {"involvedObject": about, "type": "Normal", "message": "done", "lastTimestamp": "2024-05-01T12:00:00Z"}
    reasons = ("PlacementScheduleSuccess", "PlacementSyncSuccess", "PlacementRolloutCompleted")
    theirs = [{**line, **writer, "metadata": {"name": each}, "reason": each} for each in reasons]
    other = {**line, "metadata": {"name": "x"}, "reason": "PlacementApplied", "source": {"component": "kubelet"}}
    found = records({"/api/v1/namespaces/default/events": listing("Event", [*theirs, other])}).events(CRP, "web")
    assert {each.reason for each in found} == {
        "SchedulingSucceeded",
        "PlacementWorkSynchronized",
        "PlacementRolloutCompleted",
    }
    by = writer.get("reportingComponent", OLDER)
    assert {(each.by, each.name, each.at.year) for each in found} == {(by, "web", 2024)}


@pytest.mark.parametrize("data", [None, {}, [], {"value": ""}, {"value": None}, {"value": "!"}, {"value": "eA"}])
def test_a_digest_key_without_a_value_is_refused(data: t.Any) -> None:
    """F23: digests of Secrets would be made without a key, and whoever reads them could try values."""
    hub = records({SECRET: {"kind": "Secret", "metadata": {"name": "gitops-fleet-digest-key"}, "data": data}})
    for read in (digest_key, known_digest_key):
        with pytest.raises(FleetError) as caught:
            read(hub)
        assert caught.value.code == "record-damaged" and "gitops-fleet-digest-key" in caught.value.message


def test_a_digest_key_that_is_not_there_is_none() -> None:
    assert known_digest_key(records({})) == b""
    kept = {"kind": "Secret", "data": {"value": base64.b64encode(b"x" * 32).decode()}}
    assert known_digest_key(records({SECRET: kept})) == b"x" * 32


def test_a_digest_key_that_is_deleted_as_it_is_made_is_not_taken_for_an_empty_one() -> None:
    """The way out of a damaged one is to delete it, and somebody does so while another run is about to use it."""
    hub = records({SECRET.rpartition("/")[0]: {"kind": "Secret"}})
    for ask in (lambda: digest_key(hub), lambda: records_id(hub)):
        with pytest.raises(FleetError) as caught:
            ask()
        assert caught.value.code == "conflict"


class NotThere(KubeClient):
    """Asks in the name of ``web``, and finds nothing of the name that it is made for."""

    def __init__(self, name: str) -> None:
        super().__init__(Connection("https://a:6443", impersonate=(("Impersonate-User", "web"),)))
        self._name = name

    def _once(self, *_arguments: t.Any) -> Answer:
        said = {"kind": "Status", "status": "Failure", "reason": "NotFound", "details": {"name": self._name}}
        return Answer(404, "application/json", json.dumps(said).encode())


def test_a_record_with_the_name_of_the_account_is_absent_and_not_its_definition() -> None:
    """What we show to a server is taken out of its words; the name of an absent record was not found in them then."""
    assert HubRecords(NotThere("web"), lambda: NOW).get(CRP, "web") is None
    placement = {"apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ResourcePlacement", "spec": {}}
    for namespace, code in (("web", "no-such-namespace"), ("shop", "crds-missing")):
        with pytest.raises(FleetError) as caught:
            HubRecords(NotThere("web"), lambda: NOW).create(
                {**placement, "metadata": {"name": "a", "namespace": namespace}}
            )
        assert caught.value.code == code
