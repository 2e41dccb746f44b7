# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import html
import re
from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    FieldChange,
    ObjectChange,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendering
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import LIMIT, plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import notes_before_plan, notes_text
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    SILENT,
    cluster,
    facts,
    pick_all,
    pick_n,
    placed,
    plan,
    rendered,
    require,
    wanted,
)


def test_a_plan_reads_like_this() -> None:
    known = placed(pick_n(2), facts("b", "c"))
    made = plan(wanted(pick_n(1)), facts("a", "b", "c"), known)
    assert plans_markdown([made], "d" * 64, "f" * 64).splitlines() == [
        "## Fleet plan",
        "",
        f"Digest `{'d' * 64}`",
        f"Facts `{'f' * 16}`",
        "",
        "| placement | gained | kept | lost | objects | deleted | stopped by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| web | 0 | 1 | 1 | 2 | 1 on 1 | nothing |",
        "",
        "- web: deleted from b: ConfigMap test/test-1",
        "- web: released, and staying, on b: Namespace test",
        "",
        "<details>",
        "<summary>web</summary>",
        "",
        "PickN: 1 cluster",
        "",
        "| cluster | change | cause | reason |",
        "| --- | --- | --- | --- |",
        "| b | lost | scaled-down | fewer clusters are wanted, and it ranks lowest |",
        "| c | kept | unchanged | holds it already |",
        "",
        "| not picked | rule | reason |",
        "| --- | --- | --- |",
        "| a | not-needed | it passes, but enough clusters hold the placement already: 1 |",
        "| b | not-needed | it passes, but enough clusters hold the placement already: 1 |",
        "",
        "",
        "</details>",
    ]


def test_many_that_are_not_picked_for_one_reason_are_one_row() -> None:
    names = [f"m{number:03}" for number in range(100)]
    text = plans_markdown([plan(wanted(pick_n(1)), facts(*names))], "d", "f")
    row = next(line for line in text.splitlines() if line.startswith("| m000, m001, "))
    assert " and 87 more | not-enough-score | " in row


def test_what_stops_it_and_what_is_noted() -> None:
    fleet = facts("a", "b", "c")
    wish = wanted(pick_all(affinity=require({"no": "where"})), findings=(Problem("code", "message", "file.yml:1"),))
    text = plans_markdown([plan(wish, fleet, placed(pick_all(), fleet))], "d", "f")
    assert "| web | 0 | 0 | 3 | 2 | 1 on 3 | max&#95;removals, allow&#95;empty |" in text
    assert "\n- stopped by max&#95;removals: web: 3 of 3 clusters would lose it" in text
    assert "\n- note: file.yml:1: message &#91;code&#93;\n" in text


def test_a_policy_that_finds_too_few_clusters_is_told_before_any_detail() -> None:
    text = plans_markdown([plan(wanted(pick_n(3)), facts("a", "b"))], "d", "f")
    assert "\n- note: web: PickN: 2 of 3 clusters, not fulfilled\n" in text.partition("<details>")[0]
    assert "not fulfilled" not in plans_markdown([plan(wanted(pick_n(2)), facts("a", "b"))], "d", "f")


def test_the_way_out_at_the_end_of_a_note_is_not_cut_off() -> None:
    note = Problem("nothing-recorded", "assumed " * 40, "/a/long/folder/records.db", "plan with the records")
    text = plans_markdown([plan(wanted(), facts("a"))], "d", "f", (note, replace(note, code="other")))
    assert text.count("plan with the records") == 2


def test_no_text_can_become_markup() -> None:
    evil = "</details><b> | `x` *y* _z_ [a](http://b) ![c](d) \\| ~~e~~ #1\n\n# head & tail"
    text = plans_markdown([plan(wanted(findings=(Problem("c", evil),)), facts("a"))], "d", "f")
    (note,) = (line for line in text.splitlines() if line.startswith("- note"))
    rest = note.removeprefix("- note: ")
    assert not set("<>|`*_[]()!~\\") & set(rest)
    assert rest.count("#") == rest.count("&#") == rest.count("&")
    assert text.count("</details>") == 1


def test_no_text_can_become_a_link_or_call_anybody() -> None:
    """F30."""
    evil = "@team/admins see https://evil.example or www.evil.example, me@evil.example GH-1 #2 !3 $4 %5 &6 ~x org/a#7"
    text = plans_markdown(
        [plan(wanted(findings=(Problem("c", evil + "\x1b[2J\n::error::x\u202e"),)), facts("a"))], "d", "f"
    )
    (note,) = (line for line in text.splitlines() if line.startswith("- note"))
    read = html.unescape(note)
    for link in (r"@\w", "://", r"www\.", "GH-", r"[#!$%&~]\w"):
        assert not re.search(link, read), (link, read)
    assert read.replace("\u200b", "") == f"- note: {evil}\\x1b[2J | : :error::x\\u202e [c]"
    assert note.isprintable()


def test_it_fits_into_a_comment_and_says_what_is_missing() -> None:
    names = [f"{'m' * 58}{number:05}" for number in range(1000)]
    fleet = facts(*(cluster(each, heard=SILENT) for each in names[:500]), *names[500:])
    made = plan(wanted(pick_all()), fleet)
    one = plans_markdown([made], "d", "f")
    assert len(one.encode()) < LIMIT + 300 and "| 300 more | | | |" in one
    many = plans_markdown([made] * 1000, "d", "f")
    assert len(many.encode()) < LIMIT + 300
    assert many.endswith("Details of web and the rest are in the JSON plan: this comment is full.\n")
    assert "| 800 more | | | | | | |" in many


