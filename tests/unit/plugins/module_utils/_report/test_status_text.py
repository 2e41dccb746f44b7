# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PerClusterPlacementStatus,
    PlacementStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import RunStanding
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition
from ansible_collections.gitops.fleet.plugins.module_utils._report.status_text import placements_text, unfinished_text

PREFIX = "ClusterResourcePlacement"


def condition(kind, status, message, at=None):
    return Condition(type=kind, status=status, message=message, last_transition_time=at)


def on(cluster, *conditions):
    return PerClusterPlacementStatus(cluster_name=cluster, conditions=conditions)


def test_what_does_not_hold_is_told_first_and_why():
    status = PlacementStatus(
        conditions=(
            condition(f"{PREFIX}Scheduled", "True", "found all 3"),
            condition(f"{PREFIX}Available", "Unknown", "not known on 1"),
        ),
        placement_statuses=(
            on("a", condition("Applied", "True", "all applied"), condition("Available", "True", "all 2 are available")),
            on("b", condition("Applied", "False", "1 of 2 could not be applied")),
            on("", condition("Scheduled", "False", "c: its taint x is not tolerated")),
        ),
    )
    assert placements_text({"web": status, "new": PlacementStatus()}, "here") == [
        "PLACEMENT       STATE          WHY",
        "new                            nothing is recorded of it yet",
        "web             Available?     not known on 1",
        "  b             not Applied    1 of 2 could not be applied",
        "  (none found)  not Scheduled  c: its taint x is not tolerated",
        "  a             Available      all 2 are available",
    ]
    assert placements_text({}, "/a/records.db") == ["no placement is recorded in /a/records.db"]
    assert all(len(line) <= 80 for line in placements_text({}, f"/{'a' * 60}/records.db"))


def test_that_something_is_available_is_told_as_of_when_it_was_seen():
    """No cluster is asked: it may have been deleted, or be out of reach, since."""
    at = datetime(2026, 11, 26, 3, 26, 15, 900, tzinfo=UTC)
    rows = (
        on("a", condition("Available", "True", "all 3 objects are available", at)),
        on("b", condition("Applied", "False", "1 of 3 could not be applied", at)),
    )
    assert placements_text({"web": PlacementStatus(placement_statuses=rows)}, "here")[2:] == [
        "  b        not Applied  1 of 3 could not be applied, as of 2026-11-26T03:26:15Z",
        "  a        Available    all 3 objects are available, as of 2026-11-26T03:26:15Z",
    ]


def test_what_was_not_available_yet_may_be_by_now_and_does_not_alarm():
    at = datetime(2026, 11, 26, 3, 33, tzinfo=UTC)
    late = "not available yet: 1 of 3"
    status = PlacementStatus(
        conditions=(condition(f"{PREFIX}Available", "False", "available on 0 of 1", at),),
        placement_statuses=(on("a", condition("Applied", "True", ""), condition("Available", "False", late, at)),),
    )
    assert placements_text({"web": status}, "here")[1:] == [
        "web        Available?  available on 0 of 1, as of 2026-11-26T03:33:00Z",
        "  a        Available?  not available yet: 1 of 3, as of 2026-11-26T03:33:00Z",
    ]


def test_a_large_placement_is_cut_and_says_so():
    fine = tuple(on(f"c-{number:03}", condition("Available", "True", "fine")) for number in range(60))
    status = PlacementStatus(placement_statuses=(*fine, on("late", condition("Applied", "Unknown", "not looked at"))))
    lines = placements_text({"web": status}, "here")
    assert lines[2].split() == ["late", "Applied?", "not", "looked", "at"]
    assert len(lines) == 43 and lines[-1].split()[:2] == ["21", "more"]


def test_staged_runs_stand_below_their_placement():
    runs = (
        RunStanding(
            name="web-2", placement="web", state="Waiting", stages=2, stages_done=1, clusters=5, clusters_done=2
        ),
        RunStanding(name="web-3", placement="web", state="NotStarted", message="no one has begun it"),
    )
    assert placements_text({"web": PlacementStatus()}, "here", runs) == [
        "PLACEMENT    STATE       WHY",
        "web                      nothing is recorded of it yet",
        "  run web-2  Waiting     1/2 stages, 2/5 clusters",
        "  run web-3  NotStarted  no one has begun it",
    ]


def test_an_unfinished_placement_is_a_sentence_with_why_and_since_when():
    since = datetime(2026, 1, 1, tzinfo=UTC)
    end = "; a tick carries it on only with its placements and resources"
    assert unfinished_text("web", "on 1 of 2 clusters", since) == (
        f"placement web is not through (on 1 of 2 clusters, since 2026-01-01T00:00:00Z){end}"
    )
    assert (
        unfinished_text("web", "on 1 of 2 clusters", None) == f"placement web is not through (on 1 of 2 clusters){end}"
    )


def test_a_cluster_that_left_since_the_last_apply_is_not_told_to_be_available():
    """The status is that of the last apply; a member that leaves takes its binding along."""
    available = condition("Available", "True", "all 2 are available")
    status = PlacementStatus(placement_statuses=(on("a", available), on("b", available)))
    assert placements_text({"web": status}, "here", (), {"web": {"a"}})[2:] == [
        "  b        gone       it has no part in the placement any more; the next apply",
        "                      counts anew",
        "  a        Available  all 2 are available",
    ]
    assert "gone" not in str(placements_text({"web": status}, "here", (), {"web": {"a", "b"}}))
