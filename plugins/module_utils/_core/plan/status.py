# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Status after a run, by KubeFleet's conditions (Scheduled, RolloutStarted, Overridden, WorkSynchronized, Applied,
Available, DiffReported): of a placement and each of its clusters (``placementStatuses``), of a binding, of a policy
snapshot."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..objects.placements.binding import BindingStatus
from ..objects.placements.cluster_resource_placement import PerClusterPlacementStatus, PlacementStatus
from ..objects.placements.older_conditions import with_todays_conditions
from ..objects.placements.scheduling_policy_snapshot import PolicySnapshotStatus
from ..resources.availability import AVAILABLE, NOT_TRACKABLE, NOT_YET
from ..resources.snapshots import snapshot_index
from ..rollout.content import Overrides, RolloutBinding
from ..schema.meta import Condition, find_condition, next_condition
from ..values.listed import number_of
from .document import LOST, ClusterPlan, PlacementPlan
from .member import DIFFERS
from .outcome import MemberOutcome
from .status_objects import (
    diffed_placements,
    drifted_placements,
    failed_placements,
    origins_of,
    selected_resources,
)
from .trimming import trimmed, trimmed_binding

Row = tuple[str, str, str, str]

NO_OVERRIDE = ("NoOverrideSpecified", "no override applies")
JUDGED = ("Applied", "Available", "DiffReported")
MOST_UNFILLED = 20


@dataclass(frozen=True)
class ConditionRule:
    """Reasons of one condition type on the placement, by status; its message begins with ``text``."""

    type: str
    true: str
    false: str
    unknown: str
    text: str


RULES = (
    ConditionRule(
        "RolloutStarted",
        "RolloutStarted",
        "RolloutNotStartedYet",
        "RolloutStartedUnknown",
        "the rollout has started on",
    ),
    ConditionRule(
        "Overridden", "NoOverrideSpecified", "OverriddenFailed", "OverriddenPending", "overrides are resolved for"
    ),
    ConditionRule(
        "WorkSynchronized",
        "WorkSynchronized",
        "WorkNotSynchronizedYet",
        "WorkSynchronizedUnknown",
        "work is rendered for",
    ),
    ConditionRule("Applied", "ApplySucceeded", "ApplyFailed", "ApplyPending", "resources are applied on"),
    ConditionRule(
        "Available",
        "ResourceAvailable",
        "ResourceNotAvailableYet",
        "ResourceAvailableUnknown",
        "resources are available on",
    ),
)
DIFF_RULE = ConditionRule(
    "DiffReported",
    "DiffReportingCompleted",
    "DiffReportingIncompleteOrFailed",
    "DiffReportingPending",
    "diffs are reported for",
)


@dataclass(frozen=True)
class NotBegun:
    """A cluster that the rollout has not come to: the snapshot that it holds, empty for none, and why it waits."""

    snapshot: str
    reason: str


def placement_status(
    plan: PlacementPlan,
    outcomes: t.Mapping[str, MemberOutcome],
    previous: PlacementStatus,
    generation: int,
    now: datetime,
    not_begun: t.Mapping[str, NotBegun] | None = None,
) -> PlacementStatus:
    """Status of a placement after a run, with a row for each cluster that is to hold it, then rows without a name that
    say why others are left out, at most one for each that is wanted and not found, and ``MOST_UNFILLED`` in all; cut as
    of ``trimmed``. Of the conditions of the rollout none comes after the first that is not True, and without a cluster
    that is to hold it there is none; none of another type is taken over from ``previous``. Transition times change only
    where a status changes.

    ``outcomes`` are by cluster; one that has none is Unknown. ``previous`` may be of an older release of KubeFleet.
    ``generation`` is the placement's. ``not_begun`` are clusters to which the rollout has not come yet, whose
    ``outcomes`` do not count.
    """
    previous = with_todays_conditions(previous)
    rules = (*RULES[:3], DIFF_RULE) if plan.reports_only else RULES
    before = {each.cluster_name: each for each in previous.placement_statuses}
    rows = []
    for cluster in plan.clusters:
        if cluster.change == LOST:
            continue
        old = before.get(cluster.cluster)
        waits = (not_begun or {}).get(cluster.cluster)
        if waits is not None:
            rows.append(_not_begun_status(cluster, waits, old, generation, now))
            continue
        outcome = outcomes.get(cluster.cluster)
        rows.append(_cluster_status(plan, cluster, outcome, old, generation, now))
    conditions = [_scheduled(plan, previous, generation, now)]
    for rule in rules if rows else ():
        condition = _aggregate(plan, _said(rule, plan), rows, previous, generation, now)
        conditions.append(condition)
        if condition.status != "True":
            break
    status = PlacementStatus(
        selected_resources=selected_resources(plan.objects),
        observed_resource_index=_index(plan.resource_snapshot),
        placement_statuses=(*rows, *_unfilled(plan, before.get(""), generation, now)),
        conditions=tuple(conditions),
    )
    return trimmed(status, previous, generation, now)


