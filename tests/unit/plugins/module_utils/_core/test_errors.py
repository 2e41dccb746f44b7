# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An exception that nobody expected is told by the places that it came through."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import fault

Step = t.Callable[[t.Sequence[t.Any]], int]


def step(rest: t.Sequence[Step]) -> int:
    return rest[0](rest[1:])  # raises IndexError where no more steps are left


def step_in(file: str) -> Step:
    """The same, as if it stood in another file of ours."""
    code = step.__code__.replace(co_filename=f"/anywhere/module_utils/{file}.py")
    return types.FunctionType(code, globals())


@pytest.mark.parametrize(
    ("steps", "told"), [("ab", "a b"), ("aaaa", "a"), ("aba", "b a"), ("abcdea", "c d e a"), ("abcdef", "c d e f")]
)
def test_the_last_place_is_the_one_that_raised_it_also_where_it_was_passed_before(steps: str, told: str) -> None:
    files = {name: step_in(name) for name in steps}
    first, *rest = [files[name] for name in steps]
    with pytest.raises(IndexError) as raised:
        first(rest)
    line = step.__code__.co_firstlineno + 1
    places = fault(raised.value).message.removeprefix("unexpected IndexError at ").split(" > ")
    assert [each for each in places if "test_errors" not in each] == [f"{file}.py:{line}" for file in told.split()]


def test_an_exception_from_elsewhere_came_from_an_unknown_place() -> None:
    assert fault(KeyError("secret")).message == "unexpected KeyError at an unknown place"
