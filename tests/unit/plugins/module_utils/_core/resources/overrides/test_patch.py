# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""JSON patches and variables of overrides."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.overrides.patch import (
    PatchFailed,
    filled,
    patched,
)

LABELS = {"region": "eu", "ring": "1"}


def test_operations_are_done_in_order_on_a_copy() -> None:
    manifest = {"spec": {"replicas": 1, "args": ["a"]}}
    operations = [
        {"op": "replace", "path": "/spec/replicas", "value": 3},
        {"op": "add", "path": "/spec/args/-", "value": "c"},
        {"op": "add", "path": "/spec/args/1", "value": "b"},
        {"op": "add", "path": "/metadata", "value": {}},
        {"op": "add", "path": "/metadata/labels", "value": {"a/b": "x"}},
        {"op": "remove", "path": "/metadata/labels/a~1b"},
    ]
    assert patched(manifest, operations) == {
        "spec": {"replicas": 3, "args": ["a", "b", "c"]},
        "metadata": {"labels": {}},
    }
    assert manifest == {"spec": {"replicas": 1, "args": ["a"]}}


def test_a_patch_shares_nothing_with_its_result() -> None:
    value: dict[str, t.Any] = {"a": []}
    patched({}, [{"op": "add", "path": "/x", "value": value}, {"op": "add", "path": "/x/a/-", "value": 1}])
    assert value == {"a": []}


@pytest.mark.parametrize(
    ("operation", "message", "hint"),
    [
        (("remove", "/spec/gone"), "as nothing is there", ""),
        (("replace", "/spec/gone"), "as nothing is there", "use add"),
        (("add", "/a/b/c"), "as /a is not there", "add /a in a patch before it"),
        (("add", "/spec/args/7"), "as /spec/args is a list of 2 and '7' no place in it", "from 0"),
        (("replace", "/spec/args/-"), "a list of 2 and '-' no place", "for add"),
        (("remove", "/spec/args/-1"), "a list of 2 and '-1' no place", "from 0"),
        (("remove", "/spec/args/x"), "a list of 2", ""),
        (("replace", "/spec/args/\u00b2/a"), "as /spec/args/\u00b2 is not there", ""),
        (("replace", f"/spec/args/{'9' * 5000}/a"), "is not there", ""),
        (("add", "/spec/replicas/x"), "as /spec/replicas is neither an object nor a list", ""),
        (("replace", "/spec/replicas/x/y"), "as /spec/replicas/x is not there", ""),
    ],
)
def test_what_cannot_be_done_is_named_with_its_cause(operation: tuple[str, str], message: str, hint: str) -> None:
    manifest = {"spec": {"replicas": 1, "args": ["a", "b"]}}
    good = {"op": "add", "path": "/spec/x", "value": 1}
    with pytest.raises(PatchFailed) as caught:
        patched(manifest, [good, {"op": operation[0], "path": operation[1], "value": "s3cret"}])
    assert caught.value.index == 1
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize("upstream", [False, True])
def test_variables_are_filled_in_everywhere_in_a_value(upstream: bool) -> None:
    value = {"${MEMBER-CLUSTER-NAME}": ["${MEMBER-CLUSTER-LABEL-KEY-region}-${MEMBER-CLUSTER-LABEL-KEY-ring}", 1, None]}
    assert filled(value, "paris", LABELS, upstream=upstream) == ({"paris": ["eu-1", 1, None]}, ())


@pytest.mark.parametrize("upstream", [False, True])
def test_what_only_looks_like_a_variable_stays(upstream: bool) -> None:
    value = "${MEMBER-CLUSTER} ${member-cluster-name} $MEMBER-CLUSTER-NAME ${MEMBER-CLUSTER-LABEL-KEY}"
    assert filled(value, "paris", LABELS, upstream=upstream) == (value, ())


@pytest.mark.parametrize("upstream", [False, True])
def test_every_variable_that_cannot_be_filled_in_is_named(upstream: bool) -> None:
    value = ["${MEMBER-CLUSTER-LABEL-KEY-a}", "${MEMBER-CLUSTER-LABEL-KEY-b}"]
    _value, wrong = filled(value, "paris", LABELS, upstream=upstream)
    assert [(code, message) for code, message, _hint in wrong] == [
        ("override-label-missing", "cluster paris has no label a"),
        ("override-label-missing", "cluster paris has no label b"),
    ]
    assert [code for code, _message, _hint in filled("${MEMBER-CLUSTER-LABEL-KEY-a", "paris", {})[1]] == [
        "unclosed-variable"
    ]


def test_a_value_cannot_change_the_structure_unless_upstream_is_asked_for() -> None:
    labels = {"q": 'x","injected":"y'}
    value = {"a": "${MEMBER-CLUSTER-LABEL-KEY-q}"}
    assert filled(value, "paris", labels) == ({"a": labels["q"]}, ())
    assert filled(value, "paris", labels, upstream=True) == ({"a": "x", "injected": "y"}, ())
    broken = filled(value, "paris", {"q": '"'}, upstream=True)
    assert [code for code, _message, _hint in broken[1]] == ["override-value-broken"]
