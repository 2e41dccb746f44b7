# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Label selectors."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
    check_selector,
    compile_selector,
    label_selector,
    matches,
)


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key, operator, values),))


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert not matches(None, {"a": "b"})
    assert matches(LabelSelector(), {})


@pytest.mark.parametrize(
    ("operator", "values", "present", "absent"),
    [
        ("In", ("x",), True, False),
        ("NotIn", ("x",), False, True),
        ("Exists", (), True, False),
        ("DoesNotExist", (), False, True),
    ],
)
def test_an_absent_key_satisfies_not_in_and_does_not_exist(
    operator: str, values: tuple[str, ...], present: bool, absent: bool
) -> None:
    selector = expression("a", operator, *values)
    assert matches(selector, {"a": "x"}) is present
    assert matches(selector, {"b": "x"}) is absent


def test_labels_and_expressions_must_all_hold() -> None:
    selector = LabelSelector({"env": "prod"}, (LabelSelectorRequirement("tier", "In", ("web", "api")),))
    assert matches(selector, {"env": "prod", "tier": "api"})
    assert not matches(selector, {"env": "prod", "tier": "db"})
    assert not matches(selector, {"tier": "api"})


def test_all_problems_are_told_at_once_with_their_paths() -> None:
    selector = LabelSelector(
        {"bad key": "fine", "fine": "-bad"},
        (LabelSelectorRequirement("a", "in", ("b",)), LabelSelectorRequirement("a", "Exists", ("b c",))),
    )
    assert [path for path, _message in check_selector(selector)] == [
        "matchLabels[bad key]",
        "matchLabels[fine]",
        "matchExpressions[0].operator",
        "matchExpressions[1].values",
        "matchExpressions[1].values[0]",
    ]
    with pytest.raises(ValueError, match="bad key"):
        compile_selector(selector)


def test_manifest_and_selector_are_two_forms_of_one_thing() -> None:
    manifest = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}
    assert label_selector(manifest).as_dict() == manifest
    assert label_selector({}) == LabelSelector()
    assert len({label_selector(manifest), label_selector(manifest)}) == 1
