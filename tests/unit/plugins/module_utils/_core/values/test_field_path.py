# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Field paths are followed in documents, also through keys that hold dots, and what is not there is made or left."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.field_path import (
    at,
    below,
    field,
    put,
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
    assert at(DOCUMENT, path) == value


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
    put(document, path, "new")
    assert at(document, path) == "new"
    put(document, path, None)
    assert at(document, path) is None


@pytest.mark.parametrize("path", ["spec.text.length", "spec.budgets[7].nodes", "spec.budgets.nodes", "spec.budgets[7]"])
def test_nothing_is_put_where_no_way_leads(path):
    document = copy.deepcopy(DOCUMENT)
    put(document, path, "new")
    assert document == DOCUMENT


def test_nothing_is_made_on_the_way_to_what_is_taken_away():
    document = copy.deepcopy(DOCUMENT)
    put(document, "spec.template.spec.expireAfter", None)
    assert document == DOCUMENT


def test_a_path_is_written_as_it_is_followed():
    assert below(below("", "metadata"), "labels") == "metadata.labels"


def test_names_of_fields_hold_no_dots():
    """A key of somebody's that looks like a path is not taken for the field."""
    document = {"spec.text": 5, **DOCUMENT}
    assert (field(document, "spec.text"), at(document, "spec.text")) == ("words", 5)
    assert [field(document, path) for path in ("spec.budgets.nodes", "nothing.here", "metadata.labels.x")] == [None] * 3


@pytest.mark.parametrize("path", ["spec.text", "spec.template.spec.expireAfter", "status"])
def test_a_field_is_replaced_in_a_copy(path):
    kept = copy.deepcopy(DOCUMENT)
    changed = with_field(DOCUMENT, path, "new")
    assert (field(changed, path), DOCUMENT) == ("new", kept)
    assert field(with_field(changed, path, None), path) is None
    assert changed["metadata"] is DOCUMENT["metadata"]
