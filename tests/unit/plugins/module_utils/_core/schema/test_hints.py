# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody means who writes a field that is not there."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.checking import Check, check_object
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.hints import LONGEST_WORD, did_you_mean
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.prop import prop


@dataclass(frozen=True, kw_only=True)
class Depth:
    level: str = prop("How deep.", default="low")


@dataclass(frozen=True, kw_only=True)
class Wide:
    name: str = prop("A name.", default="")
    marks: str = prop("Marks.", default="")
    depth: Depth = prop("How deep, and more.", default=Depth())


@dataclass(frozen=True, kw_only=True)
class Tall:
    name: str = prop("Another name.", default="")


@dataclass(frozen=True, kw_only=True)
class Seen:
    day: str = prop("When.", default="")


@dataclass(frozen=True, kw_only=True)
class Holding:
    wide: Wide | None = prop("What holds more.", default=None)
    tall: Tall | None = prop("What has a name too.", default=None)
    status: Seen | None = prop("What was seen.", default=None)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("marks", "it stands at spec.wide.marks"),
        ("level", "it stands at spec.wide.depth.level"),
        ("name", ""),  # two have it
        ("day", ""),  # of the status, which nobody writes
        ("wied", "did you mean wide?"),
        ("Level", ""),
    ],
)
def test_a_field_that_stands_too_high_is_told_its_place(key: str, hint: str) -> None:
    check = Check()
    check_object(check, Holding, {key: "low"}, "spec")
    assert [(each.code, each.hint) for each in check.problems] == [("unknown-field", hint)]


def test_a_known_word_is_found_whatever_its_case_and_none_for_one_of_any_length() -> None:
    assert did_you_mean("EASTT", ["east", "west"]) == "did you mean east?"
    assert did_you_mean("north", ["east", "west"]) == ""
    assert did_you_mean("a" * (LONGEST_WORD + 1), ["a" * LONGEST_WORD]) == ""
