# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an approval is bound to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import (
    NodeImageSelectionStatus,
    SelectedNodeImageVersion,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    ManagedClusterUpdate,
    ManagedClusterUpgradeSpec,
    NodeImageSelection,
    NodeImageVersion,
    UpdateRunSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.digest import run_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GateRow,
    GroupRow,
    MemberRow,
    Schedule,
    StageRow,
    WaitRow,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.random_runs import NOON


def spec(version="1.34.2", kind="Full", images=None, chain=False, **fields):
    upgrade = ManagedClusterUpgradeSpec(type=kind, kubernetes_version=version, chain=chain)
    update = ManagedClusterUpdate(upgrade=upgrade, node_image_selection=images)
    return UpdateRunSpec(managed_cluster_update=update, **fields)


MEMBER = MemberRow(name="a")
GATE = GateRow(name="ticket", id="1", schedule=Schedule(day="Monday", time="09:30", utc_offset="+02:00"))
GROUP = GroupRow(name="g", members=(MEMBER, MemberRow(name="b")), max_concurrency=1, max_allowed_failures=0)
STAGE = StageRow(
    name="s",
    groups=(GROUP, replace(GROUP, name="h", members=())),
    max_concurrency=50,
    max_allowed_failures=0,
    wait=WaitRow(seconds=60),
    before_gates=(GATE,),
)
BASE = run_digest(spec(), [STAGE])


def test_its_form():
    assert BASE.startswith("sha256:") and len(BASE) == 71
    assert run_digest(spec(), (STAGE,)) == BASE


@pytest.mark.parametrize(
    "changed",
    [
        spec("1.34.3"),
        spec(kind="ControlPlaneOnly"),
        spec(chain=True),  # U20
        spec(auto_upgrade_profile_id="stable"),
        spec(images=NodeImageSelection(type="Consistent")),
        spec(images=NodeImageSelection(type="Custom", custom_node_image_versions=(NodeImageVersion(version="u-1"),))),
    ],
)
def test_another_goal_is_another_digest(changed):
    assert run_digest(changed, [STAGE]) != BASE


@pytest.mark.parametrize(
    "changed",
    [
        replace(STAGE, name="t"),
        replace(STAGE, max_concurrency=49),
        replace(STAGE, max_allowed_failures=1),
        replace(STAGE, wait=WaitRow(seconds=61)),
        replace(STAGE, wait=None),
        replace(STAGE, before_gates=()),
        replace(STAGE, before_gates=(), after_gates=(GATE,)),
        replace(STAGE, before_gates=(replace(GATE, schedule=None),)),
        replace(STAGE, before_gates=(replace(GATE, name="other"),)),
        replace(STAGE, groups=STAGE.groups[::-1]),
        replace(STAGE, groups=(replace(GROUP, name="i"), STAGE.groups[1])),
        replace(STAGE, groups=(replace(GROUP, max_concurrency=2), STAGE.groups[1])),
        replace(STAGE, groups=(replace(GROUP, max_allowed_failures=1), STAGE.groups[1])),
        replace(STAGE, groups=(replace(GROUP, members=(MEMBER,)), STAGE.groups[1])),
        replace(STAGE, groups=(replace(GROUP, members=GROUP.members[::-1]), STAGE.groups[1])),
        replace(STAGE, groups=(replace(GROUP, after_gates=(GATE,)), STAGE.groups[1])),
    ],
)
def test_another_sequence_is_another_digest(changed):
    assert run_digest(spec(), [changed]) != BASE


def test_stages_count_in_their_order():
    other = replace(STAGE, name="t")
    assert run_digest(spec(), [STAGE, other]) != run_digest(spec(), [other, STAGE])


def test_progress_is_not_covered():
    member = MemberRow(name="a", state="Failed", attempt=2, operation="o", reference="r", message="m", started=NOON)
    gate = replace(GATE, id="2", state="Completed", opened=NOON, due=NOON, completed=NOON, by="ana")
    later = replace(
        STAGE,
        groups=(replace(GROUP, members=(member, GROUP.members[1]), breached=True, reached=True), STAGE.groups[1]),
        before_gates=(gate,),
        wait=WaitRow(seconds=60, state="Running", started=NOON, ends=NOON),
        user_skipped=True,
        reached=True,
        next_group=1,
    )
    assert run_digest(spec(), [later]) == BASE


def test_ways_to_write_the_same_goal():
    assert run_digest(spec("v1.34.2"), [STAGE]) == BASE
    assert run_digest(spec(images=NodeImageSelection(type="Latest")), [STAGE]) == BASE
    assert run_digest(spec(update_strategy_id="rings", on_conflict="refuse"), [STAGE]) == BASE


def test_images_that_were_chosen_for_the_run_stand_in_it():
    """D3-33. For selection Consistent alone: those of Custom are in the spec, and Latest chooses none."""
    consistent = spec(images=NodeImageSelection(type="Consistent"))

    def chosen(*names: str) -> NodeImageSelectionStatus:
        versions = tuple(SelectedNodeImageVersion(version=each) for each in names)
        return NodeImageSelectionStatus(selected_node_image_versions=versions)

    before = run_digest(consistent, [STAGE])
    one, other = (run_digest(consistent, [STAGE], chosen(each)) for each in ("Linux-1.0", "Linux-1.1"))
    assert len({before, one, other}) == 3
    assert run_digest(consistent, [STAGE], chosen("B-1", "A-1")) == run_digest(
        consistent, [STAGE], chosen("A-1", "B-1")
    )
    assert run_digest(consistent, [STAGE], chosen()) == before
    assert run_digest(spec(), [STAGE], chosen("Linux-1.0")) == BASE


def test_the_profile_stands_in_it_and_runs_without_one_keep_the_digest_that_they_had():
    """F18. A run of a profile leaves members out that would fail without one. What was recorded, and approved, before
    the profile stood in it, is known again."""
    stable, slow = (spec(auto_upgrade_profile_id=each) for each in ("stable", "slow"))
    assert len({run_digest(each, [STAGE]) for each in (spec(), stable, slow)}) == 3
    assert BASE == "sha256:a58389976a38ab4ed7cf04a6ad44d2113419adc3dccac02fe1ec17a6c96e871f"
    assert {run_digest(each, [STAGE], form="") for each in (spec(), stable, slow)} == {BASE}