def binding_status(
    plan: PlacementPlan, held: RolloutBinding, outcome: MemberOutcome, now: datetime, *, anew: bool
) -> BindingStatus:
    """Status of a binding after its cluster was looked at, cut as of ``trimmed_binding``: conditions by ``outcome``, an
    error of which leaves Applied or DiffReported Unknown, and objects that failed, drifted or differ. Of Applied,
    Available and DiffReported those that ``outcome`` does not make go; conditions of other types stay, and come first.
    ``anew``: its content was written just now, so that the conditions made here are of ``now``; since when objects
    failed, drifted or differ is kept."""
    old, generation, origins = held.binding.status, held.binding.metadata.generation, origins_of(plan)
    rows = (*_rendered_rows(held.content.overrides), *_outcome_rows(plan, outcome))
    told = {*(row[0] for row in rows), *JUDGED}
    kept = tuple(each for each in old.conditions if each.type not in told)
    conditions = tuple(
        next_condition(
            None if anew else find_condition(old.conditions, kind), kind, (status, reason, text), now, generation
        )
        for kind, status, reason, text in rows
    )
    before = PerClusterPlacementStatus(
        failed_placements=old.failed_placements,
        drifted_placements=old.drifted_placements,
        diffed_placements=old.diffed_placements,
    )
    status = BindingStatus(
        conditions=(*kept, *conditions),
        failed_placements=failed_placements(outcome, before, origins, generation, now),
        drifted_placements=drifted_placements(outcome, before, origins, now),
        diffed_placements=diffed_placements(outcome, before, origins, now),
    )
    return trimmed_binding(status)


def policy_snapshot_status(
    plan: PlacementPlan, previous: PolicySnapshotStatus, generation: int, now: datetime
) -> PolicySnapshotStatus:
    """Status of the placement's policy snapshot: what was decided for clusters, as many as KubeFleet lists, and the one
    condition Scheduled. ``generation`` is the placement's; ``previous`` stays where nothing was scheduled."""
    if plan.scheduled is None:
        return previous
    row = _scheduled_words(plan)
    old = find_condition(previous.conditions, "Scheduled")
    return PolicySnapshotStatus(
        observed_crp_generation=generation,
        conditions=(next_condition(old, "Scheduled", row, now, plan.policy_snapshot.metadata.generation),),
        target_clusters=tuple(each.as_cluster_decision() for each in plan.scheduled.decisions),
    )


def _not_begun_status(
    cluster: ClusterPlan, waits: NotBegun, old: PerClusterPlacementStatus | None, generation: int, now: datetime
) -> PerClusterPlacementStatus:
    """The row of a cluster to which the rollout has not come."""
    rows = (_scheduled_row(cluster), ("RolloutStarted", "False", "RolloutNotStartedYet", waits.reason))
    olds = old.conditions if old else ()
    return PerClusterPlacementStatus(
        cluster_name=cluster.cluster,
        observed_resource_index=_index(waits.snapshot),
        conditions=tuple(
            next_condition(find_condition(olds, kind), kind, (status, reason, text), now, generation)
            for kind, status, reason, text in rows
        ),
    )


def _index(snapshot: str) -> str:
    """The index in the name of a snapshot as text; empty where there is none."""
    index = snapshot_index(snapshot)
    return str(index) if index >= 0 else ""


