# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets: what they allow, and the arithmetic that says why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import (
    UNLIMITED,
    Amount,
    allowed,
    never_above,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    REASONS,
    Budget,
    decode_budgets,
    decode_node_pool,
)
from hypothesis import given
from hypothesis import strategies as st

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday
DAILY = (Budget("20%"), Budget("5"), Budget("0", "@daily", "10m"))
BUSINESS = (Budget("10%"), Budget("0", "0 9 * * 1-5", "8h"))


def limit(budgets: tuple[Budget, ...], at: datetime = NOON, nodes: int = 20, reason: str = "Empty") -> int:
    return allowed(budgets, at, nodes, reason).limit


@pytest.mark.parametrize(
    ("nodes", "percent", "expected"), [(10, 5, 1), (11, 10, 2), (19, 20, 4), (10, 33, 4), (1, 1, 1)]
)
def test_percentages_round_up_d0_61(nodes: int, percent: int, expected: int) -> None:
    assert limit((Budget(f"{percent}%"),), nodes=nodes) == expected


def test_the_arithmetic_is_told_d0_62() -> None:
    answer = allowed((Budget("5%"),), NOON, 10, "Empty")
    assert answer.budgets[0].arithmetic == "5% of 10 nodes is 0.5, rounded up to 1"


def test_a_number_may_exceed_the_total_d0_63() -> None:
    assert limit((Budget("50"),)) == 50
    assert allowed((Budget("5"),), NOON, 20, "Empty").remaining_after(6) == 0


def test_the_smallest_active_value_holds_and_the_subtraction_comes_once_d0_64() -> None:
    assert allowed((Budget("20%"), Budget("5")), NOON, 30, "Empty").remaining_after(1) == 4


@pytest.mark.parametrize(("nodes", "expected"), [(19, 4), (20, 4), (21, 5), (25, 5), (26, 5), (30, 5)])
def test_percentage_and_cap_d0_67(nodes: int, expected: int) -> None:
    assert limit(DAILY, nodes=nodes) == expected


@pytest.mark.parametrize(("nodes", "binding"), [(20, (0,)), (21, (0, 1)), (23, (0, 1)), (25, (0, 1)), (26, (1,))])
def test_the_binding_budget_is_named_d0_68(nodes: int, binding: tuple[int, ...]) -> None:
    assert allowed(DAILY, NOON, nodes, "Empty").binding == binding


def test_the_end_of_a_window_is_not_in_it_d0_69_d0_75() -> None:
    midnight = datetime(2026, 11, 18, tzinfo=UTC)
    assert [limit(DAILY, midnight + timedelta(seconds=after), 26) for after in (0, 599, 600)] == [0, 0, 5]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-11-18T08:59:59+00:00", 2),
        ("2026-11-18T09:00:00+00:00", 0),
        ("2026-11-18T16:59:59.999999+00:00", 0),
        ("2026-11-18T17:00:00+00:00", 2),
        ("2026-11-21T12:00:00+00:00", 2),
    ],
)
def test_business_hours_d0_80(at: str, expected: int) -> None:
    assert limit(BUSINESS, datetime.fromisoformat(at)) == expected


def test_other_zones_are_converted_first_d0_72() -> None:
    berlin = timezone(timedelta(hours=1))
    assert limit(BUSINESS, datetime(2026, 11, 18, 9, 30, tzinfo=berlin)) == 2
    assert limit(BUSINESS, datetime(2026, 11, 18, 10, 0, tzinfo=berlin)) == 0


def test_nothing_active_is_no_limit_d0_76() -> None:
    assert limit((Budget("0", "0 1 * * *", "1h"),)) == UNLIMITED
    assert limit(()) == UNLIMITED
    assert limit(decode_budgets([])) == UNLIMITED


@pytest.mark.parametrize(
    ("written", "expected"), [({}, 2), ({"budgets": []}, UNLIMITED), ({"budgets": [{"nodes": "7"}]}, 7)]
)
def test_a_list_takes_the_place_of_the_default_d0_57(written: dict[str, object], expected: int) -> None:
    claim = {"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}, "requirements": []}
    spec = {"template": {"spec": claim}, "disruption": {"consolidateAfter": "0s", **written}}
    document = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec}
    assert limit(decode_node_pool(document).disruption.budgets, nodes=20) == expected


@pytest.mark.parametrize("schedule", ["0 0 * * 7", "TZ=America/New_York 0 9 * * *", "0 0 * * sat-sun", "", "0 9 * *"])
@pytest.mark.parametrize("reason", REASONS)
def test_one_unreadable_schedule_closes_the_pool_for_every_reason_d0_77(schedule: str, reason: str) -> None:
    answer = allowed((Budget("50%"), Budget("9", schedule, "1h", ("Empty",))), NOON, 20, reason)
    assert (answer.limit, answer.error, answer.binding) == (0, True, (1,))
    assert answer.budgets[1].active is None
    assert answer.budgets[0].value == 10


