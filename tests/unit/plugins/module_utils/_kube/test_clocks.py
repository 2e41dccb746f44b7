# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a server's clock is from ours (F7). Its Date is in whole seconds, and was made while we waited."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.clocks import ahead, difference_words, usual_difference

ASKED = datetime(2026, 7, 1, 12, 0, 10, 700_000, tzinfo=UTC)
ANSWERED = ASKED + timedelta(seconds=3)


@pytest.mark.parametrize(
    ("second", "seconds"),
    [(10, 0), (12, 0), (13, 0), (14, 0.3), (53, 39.3), (9, -0.7), (0, -9.7)],
)
def test_what_lies_between_question_and_answer_is_no_difference(second: int, seconds: float) -> None:
    date = datetime(2026, 7, 1, 12, 0, second, tzinfo=UTC)
    assert ahead(date, ASKED, ANSWERED) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, ""),
        (29, ""),
        (-29, ""),
        (30, "its clock is 30 s ahead of ours"),
        (-119, "its clock is 119 s behind ours"),
        (-600, "its clock is 10 min behind ours"),
    ],
)
def test_it_is_told_from_half_a_minute_on(seconds: int, words: str) -> None:
    assert difference_words(timedelta(seconds=seconds)) == words


def test_one_server_alone_does_not_say_what_the_time_is() -> None:
    hour, ours = timedelta(hours=1), timedelta(0)
    assert usual_difference([hour, ours, ours]) == ours
    assert usual_difference([hour, ours]) == ours
    assert usual_difference([hour, hour, ours]) == hour
    assert usual_difference([]) == ours
