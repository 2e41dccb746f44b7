# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the description of a field makes of what stands there."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import date

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.checking import Check, check_object
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import with_defaults
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.prop import prop
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector


@dataclass(frozen=True, kw_only=True)
class Inner:
    level: str = prop("How much.", default="low", enum=("low", "high"))
    wait: str | None = prop(
        "How long.", default=None, pattern="[0-9]+s", form="seconds such as 5s", code="invalid-wait"
    )
    even: str = prop("A length.", default="", matches=lambda text: len(text) % 2 == 0, form="of an even length")


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: str = prop("A name.")
    marks: tuple[t.Any, ...] = prop("Marks.", default=(), unique=True)
    known: Inner = prop("All of it.", default=Inner(level="high"))
    inner: tuple[Inner, ...] = prop("Some of them.", default=())


@dataclass(frozen=True, kw_only=True)
class Dated:
    day: str = prop("A day.", max_length=10, pattern="[0-9]{4}-[0-9]{2}-[0-9]{2}", form="a date such as 2026-12-24")


@dataclass(frozen=True, kw_only=True)
class Named:
    name: str = prop("A name.", min_length=1)


@dataclass(frozen=True, kw_only=True)
class Selecting:
    selector: LabelSelector | None = prop("Which.", default=None)
    inner: LabelSelector | None = prop("Which others.", default=None)


def told(document: object, **options: t.Any) -> list[tuple[str, str]]:
    check = Check(**options)
    check_object(check, Outer, document)
    return [(each.code, each.path) for each in check.problems]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"known": {"level": "mid", "wait": "5m", "even": "odd"}}, ["not-one-of", "invalid-wait", "wrong-form"]),
        ({"known": {"wait": "..."}}, ["placeholder"]),
        ({"known": {"even": "..."}}, ["placeholder"]),
        ({"name": "..."}, ["placeholder-text"]),
        ({"marks": [1, True, "1", 1.5, {"a": 1}]}, []),
        ({"marks": ["a", "b", "a"]}, ["duplicate-value"]),
        ({"marks": [{1: "a", "b": "c"}, {date(2026, 12, 24): 1}, {1: "a", "b": "c"}]}, ["duplicate-value"]),
        ({"known": {"more": 1}}, ["unknown-field"]),
        ({"inner": [{"more": 1, "wait": 5}]}, ["unknown-field", "wrong-type"]),
    ],
)
def test_fields_are_judged_by_their_description(fields: dict[str, object], expected: list[str]) -> None:
    assert [code for code, _path in told({"name": "a", **fields})] == expected


@pytest.mark.parametrize(
    ("day", "code", "hint"),
    [("2026-12-18T00:00:00Z", "wrong-length", "write a date such as 2026-12-24"), ("18.12.2026", "wrong-form", "")],
)
def test_a_text_that_is_too_long_is_told_the_form_that_is_wanted(day: str, code: str, hint: str) -> None:
    check = Check()
    check_object(check, Dated, {"day": day})
    (problem,) = check.problems
    assert (problem.code, problem.hint) == (code, hint)


def test_a_text_that_is_too_short_is_told_how_long_it_has_to_be() -> None:
    check = Check()
    check_object(check, Named, {"name": ""})
    assert [(each.code, each.message) for each in check.problems] == [
        ("wrong-length", "0 characters, at least 1 are wanted")
    ]


@pytest.mark.parametrize("field", ["selector", "inner"])
def test_values_of_any_label_selector_are_repaired(field: str) -> None:
    check = Check()
    rows = [{"key": "a", "operator": "In", "values": [1, True, "x", 1.5]}]
    kept = check_object(check, Selecting, {field: {"matchLabels": {"b": 2}, "matchExpressions": rows}})
    assert kept[field]["matchLabels"] == {"b": "2"}
    assert kept[field]["matchExpressions"][0]["values"] == ["1", "true", "x", ""]
    repaired = [each.old_path for each in check.findings]
    assert repaired == [f"{field}.matchLabels[b]", *(f"{field}.matchExpressions[0].values[{at}]" for at in (0, 1))]
    assert [(each.code, each.path) for each in check.problems] == [
        ("wrong-type", f"{field}.matchExpressions[0].values[3]")
    ]


@pytest.mark.parametrize(("listed", "good"), [(("mid",), True), (("low",), False), ((), True)])
def test_a_cluster_lists_its_own_values(listed: tuple[str, ...], good: bool) -> None:
    found = told({"name": "a", "known": {"level": "mid"}}, enums={"known.level": listed})
    assert found == ([] if good else [("not-one-of", "known.level")])


def test_a_whole_number_is_told_how_to_be_written_as_text() -> None:
    check = Check()
    for value in (5, 1.5, True):
        check_object(check, Outer, {"name": value})
    assert [each.hint for each in check.problems] == ['write it in quotes: "5"', *["write it in quotes"] * 2]


def test_defaults_are_those_of_the_absent_part_d0_08() -> None:
    """Of an object that is there the defaults are its fields'; of one that is not, its own."""
    assert with_defaults(Outer, {"name": "a"}) == {"name": "a", "known": {"level": "high"}}
    assert with_defaults(Outer, {"name": "a", "known": {}})["known"] == {"level": "low"}
    assert with_defaults(Outer, {"name": "a", "inner": [{"more": 1}]})["inner"] == [{"more": 1, "level": "low"}]
