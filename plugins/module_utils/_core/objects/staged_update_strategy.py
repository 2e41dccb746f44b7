# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterStagedUpdateStrategy``: the stages in which a placement's resources reach its clusters (KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass

from ..values.selector import LabelSelector
from .meta import ObjectMeta
from .prop import prop

TIMED_WAIT, APPROVAL = "TimedWait", "Approval"
MAX_STAGES = 31


@dataclass(frozen=True, kw_only=True)
class StageTask:
    type: str = prop("Kind of task.", enum=(TIMED_WAIT, APPROVAL))
    wait_time: str = prop("How long, for TimedWait; such as 1h30m.", default="")


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """Without a ``label_selector`` a stage takes no cluster, with an empty one all."""

    name: str = prop("Name of the stage.")
    label_selector: LabelSelector | None = prop("Labels of the stage's clusters.", default=None)
    sorting_label_key: str | None = prop("Label with the integer by which clusters are ordered.", default=None)
    max_concurrency: int | str = prop("Clusters updated at once, number or percentage.", default=1)
    before_stage_tasks: tuple[StageTask, ...] = prop("Approval before the stage.", default=(), max_items=1)
    after_stage_tasks: tuple[StageTask, ...] = prop("Approval and wait after the stage.", default=(), max_items=2)


@dataclass(frozen=True, kw_only=True)
class StagedUpdateStrategySpec:
    stages: tuple[StageConfig, ...] = prop("Stages, one after another.", max_items=MAX_STAGES)


@dataclass(frozen=True, kw_only=True)
class ClusterStagedUpdateStrategy:
    api_version: str = prop("API version.", default="placement.kubernetes-fleet.io/v1beta1")
    kind: str = prop("Kind.", default="ClusterStagedUpdateStrategy")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: StagedUpdateStrategySpec = prop("The stages.")

    @property
    def name(self) -> str:
        return self.metadata.name
