# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""docs/files.md has every file, by what it says of itself."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.tools import files


def test_the_page_is_up_to_date() -> None:
    assert files.PAGE.read_text(encoding="utf-8") == files.page(), "run make files"


@pytest.mark.parametrize(
    ("docstring", "told"),
    [
        ("One thing. And more of it.", "One thing"),
        ("Sets (``p`` is a bit). Then more", "Sets (`p` is a bit)"),
        ("Ways, e.g. this\none, in\n\na file.", "Ways, e.g. this one, in"),
        ("Karpenter v1.14.1, a | b.", "Karpenter v1.14.1, a \\| b"),
    ],
)
def test_a_purpose_is_the_first_sentence(docstring: str, told: str) -> None:
    assert files.purpose(f'"""{docstring}"""\n') == told


def test_a_verb_is_told_by_its_class() -> None:
    assert files.purpose('class ActionModule(Verb):\n    """Our CRDs. And more."""\n') == "Our CRDs"


def test_a_skin_is_told_by_its_short_description() -> None:
    assert files.purpose('DOCUMENTATION = """\nname: a\nshort_description: What it is\n"""\n') == "What it is"


def test_a_file_without_a_purpose_is_an_error() -> None:
    with pytest.raises(ValueError):
        files.purpose("import os\n")


def test_what_a_file_offers_is_its_public_functions_and_classes_with_theirs() -> None:
    source = """
class Pool:
    def take(self): ...
    def _count(self): ...
class Bare: ...
class _Own:
    def take(self): ...
def read():
    def inner(): ...
def _check(): ...
"""
    assert files.offered(source) == "`Pool` (`take`), `Bare`, `read`"
