# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import LIMIT, plans_markdown
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    SILENT,
    cluster,
    facts,
    pick_all,
    pick_n,
    placed,
    plan,
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
        "| cluster | change | cause | reason |",
        "| --- | --- | --- | --- |",
        "| b | lost | scaled-down | fewer clusters are wanted, and it ranks lowest |",
        "| c | kept | unchanged | holds it already |",
        "",
        "| not picked | rule | reason |",
        "| --- | --- | --- |",
        "| a | not-needed | it passes, but 1 clusters hold the placement already |",
        "| b | not-needed | it passes, but 1 clusters hold the placement already |",
        "",
        "",
        "</details>",
    ]


def test_what_stops_it_and_what_is_noted() -> None:
    fleet = facts("a", "b", "c")
    wish = wanted(pick_all(affinity=require({"no": "where"})), findings=(Problem("code", "message", "file.yml:1"),))
    text = plans_markdown([plan(wish, fleet, placed(pick_all(), fleet))], "d", "f")
    assert "| web | 0 | 0 | 3 | 2 | 1 on 3 | max&#95;removals, allow&#95;empty |" in text
    assert "\n- stopped by max&#95;removals: web: 3 of 3 clusters would lose it" in text
    assert "\n- note: file.yml:1: message &#91;code&#93;\n" in text


def test_no_text_can_become_markup() -> None:
    evil = "</details><b> | `x` *y* _z_ [a](http://b) ![c](d) \\| ~~e~~ #1\n\n# head & tail"
    text = plans_markdown([plan(wanted(findings=(Problem("c", evil),)), facts("a"))], "d", "f")
    (note,) = (line for line in text.splitlines() if line.startswith("- note"))
    rest = note.removeprefix("- note: ")
    assert not set("<>|`*_[]()!~\\") & set(rest)
    assert rest.count("#") == rest.count("&#") == rest.count("&")
    assert text.count("</details>") == 1


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
