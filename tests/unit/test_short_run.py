# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test` runs every rule: of what is left to a run of all, there is more in it."""

from __future__ import annotations

from ansible_collections.gitops.fleet.tools.short_run import as_documented, left_out

FILE = "tests/integration/a/test_b.py"


def test_of_many_cases_against_clusters_the_first_and_the_last_run():
    cases = [f"{FILE}::test_c[{case}]" for case in "abcd"]
    two = [f"{FILE}::test_d[{case}]" for case in "ab"]
    assert left_out((each, False) for each in [*cases, *two, f"{FILE}::test_e"]) == {*cases[1:3]}


def test_of_both_stores_each_is_tried_by_some_tests():
    tests = [f"{FILE}::test_{number}" for number in range(20)]
    cases = {f"{test}[{store}]" for test in tests for store in ("sqlite", "hub")}
    ran = cases - left_out((f"{test}[{store}]", False) for test in tests for store in ("sqlite", "hub"))
    assert sorted(each.partition("[")[0] for each in ran) == sorted(tests)
    assert {each.partition("[")[2] for each in ran} == {"sqlite]", "hub]"}


def test_what_only_computes_runs_with_all_cases():
    assert left_out((f"tests/unit/test_b.py::test_c[{case}]", False) for case in "abcd") == set()


def test_what_is_marked_is_left_with_its_function():
    marked = [(f"{FILE}::test_c[a]", True), (f"{FILE}::test_d", True), (f"{FILE}::test_e", False)]
    left = left_out(marked)
    assert left == {f"{FILE}::test_c[a]", f"{FILE}::test_c", f"{FILE}::test_d"}
    assert as_documented(f"{name}\n" for name in left) == {
        "integration/a/test_b.py::test_c[a]",
        "integration/a/test_b.py::test_c",
        "integration/a/test_b.py::test_d",
    }
