# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a member has to do by type of upgrade; D3-22...D3-27, D3-61, D3-62, D3-94, D3-113, scenarios 13 to 15."""

from __future__ import annotations

import random
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UPGRADE_TYPES
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import Releases
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import (
    CONTROL_PLANE,
    UpgradeTarget,
    UpgradeWork,
    upgrade_work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.versions import (
    reached,
    too_old_for,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.kube_version import KubeVersion
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import Play, played
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.offered import (
    DAY,
    NOW,
    asked,
    cluster,
    deprecated,
    ga,
    known,
    offering,
    place,
    pool,
    preview,
    steps,
)

IMAGES = known(place("*", ga("1.30.1", "1.31.0"), U=["7"]))
TYPES = [("ControlPlaneOnly", "1.31.0"), ("Full", "1.31.0"), ("NodeImageOnly", "")]


def reason(found: UpgradeWork) -> str:
    return (found.skip or found.fail or found.obstacles[0]).reason


def refusal(found: UpgradeWork) -> str:
    assert found.fail and not found.steps
    return found.fail.message


# D3-22, D3-23, D3-24, D3-25: what each type does, in order


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("ControlPlaneOnly", "1.31.0", ["control plane 1.31.0"]),
        ("Full", "1.31.0", ["control plane 1.31.0", "a 1.31.0 7", "b 1.31.0"]),
        ("NodeImageOnly", "", ["a 7"]),
    ],
)
def test_the_steps_of_each_type(kind: str, version: str, expected: list[str]) -> None:
    at = cluster("1.30.1", pool("1.30.1", "5", "a"), pool("1.30.1", "7", "b"))
    assert steps(asked(at, kind, version, IMAGES)) == expected


def test_full_brings_a_pool_with_the_wanted_version_to_the_image() -> None:
    at = cluster("1.31.0", pool("1.31.0", "5", "a"), pool("1.30.1", "7", "b"))
    assert steps(asked(at, "Full", "1.31.0", IMAGES)) == ["a 7", "b 1.31.0"]


# D4, D3-61, D3-62, scenario 14: who has nothing to do


@pytest.mark.parametrize(("kind", "skipped"), [("ControlPlaneOnly", True), ("Full", False)], ids=str)
def test_14_d3_61_a_control_plane_at_the_target_with_old_pools(kind: str, skipped: bool) -> None:
    found = asked(cluster("1.31.0", pool("1.30.1", "7")), kind, "1.31.0", IMAGES)
    assert (found.skip is not None) is skipped
    if skipped:
        assert reason(found) == states.ALREADY_AT_TARGET
    else:
        assert steps(found) == ["p 1.31.0"]


def test_d3_61_old_images_alone_are_work_for_full() -> None:
    assert steps(asked(cluster("1.31.0", pool("1.31.0", "5")), "Full", "1.31.0", IMAGES)) == ["p 7"]


@pytest.mark.parametrize(("kind", "version"), TYPES)
def test_14_d3_62_a_member_that_is_current_is_skipped_by_every_type(kind: str, version: str) -> None:
    found = asked(cluster("1.31.0", pool("1.31.0", "7")), kind, version, IMAGES)
    assert reason(found) == states.ALREADY_AT_TARGET


@pytest.mark.parametrize("kind", ["ControlPlaneOnly", "Full"])
def test_d3_27_a_target_below_is_no_downgrade(kind: str) -> None:  # U19
    found = asked(cluster("1.29.0", pool("1.29.0", "8")), kind, "1.28.3", IMAGES)
    assert found.skip and found.skip.reason == states.ALREADY_AT_TARGET
    assert found.skip.message.startswith("already ahead: 1.29.0 is newer than 1.28.3")


