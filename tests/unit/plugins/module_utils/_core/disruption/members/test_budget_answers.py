# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What may be disrupted now, from objects alone."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.maintenance import cluster_maintenance
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import age, read_node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.timeline import (
    LimitChange,
    Timeline,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.budget_answers import (
    PoolAnswer,
    budget_answers,
    fleet_week,
    half_hours,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import (
    MemberNodes,
    made_of,
    needed_manifest,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import (
    NodesSnapshot,
    read_nodes,
    write_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import NodeRotation
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.schedules.cron import load_zone
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.budgets_text import budgets_text
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import configuration, freeze, maintenance, rotation

# The Saturday before the clocks of Vienna change.
NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
Document = dict[str, t.Any]


def node(name: str, ready: str = "True", **labels: str) -> Document:
    status = {"conditions": [{"type": "Ready", "status": ready}], "nodeInfo": {"kubeletVersion": "v1.36.3"}}
    metadata = {"name": name, "uid": f"u-{name}", "labels": labels, "creationTimestamp": "2026-03-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def member(name: str, *nodes: Document, **labels: str) -> MemberNodes:
    return MemberNodes(name=name, labels=labels, nodes=tuple(map(read_node, nodes)))


def made(document: Document) -> t.Any:
    return read(document).object


def answers(members: t.Iterable[MemberNodes], *objects: Document) -> tuple[PoolAnswer, ...]:
    found = [made(each) for each in objects]
    rotations = [each for each in found if isinstance(each, NodeRotation)]
    return budget_answers(members, rotations, [each for each in found if each not in rotations], NOW)


def test_nodes_that_a_rotation_selects_are_a_pool_of_each_member_that_it_selects() -> None:
    """Unready nodes spend the budget, nodes of others do not count."""
    one = member("m1", node("a", pool="blue"), node("b", "Unknown", pool="blue"), node("c", pool="red"), env="prod")
    two = member("m2", node("d", pool="blue"), env="test")
    wanted = rotation({"nodes": "50%"}, nodes={"byLabel": "pool=blue"}, memberSelector={"byLabel": "env=prod"})
    found = answers([one, two], wanted)
    assert {(each.pool.member, each.pool.name, each.reason, each.allowed) for each in found} == {
        ("m1", "blue", reason, 0) for reason in ("Empty", "Drifted", "Underutilized")
    }
    assert found[0].blocks == (
        "budget 1 (nodes: 50%) 50% of 2 nodes is 1: always active", "node b is not Ready",
    )  # fmt: skip


def test_where_node_claims_could_not_be_read_no_pool_is_told_to_have_room() -> None:
    """Which of its nodes count, and which of these are on their way out, is not known."""
    managed = {"karpenter.sh/nodepool": "kp", "karpenter.sh/initialized": "true"}
    pool = made_of("NodePool", {"metadata": {"name": "kp"}, "spec": {"disruption": {"budgets": [{"nodes": "5"}]}}})
    here = replace(member("m1", node("a", **managed)), karpenter=True, pools=(t.cast(t.Any, pool),))
    assert [each.pool.name for each in answers([here])] == ["kp"] * 3
    unread = replace(here, missing={"NodeClaim": Problem("forbidden", "may not be read")})
    found = answers([unread], rotation())
    assert {(each.pool.kind, each.held) for each in found} == {("NodeRotation", ("NodeClaim could not be read",))}


def test_budgets_that_decide_are_numbered_from_1_and_in_one_way_only() -> None:
    data = answers([member("m1", node("a"))], rotation({"nodes": "5"}, {"nodes": "1"}))[0].as_dict(UTC)
    assert data["binding_budgets"] == [2] and "binding" not in data


def test_without_budgets_it_is_a_tenth_rounded_up() -> None:
    found = answers([member("m1", *(node(f"n{at}") for at in range(11)))], rotation())
    assert {each.allowed for each in found} == {2}


def test_a_member_of_which_nobody_knows_the_budgets_of_the_fleet_holds_our_own_verbs_back() -> None:
    by_label = maintenance(budgets=[{"name": "prod", "nodes": "1", "memberSelector": {"byLabel": "env=prod"}}])
    lost = replace(member("m1", node("a")), labels={}, labels_known=False)
    (held,) = {each.held for each in answers([lost], by_label, rotation())}
    assert held == (
        "it has no MemberCluster, so that nobody knows which budgets of FleetMaintenance standard hold for it; "
        "join it again with its labels (gitops.fleet.join), or let it go (gitops.fleet.leave)",
    )


def test_where_a_maintenance_is_missing_its_member_is_closed_and_others_are_answered() -> None:
    lost = replace(member("m1", node("a")), maintenance="gone")
    answered = answers([lost, member("m2", node("b"))], maintenance(configuration("nodeImage")), rotation())
    told = {each.pool.member: (each.held, [row.why for row in each.closures]) for each in answered}
    assert told == {
        "m1": (("there is no FleetMaintenance gone",), ["there is no FleetMaintenance gone"]),
        "m2": ((), []),
    }


def test_where_freezes_choose_by_labels_that_nobody_knows_the_member_is_closed() -> None:
    by_label = maintenance(freezes=[freeze(memberSelector={"byLabel": "env=prod"})])
    lost = replace(member("m1", node("a")), labels={}, labels_known=False)
    (held,) = {each.held for each in answers([lost], by_label, rotation())}
    assert len(held) == 1 and "labels" in held[0]


def test_our_own_verbs_are_held_back_by_freezes_and_by_budgets_of_the_fleet() -> None:
    budgets = [
        {"name": "one-member", "members": "1"},
        {"name": "half", "nodes": "50%", "memberSelector": {"byLabel": "env=prod"}},
    ]
    frozen = maintenance(freezes=[freeze(start="2026-03-28", end="2026-03-28")], budgets=budgets)
    members = [member("m1", node("a"), node("b", "False"), env="prod"), member("m2", node("c"), env="prod")]
    found = {each.pool.member: each.held for each in answers(members, frozen, rotation())}
    assert found["m1"] == ("freeze year-end ends at 2026-03-29T00:00:00Z, until 2026-03-29T00:00:00Z",)
    assert found["m2"][1:] == (
        "budget one-member of FleetMaintenance standard: 1 of 2 members is 1, and nodes of m1 are disrupted",
    )


def test_a_day_on_which_the_clocks_change_has_its_hours_d0_72() -> None:
    """02:00 to 03:00 by the clock of Vienna is not there: the cells of that hour hold what follows."""
    budget = {"nodes": "0", "schedule": "0 0 29 3 *", "duration": "1h"}
    found = answers([member("m1", node("a"))], rotation({"nodes": "1"}, budget))[0]
    cells = half_hours(found.week, load_zone("Europe/Vienna"), datetime(2026, 3, 29))
    assert [at for at, limit in enumerate(cells) if limit == 0] == [2, 3]
    assert cells[0] == 1 and cells[47] == 1
    before = half_hours(found.week, load_zone("Europe/Vienna"), datetime(2026, 3, 28))
    assert before[25] is None and before[26] == 1


def test_an_hour_that_clocks_skip_has_no_limit_and_one_that_they_repeat_is_told_as_one() -> None:
    zone, hourly = load_zone("Europe/Vienna"), {"nodes": "0", "schedule": "0 1 * * *", "duration": "30m"}
    (spring, autumn) = (
        budget_answers([member("m1", node("a"))], [made(rotation({"nodes": "5"}, hourly))], [], now)[0]
        for now in (NOW, datetime(2026, 10, 24, 12, tzinfo=UTC))
    )
    assert half_hours(spring.week, zone, datetime(2026, 3, 29))[3:8] == [5, None, None, 0, 5]
    # 01:00 to 01:30 UTC is the second of the two that the clocks call 02:00 to 02:30.
    assert half_hours(autumn.week, zone, datetime(2026, 10, 25))[3:7] == [5, 0, 5, 5]


def test_an_hour_that_clocks_repeat_has_the_limit_of_its_part_within_the_week() -> None:
    start = datetime(2026, 10, 18, 0, 30, tzinfo=UTC)
    week = Timeline(start, datetime(2026, 10, 25, 0, 45, tzinfo=UTC), (LimitChange(start, 3),))
    cells = half_hours(week, load_zone("Europe/Berlin"), datetime(2026, 10, 25))
    assert cells == [3] * 6 + [None] * 42


def test_reasons_that_change_at_other_times_stand_in_rows_of_their_own() -> None:
    later = {"nodes": "0", "reasons": ["Drifted"], "schedule": "0 0 20 12 *", "duration": "400h"}
    found = answers([member("m1", node("a"))], rotation({"nodes": "1"}, later))
    rows = [line.split() for line in budgets_text(found, UTC, week=False)]
    assert [(row[-1], row) for row in rows if row[:1] == ["all"]] == []
    assert any(row[0] == "Drifted" and "2026-12-20" in row for row in rows)
    zeros = [{"nodes": "0", "reasons": [each]} for each in ("Empty", "Drifted")]
    text = "\n".join(budgets_text(answers([member("m1", node("a"))], rotation(*zeros)), UTC, week=False))
    assert "Empty: budget 1 (nodes: 0, reasons: Empty) " in text and "Drifted: budget 2 " in text


def test_a_freeze_of_a_day_that_clocks_skipped_closes_nothing_and_stops_nothing() -> None:
    """Apia had no 30 December 2011; any member can say so of itself."""
    skipped = freeze("h", start="2011-12-30", end="2011-12-30", timeZone="Pacific/Apia")
    own = cluster_maintenance(json.dumps({"freezes": [skipped]}), "its annotation", "m1")
    found = answers(
        [MemberNodes(name="m1", own_maintenance=own)], maintenance(freezes=[skipped]), rotation({"nodes": "1"})
    )
    assert found and not found[0].closures and not found[0].held


def test_a_freeze_of_the_fleet_counts_in_the_week_and_in_the_next_openings() -> None:
    """The budget alone would be open right through it, and so it is to Karpenter."""
    frozen = maintenance(freezes=[freeze(start="2026-03-28", end="2026-03-30", reason="quarter end")])
    found = answers([member("m1", node("a"))], frozen, rotation({"nodes": "1"}))
    assert [(each.start, each.end) for each in found[0].openings] == [
        (datetime(2026, 3, 31, tzinfo=UTC), NOW + timedelta(days=7)),
    ]
    data = found[0].as_dict(UTC)
    assert [each["start"] for each in data["budget_openings"]] == ["2026-03-28T12:00:00Z"]
    why = "freeze year-end of FleetMaintenance standard: quarter end"
    (closed,) = data["closed_by_fleet"]
    assert closed == {"start": "2026-03-28T12:00:00Z", "end": "2026-03-31T00:00:00Z", "why": why}
    lines = budgets_text(found, UTC, week=True)
    text = " ".join(" ".join(lines).split())
    assert f"  Mon 03-30  {'-' * 48}" in lines and f"  Tue 03-31  {'1' * 48}" in lines
    assert f"the fleet closes it: {why}: Sat 2026-03-28 12:00 UTC to Tue 2026-03-31 00:00 UTC" in text
    assert "all: next openings: Tue 2026-03-31 00:00 UTC to" in text
    assert "- closed by the fleet: node_rotation waits; Karpenter knows nothing of that" in text
    assert "all closed Tue 2026-03-31 00:00 UTC, then 1" in text and max(map(len, lines)) <= 80


def test_a_freeze_that_lasts_longer_than_the_week_is_not_told_to_end_with_it() -> None:
    frozen = maintenance(freezes=[freeze(start="2026-03-28", end="2026-05-30", reason="peak")])
    lines = budgets_text(answers([member("m1", node("a"))], frozen, rotation({"nodes": "1"})), UTC, week=False)
    assert "to Sat 2026-04-04 12:00 UTC or later" in " ".join(" ".join(lines).split())


def test_outside_the_windows_for_node_images_the_week_is_closed_by_the_fleet() -> None:
    daily = {"daily": {"intervalDays": 1}}
    windows = maintenance(configuration("nodeImage", daily, startTime="22:00", memberSelector=None))
    windows["spec"]["windows"][0]["memberSelector"] = {"byLabel": "env=prod"}
    found = answers([member("m1", node("a"), env="prod"), member("m2", node("b"))], windows, rotation({"nodes": "1"}))
    rows = {each.pool.member: each for each in found}
    assert rows["m2"].closures == () and rows["m2"].openings == rows["m2"].week.openings
    assert [(each.start.hour, each.end.hour) for each in rows["m1"].openings] == [(22, 2)] * 7
    lines = budgets_text([rows["m1"]], UTC, week=True)
    assert f"  Sun 03-29  1111{'-' * 40}1111" in lines
    assert "    the fleet closes it: outside the windows of FleetMaintenance standard" in lines


def test_a_freeze_within_the_week_parts_an_opening_by_its_own_clock_and_keeps_the_limits() -> None:
    """A day of Vienna, in which the clocks go forward, has 23 hours; the budget of the nights goes on beside it."""
    frozen = maintenance(freezes=[freeze(start="2026-03-29", end="2026-03-29", timeZone="Europe/Vienna")])
    night = {"nodes": "2", "schedule": "0 20 * * *", "duration": "12h"}
    found = answers([member("m1", *map(node, "abcd"))], frozen, rotation({"nodes": "3"}, night))[0]
    start, end = datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert [(each.start, each.end) for each in found.openings] == [(NOW, start), (end, NOW + timedelta(days=7))]
    assert not found.closed_now and found.held == () and found.allowed == 3, "it is still to come"
    assert [(each.at, each.limit) for each in fleet_week(found).changes] == [(NOW, 1), (start, 0), (end, 1)]
    assert found.week.openings[0].end > end, "to Karpenter nothing is in between"


def test_a_freeze_over_closed_windows_is_told_beside_them() -> None:
    """Saturdays from 01:00 to 05:00; next Saturday is a freeze, so that the week has no opening at all."""
    spec = maintenance(configuration("nodeImage"), freezes=[freeze(start="2026-04-04", end="2026-04-04")])
    spec["spec"]["windows"][0]["memberSelector"] = {"byLabel": "env=prod"}
    found = answers([member("m1", node("a"), env="prod")], spec, rotation({"nodes": "1"}))[0]
    assert found.openings == () and found.closed_now and found.allowed == 1
    assert [each.why for each in found.closures] == [
        "outside the windows of FleetMaintenance standard",
        "freeze year-end of FleetMaintenance standard",
    ]


def test_the_text_fits_and_says_when_it_opens() -> None:
    night = {"nodes": "0", "schedule": "0 8 * * *", "duration": "12h"}
    lines = budgets_text(answers([member("m1", node("a"))], rotation({"nodes": "1"}, night)), UTC, week=True)
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 80
    assert "all 0 Sat 2026-03-28 20:00 UTC, then 1" in text
    assert "next openings: Sat 2026-03-28 20:00 UTC to Sun 2026-03-29 08:00 UTC (1)" in text
    assert f"  Sun 03-29  {'1' * 16}{'.' * 24}{'1' * 8}" in lines


def test_a_node_is_as_old_as_it_pretends_to_be() -> None:
    document = node("a")
    document["metadata"]["annotations"] = {"gitops.fleet/simulated-age": "10d"}
    assert age(read_node(document), NOW) == timedelta(days=37, hours=12)


def test_a_file_holds_what_is_needed_and_no_word_that_others_wrote_elsewhere() -> None:
    """The environment of a pod, and what a machine runs at its start, may hold secrets."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "secret", "karpenter.sh/do-not-disrupt": "true"}
    container = {"name": "c", "image": "i", "env": [{"name": "A", "value": "secret"}]}
    metadata = {"name": "p", "namespace": "x", "annotations": annotations}
    pod = {"metadata": metadata, "spec": {"nodeName": "a", "containers": [container]}}
    found = needed_manifest("Pod", pod)
    assert "secret" not in str(found) and found["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    assert made_of("Pod", found) == made_of("Pod", {**pod, "metadata": found["metadata"]})
    assert "secret" not in str(
        needed_manifest("NodeClass", {"metadata": {"name": "c"}, "spec": {"userData": "secret"}})
    )


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("DaemonSet", {"spec": [1]}),
        ("DaemonSet", {"spec": {"template": [1]}}),
        ("DaemonSet", {"spec": {"template": {"spec": ""}}}),
        ("DaemonSet", {"metadata": []}),
        ("DaemonSet", {"metadata": None}),
        ("Node", {"metadata": {"annotations": ["a"]}}),
        ("Node", {"status": [1]}),
        ("Node", {"status": {"conditions": 5}}),
        ("Node", {"status": {"conditions": [5]}}),
        ("NodePool", {"metadata": []}),
        ("Pod", {"metadata": []}),
    ],
)
def test_a_part_of_a_manifest_that_is_something_else_is_told(kind: str, part: Document) -> None:
    odd = {"metadata": {"name": "a"}, "spec": {}, **part}
    for read_part in (needed_manifest, made_of) if kind == "DaemonSet" else (needed_manifest,):
        with pytest.raises(FleetError) as refused:
            read_part(kind, odd)
        assert (refused.value.code, refused.value.where) == ("undecodable", kind)


def test_what_is_written_is_read_again() -> None:
    missing = {"Pod": Problem("forbidden", "no", "m1")}
    one = MemberNodes(name="m1", labels={"a": "b"}, nodes=(read_node(node("a")),), karpenter=True, missing=missing)
    written = NodesSnapshot(
        captured_at=NOW,
        members=(one,),
        failed={"m2": Problem("timeout", "slow", "m2")},
        documents={"m1": {"Node": [needed_manifest("Node", node("a"))]}},
    )
    document = write_nodes(written)
    again = read_nodes(document, "nodes.json", NOW)
    assert (again.members[0].nodes, again.members[0].labels) == (one.nodes, {"a": "b"})
    assert [each.code for each in again.problems] == ["timeout", "forbidden"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "facts"}, "nodes-invalid"),
        ({"schema": 99}, "nodes-too-new"),
        ({"schema": True}, "nodes-invalid"),
        ({"capturedAt": "soon"}, "nodes-invalid"),
        ({"capturedAt": "2030-01-01T00:00:00Z"}, "nodes-invalid"),
        ({"members": [{}]}, "nodes-invalid"),
        ({"members": [{"name": "a", "objects": {}}, {"name": "a", "objects": {}}]}, "nodes-invalid"),
        ({"members": [{"name": "a"}]}, "nodes-invalid"),
        ({"members": [{"name": "a", "objects": [{"kind": "Node"}]}]}, "nodes-invalid"),
        ({"members": [{"name": "a", "objects": {"Node": [{"metadata": 1}]}}]}, "undecodable"),
    ],
)
def test_other_files_are_refused(change: Document, code: str) -> None:
    document = write_nodes(NodesSnapshot(captured_at=NOW, members=()))
    with pytest.raises(FleetError) as error:
        read_nodes({**document, **change}, "nodes.json", NOW)
    assert error.value.code == code


def test_a_node_that_pretends_to_be_older_than_any_calendar_is_very_old() -> None:
    document = node("a")
    document["metadata"]["annotations"] = {"gitops.fleet/simulated-age": "999999d" * 1500}
    found = age(read_node(document), NOW)
    assert found is not None and found > timedelta(days=999_999_000)


def window(schedule: Document, **more: t.Any) -> Document:
    configured = {"schedule": schedule, "durationHours": 4, "startTime": "01:00", **more}
    return {"windows": [{"name": "kubernetes", "maintenanceWindow": configured}]}


@pytest.mark.parametrize(
    "own",
    [
        window({"daily": {"intervalDays": 0}}),
        window({"daily": {"intervalDays": 1}}, timeZone="Nowhere"),
        window({"daily": {"intervalDays": 1}}, startDate="never"),
        {"freezes": [{"name": "sales", "start": "never", "end": "2026-12-01"}]},
        {"source": 5},
        {"colour": "red"},
        ["x"],
    ],
)
def test_windows_of_a_member_in_a_file_are_judged_as_on_the_member(own: t.Any) -> None:
    document = write_nodes(NodesSnapshot(captured_at=NOW, members=()))
    with pytest.raises(FleetError) as error:
        read_nodes({**document, "members": [{"name": "a", "objects": {}, "ownMaintenance": own}]}, "nodes.json", NOW)
    assert "nodes.json a ownMaintenance" in error.value.where


def test_windows_of_a_member_are_read_again_as_they_were_written() -> None:
    text = json.dumps({"windows": maintenance(configuration())["spec"]["windows"], "freezes": [freeze()]})
    own = cluster_maintenance(text, "annotation x", "a")
    one = MemberNodes(name="a", own_maintenance=own)
    document = write_nodes(NodesSnapshot(captured_at=NOW, members=(one,), documents={"a": {}}))
    assert read_nodes(document, "nodes.json", NOW).members[0].own_maintenance == own


def test_a_share_of_the_members_is_one_of_all_recorded_members() -> None:
    """Of four members one may not have disrupted nodes and another one too; two were asked for."""
    half = maintenance(budgets=[{"name": "half", "members": "50%"}])
    members = [member("m1", node("a", "False")), member("m2", node("b"))]
    windows, rotations = [made(half)], [made(rotation())]
    held = {each.pool.member: each.held for each in budget_answers(members, rotations, windows, NOW)}
    assert held["m2"] != ()
    fleet = {f"m{at}": {} for at in range(1, 5)}
    held = {each.pool.member: each.held for each in budget_answers(members, rotations, windows, NOW, fleet=fleet)}
    assert held["m2"] == ()
