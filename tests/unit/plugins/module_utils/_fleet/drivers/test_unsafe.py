# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Any document comes out of Ansible's own reader as it went in, and none of its texts is a template there."""

from __future__ import annotations

import math
import tempfile
import typing as t
from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import is_trusted_as_template
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.unsafe import unsafe
from hypothesis import given
from hypothesis import strategies as some

TEMPLATE = "{{ lookup('ansible.builtin.pipe', 'touch canary') }}"
TEXTS = some.text(some.characters(exclude_categories=["Cs"]), max_size=20) | some.just(TEMPLATE)
LEAVES = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | TEXTS
DOCUMENTS = some.recursive(
    LEAVES, lambda inner: some.lists(inner, max_size=4) | some.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


def read_by_ansible(document: t.Any) -> t.Any:
    """As extra variables, inventories and playbooks are read: texts are trusted as templates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.yml")
        path.write_text(unsafe(document), encoding="utf-8")
        return DataLoader().load_from_file(str(path), trusted_as_template=True)


def texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from (*texts(key), *texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@given(DOCUMENTS)
def test_any_document_is_read_as_it_was_and_holds_no_template(document: t.Any):
    found = read_by_ansible({"value": document})
    assert found == {"value": document}
    assert not any(is_trusted_as_template(each) for each in texts(found))


@pytest.mark.parametrize(
    "inner", [{"__ansible_unsafe": TEMPLATE}, {"__ansible_unsafe": {"x": 1}}, {"__ansible_vault": 1}]
)
def test_words_of_ansibles_json_mean_nothing(inner: t.Any):
    """In JSON the second one makes Ansible read the whole file again, as templates."""
    found = read_by_ansible({"theirs": inner, "ours": TEMPLATE})
    assert found == {"theirs": inner, "ours": TEMPLATE}
    assert not any(is_trusted_as_template(each) for each in texts(found))


@pytest.mark.parametrize("length", [990, 1000, 1020, 1024, 1030, 5000])
@pytest.mark.parametrize("character", ["k", '"', "\N{ROCKET}"])
def test_keys_may_be_long(length: int, character: str):
    document = {"a": {character * length: {TEMPLATE: 1, character * length: [2]}, "b": 3}}
    assert read_by_ansible(document) == document


def test_what_is_no_number_stays_so():
    found = read_by_ansible([math.inf, -math.inf, math.nan, 1e22, 5e-324])
    assert found[:2] == [math.inf, -math.inf] and math.isnan(found[2]) and found[3:] == [1e22, 5e-324]