def test_14_as_a_run() -> None:
    at_target = cluster("1.31.0", pool("1.30.1", "7"))
    goals = {kind: UpgradeTarget(type=kind, version=version) for kind, version in TYPES}

    def run(kind: str) -> Play:
        return played("s{g:a}").sees("a", skip=upgrade_work(at_target, goals[kind], IMAGES, NOW).skip).start()

    assert run("ControlPlaneOnly").tree == "K[s K{g K:aK}]"
    assert run("Full").tree == "R[s R{g R:aR}]"
    assert run("Full").ends("a").tree == "C[s C{g C:aC}]"
    assert run("NodeImageOnly").tree == "K[s K{g K:aK}]"


def test_15_all_skipped_climbs_to_the_run() -> None:  # D3-64, D3-65, D3-66
    done = asked(cluster("1.31.0"), "Full", "1.31.0").skip
    run = played("s1(600){g1:a}, s2{g2:b}").sees("a", skip=done).sees("b", skip=done).start()
    assert run.tree == "K[s1 K{g1 K:aK}, s2 K{g2 K:bK}]"
    assert run.state_of_wait() == "K"
    assert run.decided.wake_at is None


# Distances


def test_u20_a_run_by_hand_fails_two_minors_away_and_names_the_path() -> None:
    found = asked(cluster("1.28.9"), "Full", "1.30.5")
    assert found.fail and found.fail.reason == states.PRECONDITION_FAILED
    assert "1.28.9 -> v1.29 -> 1.30.5; a run by hand goes that way with chain: true" in found.fail.message


def test_d3_113_an_automatic_run_skips_it() -> None:
    given = offering("1.28.9", "1.29.9", "1.30.5")
    goal = {"automatic": True, "given": given}
    far = asked(cluster("1.28.9"), "Full", "1.30.5", **goal)
    assert reason(far) == states.MINOR_GAP and far.undone
    assert steps(asked(cluster("1.29.9"), "Full", "1.30.5", **goal)) == ["control plane 1.30.5"]


def test_u20_chain_goes_minor_by_minor_over_the_newest_patches() -> None:
    given = known(place("*", [*ga("1.28.9", "1.29.9", "1.29.10", "1.30.5", "1.31.1"), *preview("1.29.11")]))
    for target, path in (("1.31.1", ["1.29.10", "1.30.5", "1.31.1"]), ("v1.31.1", ["v1.29.10", "v1.30.5", "v1.31.1"])):
        found = asked(cluster("1.28.9"), "ControlPlaneOnly", target, given, chain=True)
        assert steps(found) == [f"control plane {each}" for each in path] and not found.obstacles
    # A target without a patch is the platform's to choose, and so is all before it; so it is where none is known.
    for target, there in (("1.30", given), ("1.30.5", Releases())):
        assert steps(asked(cluster("1.28.9"), "ControlPlaneOnly", target, there, chain=True)) == [
            "control plane 1.29",
            f"control plane {target}",
        ]
    assert steps(asked(cluster("1.29.9"), "ControlPlaneOnly", "1.30.5", chain=True)) == ["control plane 1.30.5"]


def test_u20_a_minor_on_the_way_that_the_location_lacks_is_waited_for() -> None:
    (held,) = asked(cluster("1.28.9"), "Full", "1.30.5", offering("1.28.9", "1.30.5"), chain=True).obstacles
    assert held.reason == states.VERSION_NOT_AVAILABLE and held.message.startswith("1.29 is not available")


def test_u20_d3_113_an_automatic_run_never_chains() -> None:
    found = asked(cluster("1.28.9"), "Full", "1.30.5", offering("1.28.9", "1.30.5"), automatic=True, chain=True)
    assert reason(found) == states.MINOR_GAP


@pytest.mark.parametrize("chain", [False, True])
def test_another_major_is_never_reached(chain: bool) -> None:
    assert reason(asked(cluster("1.30.1"), "Full", "2.40.0", chain=chain)) == states.PRECONDITION_FAILED


# Kubelets against the API server: never newer, at most three minors older


@pytest.mark.parametrize(
    ("kubelet", "server", "too_old"),
    [
        ("1.28.0", "1.31.0", False),
        ("1.27.9", "1.31.0", True),
        ("1.24.0", "1.26.0", False),
        ("1.24.0", "1.27.0", True),
        ("1.25.0", "1.28.0", False),
    ],
)
def test_how_far_kubelets_may_be_behind(kubelet: str, server: str, too_old: bool) -> None:
    assert too_old_for(kubelet, server) is too_old


