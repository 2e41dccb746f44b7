# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Values that come from elsewhere: what is put in quotes, and what is told of them all the same."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.stand_ins import with_quotes, without_holes

BLOCKS = """a: {{ a }}
text: |
  b: {{ b }}
    ...

  c: {{ c }}
- d: !!str >-  # folded
    e: {{ e }}
    ...
  f: {{ f }}
- |2
  g: {{ g }}
- - &h |+
    h: {{ h }}
  - i: {{ i }}
below:
  |
  j: {{ j }}
k:
  # no text: |
    l: {{ l }} | m
    ...
"""


def test_a_text_in_several_lines_stays_as_it_is():
    """Its lines look like fields, and are those of somebody's own file: mended documents had them in quotes."""
    changed = [line for line in with_quotes(BLOCKS).splitlines() if line not in BLOCKS.splitlines()]
    assert changed == ["a: '{{ a }}'", "  f: '{{ f }}'", "  - i: '{{ i }}'", "    l: '{{ l }} | m'"]


def test_a_line_of_dots_in_such_a_text_is_no_hole():
    text, numbers = without_holes(BLOCKS)
    assert numbers == (22,)
    assert text.splitlines() == [*BLOCKS.splitlines()[:21], ""]


@pytest.mark.parametrize(
    ("written", "quoted"),
    [
        ("a: {{ x }}  # fleetlint: ignore stand-in\r", "a: '{{ x }}'  # fleetlint: ignore stand-in\r"),
        ("a: {{ x }}-y\t# z", "a: '{{ x }}-y'\t# z"),
        ('a: {{ f "x #y" }}#z', "a: '{{ f \"x #y\" }}#z'"),
    ],
)
def test_a_comment_behind_a_value_is_no_part_of_it(written: str, quoted: str):
    assert with_quotes(written) == quoted
