# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A lease that those of one owner share, on a server that holds one Lease and keeps its own time."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Answer, KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.shared_lease import (
    OWNER,
    WORKERS,
    SharedLease,
    Worker,
    release,
    renew,
    take,
    worker_count,
)
from hypothesis import given
from hypothesis import strategies as st

Document = dict[str, t.Any]
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class Server(KubeClient):
    """Knows one path; ``lease`` is what lies there."""

    def __init__(self) -> None:
        super().__init__(Connection(server="https://nowhere", name="east"))
        self.lease: t.Any = None
        self.now = START
        self.asked: list[str] = []
        self._version = 0

    def send(self, method: str, path: str, body: t.Any = None, *_more: t.Any, **_options: t.Any) -> Answer:
        self.asked.append(method)
        one = path.endswith("/member")
        if method == "POST" and self.lease is not None:
            raise ApiError("already-exists", "it is there", "east", status=409)
        if one and self.lease is None:
            raise ApiError("not-found", "it is not there", "east", status=404)
        if method == "DELETE":
            if body["preconditions"]["resourceVersion"] != _version_of(self.lease):
                raise ApiError("conflict", "another version", "east", status=409)
            self.lease = None
        if method in ("POST", "PUT"):
            if method == "PUT" and _version_of(body) != _version_of(self.lease):
                raise ApiError("conflict", "another version", "east", status=409)
            created = {} if self.lease else {"creationTimestamp": self.now.isoformat()}
            self.write({**body, "metadata": {**_metadata(body), **created}})
        data = json.dumps(self.lease if self.lease is not None else {}).encode()
        return Answer(200, "application/json", data, f"{self.now:%a, %d %b %Y %H:%M:%S GMT}")

    def write(self, document: Document) -> None:
        self._version += 1
        metadata = {**_metadata(document), "resourceVersion": str(self._version)}
        self.lease = {**document, "metadata": metadata}

    @property
    def workers(self) -> set[str]:
        return set(json.loads(self.lease["metadata"]["annotations"][WORKERS]))


def _metadata(document: Document) -> Document:
    found = document.get("metadata")
    return found if isinstance(found, dict) else {}


def _version_of(document: Document) -> t.Any:
    return _metadata(document).get("resourceVersion", "")


@pytest.fixture
def server() -> Server:
    return Server()


def worker(owner: str, task: str, token: str = "1") -> Worker:
    return Worker(owner=owner, task=task, token=token, text=f"{task} by {owner}")


def taken(server: Server, owner: str, task: str = "placement/web", token: str = "1", seconds: int = 60) -> SharedLease:
    return take(server, "gitops-fleet", "member", worker(owner, task, token), seconds)


def refused(server: Server, owner: str) -> FleetError:
    with pytest.raises(FleetError) as caught:
        taken(server, owner)
    assert caught.value.code == "member-held"
    return caught.value


def test_taking_it_is_one_request_and_giving_it_up_another(server: Server) -> None:
    release(server, taken(server, "a"))
    assert server.asked == ["POST", "DELETE"] and server.lease is None


def test_another_owner_is_told_who_works_since_when_and_until_when(server: Server) -> None:
    taken(server, "a")
    server.now += timedelta(seconds=20)
    error = refused(server, "b")
    assert error.where == "east"
    assert error.message == (
        "placement/web by a works on this cluster since 20 s"
        " (last sign of life 20 s ago, free in 1 min 10 s without another)"
    )
    assert "gitops-fleet/member" in error.hint


def test_time_is_the_servers_and_the_epoch_rises_when_it_is_taken_over(server: Server) -> None:
    """F6, F7."""
    late = taken(server, "a")
    server.now += timedelta(seconds=90)
    refused(server, "b")
    server.now += timedelta(seconds=1)
    new = taken(server, "b")
    assert (late.epoch, new.epoch) == (1, 2) and server.lease["spec"]["leaseTransitions"] == 2
    with pytest.raises(FleetError) as lost:
        renew(server, late)
    assert lost.value.code == "member-lost"
    release(server, late)
    assert server.workers == {"placement/web"} and renew(server, new).epoch == 2
    release(server, new)
    assert server.lease is None


def test_who_died_long_ago_works_here_no_more(server: Server) -> None:
    """Else it would be renewed with those that come, and its namespace be in use for ever."""
    dead, late = taken(server, "a", "placement/dead"), timedelta(seconds=80)
    server.now += late
    assert taken(server, "a", "placement/web") and server.workers == {"placement/dead", "placement/web"}
    server.now += 2 * late
    last = taken(server, "a", "placement/last")
    assert server.workers == {"placement/last"} and worker_count(server, "gitops-fleet", "member") == 1
    with pytest.raises(FleetError) as lost:
        renew(server, dead)
    assert lost.value.code == "member-lost"
    release(server, last)
    assert server.lease is None and worker_count(server, "gitops-fleet", "member") == 0