def test_control_plane_only_fails_where_a_pool_would_be_too_old() -> None:
    found = asked(cluster("1.30.1", pool("1.27.4", name="old")), "ControlPlaneOnly", "1.31.0")
    assert found.fail and found.fail.reason == states.PRECONDITION_FAILED
    assert found.fail.message == (
        "pool old has kubelets of 1.27.4, too old for an API server of 1.31.0; upgrade it before"
    )


def test_full_brings_such_a_pool_up_first() -> None:
    at = cluster("1.30.1", pool("1.27.4", name="old"), pool("1.30.1", name="new"))
    assert steps(asked(at, "Full", "1.31.0")) == ["old 1.30.1", "control plane 1.31.0", "old 1.31.0", "new 1.31.0"]


def test_u20_a_chain_brings_pools_up_on_the_way() -> None:
    at = cluster("1.28.0", pool("1.26.0", name="a"))
    given = offering("1.29.1", "1.30.1", "1.31.0")
    assert steps(asked(at, "Full", "1.31.0", given, chain=True)) == [
        "control plane 1.29.1",
        "a 1.29.1",
        "control plane 1.30.1",
        "control plane 1.31.0",
        "a 1.31.0",
    ]
    # Control planes alone would leave it behind, so that nothing is begun.
    assert "too old for an API server of 1.30.1" in refusal(asked(at, "ControlPlaneOnly", "1.31.0", given, chain=True))


def test_a_pool_that_is_held_and_would_be_too_old_fails_the_member() -> None:
    at = cluster("1.30.1", pool("1.27.4", "7", snapshot=True))
    assert reason(asked(at, "Full", "1.31.0", IMAGES)) == states.PRECONDITION_FAILED


# Support


def test_d3_94_automatic_runs_skip_what_is_out_of_support() -> None:
    given = offering("1.30.9", "1.31.9", "1.32.9", "1.33.1")
    found = asked(cluster("1.30.1"), "Full", "1.32.9", given, automatic=True)
    assert found.skip and found.skip.reason == states.OUT_OF_SUPPORT
    assert found.skip.message == "1.30.1 is out of support: 1.31 to 1.33 are in it"
    assert reason(asked(cluster("1.30.1"), "Full", "1.32.9", given)) == states.PRECONDITION_FAILED, "by hand"


def test_d3_107_image_updates_on_deprecated_patches_of_a_supported_minor() -> None:
    versions = [*ga("1.31.1", "1.30.5", "1.29.9"), *deprecated("1.29.2", "1.28.1")]
    given = known(place("*", versions, U=["7"]))
    on = {"given": given, "automatic": True}
    assert steps(asked(cluster("1.29.2", pool("1.29.2", "5")), "NodeImageOnly", **on)) == ["p 7"]
    assert reason(asked(cluster("1.28.1", pool("1.28.1", "5")), "NodeImageOnly", **on)) == states.OUT_OF_SUPPORT


def test_long_term_support() -> None:
    """Older minors get patches; a member without it fails the run at that member."""
    given = offering("1.28.9", "1.31.0", "1.32.0", "1.33.0")
    goal = {"given": given, "automatic": True, "long_term_support": True}
    assert steps(asked(cluster("1.28.1", long_term_support=True), "Full", "1.28.9", **goal)) == ["control plane 1.28.9"]
    found = asked(cluster("1.28.1"), "Full", "1.28.9", **goal)
    assert found.fail and "long-term support" in found.fail.message
    images = known(place("*", ga("1.33.0", "1.32.0", "1.31.0"), U=["7"]))
    old = cluster("1.28.1", pool("1.28.1", "5"), long_term_support=True)
    assert steps(asked(old, "NodeImageOnly", given=images, automatic=True)) == ["p 7"]


# Availability by region


