# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""KubeFleet's kinds that no verb reads as files yet, checked all the same; and those that are only known by name."""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..objects.checking import Check, check_object
from ..objects.disruption_budget import ClusterResourcePlacementDisruptionBudget
from ..objects.envelope import ClusterResourceEnvelope, ResourceEnvelope
from ..objects.envelope_rules import check_envelope
from ..objects.eviction import ClusterResourcePlacementEviction
from ..objects.finding import Finding
from ..objects.metadata_rules import check_metadata
from ..objects.override import ClusterResourceOverride, ResourceOverride
from ..objects.override_rules import check_override, warn_override
from ..objects.rules import Found, beyond
from ..objects.schema import decode
from ..objects.staged_update_approval import ClusterApprovalRequest
from ..objects.staged_update_run import ClusterStagedUpdateRun
from ..objects.staged_update_strategy import TIMED_WAIT, ClusterStagedUpdateStrategy
from ..values.duration import parse_duration
from ..values.selector import check_selector

PLACEMENT_GROUP, CLUSTER_GROUP = "placement.kubernetes-fleet.io", "cluster.kubernetes-fleet.io"
VERSIONS = ("v1", "v1beta1")
NAMESPACED = ("ResourceOverride", "ResourceEnvelope")
# Known to KubeFleet, and not looked into here.
UNCHECKED = {
    PLACEMENT_GROUP: frozenset(
        (
            "AppliedWork",
            "ApprovalRequest",
            "ClusterResourcePlacementStatus",
            "ResourceBinding",
            "ResourcePlacement",
            "ResourceSnapshot",
            "SchedulingPolicySnapshot",
            "StagedUpdateRun",
            "StagedUpdateStrategy",
            "Work",
        )
    ),
    CLUSTER_GROUP: frozenset(("InternalMemberCluster",)),
}


@dataclass(frozen=True)
class Checked:
    """How one kind is checked beyond its fields."""

    cls: type
    rules: Callable[[t.Any], t.Iterator[Found]]
    warnings: Callable[[t.Any], t.Iterator[Finding]]


def judge_kind(checked: Checked, document: Mapping[str, t.Any]) -> tuple[tuple[Found, ...], tuple[Finding, ...]]:
    """Everything about a manifest of one of these kinds."""
    check = Check()
    clean = check_object(check, checked.cls, document)
    obj: t.Any = decode(checked.cls, copy.deepcopy(clean))
    namespaced = checked.cls.__name__ in NAMESPACED
    rules = (*_metadata(obj, namespaced), *checked.rules(obj))
    problems = (*check.problems, *beyond(check.problems, rules))
    return problems, (*check.findings, *checked.warnings(obj))


def _metadata(obj: t.Any, namespaced: bool) -> t.Iterator[Found]:
    for each in check_metadata(obj.metadata, None):
        if not (namespaced and each.code == "unexpected-namespace"):
            yield each


def _nothing(_obj: t.Any) -> t.Iterator[t.Any]:
    return iter(())


def _check_budget(obj: ClusterResourcePlacementDisruptionBudget) -> t.Iterator[Found]:
    """KubeFleet's rule on the resource: one of the two at most."""
    if obj.spec.max_unavailable is not None and obj.spec.min_available is not None:
        yield Found("two-limits", "spec", "maxUnavailable and minAvailable are both given", "keep one of them")


def _warn_budget(obj: ClusterResourcePlacementDisruptionBudget) -> t.Iterator[Finding]:
    if obj.spec.max_unavailable is None and obj.spec.min_available is None:
        reason = "with neither maxUnavailable nor minAvailable every eviction is refused"
        yield Finding("eviction-never-permitted", "spec", "spec", None, None, reason)


def _check_stages(obj: ClusterStagedUpdateStrategy) -> t.Iterator[Found]:
    names: dict[str, int] = {}
    for index, stage in enumerate(obj.spec.stages):
        path = f"spec.stages[{index}]"
        if stage.name and names.setdefault(stage.name, index) != index:
            yield Found("duplicate-stage", f"{path}.name", f"stage {names[stage.name]} is called {stage.name!r} too")
        if stage.label_selector is not None:
            for below, message in check_selector(stage.label_selector):
                yield Found("invalid-label-selector", f"{path}.labelSelector.{below}", message)
        for place, tasks in (
            ("beforeStageTasks", stage.before_stage_tasks),
            ("afterStageTasks", stage.after_stage_tasks),
        ):
            for number, task in enumerate(tasks):
                yield from _check_task(task.type, task.wait_time, f"{path}.{place}[{number}]", place)


def _check_task(kind: str, wait: str, path: str, place: str) -> t.Iterator[Found]:
    if kind != TIMED_WAIT:
        if wait:
            yield Found("wait-not-wanted", f"{path}.waitTime", f"a task of type {kind} has no waitTime", "leave it out")
        return
    if place == "beforeStageTasks":
        yield Found("wait-before-stage", f"{path}.type", "only Approval may stand before a stage")
    try:
        above = parse_duration(wait) > 0
    except ValueError:
        above = False
    if not above:
        message = f"{wait!r:.40} is not a time to wait" if wait else "TimedWait does not say how long"
        yield Found("invalid-duration", f"{path}.waitTime", message, "write one such as 1h or 30m")


CHECKED: Mapping[str, Checked] = {
    each.cls.__name__: each
    for each in (
        Checked(ClusterResourceOverride, check_override, warn_override),
        Checked(ResourceOverride, check_override, warn_override),
        Checked(ClusterResourceEnvelope, check_envelope, _nothing),
        Checked(ResourceEnvelope, check_envelope, _nothing),
        Checked(ClusterResourcePlacementEviction, _nothing, _nothing),
        Checked(ClusterResourcePlacementDisruptionBudget, _check_budget, _warn_budget),
        Checked(ClusterStagedUpdateStrategy, _check_stages, _nothing),
        Checked(ClusterStagedUpdateRun, _nothing, _nothing),
        Checked(ClusterApprovalRequest, _nothing, _nothing),
    )
}
