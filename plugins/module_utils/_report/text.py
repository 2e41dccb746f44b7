# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plans, facts and outcomes as text of at most 80 columns, for a terminal and for logs."""

from __future__ import annotations

import textwrap
import typing as t

from .._core.facts.snapshot import FactsSnapshot
from .._core.objects.meta import find_condition
from .._core.plan.document import GAINED, KEPT, LOST, ClusterPlan, PlacementPlan
from .._core.plan.member import UNCHANGED, Step
from .._core.plan.outcome import MemberOutcome

WIDTH = 80
MARKS = {GAINED: "+", KEPT: "=", LOST: "-"}
SHOWN = 40


def table(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]], indent: str = "  ") -> list[str]:
    """Left-aligned columns; the last one is wrapped below itself where the line would be too long."""
    body = [tuple(str(cell) for cell in row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(header, *body)]
    lines = []
    for row in (tuple(header), *body):
        start = indent + "".join(cell.ljust(width + 2) for cell, width in zip(row[:-1], widths))
        room = max(20, WIDTH - len(start))
        parts = textwrap.wrap(row[-1], room) or [""]
        lines.append((start + parts[0]).rstrip())
        lines += [" " * len(start) + part for part in parts[1:]]
    return lines


def plan_text(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome] | None = None) -> list[str]:
    """Who gets the placement, who loses it, who does not get it and why, and what stops it."""
    lines = [_headline(plan)]
    rows = [_cluster_row(each, (outcomes or {}).get(each.cluster)) for each in plan.clusters]
    if rows:
        lines += table(("", "CLUSTER", "SCORE", "WHY"), _cut(rows))
    if plan.left_out:
        lines += table(
            ("", "NOT PICKED", "RULE", "WHY"),
            _cut([("x", each.cluster, each.rule, each.reason) for each in plan.left_out]),
        )
    lines += [f"  {_wrapped(line)}" for line in _object_lines(plan)]
    for cluster, outcome in (outcomes or {}).items():
        lines += member_lines(cluster, outcome)
    for brake in plan.brakes:
        if brake.tripped:
            word = "lifted" if brake.lifted else "STOPS"
            lines.append(f"  {_wrapped(f'brake {brake.name} {word}: {brake.message}')}")
    lines += [f"  {_wrapped(f'note: {finding}')}" for finding in plan.findings]
    return lines


def member_lines(cluster: str, outcome: MemberOutcome) -> list[str]:
    """Objects that change or drift on one member, or why it could not be read."""
    if outcome.error:
        return [f"  {_wrapped(f'! {cluster}: {outcome.error}')}"]
    lines = []
    for step in outcome.steps:
        if step.action == UNCHANGED:
            continue
        lines.append(
            f"  {_wrapped(f'{cluster}: {step.action} {step.id}' + (f': {step.message}' if step.message else ''))}"
        )
        lines += _drift_lines(step)
    failed = {each.id for each in outcome.failures}
    refused = {step.id for step in outcome.steps if step.message}
    lines += [
        f"  {_wrapped(f'! {cluster}: {each.id}: {each.message}')}"
        for each in outcome.failures
        if each.id in failed - refused
    ]
    return lines


def facts_text(snapshot: FactsSnapshot) -> list[str]:
    """One line a cluster: version, nodes, free resources, health."""
    rows = []
    for cluster in sorted(snapshot.members, key=lambda each: each.name):
        status = cluster.status
        version = status.properties.get("k8s.io/k8s-version")
        nodes = status.properties.get("kubernetes-fleet.io/node-count")
        usage = status.resource_usage
        free = (usage.available or usage.allocatable) if usage else {}
        agent = status.agent_status[0] if status.agent_status else None
        healthy = find_condition(agent.conditions, "Healthy") if agent else None
        failed = snapshot.failed.get(cluster.name)
        state = failed["code"] if failed else "ready" if healthy and healthy.status == "True" else "not ready"
        rows.append(
            (
                cluster.name,
                version.value if version else "?",
                nodes.value if nodes else "?",
                free.get("cpu", "?"),
                free.get("memory", "?"),
                state,
            )
        )
    return table(("CLUSTER", "VERSION", "NODES", "CPU", "MEMORY", "STATE"), rows)


def _headline(plan: PlacementPlan) -> str:
    spec = plan.placement.spec.policy
    kind = spec.placement_type if spec else "PickAll"
    picked = sum(1 for each in plan.clusters if each.change != LOST)
    if plan.deleting:
        what = "is deleted"
    elif plan.fulfilled:
        what = f"{kind}: {picked} clusters"
    else:
        what = f"{kind}: {picked} of {plan.wanted} clusters, not fulfilled"
    return f"{plan.name}: {what}, digest {plan.digest[:16]}"


def _cluster_row(each: ClusterPlan, outcome: MemberOutcome | None) -> tuple[str, str, str, str]:
    score = "" if each.affinity_score is None else f"{each.spread_score or 0}/{each.affinity_score}"
    why = each.cause if each.cause in ("unchanged", "picked") else f"{each.cause}: {each.reason}"
    if outcome and outcome.error:
        why += f" ({outcome.error.code})"
    return (MARKS[each.change], each.cluster, score, why)


def _object_lines(plan: PlacementPlan) -> list[str]:
    if plan.deleting:
        return []
    shown = ", ".join(str(each.id) for each in plan.objects[:6])
    more = f" and {len(plan.objects) - 6} more" if len(plan.objects) > 6 else ""
    pruned = sorted({str(gone) for each in plan.clusters if each.change == KEPT for gone in each.prune})
    lines = [f"{len(plan.objects)} objects: {shown}{more}"]
    if pruned:
        lines.append(f"leaving: {', '.join(pruned)}")
    return lines


def _drift_lines(step: Step) -> list[str]:
    if step.missing:
        return ["      drift: it was deleted on the member"]
    lines = []
    for each in step.drifts[:10]:
        who = ", ".join(each.managers) or "unknown"
        lines.append(
            f"      {_wrapped(f'drift: {each.path} is {each.live!r}, placed {each.desired!r}, set by {who}', 8)}"
        )
    for diff in step.diffs[:10]:
        lines.append(f"      {_wrapped(f'differs: {diff.path} is {diff.live!r}, wanted {diff.desired!r}', 8)}")
    return lines


def _cut(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first rows, and how many more there are."""
    if len(rows) <= SHOWN:
        return rows
    return [*rows[:SHOWN], ("", f"{len(rows) - SHOWN} more", *[""] * (len(rows[0]) - 2))]


def _wrapped(text: str, indent: int = 4) -> str:
    return textwrap.fill(text, WIDTH - 2, subsequent_indent=" " * indent)
