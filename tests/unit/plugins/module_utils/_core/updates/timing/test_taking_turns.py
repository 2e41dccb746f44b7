# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Operations that stand still: taken up while another one comes on, and left once none does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.taking_turns import AROUND, TakingTurns

T0 = datetime(2026, 3, 28, 12, tzinfo=UTC)
IDLE = timedelta(minutes=2)
SOON = timedelta(seconds=2)


@pytest.fixture
def turns() -> TakingTurns:
    return TakingTurns(IDLE)


def test_one_is_taken_up_at_its_time_while_another_comes_on(turns: TakingTurns) -> None:
    turns.set_aside("a", T0 + SOON)
    assert turns.due("ab", T0) == [] and not turns.all_stand_still("ab")
    assert turns.due("ab", T0 + SOON) == ["a"] and turns.due("ab", T0 + SOON) == []


def test_one_without_a_time_is_not_taken_up(turns: TakingTurns) -> None:
    turns.set_aside("a", None)
    assert turns.due("ab", T0 + timedelta(days=1)) == [] and turns.instants == []


def test_one_alone_rests_at_once(turns: TakingTurns) -> None:
    turns.set_aside("a", T0 + SOON)
    assert turns.all_stand_still("a") and turns.due("a", T0 + SOON) == [] and turns.instants == [T0 + SOON]
    assert not turns.all_stand_still(""), "nothing is in flight"


def test_one_that_tries_again_lets_no_other_try(turns: TakingTurns) -> None:
    turns.set_aside("a", T0)
    assert turns.due("ab", T0) == ["a"]
    turns.set_aside("b", T0)
    assert turns.due("ab", T0 + IDLE) == [] and not turns.all_stand_still("ab")
    turns.set_aside("a", T0 + IDLE + SOON)
    assert turns.all_stand_still("ab")


def test_one_that_goes_on_for_longer_than_anybody_waits_lets_others_try(turns: TakingTurns) -> None:
    turns.set_aside("a", T0)
    assert turns.due("ab", T0) == ["a"]
    turns.set_aside("b", T0)
    long = 2 * IDLE + AROUND
    assert turns.due("ab", T0 + long - SOON) == []
    assert turns.due("ab", T0 + long) == ["b"]