def _scheduled_row(cluster: ClusterPlan) -> Row:
    """The condition Scheduled of a picked cluster; its message has the scores, 0 where nothing was scored."""
    score = f"affinity score: {cluster.affinity_score or 0}, topology spread score: {cluster.spread_score or 0}"
    return ("Scheduled", "True", "Scheduled", f"picked {cluster.cluster} ({score})")


def _cluster_status(
    plan: PlacementPlan,
    cluster: ClusterPlan,
    outcome: MemberOutcome | None,
    old: PerClusterPlacementStatus | None,
    generation: int,
    now: datetime,
) -> PerClusterPlacementStatus:
    """The row of a cluster that the rollout has come to: its conditions by ``outcome``, None where nobody has looked,
    and what failed, drifted or differs. ``old`` is its row before, if any."""
    overrides, origins = plan.content.content_on(cluster.cluster).overrides, origins_of(plan)
    started = ("RolloutStarted", "True", "RolloutStarted", "the rollout has started")
    rows = (_scheduled_row(cluster), started, *_rendered_rows(overrides), *_outcome_rows(plan, outcome))
    olds = old.conditions if old else ()
    conditions = tuple(
        next_condition(find_condition(olds, kind), kind, (status, reason, message), now, generation)
        for kind, status, reason, message in rows
    )
    return PerClusterPlacementStatus(
        cluster_name=cluster.cluster,
        observed_resource_index=_index(plan.resource_snapshot),
        applicable_cluster_resource_overrides=overrides.cluster,
        applicable_resource_overrides=overrides.namespaced,
        conditions=conditions,
        failed_placements=failed_placements(outcome, old, origins, generation, now) if outcome else (),
        drifted_placements=drifted_placements(outcome, old, origins, now) if outcome else (),
        diffed_placements=diffed_placements(outcome, old, origins, now) if outcome else (),
    )


def _rendered_rows(overrides: Overrides) -> tuple[Row, ...]:
    """The conditions Overridden, with the number of overrides, and WorkSynchronized; both are always True."""
    number = len(overrides.cluster) + len(overrides.namespaced)
    reason, text = ("OverriddenSucceeded", f"{number} overrides are applied") if number else NO_OVERRIDE
    return ("Overridden", "True", reason, text), ("WorkSynchronized", "True", "AllWorkSynced", "all work is rendered")


def _outcome_rows(plan: PlacementPlan, outcome: MemberOutcome | None) -> list[Row]:
    """The conditions that a cluster's outcome makes: DiffReported for a placement that only reports, else Applied and
    Available."""
    return _diff_rows(outcome) if plan.reports_only else _applied_rows(outcome)


def _applied_rows(outcome: MemberOutcome | None) -> list[Row]:
    """The condition Applied, Unknown without an outcome or with an error, False with failures; behind it, if it is
    True, Available: False while an object is not available yet, and True also where that cannot be tracked."""
    if outcome is None or outcome.error:
        why = outcome.error.message if outcome and outcome.error else "not looked at yet"
        return [("Applied", "Unknown", "ApplyPending", why)]
    if outcome.failures:
        message = f"{len(outcome.failures):,} of {number_of(len(outcome.steps), 'object')} could not be applied"
        return [("Applied", "False", "NotAllWorkHaveBeenApplied", message)]
    applied = ("Applied", "True", "AllWorkHaveBeenApplied", "all objects are applied")
    judged = list((outcome.availability or {}).values())
    late = judged.count(NOT_YET)
    if late:
        message = f"not available yet: {late:,} of {number_of(len(judged), 'object')}"
        return [applied, ("Available", "False", "NotAllWorkAreAvailable", message)]
    if NOT_TRACKABLE in judged:
        untracked = f"{judged.count(NOT_TRACKABLE):,} of {number_of(len(judged), 'object')}"
        message = f"of a kind whose availability cannot be tracked: {untracked}"
        return [applied, ("Available", "True", "NotAllWorkAreAvailabilityTrackable", message)]
    return [
        applied,
        ("Available", "True", "AllWorkAreAvailable", _all_available(judged.count(AVAILABLE))),
    ]


def _all_available(count: int) -> str:
    """That all objects are available, of which there are so many."""
    return "the one object is available" if count == 1 else f"all {count:,} objects are available"


