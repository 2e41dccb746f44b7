# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._report.scheduling.explained_text import explained_text

WON = {"lines": ["it has affinity 20; " + "b is next, " * 9, "short"]}
FOUND = [
    {"sentence": "a keeps the placement.", "won": WON, "blockers": [], "placement": "web"},
    {"sentence": "b is not picked: it is too many.", "won": None, "blockers": [], "placement": "web"},
]


def test_whoever_won_is_told_below_in_lines_that_fit():
    lines = explained_text(FOUND, whole=True)
    assert lines[0] == "a keeps the placement." and lines[-1] == "b is not picked: it is too many."
    assert lines[-2] == "    short" and len(lines) > 4
    assert all(len(line) <= 80 for line in lines)


def test_what_a_cluster_still_holds_is_told_below():
    left = {**FOUND[1], "left_until": "a staged run"}
    assert explained_text([left], whole=False) == [
        FOUND[1]["sentence"],
        "    it still holds it, until a staged run takes it away",
    ]


def test_of_all_clusters_a_line_each():
    assert explained_text(FOUND, whole=False) == [each["sentence"] for each in FOUND]


def test_the_end_says_of_when_the_facts_are() -> None:
    """Facts of an hour ago read like those of now."""
    early, late = "2026-11-28T03:50:02Z", "2026-11-28T04:01:00Z"
    found = [{**FOUND[0], "read": late}, {**FOUND[1], "read": early}]
    assert (
        " ".join(explained_text(found, whole=False)[-2:]).split()[-9:]
        == (f"by facts of {early} to {late}; gitops.fleet.facts reads them anew".split()[-9:])
    )
    assert explained_text([{**FOUND[1], "read": early}], whole=False)[-1].startswith(f"by facts of {early}; ")
    assert explained_text([{**FOUND[1], "read": ""}], whole=False) == [FOUND[1]["sentence"]]


def test_where_no_facts_are_known_the_end_says_how_to_read_them():
    unknown = {"sentence": "c is not picked: its facts are not known.", "won": None, "placement": "web"}
    found = [{**unknown, "blockers": [{"code": "agent-not-online"}]}] * 2
    assert explained_text(found, whole=True)[2:] == [
        "to read facts: ansible-playbook gitops.fleet.facts; then add -e facts=facts.json"
    ]


def test_of_several_placements_each_is_named_and_long_sentences_are_folded():
    long = "a is not picked: it matches none of the required terms: term 1 wants label region=eu, it has region=us."
    found = [FOUND[1], {"sentence": long, "won": None, "blockers": [], "placement": "shop"}]
    lines = explained_text(found, whole=True)
    assert lines[0] == "web: b is not picked: it is too many." and lines[1].startswith("shop: a is not picked")
    assert " ".join(" ".join(lines[1:]).split()) == f"shop: {long}" and all(len(line) <= 80 for line in lines)


def test_one_that_lost_is_told_below_against_whom() -> None:
    found = [{**FOUND[1], "lost": {"lines": ["it has affinity 2; a is picked with affinity 20."]}}]
    assert explained_text(found, whole=True)[-1] == "    it has affinity 2; a is picked with affinity 20."
    assert len(explained_text(found, whole=False)) == 1


def test_what_was_lacking_to_compare_clusters_is_told_once_and_nothing_else() -> None:
    lacking = {
        "code": "price-unknown",
        "message": "1 of 2 clusters has no price: c",
        "hint": "read prices",
        "where": "x",
    }
    found = [{**each, "findings": [lacking, {**lacking, "code": "malformed-sorter", "message": "m"}]} for each in FOUND]
    assert explained_text(found, whole=False)[2:] == [
        "note: 1 of 2 clusters has no price: c [price-unknown] (read prices)",
    ]
