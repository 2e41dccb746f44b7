# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Field paths are followed in documents, also through keys that hold dots, and what is not there is made or left."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.field_path import at, put

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
