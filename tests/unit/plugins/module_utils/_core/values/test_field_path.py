# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Field paths are followed in documents, also through keys that hold dots, and what is not there is made or left."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.field_path import (
    below,
    field,
    set_at,
    value_at,
    with_field,
)

DOCUMENT = {
    "metadata": {"labels": {"example.com/team": "web", "env": "prod"}},
    "spec": {"budgets": [{"nodes": "5"}, {"nodes": "1"}], "text": "words"},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", DOCUMENT),
        ("spec.budgets[1].nodes", "1"),
        ("spec.budgets[2].nodes", None),
        ("spec.budgets.nodes", None),
        ("metadata.labels[example.com/team]", "web"),
        ("metadata.labels['example.com/team']", "web"),
        ("metadata.labels.example.com/team", "web"),
        ("spec.text.length", None),
        ("nothing", None),
    ],
)
def test_what_stands_at_a_path(path, value):
    assert value_at(DOCUMENT, path) == value


@pytest.mark.parametrize(
    "path",
    [
        "spec.budgets[0].nodes",
        "spec.template.spec.expireAfter",
        "metadata.labels[a.b/c]",
        "status",
        "metadata.labels.env",
    ],
)
def test_what_is_put_somewhere_stands_there(path):
    document = copy.deepcopy(DOCUMENT)
    set_at(document, path, "new")
    assert value_at(document, path) == "new"
    set_at(document, path, None)
    assert value_at(document, path) is None


@pytest.mark.parametrize("path", ["spec.text.length", "spec.budgets[7].nodes", "spec.budgets.nodes", "spec.budgets[7]"])
def test_nothing_is_put_where_no_way_leads(path):
    document = copy.deepcopy(DOCUMENT)
    set_at(document, path, "new")
    assert document == DOCUMENT


def test_nothing_is_made_on_the_way_to_what_is_taken_away():
    document = copy.deepcopy(DOCUMENT)
    set_at(document, "spec.template.spec.expireAfter", None)
    assert document == DOCUMENT


@pytest.mark.parametrize(
    "key", ["a]b", "a].b", "a[0]", "'a'", '"a"', "it's", "a.b[c].d", "]", "[", ".a", "a.", "", "12", "0"]
)
def test_a_key_with_signs_of_paths_in_it_is_found_again(key):
    labels = {"a": "other", "b": "another", key: "1"}
    document = {"metadata": {"labels": labels}}
    path = f"metadata.labels[{key}]"
    assert value_at(document, path) == "1"
    set_at(document, path, "2")
    assert document == {"metadata": {"labels": {**labels, key: "2"}}}
    set_at(document, path, None)
    assert key not in document["metadata"]["labels"]


@pytest.mark.parametrize("key", ["a]b", "it's", "a.b[c].d", ".a", "12"])
def test_so_is_a_field_of_such_a_name(key):
    document = {"spec": {"a": "other", key: {"b": ["1"]}}}
    assert value_at(document, f"{below('spec', key)}.b[0]") == "1"


@pytest.mark.parametrize("key", ["a]b", "12", "it's"])
def test_a_key_that_is_new_is_text(key):
    document = {"metadata": {}}
    set_at(document, f"metadata.labels[{key}]", "1")
    assert document == {"metadata": {"labels": {key: "1"}}}


def test_a_key_that_is_no_text_and_an_index_without_end_lead_nowhere():
    assert value_at({5: "a", "b": ["c"]}, "5") is None
    assert value_at({"b": ["c"]}, f"b[{'9' * 5000}]") is None


def test_a_path_is_written_as_it_is_followed():
    assert below(below("", "metadata"), "labels") == "metadata.labels"


def test_names_of_fields_hold_no_dots():
    """A key of somebody's that looks like a path is not taken for the field."""
    document = {"spec.text": 5, **DOCUMENT}
    assert (field(document, "spec.text"), value_at(document, "spec.text")) == ("words", 5)
    assert [field(document, path) for path in ("spec.budgets.nodes", "nothing.here", "metadata.labels.x")] == [None] * 3


@pytest.mark.parametrize("path", ["spec.text", "spec.template.spec.expireAfter", "status"])
def test_a_field_is_replaced_in_a_copy(path):
    kept = copy.deepcopy(DOCUMENT)
    changed = with_field(DOCUMENT, path, "new")
    assert (field(changed, path), DOCUMENT) == ("new", kept)
    assert field(with_field(changed, path, None), path) is None
    assert changed["metadata"] is DOCUMENT["metadata"]
