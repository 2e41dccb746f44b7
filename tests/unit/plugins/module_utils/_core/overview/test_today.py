# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of the fleet in one view: what asks for attention, and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import without_record
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.drift import DriftKnown
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.seen_by_runs import SeenByRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.today import (
    CONCERNS,
    MemberToday,
    PlacementsHeld,
    fleet_today,
    member_today,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.upkeep import Kubelets
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR_AGO = "2026-03-02T08:00:00Z"
FAR = "2027-03-02T09:00:00Z"


WELL = ("True", "Ready", "")


def cluster(name: str = "a", healthy: tuple[str, str, str] | None = WELL, **more: Any) -> MemberCluster:
    """``healthy`` are status, reason and message; None is one that was never read."""
    agents = []
    if healthy:
        status, reason, message = healthy
        condition = {"type": "Healthy", "status": status, "reason": reason, "message": message}
        agents = [{"type": "MemberAgent", "lastReceivedHeartbeat": HOUR_AGO, "conditions": [condition]}]
    properties = {"k8s.io/k8s-version": {"value": more.pop("version", "v1.35.2")}}
    return decode(MemberCluster, {
        "metadata": {"name": name, **more},
        "spec": {"identity": {"kind": "User", "name": "u"}, "taints": more.pop("taints", [])},
        "status": {"agentStatus": agents, "properties": properties},
    })  # fmt: skip


def member(*pools: tuple[str, str, int], certificates: Any = None, operation: str = "") -> FleetMember:
    """Pools are kubelet version, image and number of nodes."""
    rows = [{"name": f"p{at}", "version": version, "image": image, "count": count}
            for at, (version, image, count) in enumerate(pools)]  # fmt: skip
    status = {"nodePools": rows, "operation": operation, **({"certificates": certificates} if certificates else {})}
    spec = {"connection": {"kubeconfig": "/none"}, "group": "eu"}
    return decode(FleetMember, {"metadata": {"name": "a"}, "spec": spec, "status": status})


def seen(of: MemberCluster | None = None, fleet: FleetMember | None = None, **more: Any) -> MemberToday:
    return member_today(of or cluster(), fleet, NOW, **more)


@pytest.mark.parametrize(
    ("healthy", "state", "concern"),
    [
        (("True", "Ready", ""), "ready", None),
        (("False", "NotReady", "/readyz does not answer ok"), "not ready", "not-ready"),
        (("False", "Unreachable", "connection refused"), "silent", "silent"),
        (("False", "Timeout", "no answer"), "silent", "silent"),
        (("False", "CredentialsExpired", "the token expired"), "not reached", "not-reached"),
        (None, "never read", "never-read"),
    ],
)
def test_who_does_not_answer_is_no_one_that_says_it_is_not_ready(healthy: Any, state: str, concern: str | None):
    """F22: unreachable is not absent."""
    row = seen(cluster(healthy=healthy))
    assert row.state == state and row.concerns == ((concern,) if concern else ())
    assert bool(row.why) == (state != "ready")
    assert row.age == (timedelta(hours=1) if healthy else None)


UPGRADED = "not read since run r upgraded it at 2026-03-02T08:30:00Z"
MISSED = SeenByRun(run="r", at=NOW - timedelta(minutes=30), upgraded=False)


@pytest.mark.parametrize(
    ("healthy", "seen_by", "state", "why"),
    [
        (WELL, replace(MISSED, upgraded=True), "to be read", UPGRADED),
        (("False", "Timeout", "x"), replace(MISSED, upgraded=True), "to be read",
         UPGRADED),
        (WELL, MISSED, "not reached", "run r did not reach it, and skipped it at 2026-03-02T08:30:00Z"),
        (("False", "Timeout", "x"), MISSED, "silent",
         "x; run r did not reach it, and skipped it at 2026-03-02T08:30:00Z"),
        (WELL, replace(MISSED, waits=True), "not reached",
         "run r waits for it, and has not reached it since 2026-03-02T08:30:00Z"),
        (None, MISSED, "never read", "no facts of it were ever read"),
        (WELL, replace(MISSED, at=NOW - timedelta(hours=1)), "ready", ""),
    ],
)  # fmt: skip
def test_what_a_run_has_seen_counts_after_the_last_read(healthy: Any, seen_by: SeenByRun, state: str, why: str):
    """F22."""
    row = seen(cluster(healthy=healthy), seen=seen_by)
    assert (row.state, row.why) == (state, why)
    assert ("seen-since" in row.concerns) == fleet_today([row], DriftKnown()).is_behind == ("run r" in why)


def test_a_cluster_without_its_member_cluster_is_told_with_the_way_out():
    row = seen(without_record("a"))
    assert row.state == "never read" and row.why.startswith("its MemberCluster is missing: join it again")


def test_a_read_that_failed_after_the_run_is_the_news():
    gone = cluster(healthy=("False", "Timeout", "no answer"))
    (agent,) = gone.status.agent_status
    (healthy,) = agent.conditions
    later = replace(agent, conditions=(replace(healthy, last_transition_time=NOW - timedelta(minutes=5)),))
    read = replace(gone, status=replace(gone.status, agent_status=(later,)))
    row = seen(read, seen=replace(MISSED, upgraded=True))
    assert (row.state, row.concerns) == ("silent", ("silent",))


def test_a_cluster_that_is_evacuated_and_silent_is_both():
    mark = [{"key": "gitops.fleet/evacuated", "effect": "NoSchedule"}]
    row = seen(cluster(healthy=("False", "Timeout", "no answer"), taints=mark))
    assert row.evacuated and row.state == "silent" and row.concerns == ("silent", "evacuated")


def test_the_oldest_and_the_newest_kubelet_and_how_far_behind():
    row = seen(fleet=member(("v1.35.1", "Ubuntu", 3), ("v1.33.4-gke.1", "Flatcar", 2), ("v1.35.0", "Ubuntu", 4)))
    assert row.kubelets == Kubelets(oldest="v1.33.4-gke.1", newest="v1.35.1", behind=2, ahead=0)
    assert row.images == {"Ubuntu": 7, "Flatcar": 2} and row.concerns == ()


def test_a_kubelet_that_is_too_old_asks_for_attention():
    """Kubernetes supports kubelets up to three minors older than the API server."""
    assert seen(fleet=member(("v1.32.9", "", 1))).concerns == ()
    row = seen(fleet=member(("v1.31.9", "", 1)))
    assert row.kubelets.too_old and row.kubelets.behind == 4 and row.concerns == ("kubelet-too-old",)


def test_a_kubelet_newer_than_its_server_asks_for_attention_and_is_not_behind():
    """Kubernetes' version skew policy: a kubelet must not be newer than its API server."""
    row = seen(fleet=member(("v1.36.0", "", 1)))
    assert (row.kubelets.behind, row.kubelets.ahead, row.concerns) == (0, 1, ("kubelet-too-new",))
    assert seen(fleet=member(("v1.35.9", "", 1))).concerns == ()
    both = seen(fleet=member(("v1.30.0", "", 1), ("v1.37.0", "", 1)))
    assert (both.kubelets.behind, both.kubelets.ahead) == (5, 2)
    assert both.concerns == ("kubelet-too-new", "kubelet-too-old")


@pytest.mark.parametrize("pools", [(), (("", "", 1),), (("soon", "", 1),)])
def test_kubelets_of_which_nothing_is_known(pools: Any):
    assert seen(fleet=member(*pools)).kubelets == Kubelets()


@pytest.mark.parametrize(
    ("certificates", "which", "days", "concerns"),
    [
        ({"server": FAR, "client": "2026-03-22T09:00:00Z"}, "client", 20, ("certificate-ends",)),
        ({"server": "2026-03-31T10:00:00Z", "client": FAR}, "server", 29, ("certificate-ends",)),
        ({"server": "2026-04-01T09:00:00Z"}, "server", 30, ()),
        ({"client": "2026-03-02T08:59:00Z"}, "client", -1, ("certificate-ended",)),
        ({"client": "2026-03-02T10:00:00Z"}, "client", 0, ("certificate-ends",)),
    ],
)
def test_the_certificate_that_ends_next(certificates: Any, which: str, days: int, concerns: tuple[str, ...]):
    row = seen(fleet=member(certificates=certificates))
    assert row.certificate is not None
    assert (row.certificate.which, row.certificate.days, row.concerns) == (which, days, concerns)


def test_a_certificate_of_which_nothing_is_known_is_none():
    assert seen(fleet=member()).certificate is None and seen().certificate is None


def test_what_fails_what_drifted_and_what_is_in_flight():
    drift = DriftKnown(places=1, looked=1, objects=2, seen=NOW, looked_at=NOW)
    row = seen(held=PlacementsHeld(count=3, failing={"web": "not Applied"}), drift=drift, runs=("update run r",))
    assert row.concerns == ("placement-fails", "drifted") and row.runs == ("update run r",)
    assert seen(held=PlacementsHeld(count=1, late={"web": "was not available yet"})).concerns == ("placement-late",)
    assert seen(fleet=member(operation="op-1")).runs == ("op-1",)
    assert seen(fleet=member(operation="op-1"), runs=("update run r",)).runs == ("update run r",)


def test_the_worst_stand_first_and_equal_ones_by_name():
    rows = [
        seen(cluster("fine")),
        seen(cluster("busy"), runs=("update run r",)),
        seen(cluster("b-silent", ("False", "Timeout", "x"))),
        seen(cluster("a-silent", ("False", "Timeout", "x"))),
        seen(cluster("failing"), held=PlacementsHeld(count=1, failing={"web": "not Applied"})),
        seen(cluster("late", ("False", "NotReady", "x"))),
    ]
    found = fleet_today(rows, DriftKnown())
    assert [each.name for each in found.members] == ["a-silent", "b-silent", "late", "failing", "busy", "fine"]


def test_every_concern_has_its_place_once():
    assert len(set(CONCERNS)) == len(CONCERNS)


def test_the_numbers_of_the_headline():
    rows = [
        seen(cluster("a"), member(certificates={"server": "2026-03-10T09:00:00Z"})),
        seen(cluster("b", version="v1.34.1"), member(certificates={"server": "2026-01-10T09:00:00Z"})),
        seen(cluster("c", ("False", "Timeout", "x"))),
        seen(cluster("d", version="soon")),
    ]
    totals = fleet_today(rows, DriftKnown()).totals
    assert (totals.clusters, totals.states) == (4, {"ready": 3, "silent": 1})
    assert totals.versions == {"1.35": 2, "1.34": 1, "": 1}
    assert (totals.ended, totals.ends, totals.silent_for) == (1, 1, timedelta(hours=1))
    assert totals.read == (timedelta(hours=1), timedelta(hours=1))


def test_a_row_is_plain_data():
    row = seen(fleet=member(("v1.35.1", "Ubuntu", 3), certificates={"server": FAR})).as_dict()
    assert row["age"] == 3600 and row["heartbeat"] == HOUR_AGO
    assert row["certificate"] == {"which": "server", "ends": FAR, "days": 365}
    assert row["drift"]["objects"] is None and row["placements"] == {
        "held": 0, "names": [], "failing": {}, "late": {}, "leaving": {}
    }  # fmt: skip


def test_images_of_all_clusters_are_counted_the_most_nodes_first():
    rows = [seen(fleet=member(("v1.35.1", "Ubuntu", 3), ("v1.35.1", "Other", 1))), seen(fleet=member(("", "Azure", 4)))]
    assert list(fleet_today(rows, DriftKnown()).images.items()) == [("Azure", 4), ("Ubuntu", 3), ("Other", 1)]
    assert fleet_today([seen()], DriftKnown()).images == {}


def test_nodes_of_a_pool_within_a_rotation_count_with_the_image_that_they_have():
    """Not all with the oldest, of which there may be one left; a node of which it is not known is not counted."""
    images = [{"image": image, "count": count} for image, count in (("os-1.10", 5), ("os-1.9", 1), ("os-1.10", 3))]
    pools = [{"name": "p", "image": "os-1.9", "count": 10, "images": images}, {"name": "q", "image": "x", "count": 2}]
    body = {"metadata": {"name": "a"}, "spec": {"connection": {"kubeconfig": "/none"}}, "status": {"nodePools": pools}}
    row = seen(fleet=decode(FleetMember, body))
    assert (dict(row.images), row.uncounted) == ({"os-1.10": 8, "os-1.9": 1, "x": 2}, 1)


def test_nodes_of_pools_that_tell_no_image_are_counted_apart():
    mixed = seen(fleet=member(("v1.35.1", "Ubuntu", 3), ("v1.35.1", "", 4)))
    today = fleet_today([mixed, seen(fleet=member(("", "", 2))), seen()], DriftKnown())
    assert (today.images, sorted(today.uncounted)) == ({"Ubuntu": 3}, [2, 4])
    assert mixed.as_dict()["imagesUncounted"] == 4


def test_drift_is_unlooked_for_only_where_something_is_placed_and_nobody_has_looked():
    def unlooked(**known: Any) -> bool:
        return fleet_today([], DriftKnown(**known)).is_unlooked

    assert unlooked(places=2) and not unlooked() and not unlooked(places=2, looked=1)