@pytest.mark.parametrize("schedule", ["0 0 30 2 *", "0 0 31 4 *", "0 0 , * *"])
def test_a_schedule_that_never_fires_is_always_active_d0_77(schedule: str) -> None:
    answer = allowed((Budget("0", schedule, "1m"),), NOON, 20, "Empty")
    assert (answer.limit, answer.error) == (0, False)
    assert "never fires" in answer.budgets[0].why


def test_unusable_nodes_matter_only_while_active() -> None:
    budgets = (Budget("abc", "@daily", "1h"), Budget("50%"))
    assert limit(budgets) == 10
    assert limit(budgets, NOON.replace(hour=0)) == 0


def test_reasons_restrict_a_budget_and_none_of_them_makes_it_inert_d0_78() -> None:
    budgets = (Budget("0", reasons=("Drifted",)), Budget("0", reasons=()), Budget("7"))
    assert [limit(budgets, reason=reason) for reason in REASONS] == [7, 0, 7]


@pytest.mark.parametrize(("nodes", "expected"), [("3000000000", -1294967296), ("4294967297", 1), ("9" * 30, 0)])
def test_numbers_wrap_to_32_bits_as_upstream(nodes: str, expected: int) -> None:
    answer = allowed((Budget(nodes),), NOON, 9, "Empty")
    assert answer.limit == expected
    assert answer.remaining_after(0) == max(expected, 0)


def test_a_duration_that_no_client_reads_is_refused_as_a_whole() -> None:
    with pytest.raises(FleetError) as refused:
        decode_budgets([{"nodes": "5", "schedule": "@daily", "duration": "999999999h"}])
    assert refused.value.code == "undecodable"


NODES = st.sampled_from(["0", "1", "3", "10%", "33%", "100%", "abc", "3000000000"])
COVERED = st.sampled_from([None, (), ("Empty",), ("Drifted", "Empty")])
SCHEDULES = st.sampled_from(["@daily", "0 9 * * 1-5", "*/7 3-9 * 2-11 *", "0 0 29 2 *", "0 0 31 6 *", "0 0 * * 7"])
DURATIONS = st.sampled_from(["1m", "59m", "8h", "48h", "168h", "0m"])
BUDGETS = st.lists(
    st.builds(Budget, NODES, reasons=COVERED) | st.builds(Budget, NODES, SCHEDULES, DURATIONS), max_size=5
)
INSTANTS = st.integers(0, 10**7).map(lambda minutes: NOON + timedelta(minutes=minutes))


@given(budgets=BUDGETS, at=INSTANTS, nodes=st.integers(0, 60), data=st.data())
def test_the_order_of_budgets_never_matters_and_none_is_exceeded(
    budgets: list[Budget], at: datetime, nodes: int, data: st.DataObject
) -> None:
    answer = allowed(tuple(budgets), at, nodes, "Empty")
    assert allowed(tuple(data.draw(st.permutations(budgets))), at, nodes, "Empty").limit == answer.limit
    for each in answer.budgets:
        if each.active and each.budget.covers("Empty") and not answer.error:
            assert answer.limit <= each.value


@pytest.mark.parametrize(("nodes", "limit"), [("0" * 5000 + "3", 3), ("-" + "0" * 5000, 0), ("0" * 5000 + "30%", 3)])
def test_a_number_with_more_zeros_before_it_than_python_reads_is_read(nodes: str, limit: int) -> None:
    found = allowed((Budget(nodes),), NOON, 10, REASONS[0])
    assert (found.limit, found.error) == (limit, False) and found.as_dict()["budgets"][0]["arithmetic"]


@pytest.mark.parametrize("nodes", ["9" * 5000, "9" * 5000 + "%", "+", "5%%", "%"])
def test_what_is_no_number_closes_and_ends_nothing(nodes: str) -> None:
    assert allowed((Budget(nodes),), NOON, 10, REASONS[0]).error


@pytest.mark.parametrize("one", [Amount(number, percent) for number in (-5, 0, 1, 2, 50) for percent in (False, True)])
@pytest.mark.parametrize("other", [Amount(number, percent) for number in (-5, 0, 1, 10) for percent in (False, True)])
def test_an_amount_is_never_above_another_if_it_is_not_in_a_pool_of_any_size(one: Amount, other: Amount) -> None:
    assert never_above(one, other) == all(
        one.count_of(nodes) <= other.count_of(nodes) for nodes in (1, 2, 20, 1000, 100_000)
    )
