# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import common_images
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import (
    CONTROL_PLANE,
    UpgradeStep,
    UpgradeTarget,
    UpgradeWork,
    upgrade_work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.upgrade_plan_text import upgrade_plan_text
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.offered import (
    NOW,
    cluster,
    ga,
    known,
    place,
    pool,
)

GIVEN = known(place("A", ga("1.30.5"), U=["12"]), place("B", ga("1.30.5"), U=["12", "17"]))
FLEET = tuple(cluster("1.30.1", pool("1.30.1", image="9"), name=name, location=name.upper()) for name in ("a", "b"))
IMAGES = UpgradeTarget(type="NodeImageOnly")


def lines(target: UpgradeTarget, *fleet: t.Any, **more: t.Any) -> list[str]:
    works = {each.name: upgrade_work(each, target, GIVEN, NOW) for each in fleet or FLEET}
    found = upgrade_plan_text(target, works, **more)
    assert all(len(line) <= 80 for line in found)
    return [" ".join(line.split()) for line in found]


def test_either_selection_says_which_image_each_pool_gets_and_why_d3_35() -> None:
    assert lines(IMAGES) == [
        "NodeImageOnly to newer node images, images: Latest",
        "MEMBER WHAT BECOMES WHY",
        "a pool p image 9 -> 12 newest of U in A",
        "b pool p image 9 -> 17 newest of U in B",
    ]
    consistent = replace(IMAGES, selection="Consistent", images=common_images(FLEET, GIVEN, NOW))
    assert lines(consistent)[2:] == [
        "a pool p image 9 -> 12 newest of U that all members can have",
        "b pool p image 9 -> 12 newest of U that all members can have",
    ]


def test_versions_of_control_planes_and_pools_and_what_is_skipped() -> None:
    done = cluster("1.30.5", pool("1.30.5", image="17"), name="done", location="B")
    found = lines(UpgradeTarget(type="Full", version="1.30.5"), FLEET[0], done)
    assert found[0] == "Full to 1.30.5, images: Latest"
    assert found[2].startswith("a control plane 1.30.1 -> 1.30.5")
    assert found[3].startswith("a pool p 1.30.1 -> 1.30.5, image 9 -> 12")
    assert any(line.startswith("done is skipped AlreadyAtTarget") for line in found)


def test_a_run_of_control_planes_speaks_of_no_images() -> None:
    step = UpgradeStep(what=CONTROL_PLANE, version="1.30.5", from_version="1.30.1")
    target = UpgradeTarget(type="ControlPlaneOnly", version="1.30.5")
    told = [" ".join(line.split()) for line in upgrade_plan_text(target, {"a": UpgradeWork(steps=(step,))})]
    assert told == ["ControlPlaneOnly to 1.30.5", "MEMBER WHAT BECOMES WHY", "a control plane 1.30.1 -> 1.30.5"]


def test_an_image_that_is_not_known_has_no_arrow() -> None:
    assert lines(IMAGES, cluster("1.30.1", pool("1.30.1"), location="A"))[2:] == ["m pool p image 12 newest of U in A"]


def test_what_several_members_are_left_alone_for_is_said_at_the_first_of_them() -> None:
    ahead = [cluster("1.30.1", pool("1.30.1", image="18"), name=name, location="B") for name in ("c", "d")]
    other = cluster("1.30.1", pool("1.30.1", image="17"), name="e", location="B")
    text = " ".join(lines(IMAGES, *ahead, other)[2:])
    assert text.count("pool p is at U-18, ahead of 17: newest of U in B") == 1
    assert "d is skipped as c e is skipped AlreadyAtTarget: pool p is at 17" in text


def test_it_is_told_where_no_cluster_would_be_upgraded() -> None:
    ahead = [cluster("1.30.1", pool("1.30.1", image="18"), name=name, location="B") for name in ("c", "d")]
    works = {each.name: upgrade_work(each, IMAGES, GIVEN, NOW) for each in ahead}
    told = "  note: no cluster would be upgraded; skipped or failed would be 2"
    assert upgrade_plan_text(IMAGES, works)[-1] == told
    assert not [line for line in lines(IMAGES, *FLEET, *ahead) if "no cluster" in line], "others would be"
    assert not [line for line in upgrade_plan_text(IMAGES, {}) if "no cluster" in line]


def test_u20_every_step_of_a_chain_as_the_documentation_shows_it() -> None:
    far = cluster("1.33.2", pool("1.31.0", name="old"), name="east-1")
    given = known(place("*", ga("1.34.9", "1.35.4", "1.36.3")))
    goal = UpgradeTarget(type="Full", version="1.36.3", chain=True)
    told = [line.strip() for line in upgrade_plan_text(goal, {"east-1": upgrade_work(far, goal, given, NOW)})]
    shown = (Path(__file__).parents[5] / "docs" / "updates.md").read_text(encoding="utf-8")
    assert "\n```\n" + "\n".join(told) + "\n```\n" in shown


def test_an_automatic_run_warns_of_members_without_a_window_d3_95() -> None:
    automatic = replace(IMAGES, automatic=True)
    (warning,) = [line for line in lines(automatic, without_window=["b", "other"]) if "warning" in line]
    assert warning.startswith("warning: no maintenance window, upgraded at once") and warning.endswith(": b")
    assert not [line for line in lines(automatic) if "warning" in line]
    assert not [line for line in lines(IMAGES, without_window=["b"]) if "warning" in line], "people start it themselves"


def test_unattended_updates_are_told_of_where_the_driver_declares_it_d3_108() -> None:
    told = "note: unattended updates of the operating system are switched off on: a"
    assert told in " ".join(lines(IMAGES, stops_unattended_updates=["a"]))
    assert not [line for line in lines(IMAGES) if "unattended" in line]
