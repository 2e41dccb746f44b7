# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import ApplySet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.former_records import (
    Ours,
    is_lost,
    named_apart,
    refuse_mixed,
)


def held(uid: str = "old", resources: tuple[str, str] = ("web-0-snapshot", "r"), policy: str = "p") -> ApplySet:
    snapshot, digest = resources
    return ApplySet(
        placement="web",
        uid=uid,
        generation=1,
        policy_snapshot="web-0",
        policy_hash=policy,
        resource_snapshot=snapshot,
        resource_hash=digest,
    )


def snapshots(**sets: ApplySet) -> dict[str, str]:
    return {name: each.resource_snapshot for name, each in named_apart("web", sets, "p").items()}


def test_two_things_of_one_name_get_two() -> None:
    assert snapshots(a=held(), b=held(resources=("web-0-snapshot", "s"))) == {
        "a": "web-0-snapshot",
        "b": "web-1-snapshot",
    }


def test_one_thing_of_two_names_has_the_later_one() -> None:
    assert set(snapshots(a=held(), b=held(resources=("web-7-snapshot", "r"))).values()) == {"web-7-snapshot"}


def test_names_that_mean_one_thing_stay() -> None:
    sets = {"a": held(), "b": held(resources=("web-1-snapshot", "s"))}
    assert named_apart("web", sets, "p") == sets


def test_of_two_policies_of_one_name_that_of_today_gets_a_new_one() -> None:
    found = named_apart("web", {"a": held(), "b": held(policy="q")}, "q")
    assert {name: each.policy_snapshot for name, each in found.items()} == {"a": "web-0", "b": "web-1"}


def test_who_has_its_new_names_already_changes_none() -> None:
    """A recovery that is killed between two members, and run again, makes the same records."""
    contents, policies = ("c", "b", "a", "d", "a"), ("p", "q", "p", "p", "r")
    first = {
        f"m{place}": held(resources=(f"web-{place // 3}-snapshot", content), policy=policy)
        for place, (content, policy) in enumerate(zip(contents, policies, strict=True))
    }
    named = named_apart("web", first, "p")
    for written in range(2 ** len(first)):
        partly = {name: (named if written >> place & 1 else first)[name] for place, name in enumerate(first)}
        assert named_apart("web", partly, "p") == named


@pytest.mark.parametrize("others", [("web-0",), ("web-3",), ("web-4",), ("web-0", "web-4"), ()])
def test_nor_does_who_has_the_one_name_of_a_policy_that_had_several(others: tuple[str, ...]) -> None:
    first = {f"m{at}": replace(held(), policy_snapshot=f"web-{name}") for at, name in enumerate((0, 2, 3))}
    first |= {f"n{at}": replace(held(policy="q"), policy_snapshot=name) for at, name in enumerate(others)}
    named = named_apart("web", first, "p")
    for written in range(2 ** len(first)):
        partly = {name: (named if written >> place & 1 else first)[name] for place, name in enumerate(first)}
        assert named_apart("web", partly, "p") == named


@pytest.mark.parametrize(
    "claimed",
    [
        "",
        "db-3-snapshot",
        "web",
        "web-0",
        "web-x-snapshot",
        "web-00-snapshot",
        f"web-{'9' * 64}-snapshot",
        "web-999999999-snapshot",
    ],
)
def test_a_member_gives_no_snapshot_a_name_that_is_not_the_placements(claimed: str) -> None:
    """Else it would take another placement's, or one after which none could be counted."""
    sets = {"a": held(resources=(claimed, "s")), "b": held(resources=("web-4-snapshot", "r"))}
    assert snapshots(**sets) == {"a": "web-0-snapshot", "b": "web-4-snapshot"}
    assert snapshots(**{**sets, "b": held()}) == {"a": "web-1-snapshot", "b": "web-0-snapshot"}


@pytest.mark.parametrize("claimed", ["", "db-3", "web-0-snapshot", f"web-{'9' * 64}", "web-999999999"])
def test_nor_one_to_a_policy(claimed: str) -> None:
    found = named_apart("web", {"a": replace(held(), policy_snapshot=claimed)}, "p")
    assert found["a"].policy_snapshot == "web-0"


@pytest.mark.parametrize(
    "ours, uids, lost",
    [
        (Ours(), ["old"], True),
        (Ours(uid="new", bound=True), ["old"], True),
        (Ours(uid="new", bound=True, holds=True), ["new"], False),
        (Ours(uid="new", bound=True, holds=True), ["new", "old"], True),
        (Ours(uid="new", begun=True, bound=True), ["new"], True),
    ],
)
def test_what_is_lost(ours: Ours, uids: list[str], lost: bool) -> None:
    assert is_lost(ours, {f"m{place}": held(uid) for place, uid in enumerate(uids)}) is lost


@pytest.mark.parametrize(
    "ours, uids, former, refused",
    [
        (Ours(), ["old"], [], False),
        (Ours(), ["old", "other"], [], True),
        (Ours(), ["old", "other"], ["old"], False),
        (Ours(uid="new", bound=True), ["old"], [], False),
        (Ours(uid="new", bound=True), ["old", "new"], [], True),
        (Ours(uid="new", bound=True, holds=True), ["old"], [], True),
        (Ours(uid="new", bound=True, holds=True), ["old"], ["old"], False),
        (Ours(uid="new", begun=True, bound=True, holds=True), ["old", "new"], [], False),
    ],
)
def test_what_is_not_taken_together_unasked(ours: Ours, uids: list[str], former: list[str], refused: bool) -> None:
    """One of two records may be another fleet's."""
    sets = {"web": {f"m{place}": held(uid) for place, uid in enumerate(uids)}}
    if not refused:
        refuse_mixed(sets, {"web": ours}, former)
        return
    with pytest.raises(FleetError) as caught:
        refuse_mixed(sets, {"web": ours}, former)
    assert (caught.value.code, caught.value.where) == ("mixed-fleets", "web") and "old" in str(caught.value)
