# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which windows hold for which member and which run, freezes, and runs that go by them."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.maintenance import cluster_maintenance
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.maintenance import (
    Calendar,
    MaintainedMember,
    calendar,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.obstacles import obstacle
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import Spans
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import configuration, freeze, in_week, maintenance
from ansible_collections.gitops.fleet.tests.data.manifest_parts import named
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import mutated
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0, Play, at, laid

HOUR = 3_600
DAILY = {"daily": {"intervalDays": 1}}
START, END = T0, T0 + timedelta(days=2)


def fleet(*manifests: t.Any) -> Calendar:
    return calendar(read(each, where="here").object for each in manifests)


def daily(name: str = "kubernetes", start: str = "01:00", selector: str = "", **fields: t.Any) -> dict[str, t.Any]:
    given = configuration(name, DAILY, startTime=start, **fields)
    return {**given, "memberSelector": {"byLabel": selector}} if selector else given


def hours(found: Spans | None) -> list[tuple[float, float]] | None:
    """From the beginning of the test."""
    return None if found is None else [((a - T0) / timedelta(hours=1), (b - T0) / timedelta(hours=1)) for a, b in found]


@pytest.mark.parametrize(
    ("run_type", "opens"),
    [("Full", 1), ("ControlPlaneOnly", 1), ("NodeImageOnly", 2)],
)
@pytest.mark.parametrize(
    "names",
    [
        ("kubernetes", "nodeImage", "platform"),
        ("aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule", "default"),
        ("AKSManagedAutoUpgradeSchedule", "aksmanagednodeosupgradeschedule", "Default"),
    ],
)
def test_a_run_consults_the_window_of_what_it_upgrades(names: tuple[str, str, str], run_type: str, opens: int) -> None:
    weekly = configuration(names[2], startTime="03:00")
    found = fleet(maintenance(daily(names[0], "01:00"), daily(names[1], "02:00"), weekly))
    site = MaintainedMember(name="m", maintenance="standard")
    assert hours(found.startable_spans(site, run_type, START, END)) == [(opens, opens + 4), (opens + 24, opens + 28)]


def test_d3_41_the_platforms_window_is_consulted_by_no_run() -> None:
    found = fleet(maintenance(configuration("default"), in_week()))
    for run_type in ("Full", "ControlPlaneOnly", "NodeImageOnly"):
        assert found.startable_spans(MaintainedMember(name="m", maintenance="standard"), run_type, START, END) is None


def test_windows_by_label() -> None:
    found = fleet(maintenance(daily(selector="env=prod"), daily(start="10:00", selector="eu")))

    def of(**labels: str) -> t.Any:
        return hours(
            found.startable_spans(MaintainedMember(name="m", labels=labels), "Full", START, T0 + timedelta(days=1))
        )

    assert of() is None
    assert of(env="prod") == [(1, 5)]
    assert of(env="prod", eu="") == [(1, 5), (10, 14)]


def test_a_window_without_labels_is_for_those_that_name_its_object() -> None:
    standard = maintenance(daily(), daily(start="10:00", selector="eu"))
    other = named(maintenance(daily(start="20:00", selector="eu")), name="other")
    found, end = fleet(standard, other), T0 + timedelta(days=1)
    assert hours(found.startable_spans(MaintainedMember(name="m", maintenance="standard"), "Full", START, end)) == [
        (1, 5)
    ]
    eu = {"eu": ""}
    assert hours(
        found.startable_spans(MaintainedMember(name="m", labels=eu, maintenance="standard"), "Full", START, end)
    ) == [
        (1, 5),
        (10, 14),
    ]
    assert hours(
        found.startable_spans(MaintainedMember(name="m", labels=eu, maintenance="other"), "Full", START, end)
    ) == [(20, 24)]
    assert hours(found.startable_spans(MaintainedMember(name="m", labels=eu), "Full", START, end)) == [
        (10, 14),
        (20, 24),
    ]


def test_a_maintenance_that_is_not_there_is_not_none() -> None:
    """Whether the member may be upgraded is not known, so that is no time to do it."""
    with pytest.raises(FleetError) as refused:
        fleet(maintenance()).startable_spans(MaintainedMember(name="m", maintenance="nights"), "Full", START, END)
    (problem,) = refused.value.problems
    assert (problem.code, problem.where) == ("no-such-maintenance", "FleetMember/m spec.maintenance")
    assert "standard" in problem.hint


def test_freezes_cut_windows_of_all_members() -> None:
    """2026-08-18 is the second day; with windows and without, whichever object the member names."""
    day = {"start": "2026-08-18", "end": "2026-08-18"}
    found = fleet(maintenance(daily()), named(maintenance(freezes=[freeze(**day)]), name="freezes"))
    end = T0 + timedelta(days=3)
    assert hours(found.startable_spans(MaintainedMember(name="m", maintenance="standard"), "Full", START, end)) == [
        (1, 5),
        (49, 53),
    ]
    assert hours(found.startable_spans(MaintainedMember(name="m"), "NodeImageOnly", START, end)) == [(0, 24), (48, 72)]
    # None again when no freeze lies in the asked range.
    assert found.startable_spans(MaintainedMember(name="m"), "Full", T0 + timedelta(days=2), end) is None


def waited_for(found: Calendar, hour: int) -> str:
    """What a member with the windows of the fleet waits for at that hour, the 17th being the first day."""
    site, end = MaintainedMember(name="m", maintenance="standard"), T0 + timedelta(days=10)
    windows, closed = (
        each(site, "Full", START, end) for each in (found.startable_spans, found.openings_lost_to_freezes)
    )
    why = obstacle(MemberView(name="m", windows=windows, closed=closed), T0 + timedelta(hours=hour))
    return why.message if why else ""


def test_what_a_freeze_leaves_of_a_window_is_not_told_once_it_is_past() -> None:
    found = fleet(maintenance(daily(start="22:00"), freezes=[freeze(start="2026-08-18", end="2026-08-18")]))
    site = MaintainedMember(name="m", maintenance="standard")
    assert hours(found.startable_spans(site, "Full", START, END)) == [(-2, 2), (22, 24)]
    assert hours(found.startable_spans(site, "Full", START + timedelta(hours=25), END)) == []


def test_who_waits_for_a_window_is_told_which_freeze_closes_one_before_it() -> None:
    """Windows are from one to five, and the 19th and the 20th frozen."""
    days = {"start": "2026-08-19", "end": "2026-08-20"}
    found = fleet(maintenance(daily()), named(maintenance(freezes=[freeze("sales", **days)]), name="freezes"))
    until = "the maintenance window opens at 2026-08-21T01:00:00Z"
    assert waited_for(found, 12) == "the maintenance window opens at 2026-08-18T01:00:00Z", "none is closed before"
    assert waited_for(found, 24 + 12) == f"{until}; the opening Wed 2026-08-19 01:00 UTC is closed by freeze sales"
    assert waited_for(found, 2 * 24 + 12) == until, "a freeze that holds is an obstacle of its own"


def test_a_freeze_in_which_no_window_opens_closes_none() -> None:
    found = fleet(maintenance(freezes=[freeze("sales", start="2026-08-19", end="2026-08-20")]))
    assert found.openings_lost_to_freezes(MaintainedMember(name="m"), "Full", START, T0 + timedelta(days=10)) == ()


def test_freezes_by_label_and_zone_and_in_words() -> None:
    given = freeze(
        "sales",
        start="2026-08-18",
        end="2026-08-19",
        timeZone="America/New_York",
        memberSelector={"byLabel": "shop"},
        reason="a busy day",
    )
    found, shop = fleet(maintenance(freezes=[given])), MaintainedMember(name="m", labels={"shop": "a"})
    assert found.startable_spans(MaintainedMember(name="m"), "Full", START, END) is None
    assert found.freeze_blocker(MaintainedMember(name="m"), T0 + timedelta(days=2)) is None
    assert hours(found.startable_spans(shop, "Full", START, T0 + timedelta(days=4))) == [(0, 28), (76, 96)]
    held = found.freeze_blocker(shop, T0 + timedelta(hours=28))
    assert held and (held.reason, held.until) == (states.WINDOW_CLOSED, datetime(2026, 8, 20, 4, tzinfo=UTC))
    assert held.message == "freeze sales ends at 2026-08-20T04:00:00Z: a busy day"
    assert found.freeze_blocker(shop, T0 + timedelta(hours=76)) is None


def test_freezes_of_all_are_those_that_name_no_labels() -> None:
    rows = [freeze(name="all"), freeze(name="prod", memberSelector={"byLabel": "env=prod"})]
    found = fleet(maintenance(freezes=rows)).with_freezes_of_all
    site = MaintainedMember(name="m", labels=None)
    assert [name for name, _span in found.freezes_of(site)] == ["all"]


def test_created_counts_as_the_first_day() -> None:
    every_third = configuration("kubernetes", {"daily": {"intervalDays": 3}})
    document = named(maintenance(every_third), creationTimestamp="2026-08-18T23:30:00Z")
    site = MaintainedMember(name="m", maintenance="standard")
    assert hours(fleet(document).startable_spans(site, "Full", START, T0 + timedelta(days=5))) == [(25, 29), (97, 101)]
    ahead = configuration("kubernetes", {"daily": {"intervalDays": 3}}, utcOffset="+02:00")
    document = named(maintenance(ahead), creationTimestamp="2026-08-18T23:30:00Z")
    assert hours(fleet(document).startable_spans(site, "Full", START, T0 + timedelta(days=4))) == [(47, 51)]


# Runs by windows that were computed


def played(text: str, windows: dict[str, str]) -> Play:
    """``windows`` gives the hour at which a daily window of a member begins."""
    found = fleet(maintenance(*(daily(start=start, selector=f"m={name}") for name, start in windows.items())))
    play = Play(laid(text))
    for name in play.views:
        site = MaintainedMember(name=name, labels={"m": name})
        play.sees(name, windows=found.startable_spans(site, "Full", START, T0 + timedelta(days=7)))
    return play


def test_d3_36_d3_48_nothing_starts_outside_and_the_message_tells_when() -> None:
    run = played("s{g:a}", {"a": "01:07"}).start()
    assert run.tree == "P[s P{g P:aP}]"
    assert run.member("a").message == "the maintenance window opens at 2026-08-17T01:07:00Z"
    assert run.decided.wake_at == at(67 * 60)  # D3-40
    assert run.wait(67 * 60 - 1).tree == "P[s P{g P:aP}]"
    assert run.wait(1).tree == "R[s R{g R:aR}]"  # D3-57


def test_09_a_closed_window_passes_the_turn() -> None:  # D3-39, D3-52
    run = played("s{g:a,b}", {"a": "06:00"}).start()
    assert run.tree == "R[s R{g R:aN bR}]"
    run.wait(HOUR).ends("b")
    assert run.tree == "P[s P{g P:aP bC}]"
    assert run.wait(5 * HOUR).tree == "R[s R{g R:aR bC}]"


def test_10_the_order_of_four() -> None:  # D3-37
    run = played("s{g:closed,none,soon,open}", {"closed": "10:00", "soon": "02:00", "open": "00:00"}).start()
    assert run.running == ["open"]
    run.wait(HOUR).ends("open")
    assert run.running == ["none"]
    assert run.member("soon").state == states.PENDING
    run.wait(30 * 60).ends("none")
    assert run.tree == "P[s P{g P:closedP noneC soonP openC}]"
    run.wait(30 * 60)
    assert run.running == ["soon"]
    run.wait(8 * HOUR).ends("soon")
    assert run.running == ["closed"]


def test_11_a_done_sibling_does_not_hide_pending() -> None:  # D3-53
    run = played("prod{canary:w1,w2; apac:c1}", {"c1": "12:00"}).start().ends("w1").ends("w2")
    assert run.tree == "P[prod P{canary C:w1C w2C; apac P:c1P}]"


def test_12_pending_blocks_the_next_stage() -> None:  # D3-54, D2-02
    run = played("s1{g1:a; g2:b}, s2{g3:e}", {"a": "12:00"}).start().ends("b")
    assert run.tree == "P[s1 P{g1 P:aP; g2 C:bC}, s2 N{g3 N:eN}]"
    assert run.wait(11 * HOUR).tree == "P[s1 P{g1 P:aP; g2 C:bC}, s2 N{g3 N:eN}]"
    assert run.skip("Member:a").tree == "R[s1 C{g1 K:aK; g2 C:bC}, s2 R{g3 R:eR}]"


def test_d3_42_a_window_that_closes_interrupts_nothing() -> None:
    run = played("s{g:a,b}", {"a": "00:00", "b": "00:00"}).start()
    assert run.wait(5 * HOUR).tree == "R[s R{g R:aR bN}]"
    assert run.ends("a").tree == "P[s P{g P:aC bP}]"


def test_d3_38_the_same_order_one_by_one() -> None:
    """A run without strategy is one stage of one group."""
    run = played("default{default:closed,open}", {"closed": "10:00", "open": "00:00"}).start()
    assert run.running == ["open"]


# Whatever is accepted can be asked


@pytest.mark.parametrize("seed", range(150))
def test_any_document_that_is_read(seed: int) -> None:
    draw = Random(seed)
    labels = {"byLabel": draw.choice(("a", "a=b", "!a"))}
    good = maintenance(
        {**daily(), "memberSelector": labels},
        in_week(notAllowedTime=[{"start": "2026-08-17T00:30:00Z", "end": "2026-08-18T00:00:00Z"}]),
        configuration("nodeImage", timeZone="Europe/Vienna", startDate="2026-08-01"),
        freezes=[freeze(memberSelector=labels)],
    )
    try:
        found = calendar([read(mutated(draw, good, draw.randrange(4))).object])
        site = MaintainedMember(name="m", labels={"a": "b"}, maintenance=draw.choice(("", "standard")))
        for run_type in ("Full", "NodeImageOnly"):
            spans = found.startable_spans(site, run_type, START, END) or ()
            assert all(opens < closes for opens, closes in spans)
        found.freeze_blocker(site, START)
    except FleetError as error:
        assert error.problems


class TestOwnWindows:
    """Windows that live on the cluster itself count beside those of the fleet."""

    def site(self, *windows: t.Any, freezes: tuple[t.Any, ...] = (), maintenance: str = "") -> MaintainedMember:
        own = cluster_maintenance(json.dumps({"windows": windows, "freezes": freezes}), "annotation x", "m")
        return MaintainedMember(name="m", maintenance=maintenance, own=own)

    def test_alone_they_are_all_that_there_is(self) -> None:
        found = fleet().startable_spans(self.site(daily(start="02:00")), "Full", START, END)
        assert hours(found) == [(2, 6), (26, 30)]
        assert fleet().startable_spans(self.site(daily("nodeImage")), "Full", START, END) is None, (
            "not for what this upgrades"
        )

    def test_neither_opens_what_the_other_closes(self) -> None:
        both = fleet(maintenance(daily(start="01:00")))
        site = self.site(daily(start="03:00"), maintenance="standard")
        assert hours(both.startable_spans(site, "Full", START, END)) == [(3, 5), (27, 29)]
        apart = self.site(daily(start="12:00"), maintenance="standard")
        assert hours(both.startable_spans(apart, "Full", START, END)) == []

    def test_a_freeze_of_its_own_closes_too(self) -> None:
        site = self.site(freezes=({"name": "inventory", "start": f"{T0:%Y-%m-%d}", "end": f"{T0:%Y-%m-%d}"},))
        assert hours(fleet().startable_spans(site, "Full", START, END)) == [(24, 48)]
        blocked = fleet().freeze_blocker(site, at(HOUR))
        assert blocked is not None and "freeze inventory ends" in blocked.message

    def test_who_closes_is_told(self) -> None:
        both = fleet(maintenance(daily(start="01:00")))
        site = self.site(daily(start="03:00"), maintenance="standard")
        fleets, own = "FleetMaintenance standard", "the cluster itself (annotation x)"
        told = [both.shut_by(site, "Full", at(hour * HOUR)) for hour in (0, 2, 4, 6, 12)]
        assert told == [(fleets, own), (own,), (), (fleets,), (fleets, own)]
        assert both.shut_by(MaintainedMember(name="m", maintenance="standard"), "Full", START) == (), (
            "nothing of its own to tell from"
        )

    def test_a_run_waits_and_says_for_whom(self) -> None:
        both, site = fleet(), self.site(daily(start="03:00"))
        play = Play(laid("s{g:m}"))
        play.sees(
            "m", windows=both.startable_spans(site, "Full", START, END), shut=both.shut_by(site, "Full", START)
        ).start()
        row = play.member("m")
        assert (row.state, row.reason) == (states.PENDING, states.WINDOW_CLOSED)
        assert row.message.endswith("closed now by the cluster itself (annotation x)")
        assert play.wait(3 * HOUR).begun == ["m"]
