# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When members may be touched, as text: at most 80 columns, one row for each answer, bounded."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.openings import (
    CLOSED,
    HELD,
    IS_OPEN,
    NODES,
    UNKNOWN,
    UPGRADE,
    ClosedSpan,
    ClusterOpenings,
    OpenSpan,
    Permission,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.schedules.cron import load_zone
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.openings_text import openings_text
from ansible_collections.gitops.fleet.plugins.module_utils._report.widths import columns_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)  # a Monday
WINDOWS = "outside the windows of FleetMaintenance standard"


def night(day: int = 0, hours: int = 4) -> OpenSpan:
    """From 21:00 in UTC of a day from Monday on."""
    start = datetime(2026, 11, 23, 21, tzinfo=UTC) + timedelta(days=day)
    return OpenSpan(start, start + timedelta(hours=hours))


def shut(*openings: OpenSpan, **more: t.Any) -> Permission:
    parts: dict[str, t.Any] = {"state": CLOSED, "why": (WINDOWS,), "next": openings[0] if openings else None,
                               "openings": openings, "clock": UTC}  # fmt: skip
    return Permission(**{**parts, **more})


ALWAYS = shut(OpenSpan(NOW, None), state=IS_OPEN, why=("neither window nor freeze holds for it",))


def cluster(name: str, upgrade: Permission, nodes: Permission | None = None, **more: t.Any) -> ClusterOpenings:
    return ClusterOpenings(name=name, permissions={UPGRADE: upgrade, NODES: nodes or upgrade}, **more)


def said(*found: ClusterOpenings, before: t.Sequence[ClusterOpenings] = ()) -> list[str]:
    lines = openings_text(found, before, (), NOW, 30)
    assert max(map(columns_of, lines)) <= 80
    return lines


def flat(lines: t.Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_a_row_a_reason_and_the_openings_by_the_clock_of_the_windows() -> None:
    lines = said(cluster("east", shut(night(), night(1), clock=load_zone("Europe/Vienna"))))
    assert lines[0] == "upgrades and disruption of nodes, at Mon 2026-11-23 12:00 UTC:"
    assert [" ".join(each.split()) for each in lines[1:3]] == [
        "CLUSTER NOW NEXT OPENING (UTC) CLOSES (UTC)",
        "east closed Mon 2026-11-23 21:00 Tue 2026-11-24 01:00",
    ]
    assert lines[3:] == [
        f"    {WINDOWS}",
        "",
        "openings of east within 30 days, by the clock of Europe/Vienna:",
        "  Mon 2026-11-23 22:00 CET to Tue 2026-11-24 02:00 CET",
        "  Tue 2026-11-24 22:00 CET to Wed 2026-11-25 02:00 CET",
    ]


def test_the_columns_stand_below_their_titles() -> None:
    lines = said(cluster("east", shut(night())))
    for title, cell in (("NOW", "closed"), ("NEXT OPENING (UTC)", "Mon 2026"), ("CLOSES (UTC)", "Tue 2026")):
        assert lines[1].index(title) == lines[2].index(cell)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ALWAYS, "a open now no end is known"),
        (shut(night(-1), state=IS_OPEN), "a open now Mon 2026-11-23 01:00"),
        (shut(night(-1), state=HELD), "a held when that is over Mon 2026-11-23 01:00"),
        (shut(), "a closed none in 13 months -"),
        (shut(state=UNKNOWN, why=("it names what is not there",)), "a unknown not known -"),
    ],
)
def test_what_each_state_says_of_the_next_opening(found: Permission, words: str) -> None:
    assert words in [" ".join(line.split()) for line in said(cluster("a", found))]


def test_both_kinds_of_work_are_told_apart_only_where_they_differ() -> None:
    lines = said(cluster("east", shut(night()), ALWAYS), cluster("west", ALWAYS))
    assert "upgrades, at Mon 2026-11-23 12:00 UTC:" in lines
    assert lines[lines.index("disruption of nodes, at Mon 2026-11-23 12:00 UTC:") - 1] == ""
    assert "openings of east for upgrades within 30 days, by the clock of UTC:" in lines