def test_a_long_list_shows_its_changes() -> None:
    names = [f"m{number:04}" for number in range(1000)]
    fleet = facts(*names)
    made = plan(wanted(pick_n(999)), fleet, placed(pick_all(), fleet))
    rows = [line for line in plans_markdown([made], "d", "f").splitlines() if line.startswith("| m")]
    assert "| lost |" in rows[0]


def test_equal_plans_give_equal_bytes_without_instants() -> None:
    known = placed(pick_n(2), facts("b", "c"))
    one = plan(wanted(pick_n(1)), facts("a", "b", "c"), known)
    two = plan(wanted(pick_n(1)), facts("c", "b", "a"), replace(known, bindings=known.bindings[::-1]))
    assert plans_markdown([one], "d", "f") == plans_markdown([two], "d", "f")
    assert "2026" not in plans_markdown([one], "d", "f")


def test_every_object_that_goes_is_named_before_any_detail() -> None:
    fleet = facts("a", "b")
    many = tuple(rendered(replace(CONFIG, name=f"c{number:03}")) for number in range(300))
    made = plan(wanted(), fleet, placed(pick_all(), fleet, objects=many))
    text = plans_markdown([made], "d", "f")
    before = text.partition("<details>")[0]
    assert all(f"ConfigMap test/{each.id.name}" in before for each in many)
    assert "| 300 on 2 | max&#95;object&#95;removals |" in text


def test_where_names_have_no_room_it_is_said_how_many_lack() -> None:
    fleet = facts("a")
    many = tuple(rendered(replace(CONFIG, name=f"{'c' * 240}{number:05}")) for number in range(500))
    made = plan(wanted(), fleet, placed(pick_all(), fleet, objects=many))
    text = plans_markdown([made] * 50, "d", "f")
    assert len(text.encode()) < LIMIT + 300
    assert "and 480 more, see the JSON plan" in text
    assert "more lists of objects that are deleted or released: see the JSON plan" in text


def test_neither_long_notes_nor_long_names_take_the_room_of_what_goes() -> None:
    fleet = facts("a", "b")
    many = tuple(rendered(replace(CONFIG, name=f"c{number:03}")) for number in range(300))
    made = plan(wanted(), fleet, placed(pick_all(), fleet, objects=many))
    noted = [Problem("code", "|" * 300, f"{number}.yml") for number in range(400)]
    text = plans_markdown([made], "d", "f", noted)
    assert len(text.encode()) < LIMIT + 300
    assert all(f"ConfigMap test/{each.id.name}" in text.partition("<details>")[0] for each in many)
    assert text.count("- note: ") > 10 and f"\n- {400 - text.count('- note: ')} more notes\n" in text
    long = replace(made, placement=replace(made.placement, metadata=replace(made.placement.metadata, name="|" * 100)))
    text = plans_markdown([long] * 250, "d", "f", noted)
    assert len(text.encode()) < LIMIT + 2_000 and "more | | | | | | |" in text and "more notes\n" in text


def test_what_is_to_be_told_of_all_stands_at_the_top() -> None:
    text = plans_markdown([plan(wanted(), facts("a"))], "d", "f", (Problem("no-manifests", "resources: x | y"),))
    assert "- note: resources: x &#124; y" in text.partition("<details>")[0]


def test_what_is_assumed_of_a_fleet_that_nobody_knows_stands_first() -> None:
    made = plan(wanted(), facts("a"))
    assumed = Problem("nothing-recorded", "this plan assumes that nothing is placed anywhere", "records.db")
    other = Problem("other", "and this", "there")
    lines = plans_markdown([made], "d", "f", [other, assumed]).splitlines()
    assert lines[0] == "## Fleet plan" and "assumes that nothing is placed" in lines[2]
    assert sum("nothing is placed" in line for line in lines) == 1 and any("and this" in line for line in lines[3:])
    assert notes_before_plan([other, assumed])[0].startswith("NOTE: ") and len(notes_before_plan([other])) == 0
    assert not any("nothing is placed" in line for line in notes_text([other, assumed]))


def test_what_overrides_do_is_told_once_for_all_clusters_that_get_the_same() -> None:
    fields = (FieldChange(".data.replicas", "1", "<b>3</b>"),)
    changes = (ObjectChange(id=CONFIG, action=CHANGED, fields=fields),)
    names = tuple(f"c{number:03}" for number in range(41))
    made = replace(plan(wanted(), facts("a")), renderings=(Rendering(clusters=names, changes=changes),))
    text = plans_markdown([made], "d" * 64, "f" * 64)
    assert "Overridden, the same on 41 clusters (c000, c001," in text and "and 21 more, see the JSON plan" in text
    assert "<b>" not in text and ".data.replicas" in text
    others = tuple(Rendering(clusters=(f"o{number}",), changes=changes) for number in range(30))
    text = plans_markdown([replace(made, renderings=others)], "d" * 64, "f" * 64)
    assert "Overridden in other ways on 20 more clusters, see the JSON plan." in text
