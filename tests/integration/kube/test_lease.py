# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The lease between processes, on a real API server."""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lease import (
    LeaseHeld,
    acquire,
    release,
    renew,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def take(client, name, holder, now=NOW, sighting=None, ttl=30):
    return acquire(client, "default", name, holder, ttl, now, sighting)


def _contend(connection, holder, barrier, outcomes):
    with KubeClient(connection) as client:
        barrier.wait()
        try:
            outcomes.put((holder, take(client, "contended", holder).epoch))
        except LeaseHeld:
            outcomes.put((holder, None))


def test_of_processes_at_once_one_wins(server):
    """F6."""
    spawn = multiprocessing.get_context("fork")
    barrier, outcomes = spawn.Barrier(4), spawn.Queue()
    runners = [
        spawn.Process(target=_contend, args=(server.connection(), f"runner-{i}", barrier, outcomes)) for i in range(4)
    ]
    for runner in runners:
        runner.start()
    found = dict(outcomes.get(timeout=300) for _runner in runners)
    for runner in runners:
        runner.join(300)
    assert sorted(found.values(), key=str) == [1, None, None, None]


def _take_and_be_killed(connection):
    with KubeClient(connection) as client:
        take(client, "orphaned", "ci-1")
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_lease_of_a_killed_process_is_taken_over(server, admin):
    runner = multiprocessing.get_context("fork").Process(target=_take_and_be_killed, args=(server.connection(),))
    runner.start()
    runner.join(300)
    assert runner.exitcode == -signal.SIGKILL
    with pytest.raises(LeaseHeld) as caught:
        take(admin, "orphaned", "ci-2")
    assert caught.value.sighting.holder == "ci-1"
    assert take(admin, "orphaned", "ci-2", NOW + timedelta(seconds=30), caught.value.sighting).epoch == 2


def test_the_holder_is_named(admin):
    take(admin, "named", "ci-1")
    with pytest.raises(LeaseHeld) as caught:
        take(admin, "named", "ci-2")
    assert caught.value.code == "lease-held"
    assert "ci-1 holds it" in caught.value.message and "epoch 1" in caught.value.message


def test_a_holder_that_does_not_renew_is_replaced_and_fenced(admin):
    """F6: the paused owner's next write fails."""
    old = take(admin, "stale", "ci-1")
    with pytest.raises(LeaseHeld) as caught:
        take(admin, "stale", "ci-2")
    seen = caught.value.sighting
    with pytest.raises(LeaseHeld) as caught:
        take(admin, "stale", "ci-2", NOW + timedelta(seconds=29), seen)
    assert caught.value.sighting == seen
    new = take(admin, "stale", "ci-2", NOW + timedelta(seconds=30), seen)
    assert (new.holder, new.epoch) == ("ci-2", 2)
    with pytest.raises(FleetError) as caught:
        renew(admin, old)
    assert caught.value.code == "lease-lost" and "ci-2 with epoch 2" in caught.value.message
    assert release(admin, old) is False
    assert renew(admin, new).epoch == 2


def test_a_holder_that_renews_is_left_alone(admin):
    """F7: however long we watch, and whatever our clock says."""
    lease = take(admin, "alive", "ci-1")
    with pytest.raises(LeaseHeld) as caught:
        take(admin, "alive", "ci-2")
    renew(admin, lease)
    with pytest.raises(LeaseHeld):
        take(admin, "alive", "ci-2", NOW + timedelta(days=1), caught.value.sighting)


def test_a_lease_long_past_by_the_servers_clock_is_free(admin):
    take(admin, "past", "ci-1")
    current = admin.get(f"{LEASES}/past")
    current["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    admin.put(f"{LEASES}/past", current)
    assert take(admin, "past", "ci-2").epoch == 2


def test_times_in_the_lease_are_the_servers(admin):
    """F7: a runner whose clock is wrong by years writes the same as any other."""
    lease = take(admin, "clock", "ci-1", datetime(1999, 1, 1, tzinfo=UTC))
    assert abs(lease.renewed - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_released_lease_keeps_counting(admin):
    lease = take(admin, "freed", "ci-1")
    assert release(admin, lease) is True
    assert take(admin, "freed", "ci-2").epoch == 2


def test_the_same_holder_takes_it_again(admin):
    """A process that lost the answer to its own request."""
    first = take(admin, "again", "ci-1")
    assert take(admin, "again", "ci-1").epoch == 2
    with pytest.raises(FleetError) as caught:
        renew(admin, first)
    assert caught.value.code == "lease-lost"


def test_a_lease_that_is_gone_is_lost(admin):
    lease = take(admin, "gone", "ci-1")
    admin.delete(f"{LEASES}/gone")
    with pytest.raises(FleetError) as caught:
        renew(admin, lease)
    assert caught.value.code == "lease-lost"
    assert release(admin, replace(lease)) is False
