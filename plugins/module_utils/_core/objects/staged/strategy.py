# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterStagedUpdateStrategy`` and ``StagedUpdateStrategy``: stages of a rollout with their clusters and order, how
many at once, approvals and waits before and after (KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ...values.selector import LabelSelector
from ..api_groups import PLACEMENT_API

TIMED_WAIT, APPROVAL = "TimedWait", "Approval"
MAX_STAGES = 31
STAGE_NAME, STAGE_NAME_LENGTH = r"^[a-z0-9]+$", 63
WAIT_TIME = r"^(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:s|m|h))+$"
AT_LEAST_ONE_PERCENT = r"^(100|[1-9][0-9]?)%$"

_NO_WAIT = ("self.all(t, t.type != 'Approval' || !has(t.waitTime))", "Approval has no waitTime")
STAGES_RULES = (("self.all(s, self.exists_one(o, o.name == s.name))", "stages have names of their own"),)
BEFORE_RULES = (("self.all(t, t.type == 'Approval')", "only Approval stands before a stage"), _NO_WAIT)
AFTER_RULES = (
    ("self.all(t, t.type != 'TimedWait' || has(t.waitTime))", "TimedWait needs a waitTime"),
    ("self.all(t, self.exists_one(o, o.type == t.type))", "no two tasks after a stage are of one type"),
    _NO_WAIT,
)


@dataclass(frozen=True, kw_only=True)
class StageTask:
    type: str = prop("Kind of task.", enum=(TIMED_WAIT, APPROVAL))
    wait_time: str = prop(
        "How long, for TimedWait; such as 1h30m.", default="", pattern=WAIT_TIME, form="a time such as 1h30m or 45s"
    )


@dataclass(frozen=True, kw_only=True)
class StageConfig:
    """Without a ``label_selector`` a stage takes no cluster, with an empty one all."""

    name: str = prop(
        "Name of the stage.",
        max_length=STAGE_NAME_LENGTH,
        pattern=STAGE_NAME,
        form="a name of lower-case letters and digits alone",
    )
    label_selector: LabelSelector | None = prop("Labels of the stage's clusters.", default=None)
    sorting_label_key: str | None = prop("Label with the integer by which clusters are ordered.", default=None)
    max_concurrency: int | str = prop(
        "Clusters updated at once, number or percentage; rounded down, at least one.",
        default=1,
        minimum=1,
        pattern=AT_LEAST_ONE_PERCENT,
    )
    before_stage_tasks: tuple[StageTask, ...] = prop(
        "Approval before the stage.", default=(), max_items=1, rules=BEFORE_RULES
    )
    after_stage_tasks: tuple[StageTask, ...] = prop(
        "Approval and wait after the stage.", default=(), max_items=2, rules=AFTER_RULES
    )


@dataclass(frozen=True, kw_only=True)
class StagedUpdateStrategySpec:
    stages: tuple[StageConfig, ...] = prop("Stages, one after another.", max_items=MAX_STAGES, rules=STAGES_RULES)


@dataclass(frozen=True, kw_only=True)
class ClusterStagedUpdateStrategy:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterStagedUpdateStrategy")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: StagedUpdateStrategySpec = prop("The stages.")

    @property
    def name(self) -> str:
        return self.metadata.name


@dataclass(frozen=True, kw_only=True)
class StagedUpdateStrategy(ClusterStagedUpdateStrategy):
    kind: str = prop("Kind.", default="StagedUpdateStrategy")
