# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that are evacuated: who leaves, what is told of it, and what a later plan makes of it."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import EVACUATED, with_mark
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import BOUND, UNSCHEDULED
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import Facts
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PRUNE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.waves import waves
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

NAMES = ("a", "b", "c", "d")
ANYTHING = [{"operator": "Exists"}]


def fleet(*evacuated: str, silent: t.Container[str] = ()) -> Facts:
    heard = {True: {"heard": made.SILENT}, False: {}}
    clusters = [made.cluster(name, **heard[name in silent]) for name in NAMES]
    return made.facts(*(with_mark(each, each.name in evacuated) for each in clusters))


@pytest.mark.parametrize(
    ("policy", "then"),
    [
        (made.pick_n(2, tolerations=ANYTHING), {"d": "lost", "c": "kept", "b": "gained"}),
        (made.pick_all(tolerations=ANYTHING), {"a": "kept", "b": "kept", "c": "kept", "d": "lost"}),
        (made.pick_fixed("c", "d"), {"d": "lost", "c": "kept"}),
    ],
)
def test_nothing_tolerates_it(policy: made.Manifest, then: dict[str, str]) -> None:
    known = made.placed(policy, fleet())
    found = made.plan(made.wanted(policy), fleet("d"), known)
    assert {name: change for name, (change, _cause) in made.changes(found).items()} == then
    assert made.changes(found)["d"] == ("lost", "evacuated")
    fresh = made.plan(made.wanted(policy), fleet("d"))
    assert "d" not in made.changes(fresh)


def test_who_is_named_does_not_count_as_a_loss_but_all_of_them_is_none_left() -> None:
    policy = made.pick_all()
    known = made.placed(policy, fleet())
    tripped = {
        names: [each.name for each in made.plan(made.wanted(policy), fleet(*names), known).brakes if each.stops]
        for names in ("abc", "abcd")
    }
    assert tripped == {"abc": [], "abcd": ["allow_empty"]}


def test_who_could_not_be_read_is_left_behind_and_decided_once() -> None:
    """Told apart, and in Markdown, which is approved, among what is deleted."""
    policy = made.pick_n(2)
    known = made.placed(policy, fleet())
    lost = fleet("d", silent="d")
    found = made.plan(made.wanted(policy), lost, known)
    assert made.changes(found)["d"] == ("lost", "left-behind") and found.decides_change
    assert waves(found) == (("b",),), "nobody waits for it, and it waits for nobody"
    text = "\n".join(plan_text(found))
    assert "left behind on d: ConfigMap" in text and "deleted from" not in text
    assert [names for _objects, names in found.objects_going(PRUNE)] == [("d",)]
    assert "ConfigMap" in plans_markdown((found,), found.digest, "f" * 64, ())
    after = made.carried_out(found, known, failing="d")
    assert {each.spec.target_cluster: each.spec.state for each in after.bindings} == {
        "d": UNSCHEDULED,
        "b": BOUND,
        "c": BOUND,
    }
    again = made.plan(made.wanted(policy), lost, after)
    assert made.changes(again)["d"] == ("lost", "left-behind") and not again.decides_change
    back = made.plan(made.wanted(policy), fleet("d"), after)
    assert made.changes(back)["d"] == ("lost", "evacuated") and back.decides_change
    readmitted = made.plan(made.wanted(policy), fleet(), after)
    assert made.changes(readmitted)["d"] == ("lost", "evacuated"), "others have it by now"
    assert made.changes(readmitted)["b"] == made.changes(readmitted)["c"] == ("kept", "unchanged")


def test_a_new_home_for_which_there_is_no_room_is_named_by_the_plan() -> None:
    """What is evacuated would stay where it is, apply after apply."""
    policy = made.pick_n(2)
    wish = made.wanted(policy)
    tight = replace(wish, placement=made.placement(policy, strategy={"rollingUpdate": {"maxSurge": 0}}))
    known = made.placed(policy, fleet())
    found = made.plan(tight, fleet("d"), known)
    (told,) = (each for each in found.findings if each.code == "held-by-limits")
    assert told.message.endswith(
        "nothing change on b while all are available: 2 clusters and 0 more may hold it at once"
    )
    assert told.hint == "give maxSurge room, or empty evacuated clusters first with empty_first"
    assert not [each for each in made.plan(wish, fleet("d"), known).findings if each.code == "held-by-limits"]
    first = made.plan(replace(tight, empty_first=True), fleet("d"), known)
    assert not [each for each in first.findings if each.code == "held-by-limits"]


def test_readmitted_where_it_is_wanted_it_keeps_what_it_has() -> None:
    policy = made.pick_all()
    known = made.placed(policy, fleet())
    after = made.carried_out(made.plan(made.wanted(policy), fleet("a", silent="a"), known), known, failing="a")
    found = made.plan(made.wanted(policy), fleet(), after)
    assert made.changes(found)["a"] == ("kept", "unchanged")
    assert all(EVACUATED not in each.metadata.annotations for each in found.bindings)


def test_a_changed_policy_does_not_keep_it_as_unread() -> None:
    known = made.placed(made.pick_n(2), fleet())
    found = made.plan(made.wanted(made.pick_n(2, tolerations=ANYTHING)), fleet("d", silent="d"), known)
    assert made.changes(found)["d"] == ("lost", "left-behind")


def test_who_is_being_evicted_is_not_told_that_fewer_clusters_are_wanted() -> None:
    """As many are wanted as before; its taint keeps it from being picked again."""
    policy = made.pick_n(2)
    known = made.placed(policy, fleet())
    going = tuple(
        replace(each, spec=replace(each.spec, state=UNSCHEDULED)) if each.spec.target_cluster == "d" else each
        for each in known.bindings
    )
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    tainted = made.facts(*(made.cluster(name, taints=[taint] if name == "d" else []) for name in NAMES))
    found = made.plan(made.wanted(policy), tainted, replace(known, bindings=going))
    (row,) = (each for each in found.clusters if each.change == "lost")
    assert (row.cluster, row.decided) == ("d", True)
    assert row.reason == "an eviction or an earlier run has decided that, and it is not picked again"
    fewer = made.plan(made.wanted(made.pick_n(1)), fleet(), known)
    assert [each.reason for each in fewer.clusters if each.change == "lost"] == [
        "fewer clusters are wanted, and it ranks lowest"
    ]
