# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Entries and what other records tell, put together, filtered and in order."""

from __future__ import annotations

import itertools
import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import (
    ACTIONS,
    APPLIED,
    APPROVAL_REFUSED,
    BEGUN,
    DONE,
    ENDED,
    EVACUATED,
    GATE_APPROVED,
    GATE_REFUSED,
    PARTIAL,
    RUN_STARTED,
    STAGE_APPROVED,
    AuditedObject,
    AuditEntry,
    AuditEntrySpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import (
    DOES_NOT_COUNT,
    GOING_ON,
    NOT_ENDED,
    RECORD,
    TAKEN_UP,
    HistoryFilter,
    HistoryRow,
    approval_words,
    history,
    instant_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import NOBODY
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_compact

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEB = AuditedObject(kind="ClusterResourcePlacement", name="web")
RUN = AuditedObject(kind="UpdateRun", name="1-31")
ALL = HistoryFilter()
_numbers = itertools.count(1)


def entry(action: str = APPLIED, at: datetime = NOW, by: str = "ann", **spec: t.Any) -> AuditEntry:
    name = f"{write_compact(at)}-{next(_numbers):04d}-00000000"
    given = AuditEntrySpec(at=at, by=by, action=action, **{"object": WEB, **spec})
    return AuditEntry(metadata=ObjectMeta(name=name), spec=given)


def told(action: str = GATE_APPROVED, by: str = "ann", **more: t.Any) -> HistoryRow:
    given = {"at": NOW, "kind": "UpdateRun", "name": "1-31", "source": RECORD, "marks": ("gate-1",), **more}
    return HistoryRow(action=action, by=by, **given)


def rows(
    *entries: AuditEntry,
    told: t.Sequence[HistoryRow] = (),
    holders: t.Collection[str] = (),
    wanted: HistoryFilter = ALL,
) -> tuple[HistoryRow, ...]:
    return history(entries, told, wanted, holders)


def actions(found: t.Iterable[HistoryRow]) -> list[str]:
    return [each.action for each in found]


def test_the_newest_is_the_last_whatever_order_records_come_in() -> None:
    new, old = entry(), entry("Joined", NOW - HOUR)
    assert actions(rows(new, old)) == ["Joined", APPLIED]


def test_entries_of_one_second_keep_the_order_of_their_numbers() -> None:
    first, second = entry("Joined"), entry("Left")
    assert actions(rows(second, first)) == ["Joined", "Left"]


def test_a_beginning_and_its_end_are_one_row() -> None:
    begun = entry(phase=BEGUN, members=("m1", "m2"), message="2 gained")
    ended = entry(at=NOW + HOUR, phase=ENDED, entry=begun.name, outcome=DONE, message="2 of 2 clusters done")
    (row,) = rows(begun, ended)
    assert (row.at, row.ended, row.outcome) == (NOW, NOW + HOUR, DONE)
    assert row.message == "2 gained; 2 of 2 clusters done" and row.members == ("m1", "m2")


def test_versions_are_those_of_the_end() -> None:
    begun = entry(phase=BEGUN, members=("m1",))
    ended = entry(phase=ENDED, entry=begun.name, outcome=DONE, versions=("m1: 1.35.4 -> 1.36.3",))
    assert rows(begun, ended)[0].as_dict()["versions"] == ["m1: 1.35.4 -> 1.36.3"]


def test_an_end_that_knows_its_members_better_is_believed() -> None:
    begun = entry(phase=BEGUN, members=("m1", "m2"))
    ended = entry(phase=ENDED, entry=begun.name, outcome=PARTIAL, members=("m2",), member_count=1)
    (row,) = rows(begun, ended)
    assert row.members == ("m2",) and row.member_count == 1


def test_what_has_begun_goes_on_as_long_as_its_holder_has_a_lease() -> None:
    begun = entry(phase=BEGUN, holder="runner-1")
    assert rows(begun, holders={"runner-1"})[0].outcome == GOING_ON
    assert rows(begun, holders={"runner-2"})[0].outcome == NOT_ENDED


def test_what_was_not_ended_says_who_took_it_up() -> None:
    killed = entry(phase=BEGUN, holder="runner-1", message="2 clusters")
    begun = entry(at=NOW + HOUR, by="bob", phase=BEGUN, holder="runner-2")
    ended = entry(at=NOW + HOUR, by="bob", phase=ENDED, entry=begun.name, outcome=DONE)
    first, second = rows(killed, begun, ended)
    assert first.outcome == TAKEN_UP and second.outcome == DONE
    assert first.message == "2 clusters; taken up by bob at 2026-11-25T21:00:00Z, as runner-2"


@pytest.mark.parametrize(
    "later",
    [
        {"action": EVACUATED, "phase": BEGUN},
        {"object": RUN, "phase": BEGUN},
        {"outcome": DONE},
    ],
)
def test_another_act_takes_nothing_up(later: dict[str, t.Any]) -> None:
    killed = entry(phase=BEGUN, holder="runner-1")
    assert rows(killed, entry(**{"at": NOW + HOUR, **later}))[0].outcome == NOT_ENDED


def test_an_end_whose_beginning_is_lost_is_told_by_itself() -> None:
    (row,) = rows(entry(phase=ENDED, entry="20261125t200000z-0001-00000000", outcome=DONE))
    assert row.outcome == DONE and row.ended is None


@pytest.mark.parametrize("other", [{"by": "mallory"}, {"action": "Left"}])
def test_what_another_says_of_the_end_is_an_act_of_its_own(other: dict[str, str]) -> None:
    begun = entry(phase=BEGUN)
    forged = entry(**{"action": APPLIED, "phase": ENDED, "entry": begun.name, "outcome": DONE, **other})
    first, second = rows(begun, forged)
    assert (first.entry, first.outcome, first.ended) == (begun.name, NOT_ENDED, None)
    assert second.entry == forged.name


def test_what_an_entry_tells_is_not_told_again_by_a_record() -> None:
    known = entry(GATE_APPROVED, object=RUN, message="gate gate-1, before stage prod")
    assert [each.entry for each in rows(known, told=[told()])] == [known.name]


def test_what_no_entry_tells_is_told_by_the_record() -> None:
    """A word that only begins like the mark is another gate's."""
    other = entry(GATE_APPROVED, object=RUN, message="gate gate-10, before stage prod")
    assert [each.source for each in rows(other, told=[told()])] == [RECORD, "entry"]


def test_a_record_without_marks_is_known_by_its_action() -> None:
    started = entry(RUN_STARTED, object=RUN)
    assert len(rows(started, told=[told(RUN_STARTED, marks=())])) == 1
    assert len(rows(entry(object=RUN), told=[told(RUN_STARTED, marks=())])) == 2


def test_an_entry_in_another_name_does_not_hide_what_a_record_proves() -> None:
    """Whoever may add entries can write one in any name; the record, which policies hold, is told beside it."""
    forged = entry(GATE_APPROVED, by="the boss", object=RUN, message="gate gate-1, before stage prod")
    found = rows(forged, told=[told()])
    assert [(each.by, each.source) for each in found] == [("ann", RECORD), ("the boss", "entry")]


def test_an_entry_of_another_action_does_not_hide_a_record() -> None:
    refused = entry(GATE_REFUSED, object=RUN, message="gate gate-1, before stage prod")
    assert sorted(actions(rows(refused, told=[told()]))) == [GATE_APPROVED, GATE_REFUSED]


def test_a_record_that_names_nobody_is_known_by_anybodys_entry() -> None:
    made = entry(message="1 gained; content web-0-snapshot, as of index 0")
    snapshot = told(APPLIED, NOBODY, kind=WEB.kind, name=WEB.name, marks=("web-0-snapshot",))
    assert len(rows(made, told=[snapshot])) == 1


def approved(gate: str, at: datetime = NOW, by: str = "ann") -> AuditEntry:
    return entry(GATE_APPROVED, at, by, object=RUN, outcome=DONE, message=f"gate {gate}, before prod")


def uncounted(gate: str, at: datetime = NOW + HOUR, by: str = "ann", **more: t.Any) -> AuditEntry:
    message = f"gate {gate}, before prod; {approval_words(by)}"
    given = {"object": RUN, "outcome": DONE, "message": message, "reason": "ann made the run", **more}
    return entry(APPROVAL_REFUSED, at, "runner", **given)


def test_an_approval_that_was_found_not_to_count_says_so_and_why() -> None:
    """F19: the evidence of the approval alone tells it, however it is filtered."""
    found = rows(approved("gate-1"), uncounted("gate-1"), wanted=HistoryFilter(action=GATE_APPROVED))
    (row,) = found
    assert (row.outcome, row.by, row.source) == (DOES_NOT_COUNT, "ann", "entry")
    why = "found so by runner at 2026-11-25T21:00:00Z: ann made the run"
    assert row.message == f"gate gate-1, before prod; {why}"


def test_so_does_one_that_only_another_record_tells_of() -> None:
    given = told(marks=("gate-1",), message="gate gate-1, before stage prod", outcome=DONE)
    assert rows(uncounted("gate-1"), told=[given])[0].outcome == DOES_NOT_COUNT


def test_an_approval_that_nobody_signed_does_not_count_either() -> None:
    assert rows(approved("gate-1"), uncounted("gate-1", by=""))[0].outcome == DOES_NOT_COUNT


def test_the_approval_that_came_after_it_counts() -> None:
    later = approved("gate-1", NOW + 2 * HOUR)
    found = rows(approved("gate-1"), uncounted("gate-1"), later)
    assert [each.outcome for each in found] == [DOES_NOT_COUNT, DONE, DONE]


@pytest.mark.parametrize(
    "other",
    [
        uncounted("gate-10"),
        uncounted("gate-1", by="bob"),
        uncounted("gate-1", NOW - HOUR),
        uncounted("gate-1", object=AuditedObject(kind="UpdateRun", name="1-32")),
    ],
)
def test_what_is_found_of_another_approval_leaves_it_as_it_is(other: AuditEntry) -> None:
    assert DOES_NOT_COUNT not in {each.outcome for each in rows(approved("gate-1"), other)}


def test_all_approvals_are_found_by_one_word() -> None:
    staged = entry(STAGE_APPROVED, NOW + HOUR)
    found = rows(approved("gate-1"), staged, entry(GATE_REFUSED), wanted=HistoryFilter(action="Approved"))
    assert actions(found) == [GATE_APPROVED, STAGE_APPROVED]


@pytest.mark.parametrize("word", ["approved", "GateAproved", "{{ 1 }}"])
def test_a_word_that_no_act_has_is_refused_with_those_that_are_known(word: str) -> None:
    with pytest.raises(FleetError) as refused:
        rows(wanted=HistoryFilter(action=word))
    assert refused.value.code == "bad-option" and refused.value.problems[0].where == "what"
    assert all(each in refused.value.hint for each in (*ACTIONS, "Approved (GateApproved and StageApproved)"))


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ("ClusterResourcePlacement", [APPLIED]),
        ("web", [APPLIED]),
        ("ClusterResourcePlacement/web", [APPLIED]),
        ("team/web", ["RolledBack"]),
        ("ResourcePlacement/team/web", ["RolledBack"]),
        ("MemberCluster/m1", [EVACUATED]),
        ("m1", [EVACUATED]),
        ("UpdateRun/web", []),
    ],
)
def test_rows_are_found_by_kind_name_or_both_and_several_objects_by_each(about: str, found: list[str]) -> None:
    in_namespace = AuditedObject(kind="ResourcePlacement", name="web", namespace="team")
    given = (
        entry(members=("m1",)),
        entry("RolledBack", object=in_namespace),
        entry(EVACUATED, object=AuditedObject(kind="MemberCluster"), members=("m1", "m2")),
    )
    assert actions(rows(*given, wanted=HistoryFilter(about=about))) == found


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (HistoryFilter(by="ann"), [APPLIED]),
        (HistoryFilter(by="an"), []),
        (HistoryFilter(action="Joined"), ["Joined"]),
        (HistoryFilter(member="m1"), [APPLIED]),
        (HistoryFilter(member="m2"), ["Joined"]),
        (HistoryFilter(by="bob", action="Joined"), ["Joined"]),
        (HistoryFilter(by="bob", action=APPLIED), []),
    ],
)
def test_rows_are_found_by_who_what_and_on_whom(wanted: HistoryFilter, found: list[str]) -> None:
    joined = entry("Joined", by="bob", object=AuditedObject(kind="MemberCluster", name="m2"))
    assert actions(rows(entry(members=("m1",)), joined, wanted=wanted)) == found