def test_a_renewed_lease_lasts(server: Server) -> None:
    lease = taken(server, "a")
    for _third in range(9):
        server.now += timedelta(seconds=30)
        lease = renew(server, lease)
        refused(server, "b")


def test_those_of_one_owner_share_it_and_the_last_one_deletes_it(server: Server) -> None:
    first = taken(server, "a", "placement/web", seconds=60)
    second = taken(server, "a", "run/one", seconds=900)
    assert server.workers == {"placement/web", "run/one"} and server.lease["spec"]["leaseTransitions"] == 1
    release(server, first)
    assert server.workers == {"run/one"} and server.lease["spec"]["holderIdentity"] == "run/one by a"
    refused(server, "b")
    assert server.lease["spec"]["leaseDurationSeconds"] == 900
    release(server, second)
    assert server.lease is None


def test_whoever_stays_is_waited_for_as_long_as_its_own_work_asks(server: Server) -> None:
    """Not for as long as one that has given it up."""
    short, long = taken(server, "a", "leave/m1", seconds=60), taken(server, "a", "run/one", seconds=900)
    assert (short.seconds, long.seconds) == (60, 900)
    release(server, long)
    assert server.lease["spec"]["leaseDurationSeconds"] == 60
    assert taken(server, "a", "placement/web", seconds=30).seconds == 30
    assert server.lease["spec"]["leaseDurationSeconds"] == 60


def test_the_last_one_deletes_it_whichever_that_is(server: Server) -> None:
    first, second = taken(server, "a", "placement/web"), taken(server, "a", "run/one")
    release(server, second)
    assert server.workers == {"placement/web"}
    release(server, first)
    assert server.lease is None


def test_a_later_worker_at_the_same_task_replaces_a_dead_one(server: Server) -> None:
    dead = taken(server, "a", token="1")
    alive = taken(server, "a", token="2")
    release(server, dead)
    assert server.workers == {"placement/web"}
    with pytest.raises(FleetError, match="no longer ours"):
        renew(server, dead)
    release(server, alive)
    assert server.lease is None


def test_who_wrote_something_else_into_it_takes_nothing_away(server: Server) -> None:
    lease = taken(server, "a")
    server.write({**server.lease, "metadata": {**server.lease["metadata"], "labels": {"seen": "by-ann"}}})
    release(server, lease)
    assert server.lease is None


def test_one_that_was_deleted_is_lost_and_its_release_is_quiet(server: Server) -> None:
    lease = taken(server, "a")
    server.lease = None
    with pytest.raises(FleetError, match="no longer ours"):
        renew(server, lease)
    release(server, lease)


def test_one_without_a_holder_is_free(server: Server) -> None:
    taken(server, "a")
    server.lease["spec"]["holderIdentity"] = ""
    assert taken(server, "b").epoch == 2


def test_others_who_are_always_faster_are_told_of(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(server, "a")
    server.now += timedelta(hours=1)
    monkeypatch.setattr(server, "put", _always_too_late)
    assert "keep changing" in str(refused(server, "b"))


def _always_too_late(*_arguments: t.Any) -> t.NoReturn:
    raise ApiError("conflict", "another version", "east", status=409)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["9999-12-31T23:59:59-14:00", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_NAMES = ("holderIdentity", "leaseDurationSeconds", "leaseTransitions", "renewTime", "acquireTime")
_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "annotations": _JSON | st.fixed_dictionaries({OWNER: _JSON, WORKERS: _JSON | st.text(max_size=9)}),
        "creationTimestamp": _JSON,
    },
)


@given(metadata=_METADATA | _JSON, spec=st.fixed_dictionaries({}, optional=dict.fromkeys(_NAMES, _JSON)) | _JSON)
def test_whatever_stands_in_a_lease_is_no_reason_to_break(metadata: t.Any, spec: t.Any) -> None:
    """A hostile member may write there what it likes."""
    server = Server()
    server.lease = {"metadata": metadata, "spec": spec}
    lease = SharedLease(
        namespace="n", name="member", worker=worker("a", "t"), seconds=1, epoch=1, resource_version="", alone=False
    )
    for call in (lambda: taken(server, "a"), lambda: renew(server, lease), lambda: release(server, lease)):
        before = server.lease
        try:
            call()
        except FleetError as error:
            assert len(str(error)) < 1000
        server.lease = before
