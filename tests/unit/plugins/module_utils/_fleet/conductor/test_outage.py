# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""While the API server of the records is started anew people are told since when it is away, and that nothing is
lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.outage import Outage

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
AWAY = FleetError("unreachable", "https://hub cannot be reached: connection refused", "hub", "is the cluster running?")
SAID = (
    "the records do not answer since 2026-01-15T12:00:00Z, and are asked again for 1 min 0 s; nothing is lost, and what"
    " is in flight goes on: https://hub cannot be reached: connection refused"
)


class Told:
    """An outage, a second more of it each time."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.outage, self.passed = Outage(self.said.append, timedelta(minutes=1)), timedelta(0)

    def fails(self, seconds: int) -> None:
        for _second in range(seconds):
            self.outage.failed(AWAY, self.passed, NOW + self.passed)
            self.passed += timedelta(seconds=1)


def test_its_begin_and_its_end_are_told_once_each() -> None:
    told = Told()
    told.fails(42)
    for _turn in range(2):
        told.outage.answered(told.passed)
    assert told.said == [SAID, "the records answer again, after 42 s; it goes on"]


def test_one_that_lasts_ends_with_since_when_and_what_comes_next() -> None:
    told = Told()
    with pytest.raises(FleetError) as ended:
        told.fails(100)
    assert (told.said, told.passed, ended.value.code, ended.value.where) == (
        [SAID],
        timedelta(seconds=60),
        "unreachable",
        "hub",
    )
    assert ended.value.message == (
        "the records have not answered since 2026-01-15T12:00:00Z, for 1 min 0 s: https://hub cannot be reached:"
        " connection refused"
    )
    assert ended.value.hint == (
        "is the cluster running?; nothing is lost: what was begun is on record, and goes on from there when it is"
        " started again"
    )


def test_each_outage_is_borne_for_as_long_as_the_first() -> None:
    told = Told()
    for _outage in range(3):
        told.fails(50)
        told.outage.answered(told.passed)
    told.fails(50)
    told.outage.begin_anew()
    told.fails(50)
    assert len(told.said) == 8
