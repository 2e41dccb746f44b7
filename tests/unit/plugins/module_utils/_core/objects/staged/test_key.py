# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged runs by namespace and name: which kinds belong to one, and what its records are called."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KIND_OF
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import PlacementKey
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.key import (
    CLUSTER_SCOPED,
    NAMESPACED,
    RUN_KINDS,
    RunKey,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.strategy import StagedUpdateStrategySpec
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    DELETE_STAGE,
    ClusterStagedUpdateRun,
    StagedUpdateRun,
    StagedUpdateRunSpec,
    StagedUpdateRunStatus,
    StageUpdatingStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.digest import staged_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import (
    RequestApproval,
    approval_request,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta

SPEC = StagedUpdateRunSpec(placement_name="web", staged_rollout_strategy_name="rings")
WIDE = ClusterStagedUpdateRun(metadata=ObjectMeta(name="first"), spec=SPEC)
RUNS = (
    WIDE,
    StagedUpdateRun(metadata=ObjectMeta(name="first", namespace="shop"), spec=SPEC),
    StagedUpdateRun(metadata=ObjectMeta(name="first", namespace="pub"), spec=SPEC),
)


@pytest.mark.parametrize("key", [RunKey("", "first"), RunKey("shop", "first"), RunKey("", "shop.first")])
def test_a_key_and_its_text_are_one(key: RunKey) -> None:
    assert RunKey.of(str(key)) == key


def test_runs_of_one_name_are_told_apart_by_all_that_is_theirs() -> None:
    """F6: their texts, placements, strategies and requests."""
    assert [str(each.key) for each in RUNS] == ["first", "shop/first", "pub/first"]
    assert [each.placement_key for each in RUNS] == [
        PlacementKey("", "web"),
        PlacementKey("shop", "web"),
        PlacementKey("pub", "web"),
    ]
    assert [each.strategy_record_name for each in RUNS] == ["rings", "shop/rings", "pub/rings"]
    asked = RequestApproval(name="first-before-prod", stage="prod", task="beforeStage")
    made = [approval_request(each, asked) for each in RUNS]
    assert [each.kind for each in made] == ["ClusterApprovalRequest", "ApprovalRequest", "ApprovalRequest"]
    assert [each.metadata.namespace for each in made] == ["", "shop", "pub"]
    for run, request in zip(RUNS, made, strict=True):
        assert run.key.labels.items() <= dict(request.metadata.labels).items()
        assert run.key.metadata(request.name).get("namespace", "") == request.metadata.namespace


def test_the_kinds_of_what_belongs_to_a_run() -> None:
    assert RunKey.of("first").kinds is CLUSTER_SCOPED and RunKey.of("shop/first").kinds is NAMESPACED
    assert RunKey.of("shop/first").record("rings") == "shop/rings"
    assert RunKey.of("shop/first").title == "StagedUpdateRun/shop/first"
    for each in RUN_KINDS:
        inside = each is NAMESPACED
        assert [KIND_OF[kind].namespaced for kind in (each.run, each.strategy, each.approval)] == [inside] * 3


def test_what_is_done_to_placements_of_one_name_has_digests_of_its_own() -> None:
    """F18: an approval is for the digest, so that of another namespace's run it is for other work."""
    status = StagedUpdateRunStatus(
        staged_update_strategy_snapshot=StagedUpdateStrategySpec(stages=()),
        deletion_stage_status=StageUpdatingStatus(stage_name=DELETE_STAGE, clusters=()),
    )
    assert len({staged_digest(replace(each, status=status), "abc") for each in RUNS}) == 3