def test_a_thousand_clusters_are_a_row_for_each_answer() -> None:
    answers = [shut(night()), shut(night(1)), ALWAYS]
    lines = said(*(cluster(f"c-{each:04}", answers[each % 3]) for each in range(1000)))
    assert [line.split()[0] for line in lines if line.startswith("c-")] == ["c-0000", "c-0001", "c-0002"]
    assert [line for line in lines if line.startswith("    and ")] == [
        "    and 333 more with the same answer: c-0003, c-0006, c-0009 and 330 more",
        "    and 332 more with the same answer: c-0004, c-0007, c-0010 and 329 more",
        "    and 332 more with the same answer: c-0005, c-0008, c-0011 and 329 more",
    ]
    assert len(lines) < 25


def test_a_thousand_answers_end_and_say_how_many_are_left_out() -> None:
    lines = said(*(cluster(f"c-{each:04}", shut(night(each))) for each in range(1000)))
    assert "960 more clusters with other answers; ask for them by name" in lines and len(lines) < 90


def test_other_clocks_and_other_reasons_are_other_answers() -> None:
    vienna = shut(night(), clock=load_zone("Europe/Vienna"))
    lines = said(cluster("a", shut(night())), cluster("b", vienna), cluster("c", shut(night(), why=("a freeze",))))
    assert [line.split()[0] for line in lines[2:8] if not line.startswith(" ")] == ["a", "b", "c"]


def test_many_openings_end_and_say_how_many_are_left_out() -> None:
    lines = said(cluster("a", shut(*(night(2 * each) for each in range(30)))))
    assert lines[-1] == "  and 22 more" and len(lines) == 4 + 2 + 8 + 1


def test_daily_openings_at_the_same_hours_are_one_row() -> None:
    """Across the change of a clock they are at other hours in UTC, and by the clock again at the same ones."""
    lines = said(cluster("a", shut(*(night(each) for each in range(30)))))
    assert lines[-1] == "  every day 21:00 to 01:00 UTC, Mon 2026-11-23 to Tue 2026-12-22"
    lines = said(cluster("a", shut(night(), night(1), night(3), night(4), night(5, hours=5))))
    assert len(lines) == 4 + 2 + 5, "two in a row are told one by one"


def test_daily_openings_are_told_apart_where_the_clock_changes() -> None:
    vienna = load_zone("Europe/Vienna")
    starts = [datetime(2026, 10, 21 + each, 20 + (each > 3), tzinfo=UTC) for each in range(8)]
    spans = [OpenSpan(each, each + timedelta(hours=1)) for each in starts]
    lines = said(cluster("a", shut(*spans, clock=vienna)))
    assert lines[-2:] == [
        "  every day 22:00 to 23:00 CEST, Wed 2026-10-21 to Sat 2026-10-24",
        "  every day 22:00 to 23:00 CET, Sun 2026-10-25 to Wed 2026-10-28",
    ]


def closed(of: OpenSpan, freeze: str = "freeze sales of FleetMaintenance x: a week", **cut: datetime) -> ClosedSpan:
    return ClosedSpan(span=OpenSpan(cut.get("start", of.start), cut.get("end", of.end)), of=of, freeze=freeze)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([closed(night(5))], "an opening Sat 2026-11-28 21:00 UTC is closed by freeze sales of FleetMaintenance x"),
        ([closed(night(5), end=night(5).start + timedelta(hours=3))],
         "an opening Sat 2026-11-28 21:00 UTC is closed until Sun 2026-11-29 00:00 UTC by freeze sales"),
        ([closed(night(5), start=night(5).start + timedelta(hours=3))], "closed from Sun 2026-11-29 00:00 UTC on by"),
        ([closed(OpenSpan(NOW, None), start=night(1).start, end=night(2).start)],
         "closed from Tue 2026-11-24 21:00 UTC until Wed 2026-11-25 21:00 UTC by freeze sales"),
        ([closed(night(5)), closed(night(6))],
         "2 openings from Sat 2026-11-28 21:00 UTC to Sun 2026-11-29 21:00 UTC are closed by freeze sales"),
        ([closed(night(5)), closed(night(6), end=night(6).start + timedelta(hours=1))],
         "to Sun 2026-11-29 21:00 UTC are closed, wholly or in part, by freeze sales"),
    ],
)  # fmt: skip
def test_an_opening_that_a_freeze_closes_names_it(found: list[ClosedSpan], words: str) -> None:
    assert words in flat(said(cluster("a", shut(night(9), closed=tuple(found)))))


