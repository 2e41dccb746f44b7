# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test` runs every rule: of what is left to a run of all, there is more in it."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.gitops.fleet.tools.short_run import TABLES, UNTIL, as_documented, is_late, left_out

FILE = "tests/integration/a/test_b.py"


def test_of_many_cases_against_clusters_the_first_and_the_last_run():
    cases = [f"{FILE}::test_c[{case}]" for case in "abcd"]
    two = [f"{FILE}::test_d[{case}]" for case in "ab"]
    assert left_out([*cases, *two, f"{FILE}::test_e"]) == {*cases[1:3]}


def test_of_both_stores_each_is_tried_by_some_tests():
    tests = [f"{FILE}::test_{number}" for number in range(20)]
    cases = {f"{test}[{store}]" for test in tests for store in ("sqlite", "hub")}
    ran = cases - left_out(f"{test}[{store}]" for test in tests for store in ("sqlite", "hub"))
    assert sorted(each.partition("[")[0] for each in ran) == sorted(tests)
    assert {each.partition("[")[2] for each in ran} == {"sqlite]", "hub]"}


def test_what_only_computes_runs_with_all_cases():
    assert left_out(f"tests/unit/test_b.py::test_c[{case}]" for case in "abcd") == set()


def test_rows_that_cost_nothing_more_are_not_left_out():
    for file in TABLES:
        assert (Path(__file__).parents[2] / file).exists()
        assert left_out(f"{file}::test_c[{case}]" for case in "abcd") == set()


def test_names_are_those_of_documents():
    assert as_documented([f"{FILE}::test_c[a]\n"]) == {"integration/a/test_b.py::test_c[a]"}


def test_after_the_time_that_ci_gives_no_test_against_clusters_begins():
    assert is_late(f"{FILE}::test_c", {UNTIL: "100"}, 101.0)
    assert not is_late(f"{FILE}::test_c", {UNTIL: "100"}, 99.0)
    assert not is_late(f"{FILE}::test_c", {}, 101.0)
    assert not is_late("tests/unit/test_b.py::test_c", {UNTIL: "100"}, 101.0)
