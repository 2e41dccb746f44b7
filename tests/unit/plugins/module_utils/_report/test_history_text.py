# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The history as text and as files, whatever those wrote who did something."""

from __future__ import annotations

import csv
import io
import json
import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import (
    JOURNAL,
    NOT_ENDED,
    RECORD,
    HistoryRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import NOBODY
from ansible_collections.gitops.fleet.plugins.module_utils._report.history_text import (
    FIELDS,
    SUFFIXES,
    history_file,
    history_text,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.widths import columns_of

AT = datetime(2026, 11, 25, 20, 12, 58, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"
STEERING = "\x1b]0;x\x07 \u202egnp.exe\n::error::all is lost ##vso[task.complete] \r\x9b2J"


def row(**more: t.Any) -> HistoryRow:
    return HistoryRow(**{"at": AT, "by": "ann", "action": "Applied", "kind": "ClusterResourcePlacement", **more})


def text(*rows: HistoryRow) -> str:
    return " ".join(" ".join(history_text(rows, "records.db")).split())


def cells(*rows: HistoryRow) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(history_file(rows, ".csv"))))


def test_a_row_says_when_who_what_and_to_what() -> None:
    head, *line = history_text([row(name="web")], "records.db")
    assert head.split() == ["WHEN", "WHO", "WHAT", "TO"]
    assert " ".join(line).split() == ["2026-11-25T20:12:58Z", "ann", "Applied", "ClusterResourcePlacement/web"]


def test_a_gate_is_named_by_its_place_for_people_and_by_its_id_for_machines() -> None:
    one, two = (f"0f8fad5b-d9cb-469f-a165-7086772895{each}" for each in ("0e", "0f"))
    approved = row(action="GateApproved", message=f"gate {one}, after dev; nobody vouches for the name")
    again = row(action="GateApproved", message=f"gate {one}, after dev")
    journal = row(action="GateOpened", message=f"gate {two} before stage dev")
    assert "gate after dev; nobody vouches" in text(approved, again) and one not in text(approved, again)
    assert "gate before stage dev" in text(journal) and one not in history_file([approved], ".md")
    assert cells(approved)[0]["message"] == approved.message
    other = row(action="GateApproved", message=f"gate {two}, after dev")
    assert one in text(again, other) and two in text(again, other)


def test_below_it_stands_what_came_of_it_why_and_under_which_digest() -> None:
    told = text(
        row(
            name="web",
            ended=AT + timedelta(minutes=1),
            outcome="done",
            message="2 of 2 clusters done",
            reason="ticket 7",
            members=("m1", "m2"),
            approved_digest=DIGEST,
            digest=DIGEST,
            revision="c" * 40,
            holder="runner-1",
        )
    )
    assert "done at 2026-11-25T20:13:58Z: 2 of 2 clusters done; reason: ticket 7; on m1, m2;" in told
    assert "approved digest abababababab; revision cccccccccccc; as runner-1" in told


def test_a_digest_that_nobody_approved_is_told_as_such() -> None:
    assert "approved" not in text(row(digest=DIGEST)) and "digest abababababab" in text(row(digest=DIGEST))


def test_what_did_not_end_is_told() -> None:
    assert NOT_ENDED in text(row(outcome=NOT_ENDED))


def test_what_no_entry_says_is_marked() -> None:
    assert "told by another record" in text(row(source=RECORD))
    assert text(row(source=JOURNAL)).endswith("journal")


def test_several_objects_are_counted_and_named_below() -> None:
    told = text(row(kind="MemberCluster", members=tuple(f"m{number}" for number in range(100)), member_count=150))
    assert "150 MemberCluster" in told and "m0, m1" in told and "(50 are not named)" in told


def test_versions_of_the_first_members_are_told_and_all_are_in_files() -> None:
    found = tuple(f"m{number}: 1.35.4 -> 1.36.3, images Ubuntu-12" for number in range(8))
    told = text(row(versions=found))
    assert "; ".join(found[:6]) in told and "m6" not in told and "versions of 2 more are in files" in told
    assert cells(row(versions=found))[0]["versions"] == "; ".join(found)


def test_names_with_versions_steer_nothing() -> None:
    given = row(versions=(STEERING,))
    assert all(line.isprintable() for line in history_text([given], "records.db"))
    assert all(line.isprintable() for suffix in SUFFIXES for line in history_file([given], suffix).split("\n"))


def test_nothing_is_told_in_words() -> None:
    assert history_text([], "records.db") == ["no act of those asked for is recorded in records.db"]
    assert history_text([], "records.db", wanted=False) == ["no act is recorded in records.db"]
    assert "Nothing is recorded of that." in history_file([], ".md")
    assert json.loads(history_file([], ".json")) == {"entries": []} and cells() == []


@pytest.mark.parametrize("field", ["by", "action", "kind", "name", "reason", "message", "holder", "outcome"])
def test_no_text_of_others_steers_a_terminal_or_a_ci_runner(field: str) -> None:
    lines = history_text([row(**{field: STEERING})], "records.db")
    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::error::") or "##vso[" in line for line in lines)
    assert not any(line.startswith("::") for line in lines)


def test_names_of_members_steer_nothing_either() -> None:
    assert all(line.isprintable() for line in history_text([row(members=(STEERING, "m2"))], "records.db"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_text_of_others_steers_anything_in_a_file(suffix: str) -> None:
    written = history_file([row(by=STEERING, reason=STEERING, members=(STEERING,))], suffix)
    assert all(each.isprintable() for each in written.split("\n"))
    assert not any(each.lstrip().startswith("::error::") for each in written.split("\n"))


@pytest.mark.parametrize("formula", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "  =1", "\r\n=1"])
def test_no_cell_of_a_table_is_a_formula(formula: str) -> None:
    (found,) = cells(row(reason=formula, by=formula, members=(formula,)))
    assert [found[name][:1] for name in ("reason", "by", "members")] == ["'"] * 3


def test_no_text_of_others_is_markup_or_a_further_cell() -> None:
    reason = "<script>x</script> | **b** [a](https://evil.example) @everyone"
    told = history_file([row(reason=reason)], ".md").splitlines()
    assert len(told) == 5 and told[-1].count("|") == 6
    assert not any(mark in told[-1] for mark in ("<", "**", "](", "@everyone", "https://"))


def test_markdown_has_long_messages_whole_and_names_of_accounts_as_they_are() -> None:
    long = " ".join(f"cluster-{number}" for number in range(150))
    told = history_file([row(by="ann@vm-1", holder="ann@vm-1-4711", message=long)], ".md").splitlines()[-1]
    assert told.startswith("| 2026-11-25T20:12:58Z | `ann@vm-1` |") and "as `ann@vm-1-4711` |" in told
    assert long in told


@pytest.mark.parametrize("name", ["`@everyone`", "a|b", "a`@b", "@everyone"])
def test_a_name_that_is_not_plain_is_no_code(name: str) -> None:
    (told,) = history_file([row(by=name, holder=name)], ".md").splitlines()[4:]
    assert "`" not in told and "@" not in told and told.count("|") == 6


def test_a_template_in_a_reason_stays_text() -> None:
    assert "reason: {{ lookup('pipe', 'id') }}" in text(row(reason="{{ lookup('pipe', 'id') }}"))


def test_a_file_has_all_fields_whole() -> None:
    given = row(name="web", digest=DIGEST, members=("m1", "m2"), member_count=2, reason='a; b, "c"')
    (cell,) = cells(given)
    assert tuple(cell) == FIELDS and cell["digest"] == DIGEST and cell["members"] == "m1 m2"
    assert cell["reason"] == 'a; b, "c"'
    (found,) = json.loads(history_file([given], ".json"))["entries"]
    assert set(found) == set(FIELDS) and found["members"] == ["m1", "m2"]


def test_who_is_not_named_leaves_what_was_done_in_the_same_line() -> None:
    _head, line, *_more = history_text([row(by=NOBODY, name="web")], "records.db")
    assert line.endswith("nobody who is named  Applied")


def test_a_long_name_keeps_the_line_within_the_terminal() -> None:
    account = "system:serviceaccount:gitops-fleet:runner-of-production"
    lines = history_text([row(by=account, name="web")], "records.db")
    assert all(columns_of(line) <= 120 for line in lines)
    assert account in " ".join(lines) and "ClusterResourcePlacement/web" in " ".join(lines)


def test_what_a_long_name_did_stands_within_the_terminal() -> None:
    """A service account takes more than half of a line."""
    who = "system:serviceaccount:gitops-fleet-production:conductor-of-runs"
    lines = history_text([row(by=who, action="ClustersEvacuated", name="web")], "records.db")
    assert max(map(columns_of, lines)) <= 80
    told = f"2026-11-25T20:12:58Z {who} ClustersEvacuated ClusterResourcePlacement/web"
    assert " ".join(lines[1:]).split() == told.split()
