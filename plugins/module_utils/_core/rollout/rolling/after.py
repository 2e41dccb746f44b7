# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Bindings as they are once a step of a rollout is carried out (bound, RolloutStarted set, held back, to be deleted,
with another apply strategy): what executors write, and what a forecast assumes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ...objects.placements.binding import BOUND, BindingSpec, ClusterResourceBinding
from ...objects.placements.rollout_strategy import ApplyStrategy
from ..conditions import (
    FALSE,
    TRUE,
    set_condition,
    without_condition,
)
from ..content import Content, RolloutBinding
from ..readiness import ROLLOUT_STARTED

STARTED = (TRUE, "RolloutStarted", "the rollout of the wanted content has begun")
NOT_YET = (FALSE, "RolloutNotStartedYet", "the rollout strategy holds the wanted content back")


def bound(
    held: RolloutBinding, content: Content, apply_strategy: ApplyStrategy | None, now: datetime
) -> RolloutBinding:
    """The binding, Bound to ``content`` with this apply strategy (None: without any), in a new generation if that
    changes it; RolloutStarted begins anew."""
    spec = replace(
        held.binding.spec,
        state=BOUND,
        resource_snapshot_name=content.resource_snapshot,
        cluster_resource_override_snapshots=content.overrides.cluster,
        resource_override_snapshots=content.overrides.namespaced,
        apply_strategy=apply_strategy,
    )
    return started_anew(replace(held, binding=_respecified(held.binding, spec)), now)


def started_anew(held: RolloutBinding, now: datetime) -> RolloutBinding:
    """The binding with RolloutStarted True as of ``now``, whatever the condition said before."""
    binding = held.binding
    fresh = replace(
        binding,
        status=replace(binding.status, conditions=without_condition(binding.status.conditions, ROLLOUT_STARTED)),
    )
    return replace(held, binding=_with_condition(fresh, STARTED, now))


def with_started(held: RolloutBinding, now: datetime) -> RolloutBinding:
    """The binding with RolloutStarted True at its present generation, since ``now`` unless it was True before."""
    return replace(held, binding=_with_condition(held.binding, STARTED, now))


def held_back(held: RolloutBinding, now: datetime) -> RolloutBinding:
    """The binding with RolloutStarted False, as the wanted content waits, since ``now`` unless it was False before."""
    return replace(held, binding=_with_condition(held.binding, NOT_YET, now))


def marked_for_deletion(held: RolloutBinding, now: datetime) -> RolloutBinding:
    """The binding, to be deleted since ``now`` or before; it stays until its cluster is cleaned."""
    metadata = held.binding.metadata
    gone = replace(metadata, deletion_timestamp=metadata.deletion_timestamp or now)
    return replace(held, binding=replace(held.binding, metadata=gone))


def with_apply_strategy(held: RolloutBinding, apply_strategy: ApplyStrategy) -> RolloutBinding:
    """The binding with this apply strategy, in a new generation if that changes it; its conditions stay as they are."""
    spec = replace(held.binding.spec, apply_strategy=apply_strategy)
    return replace(held, binding=_respecified(held.binding, spec))


def _respecified(binding: ClusterResourceBinding, spec: BindingSpec) -> ClusterResourceBinding:
    """The binding with this spec: in a new generation, as the API server counts, if it is another one."""
    metadata = binding.metadata
    if spec != binding.spec:
        metadata = replace(metadata, generation=metadata.generation + 1)
    return replace(binding, metadata=metadata, spec=spec)


def _with_condition(
    binding: ClusterResourceBinding, row: tuple[str, str, str], now: datetime
) -> ClusterResourceBinding:
    """The binding with RolloutStarted set for its present generation."""
    conditions = set_condition(binding.status.conditions, ROLLOUT_STARTED, row, binding.metadata.generation, now)
    return replace(binding, status=replace(binding.status, conditions=conditions))
