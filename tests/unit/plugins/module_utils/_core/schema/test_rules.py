# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One cause, one problem: what stands at, in or around a place that is wrong already is not told."""

from __future__ import annotations

import random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import (
    Found,
    apart_from,
    indexes_at,
    not_overlapping,
)

PARTS = (".a", ".b", ".a-b", ".ab", "[0]", "[1]", "[10]", "[a.b]", "[a]b]", ".", "[")


def found(*paths: str) -> list[Found]:
    return [Found("code", path, "message") for path in paths]


def within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


@pytest.mark.parametrize(
    ("known", "path", "told"),
    [
        ("spec.a", "spec.a", False),
        ("spec.a", "spec.a[0].b", False),
        ("spec.a[0].b", "spec.a", False),
        ("spec.a", "spec.ab", True),
        ("spec.a[1]", "spec.a[10]", True),
        ("spec", "", True),
        ("", "spec", True),
    ],
)
def test_a_place_is_apart_from_what_is_neither_in_nor_around_it(known: str, path: str, told: bool) -> None:
    assert [each.path for each in not_overlapping(found("status", known), found(path))] == ([path] if told else [])


def test_it_is_the_same_for_any_paths() -> None:
    chance = random.Random(7)
    paths = ["".join(chance.choices(PARTS, k=chance.randint(0, 4))).lstrip(".") for _path in range(600)]
    for _world in range(200):
        known = chance.sample(paths, chance.randint(0, 8))
        apart = apart_from(found(*known))
        for path in chance.sample(paths, 20):
            assert apart(path) is not any(within(path, each) or within(each, path) for each in known), (known, path)


def test_items_are_named_by_their_index() -> None:
    paths = ("spec.rows[0]", "spec.rows[12].a[3]", "spec.rows", "spec.rowsx[1]", "rows[2]")
    assert indexes_at(paths, "spec.rows") == {"0", "12"}
