# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong between records on a hub and their API server: each call works or fails, never half in silence."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from records_places import Place, member
from records_server import TOKENS, ApiServer

MC = "MemberCluster"


@pytest.fixture
def place(hub_place: Place) -> Place:
    return hub_place


def every_call(records: Records) -> dict[str, t.Callable[[], object]]:
    now = datetime.now(UTC)
    read = records.get(MC, "one")
    assert read is not None
    lease = records.acquire("placement/web", "runner-a", 60)
    changed = read | {"spec": read["spec"] | {"heartbeatPeriodSeconds": 7}}
    return {
        "get": lambda: records.get(MC, "one"),
        "list": lambda: records.list(MC),
        "create": lambda: records.create(member("two")),
        "replace": lambda: records.replace(changed),
        "delete": lambda: records.delete(MC, "one"),
        "acquire": lambda: records.acquire("placement/other", "runner-a", 60),
        "renew": lambda: records.renew(lease),
        "release": lambda: records.release(lease),
        "leases": records.leases,
        "event": lambda: records.event(MC, "one", "Normal", "A", "b", now),
        "events": lambda: records.events(MC, "one"),
        "secret": lambda: records.secret("digest-key"),
        "keep_secret": lambda: records.keep_secret("digest-key", b"x"),
        "with lease": lambda: records.replace(changed, lease),
    }


def codes(calls: t.Mapping[str, t.Callable[[], object]]) -> dict[str, str]:
    found = {}
    for name, call in calls.items():
        try:
            call()
            found[name] = ""
        except FleetError as error:
            assert not any(token in str(error) for token in TOKENS.values())  # F23
            found[name] = error.code
    return found


def test_an_api_server_that_goes_away_and_comes_back(api_server: ApiServer, place: Place) -> None:
    records = place.open()
    first = records.create(member())
    calls = every_call(records)
    api_server.stop()
    try:
        assert codes(calls) == dict.fromkeys(calls, "unreachable")
    finally:
        api_server.start()
    assert records.get(MC, "one") == first
    assert records.list(MC) == (first,)
    assert codes(calls) == dict.fromkeys(calls, "") | {"with lease": "lease-lost"}


def test_an_account_that_may_only_be_there_is_told_so(api_server: ApiServer, place: Place) -> None:
    place.open().create(member())
    calls = every_call(place.open())
    assert codes(calls)["get"] == ""
    poor = open_records(place.options | {"context": "reader"}, {}, place.watch)
    assert codes({"get": lambda: poor.get(MC, "one"), "list": lambda: poor.list(MC)}) == {
        "get": "forbidden",
        "list": "forbidden",
    }
    assert codes({"acquire": lambda: poor.acquire("a/b", "c", 60)}) == {"acquire": "forbidden"}


def test_without_our_resource_definitions_the_hint_names_the_role(place: Place) -> None:
    records = place.open()
    assert isinstance(records, HubRecords)
    real, client = records.client.sized, records.client

    def older(method: str, path: str, *rest: t.Any, **more: t.Any) -> t.Any:
        return real(method, path.replace("memberclusters", "unknownclusters"), *rest, **more)

    client.sized = older  # type: ignore[method-assign]
    calls: dict[str, t.Callable[[], object]] = {
        "get": lambda: records.get(MC, "one"),
        "list": lambda: records.list(MC),
        "create": lambda: records.create(member()),
        "replace": lambda: records.replace(member()),
        "delete": lambda: records.delete(MC, "one"),
    }
    assert codes(calls) == dict.fromkeys(calls, "crds-missing")
    with pytest.raises(FleetError) as caught:
        records.list(MC)
    assert "gitops.fleet.hub" in caught.value.hint


def test_the_namespace_is_made_when_it_is_missing(api_server: ApiServer, place: Place) -> None:
    with api_server.client() as client:
        client.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
        namespace = client.get(f"/api/v1/namespaces/{NAMESPACE}")
        namespace["spec"]["finalizers"] = []  # what a controller-manager would do; there is none
        client.put(f"/api/v1/namespaces/{NAMESPACE}/finalize", namespace)
    records = place.open()
    assert records.leases() == ()
    assert records.acquire("placement/web", "runner-a", 60).epoch == 1
    assert records.keep_secret("digest-key", b"x") == b"x"


def test_a_field_that_the_server_does_not_know_is_not_dropped_in_silence(place: Place) -> None:
    records = place.open()
    assert codes({"create": lambda: records.create(member(spec={"colour": "red"}))}) == {"create": "invalid"}
    assert records.list(MC) == ()


def test_a_status_that_could_not_be_written_is_mended_by_the_next_run(place: Place) -> None:
    records = place.open()
    assert isinstance(records, HubRecords)
    first = records.create(member())
    put = records.client.put

    def breaks(path: str, *rest: t.Any) -> t.Any:
        if path.endswith("/status"):
            raise FleetError("unreachable", "gone")
        return put(path, *rest)

    records.client.put = breaks  # type: ignore[method-assign]
    status = {"properties": {"cost": {"value": "3"}}}
    wanted = first | {"spec": first["spec"] | {"heartbeatPeriodSeconds": 7}, "status": status}
    assert codes({"replace": lambda: records.replace(wanted)}) == {"replace": "unreachable"}
    records.client.put = put  # type: ignore[method-assign]
    assert codes({"replace": lambda: records.replace(wanted)}) == {"replace": "conflict"}
    left = records.get(MC, "one")
    assert left and left["spec"]["heartbeatPeriodSeconds"] == 7 and "status" not in left
    assert records.replace(left | {"status": status})["status"] == status


def test_unchanged_records_cause_no_write_request(place: Place) -> None:
    records = place.open()
    assert isinstance(records, HubRecords)
    made = records.create(member(status={"properties": {"cost": {"value": "3"}}}))
    asked: list[str] = []
    send = records.client.send

    def noting(method: str, *rest: t.Any, **more: t.Any) -> t.Any:
        asked.append(method)
        return send(method, *rest, **more)

    records.client.send = noting  # type: ignore[method-assign]
    records.replace(made)
    assert asked == ["GET"]