def test_13_d3_49_a_version_that_one_region_lacks() -> None:
    here, there = place("r2", ga("1.34.5")), place("r1", ga("1.34.1"))
    a, b = (cluster("1.34.0", name=name, location=where) for name, where in (("a", "r1"), ("b", "r2")))
    goal = UpgradeTarget(type="ControlPlaneOnly", version="1.34.5")
    run = played("s{g:a,b}")
    for each in (a, b):
        run.sees(each.name, obstacles=upgrade_work(each, goal, known(here, there), NOW).obstacles)
    run.start()
    assert run.tree == "R[s R{g R:aP bR}]"
    assert run.member("a").reason == states.VERSION_NOT_AVAILABLE
    assert "1.34.5 is not available in r1" in run.member("a").message
    assert run.ends("b").tree == "P[s P{g P:aP bC}]"
    gained = known(here, place("r1", ga("1.34.1", "1.34.5")))
    run.sees("a", obstacles=upgrade_work(a, goal, gained, NOW).obstacles)
    assert run.tree == "R[s R{g R:aR bC}]"


def test_a_version_that_a_pool_needs_must_be_there_too() -> None:
    at = cluster("1.31.0", pool("1.30.1"), location="r1")
    (held,) = asked(at, "Full", "1.31.0", known(place("r1"))).obstacles
    assert held.reason == states.VERSION_NOT_AVAILABLE
    assert asked(cluster("1.31.0", location="r1"), "ControlPlaneOnly", "1.31.0", known(place("r1"))).skip


def test_an_announced_version_wakes_the_run() -> None:
    given = known(place("*", ga("1.31.0", availableFrom=(NOW + DAY).isoformat())))
    found = asked(cluster("1.30.1"), "Full", "1.31.0", given)
    run = played("s{g:m}").sees("m", obstacles=found.obstacles).start()
    assert run.decided.wake_at == NOW + DAY


def test_the_view_of_a_member() -> None:
    view = asked(cluster("1.28.9"), "Full", "1.30.5").view("m")
    assert view.fail and view.skip is None and view.name == "m"


def test_a_version_that_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        asked(cluster("unknown"), "Full", "1.30.5")


# Rules that hold for any member


@pytest.mark.parametrize("seed", range(200))
def test_any_member(seed: int) -> None:
    draw = random.Random(seed)

    def version(low: int, high: int) -> str:
        return f"1.{draw.randint(low, high)}.{draw.randint(0, 3)}"

    at = version(24, 32)
    minor = KubeVersion.parse(at).minor
    pools = [pool(version(minor - 3, minor - 1), str(draw.randint(1, 9)), name) for name in "abc"[: draw.randint(0, 3)]]
    kind: str = draw.choice(UPGRADE_TYPES)
    wanted = "" if kind == "NodeImageOnly" else version(24, 34)
    options: dict[str, t.Any] = {"automatic": draw.random() < 0.4, "chain": draw.random() < 0.4}
    found = asked(cluster(at, *pools), kind, wanted, known(place("*", U=["5"])), **options)
    assert not (found.skip and found.fail)
    assert bool(found.steps) is not bool(found.skip or found.fail), "either something to do, or a reason"
    server, kubelets, images = at, {each.name: each.version for each in pools}, {e.name: e.image for e in pools}
    for step in found.steps:
        if step.what == CONTROL_PLANE:
            assert 0 <= KubeVersion.parse(server).minor_distance(KubeVersion.parse(step.version)) <= 1
            assert step.version == wanted or options["chain"]
            server = step.version
            assert not any(too_old_for(each, server) for each in kubelets.values())
        if step.version and step.what != CONTROL_PLANE:
            assert reached(server, step.version), "kubelets are never newer"
            assert not reached(kubelets[step.pool], step.version), "nothing goes back"
            kubelets[step.pool] = step.version
        if step.image:
            assert int(images[step.pool]) < int(step.image)
            images[step.pool] = step.image
    if found.steps and kind == "Full":
        assert reached(server, wanted) and all(reached(each, wanted) for each in kubelets.values())
