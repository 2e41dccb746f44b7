# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How long upgrades take, given or learned."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import (
    UPGRADE,
    Duration,
    Durations,
    EvenShares,
    learned,
    quantile,
    rounded,
    share,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import Play, changed, played

MINUTE = timedelta(minutes=1)
USUAL = Duration(20 * MINUTE, 45 * MINUTE)


@pytest.mark.parametrize(("share_of", "minutes"), [(0, 10), (0.5, 20), (0.7, 32.5), (0.9, 45), (1, 70)])
def test_shares_of_all_cases(share_of: float, minutes: float) -> None:
    assert USUAL.at(share_of) == minutes * MINUTE


def test_half_and_nine_of_ten_are_what_was_given() -> None:
    took = [USUAL.at(share(1, 0, str(number))) for number in range(4000)]
    assert 0.47 < sum(each <= USUAL.p50 for each in took) / len(took) < 0.53
    assert 0.88 < sum(each <= USUAL.p90 for each in took) / len(took) < 0.92


def test_chance_is_the_same_whatever_else_is_asked() -> None:
    assert share(7, 1, "a") == share(7, 1, "a")
    assert len({share(seed, sample, name) for seed in (1, 2) for sample in (0, 1) for name in "ab"}) == 8


def test_shares_of_few_samples_are_spread_evenly_for_each_name() -> None:
    shares = EvenShares(0, 7)
    drawn = {name: [shares.share_of(sample, name) for sample in range(7)] for name in "abc"}
    assert all(sorted(each) == [(place + 0.5) / 7 for place in range(7)] for each in drawn.values())
    assert len({tuple(each) for each in drawn.values()}) == 3
    assert [EvenShares(0, 7).share_of(sample, "a") for sample in range(7)] == drawn["a"]
    assert EvenShares(3, 1).share_of(0, "a") == 0.5


@pytest.mark.parametrize(("p50", "p90"), [(2, 1), (-1, 1)])
def test_what_is_no_duration(p50: int, p90: int) -> None:
    with pytest.raises(ValueError, match="no p50 and p90"):
        Duration(p50 * MINUTE, p90 * MINUTE)


def test_quantiles_and_rounding() -> None:
    assert [quantile(list(range(1, 11)), wanted) for wanted in (0.5, 0.9, 0.95, 0)] == [5, 9, 10, 1]
    assert quantile([3], 0.9) == 3
    assert [rounded(each * MINUTE, 2 * MINUTE) / MINUTE for each in (0, 1, 2.9, 5.1)] == [2, 2, 2, 6]


def recorded(play: Play, kind: str = "Full") -> UpdateRun:
    version = {} if kind == "NodeImageOnly" else {"kubernetesVersion": "1.34"}
    run = read(update_run({"type": kind, **version})).object
    assert isinstance(run, UpdateRun)
    return replace(run, status=status_of(play.run, play.status, run.status))


def test_learned_from_runs_of_the_same_type() -> None:
    play = played("s{g:a,b,c}").start()
    for minutes in (10, 20, 60):
        play.wait(60 * minutes).ends(play.running[0])
    found = learned([recorded(play)], "Full")
    assert found.members == {name: Duration(m * MINUTE, m * MINUTE) for name, m in (("a", 10), ("b", 20), ("c", 60))}
    assert found.others == Duration(20 * MINUTE, 60 * MINUTE)
    assert found.duration_of("a").p50 == 10 * MINUTE and found.duration_of("new").p50 == 20 * MINUTE
    assert learned([recorded(play)], "NodeImageOnly") == Durations(UPGRADE)
    assert learned([], "Full", USUAL) == Durations(USUAL)


def test_failures_and_second_attempts_teach_nothing() -> None:
    play = played("s{g:a,b}")
    play.run = changed(changed(play.run, "s", max_allowed_failures=1), "g", max_allowed_failures=1)
    play.start().wait(600).fails("a").wait(600).ends("b")
    assert learned([recorded(play)], "Full").members == {"b": Duration(10 * MINUTE, 10 * MINUTE)}
    again = played("s{g:a}").start().wait(600).fails("a").start().wait(6000).ends("a")
    assert learned([recorded(again)], "Full") == Durations(UPGRADE)
