# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._report.scheduling.explained_text import explained_text

WON = {"lines": ["it has affinity 20; " + "b is next, " * 9, "short"]}
FOUND = [
    {"sentence": "a keeps the placement.", "won": WON, "blockers": []},
    {"sentence": "b is not picked: it is too many.", "won": None, "blockers": []},
]


def test_whoever_won_is_told_below_in_lines_that_fit():
    lines = explained_text(FOUND, whole=True)
    assert lines[0] == "a keeps the placement." and lines[-1] == "b is not picked: it is too many."
    assert lines[-2] == "    short" and len(lines) > 4
    assert all(len(line) <= 80 for line in lines)


def test_of_all_clusters_a_line_each():
    assert explained_text(FOUND, whole=False) == [each["sentence"] for each in FOUND]


def test_where_no_facts_are_known_the_end_says_how_to_read_them():
    unknown = {"sentence": "c is not picked: its facts are not known.", "won": None}
    found = [{**unknown, "blockers": [{"code": "agent-not-online"}]}] * 2
    assert explained_text(found, whole=True)[2:] == [
        "gitops.fleet.facts reads facts into a file; name it with -e facts=..."
    ]
