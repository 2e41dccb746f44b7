# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._report.scheduling.explained_text import explained_text

FOUND = [
    {"sentence": "a keeps the placement.", "won": {"lines": ["it has affinity 20; " + "b is next, " * 9, "short"]}},
    {"sentence": "b is not picked: it is too many.", "won": None},
]


def test_whoever_won_is_told_below_in_lines_that_fit():
    lines = explained_text(FOUND, whole=True)
    assert lines[0] == "a keeps the placement." and lines[-1] == "b is not picked: it is too many."
    assert lines[-2] == "    short" and len(lines) > 4
    assert all(len(line) <= 80 for line in lines)


def test_of_all_clusters_a_line_each():
    assert explained_text(FOUND, whole=False) == [each["sentence"] for each in FOUND]