def test_a_freeze_that_holds_now_tells_which_openings_it_closes() -> None:
    """In the sentence that it has already; not where there are no windows, of which it could close any."""
    freeze = "freeze sales of FleetMaintenance x"
    now = f"{freeze}, until Thu 2026-11-26 00:00 UTC"
    both = (closed(night(), freeze), closed(night(1), freeze))
    text = flat(said(cluster("a", shut(night(9), why=(now, WINDOWS), closed=both))))
    assert f"{now}; 2 openings from Mon 2026-11-23 21:00 UTC to Tue 2026-11-24 21:00 UTC are closed by it" in text
    always = closed(OpenSpan(NOW, None), freeze, end=NOW + timedelta(days=3))
    assert "closed by" not in flat(said(cluster("a", shut(night(9), why=(now,), closed=(always,)))))


def test_freezes_that_close_openings_end_and_one_that_holds_now_is_told_once() -> None:
    many = tuple(closed(night(each), f"freeze f-{each} of FleetMaintenance x") for each in range(9))
    now = f"{many[0].freeze}, until Tue 2026-11-24 00:00 UTC"
    text = flat(said(cluster("a", shut(night(9), why=(now, WINDOWS), closed=many))))
    assert text.count("f-0") == 1 and "f-3" in text and "5 more freezes close openings" in text and "f-4" not in text


def test_who_has_no_opening_in_the_days_is_told_the_next_one() -> None:
    lines = said(cluster("a", shut(night(39), openings=())), cluster("b", shut(openings=())))
    assert "no opening of a for upgrades and disruption of nodes within 30 days; the next is Fri 2027-01-01" in flat(
        lines
    )
    assert "no opening of b for upgrades and disruption of nodes within 30 days; none is known in 13" in flat(lines)


@pytest.mark.parametrize("name", ["n" * 200, "東" * 60, "e\N{COMBINING ACUTE ACCENT}" * 90, "{{ 1 }}"])
def test_names_of_any_length_and_script_fit(name: str) -> None:
    found = cluster(name, shut(night(), why=(f"freeze {name} of FleetMaintenance {name}: {name}",)), evacuated=True)
    text = flat(said(found, cluster("a", ALWAYS), before=[cluster(name, ALWAYS), cluster("a", ALWAYS)]))
    assert name in text.replace(" ", "") or name in text
    assert "Mon 2026-11-23 21:00" in text


def test_who_is_evacuated_is_named() -> None:
    lines = said(cluster("a", ALWAYS, evacuated=True), cluster("b", ALWAYS))
    assert lines[-1] == "evacuated, placements leave and none come: a"


def test_what_is_supposed_stands_beside_what_is_recorded() -> None:
    old = [cluster("a", shut(night(5))), cluster("b", shut(night(5))), cluster("c", ALWAYS)]
    lines = said(*(replace(each, permissions={UPGRADE: ALWAYS, NODES: ALWAYS}) for each in old), before=old)
    place = next(at for at, line in enumerate(lines) if line.startswith("CLUSTER") and "RECORDED" in line)
    assert " ".join(lines[place].split()) == "CLUSTER BY WHAT IS RECORDED BY WHAT IS SUPPOSED"
    told = flat(lines[place + 1 :])
    assert told.startswith("a ") and "opens Sat 2026-11-28 21:00 open" in told and "c " not in told


def test_a_change_of_later_openings_alone_is_shown_by_the_first_that_differs() -> None:
    old, new = cluster("a", shut(night(), night(1))), cluster("a", shut(night(), night(2)))
    assert "opens Tue 2026-11-24 21:00 opens Wed 2026-11-25 21:00" in flat(said(new, before=[old]))


def test_later_openings_that_only_go_are_counted_before_and_after() -> None:
    """An opening on one side and a number on the other would be two things side by side."""
    old, new = cluster("a", shut(night(), night(1), night(2))), cluster("a", shut(night(), night(1)))
    text = flat(said(new, before=[old]))
    assert "3 openings, one Wed 2026-11-25 21:00 2 openings" in text


def test_what_changes_nothing_says_so() -> None:
    same = [cluster("a", ALWAYS)]
    assert said(*same, before=same)[-1] == "what is supposed changes none of these"


def test_with_many_answers_it_says_how_to_see_the_openings() -> None:
    lines = said(*(cluster(f"c-{each}", shut(night(each))) for each in range(4)))
    assert lines[-1] == "ask for a few clusters by name to see their openings within 30 days"


def test_many_changes_end_and_say_how_many_are_left_out() -> None:
    new = [cluster(f"c-{each}", shut(night(each))) for each in range(100)]
    lines = said(*new, before=[cluster(each.name, ALWAYS) for each in new])
    assert "60 more clusters change in other ways; ask for them by name" in lines and len(lines) < 140
