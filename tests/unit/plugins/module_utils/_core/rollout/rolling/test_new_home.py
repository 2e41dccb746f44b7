# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An evacuated cluster is emptied once what it holds is available in its new home, and not before."""

from __future__ import annotations

import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import EVACUATED
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import INSTEAD_OF
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    DOWN,
    FAILED,
    NEW,
    NOW,
    READY,
    Manifest,
    actions,
    decide,
    held,
    pick_n,
    reasons,
)
from hypothesis import given
from hypothesis import strategies as st

ALL: Manifest = {"placementType": "PickAll"}
FIXED: Manifest = {"placementType": "PickFixed", "clusterNames": ["a", "b"]}


def staying(names: str, *conditions: Manifest) -> list[RolloutBinding]:
    return [held(name, *(conditions or (READY,)), content=NEW) for name in names]


def evacuated(names: str, *conditions: Manifest, **more: t.Any) -> list[RolloutBinding]:
    marks = {EVACUATED: "true"}
    found = conditions or (READY,)
    return [held(name, *found, state="Unscheduled", content=NEW, annotations=marks, **more) for name in names]


def home(name: str, instead_of: str, *conditions: Manifest, **more: t.Any) -> RolloutBinding:
    return held(name, *conditions, annotations={INSTEAD_OF: instead_of}, **({"content": NEW} | more))


def test_it_waits_for_its_new_home_whatever_the_budget_says() -> None:
    coming = home("n", "e", state="Scheduled", content="")
    out = decide(pick_n(3), *staying("ab"), *evacuated("e"), coming, rolling={"maxUnavailable": 3})
    assert actions(out)["n"] == "bind" and "e" not in actions(out)
    assert reasons(out)["e"] == "new-home"
    (wait,) = (each for each in out.state.report.waits if each.cluster == "e")
    assert wait.blockers == ("n",) and "new home n" in wait.message


@pytest.mark.parametrize("conditions", [(), (DOWN,), (FAILED,)])
def test_it_goes_when_that_has_it(conditions: tuple[Manifest, ...]) -> None:
    late = decide(pick_n(3), *staying("ab"), *evacuated("e"), home("n", "e", *conditions))
    assert "e" not in actions(late) and reasons(late)["e"] == "new-home"
    done = decide(pick_n(3), *staying("ab"), *evacuated("e"), home("n", "e", READY), rolling={"maxUnavailable": 0})
    assert actions(done)["e"] == "remove"


def test_a_broken_cluster_that_is_no_new_home_holds_nobody_back() -> None:
    out = decide(pick_n(3), *staying("a"), *staying("b", DOWN), *evacuated("e"), home("n", "e", READY))
    assert actions(out)["e"] == "remove"


def test_what_is_down_there_is_kept_too() -> None:
    """It may be half of its replicas that still serve."""
    out = decide(pick_n(1), *evacuated("e", DOWN), home("n", "e", DOWN))
    assert "e" not in actions(out)


def test_where_nothing_was_ever_put_nothing_is_kept() -> None:
    empty = held("e", state="Unscheduled", content="", annotations={EVACUATED: "true"})
    assert actions(decide(pick_n(1), empty, home("n", "e", DOWN)))["e"] == "remove"


def test_a_new_home_that_is_yet_to_be_updated_does_not_count() -> None:
    out = decide(pick_n(1), *evacuated("e"), home("n", "e", READY, content="web-0-snapshot"))
    assert actions(out)["n"] == "update" and "e" not in actions(out)


def test_empty_first_goes_by_the_budget_alone() -> None:
    coming = home("n", "e", state="Scheduled", content="")
    out = decide(pick_n(3), *staying("ab"), *evacuated("e"), coming, empty_first=True)
    assert actions(out)["e"] == "remove"
    out = decide(pick_n(3), *staying("ab"), *evacuated("e"), coming, empty_first=True, rolling={"maxUnavailable": 0})
    assert "e" not in actions(out) and reasons(out)["e"] == "max-unavailable"


def test_upstream_knows_nothing_of_it() -> None:
    coming = home("n", "e", state="Scheduled", content="")
    assert actions(decide(pick_n(3), *staying("ab"), *evacuated("e"), coming, upstream=True))["e"] == "remove"


@pytest.mark.parametrize(("policy", "short"), [(pick_n(2), "1 of 2"), (FIXED, "1 of 2"), (ALL, "")])
def test_without_a_new_home_it_stays_while_clusters_are_missing(policy: Manifest, short: str) -> None:
    out = decide(policy, *staying("a"), *evacuated("b"))
    if not short:
        assert actions(out)["b"] == "remove"
        return
    (wait,) = out.state.report.waits
    assert (wait.cluster, wait.reason, wait.blockers) == ("b", "no-new-home", ())
    assert short in wait.message and "empty_first: true" in wait.message
    assert out.wake_at is None, "nothing within this run could help"
    assert actions(decide(policy, *staying("a"), *evacuated("b"), empty_first=True))["b"] == "remove"


def test_fewer_wanted_clusters_need_fewer_new_homes() -> None:
    out = decide(pick_n(2), *staying("a"), *evacuated("ef"), home("n", "e", DOWN), rolling={"maxUnavailable": 2})
    assert actions(out)["f"] == "remove" and reasons(out)["e"] == "new-home"


