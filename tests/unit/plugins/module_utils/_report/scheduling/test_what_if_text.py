# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.what_if import (
    Difference,
    Differences,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.scheduling.what_if_text import what_if_text


def differences(placement, *rows, kept=(), **more):
    return Differences(placement=placement, rows=rows, kept=kept, fulfilled=(True, True), **more)


MOVES = differences(
    "web",
    Difference(cluster="b", change="lost", sentence="b loses the placement.", before="b keeps the placement."),
    Difference(cluster="c", change="gained", sentence="c is picked.", before="c is not picked."),
    kept=("a",),
    findings=(Problem("odd", "something is odd"),),
)


def test_each_change_has_a_row_and_what_moves_is_named():
    lines = what_if_text([(MOVES, ("Namespace shop", "ConfigMap shop/settings"))])
    assert lines == [
        "web would leave b and come to c; 1 keeps it.",
        "     CLUSTER  THEN, AND TODAY",
        "  -  b        loses the placement. Today: it holds it.",
        "  +  c        is picked. Today: it is not picked.",
        "  moves with it: Namespace shop, ConfigMap shop/settings",
        "  note: something is odd [odd]",
    ]


def test_what_stays_shares_a_line():
    found = [(differences("api", kept=("a",)), ()), (MOVES, ()), (differences("jobs"), ())]
    lines = what_if_text(found, [Problem("placed-as-in-facts", "from the facts")])
    assert lines[-2] == "2 of 3 placements would stay where they are: api, jobs"
    assert lines[-1].strip() == "note: from the facts [placed-as-in-facts]"
    assert not any("moves with it" in line for line in lines)


def test_a_long_table_is_cut():
    rows = [
        Difference(cluster=f"c{number}", change="lost", sentence=f"c{number} goes.", before="") for number in range(60)
    ]
    lines = what_if_text([(differences("web", *rows), ())])
    assert "20 more" in lines[-1] and len(lines) == 43
