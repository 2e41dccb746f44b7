# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is done every so often, on a clock that people set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.clock_skew import (
    clock_skew_words,
    is_due,
    is_due_again,
)

NOW = datetime(2026, 8, 21, 12, tzinfo=UTC)
SPAN = timedelta(seconds=15)


@pytest.mark.parametrize(("seconds", "over"), [(-1, True), (0, False), (14, False), (15, True), (3600, True)])
def test_a_clock_that_was_set_back_delays_nothing(seconds: int, over: bool) -> None:
    at = NOW + timedelta(seconds=seconds)
    assert is_due_again(NOW, SPAN, at) is over and is_due(NOW + SPAN, SPAN, at) is over


def test_what_was_never_done_is_due() -> None:
    assert is_due_again(None, SPAN, NOW)


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(5, ""), (-5, ""), (6, "our clock is 6 min behind those of"), (-90, "our clock is 90 min ahead of those of")],
)
def test_more_than_five_minutes_are_said_with_what_helps(minutes: int, words: str) -> None:
    told = clock_skew_words(timedelta(minutes=minutes))
    assert words in told and told.endswith("set the runner's clock") is bool(words)
