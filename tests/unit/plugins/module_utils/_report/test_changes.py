# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A difference shows every object that changes or is new, whoever has told of it: the records or a look."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    NEW,
    ClusterChanges,
    FieldChange,
    ObjectChange,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import (
    CREATE,
    PRUNE,
    UNCHANGED,
    UPDATE,
    MemberStep,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._report.changes import plan_diff
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    EXTRA,
    NAMESPACE,
    OBJECTS,
    facts,
    pick_all,
    placed,
    plan,
    rendered,
    wanted,
)

FIELD = FieldChange(".data.x", "1", "2")
OLD = replace(CONFIG, name="old")


def rows(*steps: MemberStep) -> list[tuple[str, str, str]]:
    """What the difference shows of objects where clusters ``a`` and ``b`` get EXTRA and another CONFIG by the records,
    and the steps are those of a look at ``a``; with none, nobody has looked."""
    fleet = facts("a", "b")
    made = plan(wanted(pick_all(), objects=(*OBJECTS, rendered(EXTRA))), fleet, placed(pick_all(), fleet))
    told = (ObjectChange(id=CONFIG, action=CHANGED, fields=(FIELD,)), ObjectChange(id=EXTRA, action=NEW))
    made = replace(made, changes=(ClusterChanges(clusters=("a", "b"), objects=told),))
    outcomes = {"a": MemberOutcome(cluster="a", steps=steps)} if steps else {}
    _clusters, *found = plan_diff(made, outcomes)
    return [(each["after_header"], each["before"], each["after"]) for each in found]


def both(clusters: str) -> list[tuple[str, str, str]]:
    return [
        (f"web: {CONFIG} on {clusters}", '.data.x: "1"\n', '.data.x: "2"\n'),
        (f"web: {EXTRA} on {clusters}", "", f"{EXTRA}\n"),
    ]


def test_what_a_look_finds_new_is_shown_beside_what_it_finds_changed() -> None:
    changed = MemberStep(id=CONFIG, action=UPDATE, changes=(FIELD,))
    others = (MemberStep(id=NAMESPACE, action=UNCHANGED), MemberStep(id=OLD, action=PRUNE))
    assert rows() == both("a, b")
    assert rows(changed, MemberStep(id=EXTRA, action=CREATE), *others) == [*both("a"), *both("b")]


def test_what_a_look_tells_no_field_of_is_shown_by_the_records() -> None:
    assert rows(MemberStep(id=CONFIG, action=UPDATE), MemberStep(id=EXTRA, action=CREATE)) == both("a, b")
    assert rows(MemberStep(id=CONFIG, action=UNCHANGED)) == both("b"), "there is nothing to be done on a"
