# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Order of members by their windows."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.member_order import (
    CLOSED,
    NEVER,
    NONE,
    OPEN,
    SOON,
    changes_at,
    closed_until,
    order_key,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0, at

HOUR = 3_600


def view(name: str, *hours: tuple[float, float]) -> MemberView:
    return MemberView(name=name, windows=tuple((at(a * HOUR), at(b * HOUR)) for a, b in hours))


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (((-1, 1),), OPEN),
        (((0, 4),), OPEN),  # the first instant belongs to it
        (((-4, 0),), CLOSED),  # the last does not
        (((4, 8),), SOON),  # exactly four hours count, D3-37
        (((4.001, 8),), CLOSED),
        (((-8, -4), (2, 6)), SOON),
        ((), CLOSED),
    ],
)
def test_class(windows, expected):
    assert order_key(view("a", *windows), 0, T0)[0] == expected


def test_no_windows_is_a_class_of_its_own():  # D3-41
    plain = MemberView(name="a")
    assert order_key(plain, 0, T0)[0] == NONE
    assert closed_until(plain, T0) is None


def test_ties():  # U10
    views = [
        view("late-closing", (-1, 3)),
        view("soon-b", (2, 6)),
        view("closed", (9, 12)),
        MemberView(name="z-listed-first"),
        view("never"),
        view("soon-a", (2, 6)),
        MemberView(name="a-listed-later"),
        view("early-closing", (-1, 2)),
    ]
    keys = sorted(order_key(each, place, T0) for place, each in enumerate(views))
    assert [name for _class, _tie, name in keys] == [
        "early-closing",
        "late-closing",
        "soon-a",
        "soon-b",
        "z-listed-first",
        "a-listed-later",
        "closed",
        "never",
    ]


def test_when_it_opens_and_changes():
    windows = view("a", (-8, -4), (1, 5), (25, 29))
    assert (closed_until(windows, T0), changes_at(windows, T0)) == (at(HOUR), at(HOUR))
    assert (closed_until(windows, at(HOUR)), changes_at(windows, at(HOUR))) == (None, at(5 * HOUR))
    assert closed_until(windows, at(30 * HOUR)) == NEVER
    assert changes_at(windows, at(30 * HOUR)) is None
