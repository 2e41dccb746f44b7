# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Strategies laid over members."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    GateConfiguration,
    MemberSelector,
    ScheduledStartConfiguration,
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import GroupRow, Schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import (
    NAMESPACE,
    Candidate,
    Resolved,
    resolve,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import UID

FLEET = (
    Candidate(name="a", group="g", labels={"env": "dev"}),
    Candidate(name="b", group="g", labels={"env": "prod", "gpu": ""}),
    Candidate(name="c", group="h", labels={"env": "prod"}),
    Candidate(name="d"),
)


def label(text: str) -> MemberSelector:
    return MemberSelector(by_label=text)


def resolved(*stages: UpdateStage, fleet: tuple[Candidate, ...] = FLEET) -> Resolved:
    return resolve(UpdateRunStrategy(stages=stages), fleet, UID)


def names(group: GroupRow) -> str:
    return "".join(row.name for row in group.members)


def members(made: Resolved) -> list[list[str]]:
    return [[names(group) for group in stage.groups] for stage in made.stages]


def sized(size: int) -> tuple[Candidate, ...]:
    return tuple(Candidate(name=f"m{number}", group="g") for number in range(size))


def test_no_strategy_is_all_members_one_by_one():  # D3-03, V17
    made = resolve(None, FLEET, UID)
    (stage,) = made.stages
    assert (members(made), made.uncovered, made.warnings) == ([["abcd"]], (), ())
    assert (stage.max_concurrency, stage.groups[0].max_concurrency, stage.groups[0].max_allowed_failures) == (1, 1, 0)


def test_groups_take_members_by_name_in_the_order_of_the_fleet():  # D3-10, D3-15
    made = resolved(UpdateStage(name="s", groups=(UpdateGroup(name="h"), UpdateGroup(name="g"))))
    assert members(made) == [["c", "ab"]]


def test_a_selector_of_a_group_overrides_its_name():  # D3-15
    made = resolved(UpdateStage(name="s", groups=(UpdateGroup(name="g", member_selector=label("env=prod")),)))
    assert members(made) == [["bc"]]


def test_names_and_selectors_resolve_to_the_same_members():  # D3-15
    fleet = [Candidate(name=name, group=ring, labels={"ring": ring}) for name, ring in (("a", "1"), ("b", "2"))]
    for by in ({}, {"member_selector": label("ring=2")}):
        assert members(resolved(UpdateStage(name="s", groups=(UpdateGroup(name="2", **by),)), fleet=fleet)) == [["b"]]


def test_two_runs_of_one_strategy_have_one_sequence():  # D3-18
    gates = (GateConfiguration(type="Approval", display_name="go"),)
    strategy = UpdateRunStrategy(
        stages=(UpdateStage(name="s", groups=(UpdateGroup(name="g", max_concurrency="50%"),), before_gates=gates),)
    )
    one, other = (resolve(strategy, FLEET, uid).stages for uid in (UID, UID[::-1]))
    assert one[0].before_gates[0].id != other[0].before_gates[0].id
    assert [replace(stage, before_gates=()) for stage in one] == [replace(stage, before_gates=()) for stage in other]


def test_a_selector_of_a_stage_filters_before_its_groups():
    groups = (UpdateGroup(name="g"), UpdateGroup(name="x", member_selector=label("!gpu")))
    made = resolved(UpdateStage(name="s", member_selector=label("env in (prod)"), groups=groups))
    assert members(made) == [["b", "c"]]


def test_a_selector_alone_makes_one_group_with_the_values_of_the_stage():  # V16
    stage = UpdateStage(name="s", member_selector=label("env"), max_concurrency="2", max_allowed_failures="34%")
    made = resolved(stage)
    (group,) = made.stages[0].groups
    assert (group.name, names(group), group.max_concurrency, group.max_allowed_failures) == ("s", "abc", 2, 2)


def test_the_name_of_that_group_is_its_own():
    stages = (
        UpdateStage(name="g", member_selector=label("!env")),
        UpdateStage(name="s", groups=(UpdateGroup(name="g"),)),
    )
    assert [group.name for stage in resolved(*stages).stages for group in stage.groups] == ["g-all", "g"]


@pytest.mark.parametrize(
    ("text", "size", "slots"),
    [
        ("25%", 20, 5),
        ("50%", 8, 4),
        ("25%", 12, 3),
        ("25%", 7, 1),
        ("1%", 10, 1),
        ("100%", 7, 7),
        ("", 7, 1),
        ("3", 7, 3),
    ],
)
def test_concurrency_is_rounded_down_but_never_to_none(text, size, slots):  # D3-79
    made = resolved(UpdateStage(name="s", groups=(UpdateGroup(name="g", max_concurrency=text),)), fleet=sized(size))
    assert made.stages[0].groups[0].max_concurrency == slots


@pytest.mark.parametrize(
    ("text", "size", "allowed"),
    [
        ("25%", 19, 5),
        ("25%", 7, 2),
        ("25%", 12, 3),
        ("25%", 5, 2),
        ("20%", 10, 2),
        ("0%", 9, 0),
        ("", 9, 0),
        ("8", 3, 8),
    ],
)
def test_failures_are_rounded_up(text, size, allowed):  # D3-77, D3-79
    group = UpdateGroup(name="g", max_allowed_failures=text)
    made = resolved(UpdateStage(name="s", groups=(group,), max_allowed_failures=text), fleet=sized(size))
    assert made.stages[0].max_allowed_failures == made.stages[0].groups[0].max_allowed_failures == allowed


def test_percentages_of_a_stage_are_of_all_its_members():
    groups = (UpdateGroup(name="g", max_concurrency="50%"), UpdateGroup(name="h"))
    made = resolved(UpdateStage(name="s", groups=groups, max_concurrency="50%", max_allowed_failures="50%"))
    assert (made.stages[0].max_concurrency, made.stages[0].max_allowed_failures) == (1, 2)


def test_a_stage_has_fifty_slots_and_never_more():  # D3-21
    stage = UpdateStage(name="s", groups=(UpdateGroup(name="g", max_concurrency="100%"),))
    assert resolved(stage, fleet=sized(80)).stages[0].groups[0].max_concurrency == 50
    half = UpdateStage(name="s", groups=(UpdateGroup(name="g"),), max_concurrency="90%")
    assert resolved(half, fleet=sized(80)).stages[0].max_concurrency == 50


def test_a_group_is_cut_to_its_stage_and_its_size():  # D9
    groups = (UpdateGroup(name="g", max_concurrency="2"), UpdateGroup(name="h", max_concurrency="2"))
    made = resolved(UpdateStage(name="s", groups=groups, max_concurrency="67%"), fleet=FLEET[:3])
    assert [group.max_concurrency for group in made.stages[0].groups] == [2, 1]
    (found,) = made.warnings
    assert (found.code, found.path) == ("concurrency-cut", "strategy.stages[0].groups[1].maxConcurrency")
    assert found.message == "2 is cut to 1: 2 slots of the stage, 1 member of the group"


def test_numbers_that_were_warned_of_when_the_strategy_was_read_are_not_again():  # D9
    group = UpdateGroup(name="g", max_concurrency="5", max_allowed_failures="1")
    stage = UpdateStage(name="s", groups=(group,), max_concurrency="2", max_allowed_failures="2")
    assert resolved(stage, fleet=sized(8)).warnings == ()


def test_a_group_stricter_than_its_stage_by_its_size_is_warned_of():  # D7
    groups = (UpdateGroup(name="g", max_allowed_failures="50%"), UpdateGroup(name="h", max_allowed_failures="1"))
    made = resolved(UpdateStage(name="s", groups=groups, max_allowed_failures="60%"), fleet=FLEET[:3])
    assert [found.code for found in made.warnings] == ["group-limit-stricter", "group-limit-stricter"]
    assert [group.max_allowed_failures for group in made.stages[0].groups] == [1, 1]


def test_a_group_may_inherit_the_limit_of_its_stage():  # D7
    group = UpdateGroup(name="g", max_allowed_failures="inherit")
    made = resolved(UpdateStage(name="s", groups=(group,), max_allowed_failures="2"), fleet=FLEET[:2])
    assert (made.stages[0].groups[0].max_allowed_failures, made.warnings) == (2, ())


def test_an_empty_group_is_accepted_with_a_warning():  # D3-17, D17, V17
    made = resolved(UpdateStage(name="s", groups=(UpdateGroup(name="nobody"),)), fleet=())
    assert made.stages[0].groups[0].max_concurrency == 0
    assert [(found.code, found.path) for found in made.warnings] == [("empty-group", "strategy.stages[0].groups[0]")]


def test_no_selector_takes_a_member_whose_labels_nobody_knows():
    """It has no MemberCluster, and may be the very one that the selector is to spare."""
    fleet = (Candidate(name="known"), Candidate(name="lost", labels=None))
    group = UpdateGroup(name="rest", member_selector=label("!fragile"))
    made = resolved(UpdateStage(name="one", groups=(group,)), fleet=fleet)
    assert members(made) == [["known"]] and made.uncovered == ("lost",)


def test_members_that_no_group_takes_are_listed():  # D3-16
    made = resolved(UpdateStage(name="s", groups=(UpdateGroup(name="g"),)))
    assert made.uncovered == ("c", "d")
    assert made.warnings[-1].message == "in no group, not updated: c, d"


def test_overlapping_groups_are_refused_with_every_member():  # D3-14, U17
    stages = (
        UpdateStage(name="s", groups=(UpdateGroup(name="g"), UpdateGroup(name="x", member_selector=label("env=dev")))),
        UpdateStage(name="t", groups=(UpdateGroup(name="y", member_selector=label("gpu")),)),
    )
    with pytest.raises(FleetError) as refused:
        resolved(*stages)
    assert [(problem.code, problem.message) for problem in refused.value.problems] == [
        ("overlapping-groups", "member a is in group g of stage s and in group x of stage s"),
        ("overlapping-groups", "member b is in group g of stage s and in group y of stage t"),
    ]


def test_all_that_is_malformed_at_once():
    stage = UpdateStage(
        name="s",
        member_selector=label("env=="),
        groups=(UpdateGroup(name="g", member_selector=label("in (")), UpdateGroup(name="h", max_concurrency="many")),
        max_allowed_failures="x%",
    )
    with pytest.raises(FleetError) as refused:
        resolved(stage)
    found = [(problem.code, problem.where) for problem in refused.value.problems]
    assert ("invalid-label-selector", "strategy.stages[0].groups[0].memberSelector.byLabel") in found
    assert ("invalid-count-or-percentage", "strategy.stages[0].groups[1].maxConcurrency") in found
    assert ("invalid-count-or-percentage", "strategy.stages[0].maxAllowedFailures") in found


def test_gates_have_ids_that_do_not_change():
    start = ScheduledStartConfiguration(start_day="Friday", start_time="22:00", utc_offset="+02:00")
    gates = (
        GateConfiguration(type="Approval", display_name="go"),
        GateConfiguration(type="ScheduledStart", scheduled_start_configuration=start),
    )
    group = UpdateGroup(name="g", after_gates=gates[:1])
    (stage,) = resolved(UpdateStage(name="s", groups=(group,), before_gates=gates)).stages
    assert [(row.name, row.id) for row in stage.before_gates] == [
        ("go", str(uuid.uuid5(NAMESPACE, f"{UID}/s//Before/0"))),
        ("ScheduledStart", str(uuid.uuid5(NAMESPACE, f"{UID}/s//Before/1"))),
    ]
    assert stage.before_gates[1].schedule == Schedule(day="Friday", time="22:00", utc_offset="+02:00")
    assert stage.groups[0].after_gates[0].id == str(uuid.uuid5(NAMESPACE, f"{UID}/s/g/After/0"))


def test_a_wait_of_no_seconds_is_none():  # D2-03, D3-08
    (stage,) = resolved(UpdateStage(name="s", groups=(UpdateGroup(name="g"),))).stages
    (waiting,) = resolved(
        UpdateStage(name="s", groups=(UpdateGroup(name="g"),), after_stage_wait_in_seconds=600)
    ).stages
    assert stage.wait is None
    assert waiting.wait is not None and waiting.wait.seconds == 600