def test_an_act_on_more_members_than_are_named_is_found_by_any_member() -> None:
    """It may have been among those that are not named; an auditor is told rather more than less."""
    many = entry(members=("m1", "m2"), member_count=150)
    assert rows(many, wanted=HistoryFilter(member="m149"))


def test_both_ends_of_the_time_are_wanted_too() -> None:
    wanted = HistoryFilter(since=NOW, until=NOW + HOUR)
    given = [entry(at=NOW + number * HOUR / 2) for number in range(-1, 4)]
    assert [each.at for each in rows(*given, wanted=wanted)] == [NOW, NOW + HOUR / 2, NOW + HOUR]


def test_what_began_before_and_ended_or_goes_on_within_the_time_is_wanted() -> None:
    begun = entry(at=NOW - HOUR, phase=BEGUN, holder="runner-1")
    ended = entry(at=NOW + HOUR, phase=ENDED, entry=begun.name, outcome=DONE)
    wanted = HistoryFilter(since=NOW)
    assert rows(begun, ended, wanted=wanted) and rows(begun, holders={"runner-1"}, wanted=wanted)
    assert not rows(begun, wanted=wanted)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("2026-11-24T08:00:00Z", datetime(2026, 11, 24, 8, tzinfo=UTC)),
        ("2026-11-24T08:00:00+02:00", datetime(2026, 11, 24, 6, tzinfo=UTC)),
        ("2026-11-24", datetime(2026, 11, 24, tzinfo=UTC)),
        (" 30d ", NOW - timedelta(days=30)),
        ("12h", NOW - timedelta(hours=12)),
        ("999999w", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_an_instant_is_written_in_full_as_a_day_or_as_a_span_before_now(text: str, found: datetime | None) -> None:
    assert instant_of(text, "since", NOW) == found


@pytest.mark.parametrize(
    "text", ["lately", "30", "d", "-1d", "2026-02-30", "2026-11-24T08:00:00", "9999999w", "{{ 1 }}"]
)
def test_what_is_no_instant_is_refused_with_the_option(text: str) -> None:
    with pytest.raises(FleetError) as refused:
        instant_of(text, "until", NOW)
    assert refused.value.code == "bad-option" and refused.value.problems[0].where == "until"
    assert "30d" in refused.value.hint