def _diff_rows(outcome: MemberOutcome | None) -> list[Row]:
    """The condition DiffReported: Unknown without an outcome or with an error, else True with the number of objects
    that differ."""
    if outcome is None or outcome.error:
        why = outcome.error.message if outcome and outcome.error else "not looked at yet"
        return [("DiffReported", "Unknown", "DiffReportInProgress", why)]
    differing = sum(1 for step in outcome.steps if step.action == DIFFERS)
    message = number_of(differing, "object", "differs", "differ")
    return [("DiffReported", "True", "AllWorkHaveDiffReported", message)]


def _scheduled(plan: PlacementPlan, previous: PlacementStatus, generation: int, now: datetime) -> Condition:
    """The placement's condition Scheduled, under its kind's name; its transition time is that of ``previous`` unless
    its status changes."""
    kind = f"{plan.placement.kind}Scheduled"
    return next_condition(find_condition(previous.conditions, kind), kind, _scheduled_words(plan), now, generation)


def _scheduled_words(plan: PlacementPlan) -> tuple[str, str, str]:
    """Status, reason and message of the condition Scheduled."""
    beside = f"; {plan.unread} more keep it, since they could not be read" if plan.unread else ""
    if plan.fulfilled:
        found = "the one cluster" if plan.picked == 1 else f"all {plan.picked:,} clusters"
        found = f"found {found} that the policy asks for" if plan.picked else "the policy picks no cluster"
        message = f"{found}{beside}"
        return "True", "SchedulingPolicyFulfilled", message
    message = f"found {plan.picked:,} of {number_of(plan.wanted, 'cluster')} that the policy asks for{beside}"
    return "False", "SchedulingPolicyUnfulfilled", message


def _said(rule: ConditionRule, plan: PlacementPlan) -> ConditionRule:
    """The rule; that of Overridden with reason OverriddenSucceeded where overrides act on any cluster."""
    acts = rule.type == "Overridden" and plan.overrides
    return replace(rule, true="OverriddenSucceeded") if acts else rule


def _aggregate(
    plan: PlacementPlan,
    rule: ConditionRule,
    rows: t.Sequence[PerClusterPlacementStatus],
    previous: PlacementStatus,
    generation: int,
    now: datetime,
) -> Condition:
    """The placement's condition of one type over the ``rows`` of its clusters: Unknown if it is so, or missing, on any,
    else False if it is on any, else True."""
    kind = plan.placement.kind + rule.type
    found = [find_condition(each.conditions, rule.type) for each in rows]
    unknown = sum(1 for each in found if each is None or each.status == "Unknown")
    failed = sum(1 for each in found if each is not None and each.status == "False")
    so_far = f"{rule.text} {len(rows) - unknown - failed:,} of {number_of(len(rows), 'cluster')}"
    if unknown:
        row = ("Unknown", rule.unknown, f"{so_far}, not known of {unknown}")
    elif failed:
        row = ("False", rule.false, so_far)
    else:
        row = (
            "True",
            rule.true,
            f"{rule.text} {'the one cluster' if len(rows) == 1 else f'all {len(rows):,} clusters'}",
        )
    return next_condition(find_condition(previous.conditions, kind), kind, row, now, generation)


def _unfilled(
    plan: PlacementPlan,
    old: PerClusterPlacementStatus | None,
    generation: int,
    now: datetime,
) -> tuple[PerClusterPlacementStatus, ...]:
    """Rows without a name, one for each cluster that is wanted and not found, ``MOST_UNFILLED`` at most. Each tells why
    another cluster was left out, the first by name. ``old`` is a row without a name as it was recorded last, which
    tells since when this is so."""
    missing = plan.wanted - plan.picked
    if missing <= 0:
        return ()
    past = find_condition(old.conditions, "Scheduled") if old else None
    rows = []
    for left in plan.left_out[: min(MOST_UNFILLED, missing)]:
        condition = next_condition(
            past,
            "Scheduled",
            ("False", "ScheduleFailed", f"{left.cluster}: {left.reason}"),
            now,
            generation,
        )
        rows.append(PerClusterPlacementStatus(conditions=(condition,)))
    return tuple(rows)
