# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A Lease that others write, too: what stands in it need not have a form, and a conflict alone tells nothing."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Answer, KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lease import (
    KubeLease,
    LeaseHeld,
    acquire,
    release,
    renew,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SPEC = {
    "holderIdentity": "ci-1",
    "leaseDurationSeconds": 30,
    "leaseTransitions": 3,
    "acquireTime": "2026-01-01T12:00:00.000000Z",
    "renewTime": "2026-01-01T12:00:00.000000Z",
}


class Server(KubeClient):
    """Holds one Lease with that spec; the first ``conflicts`` writes meet one, for somebody has labelled it."""

    def __init__(self, spec: t.Any, conflicts: int = 0) -> None:
        super().__init__(Connection(server="https://nowhere", name="hub"))
        self.metadata = {"name": "placement.web", "namespace": "fleet", "uid": "u", "resourceVersion": "1"}
        self.spec, self.conflicts, self.writes = spec, conflicts, 0

    def send(self, method: str, path: str, body: t.Any = None, *_more: t.Any, **_options: t.Any) -> Answer:
        if method == "PUT":
            self.writes += 1
            if self.writes <= self.conflicts:
                raise ApiError("conflict", "another version", "hub", status=409)
            self.spec = body["spec"]
        document = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": self.metadata}
        data = json.dumps({**document, "spec": self.spec}).encode()
        return Answer(200, "application/json", data, "Thu, 01 Jan 2026 12:00:00 GMT")


def taken(server: Server, holder: str = "ci-2") -> KubeLease:
    return acquire(server, "fleet", "placement.web", holder, 60, NOW)


@pytest.mark.parametrize(
    "spec", [None, [], "x", {}, {"holderIdentity": "", "leaseTransitions": "x"}, {"holderIdentity": 0}]
)
def test_a_lease_without_a_form_is_free(spec: t.Any) -> None:
    lease = taken(Server(spec))
    assert (lease.holder, lease.epoch, lease.ttl) == ("ci-2", 1, 60)


@pytest.mark.parametrize("told", [None, 0, -5, "soon", []])
def test_a_lease_that_tells_no_time_to_live_has_that_of_who_wants_it(told: t.Any) -> None:
    """It was taken at the second look, from a holder that lived."""
    server = Server({**SPEC, "renewTime": "2026-01-01T12:00:00.000000Z", "leaseDurationSeconds": told})
    with pytest.raises(LeaseHeld) as first:
        taken(server)
    for seconds in (0, 59):
        with pytest.raises(LeaseHeld):
            acquire(
                server, "fleet", "placement.web", "ci-2", 60, NOW + timedelta(seconds=seconds), first.value.sighting
            )
    assert acquire(server, "fleet", "placement.web", "ci-2", 60, NOW + timedelta(seconds=60), first.value.sighting)


@pytest.mark.parametrize(
    "change",
    [
        *({"leaseDurationSeconds": value} for value in (10**18, 1e300)),
        *({"leaseTransitions": value} for value in ("x", None, [])),
        {"holderIdentity": ["ci-1"]},
    ],
)
def test_a_holder_is_heard_whatever_stands_beside_it(change: dict[str, t.Any]) -> None:
    with pytest.raises(LeaseHeld) as caught:
        taken(Server({**SPEC, **change}))
    assert caught.value.code == "lease-held" and "ci-1" in caught.value.message


@pytest.mark.parametrize(
    ("acquired", "renewed", "told"),
    [
        ("11:50:00", "11:59:55", "ci-1 holds it since 10 min 0 s (last sign of life 5 s ago, free in 55 s without"),
        (
            "11:50:00",
            "11:59:20",
            "ci-1 holds it since 10 min 0 s (last sign of life 40 s ago, which is late: it has died, or was cut off"
            " from this API server, free in 20 s without another, epoch 3)",
        ),
        ("", "", "ci-1 holds it (never renewed, epoch 3)"),
    ],
)
def test_who_holds_it_is_told_with_since_when_and_when_it_is_free(acquired: str, renewed: str, told: str) -> None:
    times = {"acquireTime": acquired, "renewTime": renewed}
    at = {name: f"2026-01-01T{each}.000000Z" if each else None for name, each in times.items()}
    with pytest.raises(LeaseHeld) as caught:
        taken(Server({**SPEC, **at}))
    assert told in caught.value.message


@pytest.mark.parametrize("spec", [None, [], {}, {**SPEC, "leaseTransitions": None}, {**SPEC, "holderIdentity": 5}])
def test_a_lease_that_lost_its_form_is_lost(spec: t.Any) -> None:
    server = Server(dict(SPEC))
    lease = taken(server, "ci-1")
    server.spec = spec
    with pytest.raises(FleetError) as caught:
        renew(server, lease)
    assert caught.value.code == "lease-lost"
    assert release(server, lease) is False


def test_an_answer_that_is_no_lease_is_a_bad_one() -> None:
    server = Server(dict(SPEC))
    lease = taken(server, "ci-1")
    del server.metadata["uid"]
    with pytest.raises(ApiError) as caught:
        renew(server, lease)
    assert caught.value.code == "bad-answer"


def test_conflicts_do_not_say_that_it_is_lost() -> None:
    """Somebody may have labelled it. It is looked at again, and a renewal that cannot be had is no loss either."""
    server = Server(dict(SPEC))
    lease = taken(server, "ci-1")
    server.writes, server.conflicts = 0, 3
    assert renew(server, lease).epoch == lease.epoch
    server.writes, server.conflicts = 0, 1_000
    with pytest.raises(ApiError) as caught:
        renew(server, lease)
    assert caught.value.code == "conflict"
    server.spec = {**SPEC, "holderIdentity": "ci-2"}
    with pytest.raises(FleetError) as lost:
        renew(server, lease)
    assert lost.value.code == "lease-lost"


def test_a_free_lease_that_somebody_labels_meanwhile_is_taken() -> None:
    assert taken(Server({**SPEC, "holderIdentity": ""}, conflicts=3)).epoch == 4
    with pytest.raises(LeaseHeld):
        taken(Server({**SPEC, "holderIdentity": ""}, conflicts=1_000))


def test_a_lease_that_somebody_has_renewed_for_ever_is_renewed() -> None:
    """Whoever keeps one while members are read takes it as it stands there."""
    server = Server({**SPEC, "renewTime": "9999-12-31T23:59:59.999999Z"})
    held = KubeLease("fleet", "placement.web", "ci-1", 3, 30, datetime.max.replace(tzinfo=UTC), "1")
    assert renew(server, held) == held