def test_under_pick_all_it_is_never_the_last_that_has_it() -> None:
    out = decide(ALL, *staying("a", DOWN), *evacuated("ef"), rolling={"maxUnavailable": "100%"})
    assert [each.cluster for each in out.acts if each.action == "remove"] == ["e"]
    (wait,) = (each for each in out.state.report.waits if each.cluster == "f")
    assert (wait.reason, wait.blockers) == ("new-home", ("a",))


def test_where_none_is_known_to_have_it_each_may_be_the_last() -> None:
    """What was written there last may have become available since, or nowhere at all."""
    out = decide(ALL, *staying("a", DOWN), *evacuated("ef", DOWN), rolling={"maxUnavailable": "100%"})
    assert not [each for each in out.acts if each.action == "remove"]
    assert {each.cluster: each.blockers for each in out.state.report.waits if each.wants} == {"e": ("a",), "f": ("a",)}
    known = decide(ALL, *staying("a", DOWN), *evacuated("e"), *evacuated("f", DOWN), rolling={"maxUnavailable": "100%"})
    assert [each.cluster for each in known.acts if each.action == "remove"] == ["f"]


def test_nobody_waits_for_or_with_the_dead() -> None:
    dead = {"e": "no answer"}
    out = decide(pick_n(3), *staying("ab"), *evacuated("ef"), home("n", "f", READY), out_of_reach=dead)
    assert actions(out)["f"] == "remove" and reasons(out) == {"e": "out-of-reach"}
    silent = decide(pick_n(1), *evacuated("e"), home("n", "e", READY), out_of_reach={"n": "no answer"})
    assert reasons(silent)["e"] == "new-home", "what nobody can look at is not known to be available"


def test_where_no_cluster_is_left_over_nothing_is_waited_for() -> None:
    """That the placement may end nowhere was said with allow_empty."""
    assert actions(decide(ALL, *evacuated("ab"), rolling={"maxUnavailable": "100%"}))["a"] == "remove"
    out = decide(FIXED, *evacuated("ab"), rolling={"maxUnavailable": 1})
    assert actions(out) == {"a": "remove"} and reasons(out) == {"b": "max-unavailable"}


def test_no_surge_leaves_no_room_and_says_so() -> None:
    coming = home("n", "e", state="Scheduled", content="")
    out = decide(pick_n(2), *staying("a"), *evacuated("e"), coming, rolling={"maxSurge": 0})
    (wait,) = (each for each in out.state.report.waits if each.cluster == "e")
    assert wait.reason == "no-room-for-new-home" and "maxSurge 0" in wait.message
    assert actions(out)["n"] == "hold" and "e" not in actions(out)


@pytest.mark.parametrize(("wanted", "leaving"), [(2, evacuated("e", FAILED)), (3, evacuated("e"))])
def test_without_surge_there_is_room_where_a_cluster_failed_or_is_lacking(
    wanted: int, leaving: list[RolloutBinding]
) -> None:
    """The new home is begun now, and nobody is told to make room for it."""
    coming = home("n", "e", state="Scheduled", content="")
    out = decide(pick_n(wanted), *staying("a"), *leaving, coming, rolling={"maxSurge": 0})
    assert actions(out)["n"] == "bind" and reasons(out)["e"] == "new-home"


@given(
    leaving=st.integers(1, 5),
    others=st.integers(0, 4),
    unavailable=st.sampled_from([1, 2, "25%", "100%"]),
    surge=st.sampled_from([1, 2, "25%", "100%"]),
    data=st.data(),
)
def test_every_course_ends_and_nobody_is_emptied_too_early(
    leaving: int, others: int, unavailable: int | str, surge: int | str, data: st.DataObject
) -> None:
    """With new homes that become available in any order, however many of them at once."""
    old, new = "abcde"[:leaving], "nopqr"[:leaving]
    replaced = data.draw(st.integers(0, leaving), label="new homes")
    wanted = others + replaced
    pairs = dict(zip(new[:replaced], old, strict=False))
    bindings = [*staying("uvwx"[:others]), *evacuated(old)]
    bindings += [home(name, at, state="Scheduled", content="") for name, at in pairs.items()]
    now, rolling = NOW, {"maxUnavailable": unavailable, "maxSurge": surge}
    for _round in range(60):
        now += timedelta(minutes=1)
        out = decide(pick_n(wanted), *bindings, rolling=rolling, now=now)
        emptied = {each.cluster for each in out.acts if each.action == "remove"}
        available = {each.cluster for each in bindings if _available(each)}
        assert all(home in available for home, at in pairs.items() if at in emptied)
        assert not wanted or available - emptied, "it is nowhere"
        bindings = [each for each in out.state.bindings if not each.deleting]
        late = [each for each in bindings if each.state == "Bound" and not _available(each)]
        ready = data.draw(st.sets(st.sampled_from([each.name for each in late]), min_size=1)) if late else set()
        bindings = [_ready(each) if each.name in ready else each for each in bindings]
        if not late and not emptied and "bind" not in actions(out).values():
            break
    assert sorted(each.cluster for each in bindings) == sorted([*"uvwx"[:others], *pairs])


def _available(each: RolloutBinding) -> bool:
    return any(
        one.type == "Available" and one.observed_generation == each.binding.metadata.generation
        for one in each.binding.status.conditions
    )


def _ready(each: RolloutBinding) -> RolloutBinding:
    metadata = each.binding.metadata
    said = READY | {"observedGeneration": metadata.generation}
    fresh = held(each.cluster, said, content=NEW, annotations=dict(metadata.annotations))
    object.__setattr__(fresh.binding.metadata, "generation", metadata.generation)
    return fresh
