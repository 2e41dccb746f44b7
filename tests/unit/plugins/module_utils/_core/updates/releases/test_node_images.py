# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node image selections; D3-28...D3-35, D3-50, D3-109, D3-110, scenario 16."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import (
    Pool,
    cluster_of,
    common_images,
    images_without_pool,
    node_images,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import Releases
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import (
    UpgradeTarget,
    fixed_images,
    target_of,
    upgrade_work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.data.manifest_parts import member
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run, with_status
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import played
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.offered import (
    DAY,
    NOW,
    asked,
    cluster,
    known,
    place,
    pool,
    steps,
)

TWO = known(place("A", U=["2021.10.12"]), place("B", U=["2021.10.12", "2021.10.17"]))
A = cluster("1.30.1", pool(image="2021.9.1"), name="a", location="A")
B = cluster("1.30.1", pool(image="2021.9.1"), name="b", location="B")
ONLY = "NodeImageOnly"


def test_16_consistent_and_latest() -> None:  # D3-32, D3-33, D3-89
    images = common_images([A, B], TWO, NOW)
    assert images == {"U": "2021.10.12"}
    assert steps(asked(A, ONLY, given=TWO, selection="Consistent", images=images)) == ["p 2021.10.12"]
    assert steps(asked(B, ONLY, given=TWO, selection="Consistent", images=images)) == ["p 2021.10.12"]
    assert steps(asked(A, ONLY, given=TWO)) == ["p 2021.10.12"]
    assert steps(asked(B, ONLY, given=TWO)) == ["p 2021.10.17"]


def test_a_cluster_has_each_image_once_that_is_known() -> None:
    pools = tuple(Pool(name=each, family="U", image="2021.10.12") for each in "ab")
    others = (Pool(name="c", family="A", image="2"), Pool(name="d", family="W"), Pool(name="e"))
    assert node_images(replace(A, pools=(*pools, *others))) == ("A-2", "U-2021.10.12")


@pytest.mark.parametrize("kind", ["NodeImageOnly", "Full"])
def test_16_d3_63_a_pool_of_an_unknown_family_added_after_the_start(kind: str) -> None:
    images = common_images([A, B], TWO, NOW)
    grown = replace(B, pools=(*B.pools, pool(name="new", family="V")))
    version = "1.30.1" if kind == "Full" else ""
    held = asked(grown, kind, version, TWO, selection="Consistent", images=images)
    assert held.skip and held.skip.reason == states.IMAGE_MISSING_FOR_POOL
    assert "pool new" in held.skip.message
    free = asked(grown, ONLY, given=TWO)
    assert free.skip is None and steps(free) == ["p 2021.10.17"]
    assert free.left_out == ("pool new: V is in no catalogue",)


def test_16_as_a_run() -> None:
    images = common_images([A, B], TWO, NOW)
    goal = UpgradeTarget(type=ONLY, selection="Consistent", images=images)
    grown = replace(B, pools=(*B.pools, pool(name="new", family="V")))
    run = played("s{g:a,b}")
    run.sees("a", skip=upgrade_work(A, goal, TWO, NOW).skip).start()
    run.sees("b", skip=upgrade_work(grown, goal, TWO, NOW).skip)
    assert run.ends("a").tree == "C[s C{g C:aC bK}]"


def test_d3_31_latest_looks_when_the_members_turn_comes() -> None:
    """An image published between two starts reaches only the second."""
    coming = {"version": "2", "availableFrom": "2026-08-18T00:00:00Z"}
    found = known(place("*", U=["1", coming]))
    at = cluster("1.30.1", pool(image="0"))
    goal = UpgradeTarget(type=ONLY)
    assert steps(upgrade_work(at, goal, found, NOW)) == ["p 1"]
    assert steps(upgrade_work(at, goal, found, NOW + DAY)) == ["p 2"]


def test_d3_34_consistent_stays_fixed_for_the_run() -> None:
    before = known(place("*", U=["1"]))
    after = known(place("*", U=["1", "2"]))
    at = cluster("1.30.1", pool(image="0"))
    run = read(update_run({"type": ONLY}, {"type": "Consistent"})).object
    fixed = fixed_images(run, [at], before, NOW)
    assert fixed and [each.version for each in fixed.selected_node_image_versions] == ["U-1"]
    started = replace(run, status=replace(run.status, node_image_selection=fixed))
    assert steps(upgrade_work(at, target_of(started), after, NOW)) == ["p 1"]


def test_images_are_recorded_for_consistent_and_custom_alone() -> None:  # D11
    named = {"type": "Custom", "customNodeImageVersions": [{"version": "W-22-7"}]}
    custom = read(update_run({"type": ONLY}, named)).object
    fixed = fixed_images(custom, [A], TWO, NOW)
    assert fixed and [each.version for each in fixed.selected_node_image_versions] == ["W-22-7"]
    assert fixed_images(read(update_run({"type": ONLY})).object, [A], TWO, NOW) is None


def test_a_family_without_a_common_image_is_left_out() -> None:
    apart = known(place("A", U=["1"], W=["5"]), place("B", U=["2"], W=["5"]))
    windows = pool(name="w", family="W")
    found = common_images([replace(A, pools=(*A.pools, windows)), B], apart, NOW)
    assert found == {"W": "5"}


def test_d3_109_d3_110_each_system_has_its_own_family() -> None:
    windows = "AKSWindows-2022-containerd"
    found = known(
        place(
            "*",
            **{windows: ["20348.2582.240716", "20348.2582.240916"], "AKSUbuntu-2204": ["202408.27.0", "202409.09.0"]},
        )
    )
    document = member({"inCluster": True})
    document["status"] = {
        "version": "1.29.9",
        "nodePools": [
            {"name": "win", "count": 1, "image": f"{windows}-20348.2582.240716"},
            {"name": "lin", "count": 1, "image": "AKSUbuntu-2204-202408.27.0"},
        ],
    }
    at = cluster_of(read(document).object)
    assert steps(asked(at, ONLY, given=found)) == ["win 20348.2582.240916", "lin 202409.09.0"]


def test_d3_35_why_each_pool_gets_its_image() -> None:
    images = common_images([A, B], TWO, NOW)
    (latest,) = asked(B, ONLY, given=TWO).steps
    (common,) = asked(B, ONLY, given=TWO, selection="Consistent", images=images).steps
    assert latest.why == "newest of U in B"
    assert common.why == "newest of U that all members can have"


# Never backwards


@pytest.mark.parametrize(("image", "word"), [("2021.10.12", "at"), ("2021.10.17", "at U-2021.10.17, ahead of")])
def test_14_a_pool_at_or_ahead_is_left_out(image: str, word: str) -> None:
    at = cluster("1.30.1", pool(image=image), location="A")
    found = asked(at, ONLY, given=TWO, selection="Consistent", images={"U": "2021.10.12"})
    assert found.skip and found.skip.reason == states.ALREADY_AT_TARGET
    assert f"pool p is {word} 2021.10.12" in found.skip.message


def test_a_member_whose_pools_are_partly_current_runs_and_tells() -> None:
    at = cluster("1.30.1", pool(image="2021.10.12", name="old"), pool(image="1", name="older"), location="A")
    found = asked(at, ONLY, given=TWO)
    assert steps(found) == ["older 2021.10.12"]
    assert found.left_out == ("pool old is at 2021.10.12: newest of U in A",)


@pytest.mark.parametrize("selection", ["Latest", "Consistent"])
@pytest.mark.parametrize(
    ("provider", "words"),
    [("", "and the cluster has none (join it with provider and location)"), ("here", "and the cluster of here")],
)
def test_why_no_catalogue_tells_of_a_pool(selection: str, provider: str, words: str) -> None:
    at = cluster("1.30.1", pool(image="1"), provider=provider)
    found = asked(at, ONLY, given=known(place("*", U=["2"]), provider="local"), selection=selection)
    assert found.skip and found.skip.reason == states.IMAGE_MISSING_FOR_POOL
    told = "release catalogue public, https://releases.example is of provider local"
    assert found.skip.message == f"pool p: {told}, {words}"
    fixed = asked(
        at, ONLY, given=known(place("*", U=["2"]), provider="local"), selection="Consistent", images={"V": "3"}
    )
    assert fixed.skip and fixed.skip.message == found.skip.message, "images of others were fixed"
    without = asked(at, ONLY, selection=selection).skip
    assert without and without.message == "pool p: no catalogue tells of its images"


def test_custom_leaves_other_families_alone() -> None:
    at = cluster("1.30.1", pool(image="1"), pool(image="1", name="other", family="V"), location="B")
    found = asked(at, ONLY, given=TWO, selection="Custom", images={"U": "2021.10.12"})
    assert steps(found) == ["p 2021.10.12"]
    assert found.left_out == ("pool other: no image of its family is named",)


def test_an_image_is_of_no_pool_if_no_pool_has_one_of_its_family() -> None:
    named = ["U-2", "UX-2"]
    assert images_without_pool(named, [A, B]) == (("UX-2",), ("U",))
    assert images_without_pool(named, [replace(A, pools=(*A.pools, Pool(name="fresh")))]) == ((), ())
    assert images_without_pool(named, [replace(A, pools=())]) == ((), ())


def test_pools_with_a_snapshot() -> None:
    """Latest leaves them alone; the others upgrade them, and the reference goes."""
    at = cluster("1.30.1", pool("1.29.1", "1", snapshot=True), location="A")
    for kind, version in ((ONLY, ""), ("Full", "1.30.1")):
        held = asked(at, kind, version, TWO)
        assert held.skip and "held by its snapshot" in held.skip.message
    for selection in ("Consistent", "Custom"):
        (step,) = asked(at, ONLY, given=TWO, selection=selection, images={"U": "2021.10.12"}).steps
        assert (step.image, step.drops_snapshot) == ("2021.10.12", True)


# Images that cannot be had


def test_d3_50_an_image_that_the_region_does_not_have_yet() -> None:
    found = asked(A, ONLY, given=TWO, selection="Custom", images={"U": "2021.10.17"})
    (held,) = found.obstacles
    assert held.reason == states.IMAGE_NOT_AVAILABLE  # D3-51
    assert held.message == ("U-2021.10.17 is not available in A (release catalogue public, https://releases.example)")
    soon = known(place("A", U=[{"version": "2021.10.17", "availableFrom": "2026-08-20T00:00:00Z"}]))
    (held,) = asked(A, ONLY, given=soon, selection="Custom", images={"U": "2021.10.17"}).obstacles
    assert held.until == NOW + 3 * DAY


def test_latest_waits_for_a_family_that_only_other_regions_have() -> None:
    far = replace(A, location="C")
    (held,) = asked(far, ONLY, given=known(place("B", U=["1"]), place("C"))).obstacles
    assert held.reason == states.IMAGE_NOT_AVAILABLE
    assert "no image of U is available in C" in held.message


def test_an_image_that_was_withdrawn_since() -> None:
    gone = known(place("A", U=[{"version": "2021.10.12", "status": "withdrawn"}]))
    (held,) = asked(A, ONLY, given=gone, selection="Consistent", images={"U": "2021.10.12"}).obstacles
    assert held.reason == states.IMAGE_NOT_AVAILABLE


@pytest.mark.parametrize(("days", "expired"), [(90, False), (91, True)])
def test_a_fixed_image_expires(days: int, expired: bool) -> None:  # U30
    published = (NOW - days * DAY).isoformat()
    found = known(place("*", U=[{"version": "2", "publishedAt": published}]))
    at = cluster("1.30.1", pool(image="1"))
    held = asked(at, ONLY, given=found, selection="Consistent", images={"U": "2"}).obstacles
    assert [each.reason for each in held] == ([states.IMAGE_EXPIRED] if expired else [])
    if expired:
        assert "a new run is needed" in held[0].message
    assert asked(at, ONLY, given=found).obstacles == (), "Latest takes what there is"


def test_of_each_pool_that_stays_it_is_said_why() -> None:
    """Of one that waits for its image the obstacle tells; of one without any what has its member skipped."""
    given = known(place("A", U=["2"]), place("B", W=["2"]))
    pools = pool("1.30.1", "1"), pool("1.30.1", "2", name="q", family="W")
    waits = asked(cluster("1.30.1", *pools, location="B"), ONLY, given=given)
    assert waits.obstacles and waits.left_out == ("pool q is at 2: newest of W in B",)
    skipped = asked(
        cluster("1.30.1", *pools, location="B"), ONLY, given=given, selection="Consistent", images={"W": "2"}
    )
    assert skipped.skip and skipped.left_out == (
        "pool p: no image of U was fixed for the run",
        "pool q is at 2: newest of W that all members can have",
    )


def test_an_image_of_the_last_day_raises_nothing() -> None:
    found = known(place("*", U=[{"version": "2", "publishedAt": "9999-12-31T00:00:00Z"}]))
    at = cluster("1.30.1", pool(image="1"))
    assert asked(at, ONLY, given=found, selection="Consistent", images={"U": "2"}).obstacles == ()


def test_where_nothing_is_known_of_images() -> None:
    at = cluster("1.30.1", pool("1.30.1", family=""))
    found = asked(at, ONLY)
    assert found.skip and found.skip.reason == states.IMAGE_MISSING_FOR_POOL, "that is not the same as current"
    assert steps(asked(at, "Full", "1.31.0", selection="Consistent")) == ["control plane 1.31.0", "p 1.31.0"]
    assert common_images([at], Releases(), NOW) == {}


def test_d3_28_the_selection_of_a_run() -> None:
    run = read(update_run({"type": ONLY}, {"type": "Custom", "customNodeImageVersions": [{"version": "U-1.2"}]})).object
    assert target_of(run).images == {"U": "1.2"}
    document = with_status(update_run(autoUpgradeProfileId="stable"), targetVersion="1.34.5")
    goal = target_of(read(document).object)
    assert (goal.type, goal.version, goal.selection, goal.automatic) == ("Full", "1.34.5", "Latest", True)
