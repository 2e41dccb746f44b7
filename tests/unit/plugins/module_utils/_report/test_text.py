# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import PriceSource
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    MemberCluster,
    PropertyValue,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    LEFT_OUT,
    FieldChange,
    ObjectChange,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendering
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import (
    DIFFERS,
    REFUSED,
    REPAIR,
    UNCHANGED,
    MemberStep,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import NOT_YET
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.compare import FieldDiff
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.ownership import FieldDrift
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import (
    facts_text,
    left_to_runs,
    member_lines,
    nothing_to_end,
    plan_text,
    table,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    EXTRA,
    NAMESPACE,
    NOW,
    OBJECTS,
    SILENT,
    cluster,
    facts,
    pick_all,
    pick_fixed,
    pick_n,
    placed,
    plan,
    rendered,
    require,
    wanted,
)

LONG = "member-" + "x" * 56
ERROR = Problem("unreachable", "dial tcp " + "very-long-part." * 20 + ": no route to host", LONG)


def fits(lines: list[str]) -> bool:
    assert [line for line in lines if len(line) > 80 or "\n" in line] == []
    return True


def named(made: PlacementPlan, name: str) -> PlacementPlan:
    return replace(made, placement=replace(made.placement, metadata=ObjectMeta(name=name)))


def long_plan(size: int) -> PlacementPlan:
    """Half of the clusters hold it and lose it, a fifth could not be read, and all have long names."""
    names = [f"{LONG[:-5]}{number:05}" for number in range(size)]
    old = facts(*names[: size // 2])
    clusters = [cluster(each, heard=SILENT) if place % 5 == 0 else cluster(each) for place, each in enumerate(names)]
    policy = pick_all(affinity=require({"region": "r" * 63}, nodes=9))
    many = tuple(rendered(replace(CONFIG, name=f"{'c' * 58}{number:05}")) for number in range(50))
    notes = tuple(Problem("note", f"{number} " + "word " * 60, LONG) for number in range(100))
    wish = wanted(policy, objects=OBJECTS, findings=notes)
    return named(plan(wish, facts(*clusters), placed(pick_all(), old, objects=many)), "p" * 63)


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_no_line_is_longer_than_eighty_columns(size: int) -> None:
    made = long_plan(size)
    names = [each.cluster for each in made.clusters]
    drift = FieldDrift("/spec/" + "y" * 100, "z" * 500, {"a": "b" * 500}, ("manager-" + "m" * 90,))
    steps = tuple(
        MemberStep(
            id=replace(CONFIG, name="c" * 63), action=action, message="m" * 200, drifts=(drift,) * 20, reason="x"
        )
        for action in (REPAIR, REFUSED)
    )
    outcomes = {name: MemberOutcome(cluster=name, steps=steps) for name in names[::2]}
    outcomes |= {name: MemberOutcome(cluster=name, error=ERROR) for name in names[1::2]}
    assert fits(plan_text(made, outcomes))


def test_a_thousand_clusters_are_cut_and_what_changes_comes_first() -> None:
    names = [f"m{number:04}" for number in range(1000)]
    fleet = facts(*names)
    made = plan(wanted(pick_n(999)), fleet, placed(pick_all(), fleet), BrakeLimits(max_removals=1000))
    lines = plan_text(made)
    assert fits(lines) and len(lines) < 60
    assert lines[2].split()[:2] == ["-", next(each.cluster for each in made.clusters if each.change == "lost")]
    assert "     960 more" in lines


def test_of_many_groups_of_members_the_others_are_counted_by_member() -> None:
    """Two members share what is to be told of them, and wait for the same object."""
    names = [f"m{number:03}" for number in range(120)]
    fleet = facts(*names)
    made = plan(wanted(pick_all()), fleet, placed(pick_all(), fleet))
    waits = [replace(CONFIG, name=f"c{number // 2:02}") for number in range(120)]
    outcomes = {
        name: MemberOutcome(
            cluster=name, done=True, steps=(MemberStep(id=late, action=REPAIR),), availability={late: NOT_YET}
        )
        for name, late in zip(names, waits, strict=True)
    }
    lines = plan_text(made, outcomes)
    assert [line for line in lines if "more member" in line] == ["  40 more members with something to tell"]
    late = [line for line in lines if "not available yet on" in line]
    assert (len(late), late[-1]) == (41, "  not available yet on 40 more clusters")
    assert fits(lines) and "m078, m079: repair ConfigMap test/c39" in "\n".join(lines)


def test_a_plan_reads_like_this() -> None:
    known = placed(pick_n(2), facts("b", "c"))
    silent = cluster("d", heard=SILENT)
    made = plan(wanted(pick_n(1), (OBJECTS[0], rendered(EXTRA))), facts("a", "b", "c", silent), known)
    assert plan_text(made) == [
        f"web: PickN: 1 cluster, digest {made.digest[:16]}",
        "     CLUSTER  SCORE  WHY",
        "  -  b        0/0    scaled-down: fewer clusters are wanted, and it ranks lowest",
        "  =  c        0/0    content-changed: is recorded with another content",
        "     NOT PICKED  RULE                WHY",
        "  x  a           not-needed          it passes, but enough clusters hold the",
        "                                     placement already: 1",
        "  x  b           not-needed          it passes, but enough clusters hold the",
        "                                     placement already: 1",
        "  x  d           ClusterEligibility  its last heartbeat was 30.00 minutes old,",
        "                                     more than 5",
        "  2 objects: Namespace test, Deployment test/web",
        "  deleted from b, c: ConfigMap test/test-1",
        "  released, and staying, on b: Namespace test",
    ]


def test_in_a_large_fleet_those_that_are_not_picked_for_one_reason_are_told_together() -> None:
    names = [f"m{number:03}" for number in range(100)]
    lines = plan_text(plan(wanted(pick_n(1)), facts(*names)))
    at = lines.index(next(line for line in lines if "NOT PICKED" in line))
    told = " ".join(" ".join(lines[at:]).split())
    assert told.startswith("NOT PICKED RULE WHY x m000 and 98 more not-enough-score ") and "m050" not in told
    assert fits(lines)


def test_a_smaller_number_is_advised_only_where_the_policy_has_one() -> None:
    policies = (pick_n(2), pick_all(), pick_fixed("a", "b"), None)
    told = [" ".join(" ".join(plan_text(plan(wanted(each), facts("a", "b")))).split()) for each in policies]
    assert all("a first apply reaches all 2 clusters at once" in each for each in told)
    assert ["a smaller numberOfClusters" in each for each in told] == [True, False, False, False]


def test_a_cluster_where_only_the_objects_have_changed_says_so_in_its_row() -> None:
    fleet = facts("a", "b")
    made = plan(wanted(pick_all()), fleet, placed(pick_all(), fleet))
    step = MemberStep(id=CONFIG, action=REPAIR, drifts=(FieldDrift("/data/x", "1", "2", ("kubectl",)),))
    rows = plan_text(made, {"a": MemberOutcome(cluster="a", steps=(step,)), "b": MemberOutcome(cluster="b")})
    words = [" ".join(line.split()) for line in rows]
    assert (
        "= a 0/0 the placement is unchanged, and what it placed has drifted" in words and "= b 0/0 unchanged" in words
    )


def test_brakes_and_notes_are_told_once_each() -> None:
    fleet = facts("a", "b", "c")
    policy = pick_all(affinity=require({"no": "where"}))
    stopped = plan_text(plan(wanted(policy), fleet, placed(pick_all(), fleet)))
    assert "  brake max_removals STOPS: web: 3 of 3 clusters would lose it; max_removals 30%" in stopped
    free = BrakeLimits(max_removals="100%", allow_empty=True)
    lifted = plan_text(plan(wanted(policy), fleet, placed(pick_all(), fleet), free))
    assert any(line.startswith("  brake allow_empty lifted: ") for line in lifted)
    noted = plan(wanted(findings=(Problem("c", "m", "w", "h"),)), facts("a"))
    assert plan_text(noted)[-1] == "  note: w: m [c] (h)"


def test_a_deletion_lists_what_disappears_from_which_member() -> None:  # D1-49
    known = placed(None, facts("a", "b"))
    lines = plan_text(plan(wanted(objects=(), deleting="deleted"), facts("a", "b"), known))
    assert lines[0].startswith("web: is deleted, digest ")
    assert "  deleted from a, b: ConfigMap test/test-1" in lines
    assert "  released, and staying, on a, b: Namespace test" in lines


def test_a_placement_without_objects_says_so() -> None:
    assert "  no object" in plan_text(plan(wanted(objects=()), facts("a")))


def test_equal_plans_give_equal_bytes() -> None:
    known = placed(pick_n(2), facts("b", "c"))
    one = plan(wanted(pick_n(1)), facts("a", "b", "c"), known)
    two = plan(wanted(pick_n(1)), facts("c", "b", "a"), known)
    quick, slow = (MemberOutcome(cluster=name, error=Problem("timeout", "m")) for name in "bc")
    assert plan_text(one, {"b": quick, "c": slow}) == plan_text(two, {"c": slow, "b": quick})
    assert "2026" not in "".join(plan_text(one))


def test_an_unread_member_is_marked_and_told() -> None:
    made = plan(wanted(), facts("a"))
    lines = plan_text(made, {"a": MemberOutcome(cluster="a", error=Problem("timeout", "no answer", "a"))})
    assert "  +  a        0/0    picked (timeout)" in lines
    assert "  ! a: no answer [timeout]" in lines


def test_a_cluster_that_was_not_looked_at_is_not_said_to_be_unchanged() -> None:
    made = plan(wanted(), facts("a"), placed(None, facts("a")))
    made = replace(made, clusters=tuple(replace(each, cause="unchanged", change="kept") for each in made.clusters))
    error = Problem("certificate", "another one", "a")
    unseen = MemberOutcome(cluster="a", error=error)
    assert "  =  a        0/0    not looked at (certificate)" in plan_text(made, {"a": unseen})
    cut = MemberOutcome(cluster="a", error=error, written=(CONFIG,))
    assert "  =  a        0/0    unchanged (certificate)" in plan_text(made, {"a": cut})


def test_a_members_objects_tell_drift_difference_and_failure() -> None:
    steps = (
        MemberStep(id=NAMESPACE, action=UNCHANGED),
        MemberStep(id=CONFIG, action=REPAIR, drifts=(FieldDrift(".data.a", "1", "2", ("kubectl-edit",)),)),
        MemberStep(id=EXTRA, action="create", missing=True),
        MemberStep(id=EXTRA, action=DIFFERS, missing=True),
        MemberStep(id=EXTRA, action=REFUSED, message="exists", diffs=(FieldDiff(".data.a", "1", None),)),
    )
    failures = (
        ObjectFailure(id=CONFIG, reason="ManifestApplyFailed", message="quota exceeded"),
        ObjectFailure(id=EXTRA, reason="NotTakenOver", message="exists"),
    )
    assert member_lines("a", MemberOutcome(cluster="a", steps=steps, failures=failures)) == [
        "  a: repair ConfigMap test/test-1",
        "      drift: .data.a is '2', placed '1', set by kubectl-edit",
        "  a: create Deployment test/web",
        "      drift: it is missing; it was deleted, or an apply did not bring it there",
        "  a: differs Deployment test/web",
        "      differs: it is missing on the member",
        "  a: refused Deployment test/web: exists",
        "      differs: .data.a is None, wanted '1'",
        "  ! a: ConfigMap test/test-1: quota exceeded",
    ]


def test_many_objects_of_one_member_are_cut() -> None:
    steps = tuple(MemberStep(id=replace(CONFIG, name=f"c{number}"), action="create") for number in range(100))
    lines = member_lines("a", MemberOutcome(cluster="a", steps=steps))
    assert (len(lines), lines[-1]) == (41, "  a: 60 more")
    failures = tuple(ObjectFailure(id=each.id, reason="r", message="m") for each in steps)
    assert member_lines("a", MemberOutcome(cluster="a", failures=failures))[-1] == "  ! a: 60 more"


def test_facts_have_one_row_for_each_cluster() -> None:
    sick = cluster("c")
    snapshot = FactsSnapshot(
        captured_at=NOW,
        members=(cluster("b", 7), cluster("a"), sick),
        failed={"c": {"code": "timeout", "message": "no answer"}},
    )
    assert [line.split() for line in facts_text(snapshot)] == [
        ["CLUSTER", "VERSION", "NODES", "CPU", "MEMORY", "STATE"],
        ["a", "?", "3", "?", "?", "ready"],
        ["b", "?", "7", "?", "?", "ready"],
        ["c", "?", "3", "?", "?", "not", "reached"],
        ["no", "answer", "[timeout]"],
    ]
    why = {"code": "x" * 90, "message": "a reason \x1b[2J of many words " * 9}
    long = facts_text(FactsSnapshot(captured_at=NOW, members=(cluster(LONG), cluster("a")), failed={LONG: why}))
    assert fits(long) and all(line.isprintable() for line in long)


def test_costs_are_told_with_currency_period_unit_and_source_d4_52_d4_54() -> None:
    priced = {
        "kubernetes.azure.com/per-cpu-core-cost": PropertyValue(value="0.080"),
        "kubernetes.azure.com/per-gb-memory-cost": PropertyValue(value="0.060"),
    }
    known = replace(cluster("a"), status=replace(cluster("a").status, properties=priced))
    source = PriceSource(source="list of the house", version="2026-11")
    lines = facts_text(FactsSnapshot(captured_at=NOW, members=(known, cluster("b")), prices=source))
    assert [line.split() for line in lines[:3]] == [
        ["CLUSTER", "VERSION", "NODES", "CPU", "MEMORY", "PER", "core", "PER", "GiB", "STATE"],
        ["a", "?", "?", "?", "?", "0.080", "0.060", "ready"],
        ["b", "?", "3", "?", "?", "?", "?", "ready"],
    ]
    told = "costs: USD for an hour and one core or GiB, from list of the house, version 2026-11"
    assert " ".join(" ".join(lines[3:]).split()) == told and fits(lines)
    older = facts_text(FactsSnapshot(captured_at=NOW, members=(known,)))
    assert older[-1].endswith("from prices of an earlier capture")


def test_from_when_costs_are_is_told_of_those_of_an_earlier_capture_too_d4_54() -> None:
    def priced(name: str, day: int) -> MemberCluster:
        of = {"kubernetes.azure.com/per-cpu-core-cost": PropertyValue(value="0.080", observation_time=made(day))}
        return replace(cluster(name), status=replace(cluster(name).status, properties=of))

    def made(day: int) -> datetime:
        return datetime(2026, 1, day, 6, 0, tzinfo=UTC)

    def told(**given: t.Any) -> str:
        lines = facts_text(FactsSnapshot(captured_at=NOW, members=(priced("a", 2), priced("b", 5)), **given))
        return " ".join(" ".join(lines).split()).partition(" GiB, ")[2]

    left = "from prices of an earlier capture, made 2026-01-02T06:00:00Z"
    assert told() == f"{left} to 2026-01-05T06:00:00Z"
    lists = PriceSource(source="list of the house", version="2026-11")
    gone = {"a": {"code": "unreachable", "message": "no answer"}}
    assert told(prices=lists, failed=gone) == f"from list of the house, version 2026-11; those of a {left}"
    assert told(prices=PriceSource()) == "from a list without a name, which does not say from when"


def test_a_long_cell_ends_its_line_and_the_next_goes_on_under_its_column() -> None:
    assert table(("", "NAME", "WHY"), [("x", "a" * 63, "short"), ("y", "b", "word " * 20)]) == [
        "     " + "NAME".ljust(51) + "WHY",
        "  x  " + "a" * 63,
        " " * 56 + "short",
        "  y  " + "b".ljust(51) + "word word word word word",
        *[" " * 56 + "word word word word word"] * 3,
    ]


def test_a_table_without_rows_is_its_header() -> None:
    assert table(("A", "B"), []) == ["  A  B"]


def test_every_object_that_goes_is_named_with_every_cluster() -> None:
    names = [f"m{number:03}" for number in range(100)]
    fleet = facts(*names)
    many = tuple(rendered(replace(CONFIG, name=f"c{number:03}")) for number in range(100))
    lines = plan_text(plan(wanted(), fleet, placed(pick_all(), fleet, objects=many)))
    text = " ".join(" ".join(lines).split())
    told = text.partition("deleted from ")[2].partition(" brake ")[0]
    assert fits(lines) and all(f"ConfigMap test/{each.id.name}" in told for each in many)
    assert all(name in told for name in names)


def overridden(*groups: int) -> PlacementPlan:
    """So many clusters in each group, each group with its own number of replicas."""
    made = plan(wanted(), facts("a"))
    change = [
        ObjectChange(id=CONFIG, action=CHANGED, fields=(FieldChange(".data.replicas", "1", str(at)),))
        for at in range(len(groups))
    ]
    rows = tuple(
        Rendering(clusters=tuple(f"c{at}-{number:03}" for number in range(size)), changes=(change[at],))
        for at, size in enumerate(groups)
    )
    return replace(made, renderings=rows)


def test_what_overrides_do_is_told_once_for_all_clusters_that_get_the_same() -> None:
    lines = " ".join(" ".join(plan_text(overridden(41, 1))).split())
    assert "overridden, the same on 41 clusters (c0-000, c0-001, c0-002, c0-003, c0-004, c0-005 and 35 more):" in lines
    assert "changes ConfigMap test/test-1" in lines and '.data.replicas: "1" -> "0"' in lines
    assert "overridden, on one cluster (c1-000):" in lines


def test_many_ways_of_overriding_are_cut() -> None:
    lines = plan_text(overridden(*[1] * 500))
    assert len(lines) < 60
    assert "490 more clusters; render shows what one of them gets" in " ".join(" ".join(lines).split())


def test_what_a_cluster_does_not_get_is_told() -> None:
    gone = Rendering(clusters=("a",), left_out=(CONFIG,), changes=(ObjectChange(id=CONFIG, action=LEFT_OUT),))
    lines = plan_text(replace(plan(wanted(), facts("a")), renderings=(gone,)))
    assert "    does not get ConfigMap test/test-1" in lines


def test_what_staged_runs_gave_stays_on_an_evacuated_cluster_and_is_named() -> None:
    known = placed(pick_n(2), facts("b", "c"))
    made = plan(wanted(pick_n(1)), facts("a", "b", "c"), known)
    (lost,) = made.clusters_with("lost")
    assert left_to_runs([made], {lost}) == [], "an apply takes it away"
    spec = replace(made.placement.spec, strategy=replace(made.placement.spec.strategy, type="External"))
    by_run = replace(made, placement=replace(made.placement, spec=spec))
    assert left_to_runs([by_run], {lost}) == [f"not empty until a staged run takes it away: web on {lost}"]
    assert left_to_runs([by_run], {"a"}) == []


def test_a_placement_that_is_to_end_and_is_not_there_is_named() -> None:
    """One letter is wrong, and nothing at all was said."""
    made = plan(wanted(pick_n(1)), facts("a"))
    told = ["no placement of this name is recorded, so nothing of it ends: wbe, db"]
    assert nothing_to_end(["wbe", made.name, "db", "wbe"], [made]) == told
    assert nothing_to_end([made.name], [made]) == []
