# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Tables and folded lines as wide as the terminal (80 columns for logs), and in them plans of placements (who gains and
loses, waves, brakes, notes), what was done or seen on members (drift, differences), and facts of clusters."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._core.cluster.facts.prices import CURRENCY, PERIOD, UNITS
from .._core.cluster.facts.snapshot import FactsSnapshot
from .._core.errors import Problem
from .._core.foreign import LINE
from .._core.objects.clusters.member_cluster import MemberCluster
from .._core.objects.placements.policy import PICK_N
from .._core.overview.clusters import UNREADABLE
from .._core.plan.document import (
    GAINED,
    KEPT,
    LEFT_BEHIND,
    LEFTOVER,
    LOST,
    NOTHING_RECORDED,
    PRUNE,
    RELEASE,
    ClusterPlan,
    PlacementPlan,
)
from .._core.plan.member import DIFFERS, UNCHANGED, MemberStep
from .._core.plan.outcome import MemberOutcome
from .._core.plan.reached import reached
from .._core.plan.waves import clusters_reached_at_once, waves
from .._core.schema.meta import find_condition
from .._core.values.listed import listed, number_of
from .changes import field_lines, override_lines, unseen_change_lines
from .widths import columns, columns_of, padded, told_line, told_text, wrapped

MARKS = {GAINED: "+", KEPT: "=", LOST: "-"}
SHOWN, FEW = 40, 12
KINDS = 10
GOING = {
    PRUNE: "deleted from",
    LEFTOVER: "deleted, if an unfinished run has put it there, from",
    RELEASE: "released, and staying, on",
}
LOOK_AGAIN = (
    "look again: ansible-playbook gitops.fleet.drift with the same placements and resources, which reads the members"
    " and changes nothing"
)
HOW = " (gitops.fleet.staged_update; how a run is written: docs/rollout.md, staged runs)"
BY_RUN = "; only a staged run changes it there"
FIRST_APPLY = (
    "a first apply reaches all {} clusters at once, as upstream; for stages: strategy External and a staged run{}"
)
OR_FEWER = ", or a smaller numberOfClusters"
GAP, ROOM = 2, 24
INDENT, DETAIL = "  ", "      "
VALUE, CELL = 120, 1_000


def table(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]], indent: str = "  ") -> list[str]:
    """The lines of a table: left-aligned columns; the last one is wrapped below itself; after a long cell a new line
    begins. Cells may be foreign, and are cut at about ``CELL`` characters, the header not. ValueError for a row of more
    or fewer cells than the header."""
    return [line for row in table_rows(header, rows, indent) for line in row]


def table_rows(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]], indent: str = "  ") -> list[list[str]]:
    """The lines that ``table`` gives, those of each row for themselves and those of the header first. ValueError as
    there."""
    body = [tuple(header), *(tuple(told_line(str(cell), CELL) for cell in row) for row in rows)]
    widths = _widths([max(map(columns_of, column)) for column in zip(*body, strict=True)], len(indent))
    return [_row_lines(row, widths, indent) for row in body]


def _row_lines(row: t.Sequence[str], widths: t.Sequence[int], indent: str) -> list[str]:
    """The lines of one row. A cell wider than its column is followed by a new line that begins at the next column; the
    last cell is wrapped at its column, whatever its width says."""
    start = len(indent) + sum(width + GAP for width in widths[:-1])
    lines: list[str] = []
    line = indent
    for column, (cell, width) in enumerate(zip(row[:-1], widths[:-1], strict=True)):
        line += padded(cell, width + GAP)
        if columns_of(cell) > width:
            place = len(indent) + sum(each + GAP for each in widths[: column + 1])
            lines += folded(line.rstrip())
            line = " " * place
    first, *more = wrapped(row[-1], columns() - start) or [""]
    lines.append((line + first).rstrip())
    lines += [" " * start + part for part in more]
    return [each for each in lines if each]


def _widths(widths: list[int], indent: int) -> list[int]:
    """The ``widths`` of columns behind an ``indent``; where the last one lacks room (what it needs, at most ``ROOM``),
    the widest of the others are made narrower until it has that."""
    widths = list(widths)
    while len(widths) > 1 and indent + sum(width + GAP for width in widths[:-1]) + min(widths[-1], ROOM) > columns():
        widest = max(range(len(widths) - 1), key=lambda column: widths[column])
        widths[widest] -= 1
    return widths


def plan_text(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome] | None = None) -> list[str]:
    """In lines that fit the terminal: who gets, keeps and loses the placement, who does not get it and why, its objects
    and which leave, overrides, waves, what changes since the last apply, how far it is, brakes that tripped, and notes
    but those of ``notes_before_plan``. With ``outcomes``, by cluster, also what was done or seen on members. Long lists
    are cut, but that of objects that leave. FleetError as of ``waves``."""
    lines = folded(_headline(plan))
    outcomes = dict(sorted((outcomes or {}).items()))
    rows = [_cluster_row(each, outcomes.get(each.cluster), plan.is_by_staged_runs) for each in plan.changes_first]
    if rows:
        lines += table(("", "CLUSTER", "SCORE", "WHY"), first_rows(rows))
    left = [("x", listed(names, 1), rule, reason) for names, rule, reason in plan.left_out_alike(FEW)]
    if left:
        lines += table(("", "NOT PICKED", "RULE", "WHY"), first_rows(left))
    lines += [part for line in _object_lines(plan) for part in folded(line, INDENT, most=len(line))]
    lines += _rendered(plan)
    lines += [part for line in waves_lines(plan) for part in folded(line, INDENT)]
    for clusters, changed in unseen_change_lines(plan, outcomes):
        lines += folded(f"on {listed(clusters)}, since the last apply:", INDENT)
        lines += [part for line in changed for part in folded(line, "    ")]
    lines += _members_lines(outcomes)
    lines += [part for line in reached_lines(plan, outcomes) for part in folded(line, INDENT)]
    for brake in plan.brakes:
        if brake.tripped:
            word = "lifted" if brake.lifted else "STOPS"
            lines += folded(f"brake {brake.name} {word}: {brake.message}", INDENT)
    return lines + notes_text(plan.findings)


def waves_lines(plan: PlacementPlan) -> list[str]:
    """In how many waves it rolls out, how large they are, and who is in the first; nothing for a single one, unless it
    is that of a first apply to several clusters. Of a placement that staged runs change, who waits for one. FleetError
    as of ``waves``."""
    if plan.is_by_staged_runs:
        waiting = [each.cluster for each in plan.clusters if not each.stays]
        by_run = f"strategy External: {listed(waiting)}: changed by a staged update run alone, and not by an apply{HOW}"
        return [by_run] if waiting else []
    at_once = clusters_reached_at_once(plan)
    if at_once:
        return [FIRST_APPLY.format(at_once, OR_FEWER if plan.placement.spec.placement_type == PICK_N else "")]
    found = waves(plan)
    if len(found) < 2:
        return []
    most = max(map(len, found))
    return [f"{len(found)} waves of at most {most}, each when the one before is available; first {listed(found[0])}"]


def reached_lines(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]) -> list[str]:
    """How far it is: applied, available, what is waited for and how to look again; nothing where nobody has looked,
    nothing is to be applied, no cluster is to hold it, or nothing was done and nothing is waited for."""
    far = reached(plan, outcomes)
    if far is None or not (far.waiting or any(each.done for each in outcomes.values())):
        return []
    groups: dict[tuple[str, ...], list[str]] = {}
    for cluster, objects in far.waiting.items():
        groups.setdefault(tuple(map(str, objects)), []).append(cluster)
    waits = [f"not available yet on {listed(clusters)}: {listed(late)}" for late, clusters in groups.items()]
    left = sum(map(len, list(groups.values())[SHOWN:]))
    waits[SHOWN:] = [f"not available yet on {number_of(left, 'more cluster')}"] if left else []
    return [far.sentence, *waits, *([LOOK_AGAIN] if waits else [])]


def folded(text: str, indent: str = "", most: int = LINE, further: str | None = None) -> list[str]:
    """The text in lines that fit ``columns``, the first behind ``indent``, those after it behind ``further``, which is
    four columns more where it is None; what is beyond about ``most`` characters is only counted. One empty line for an
    empty text."""
    return wrapped(told_line(text, most), columns(), indent, indent + "    " if further is None else further) or [""]


def first_rows(rows: t.Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows, of two cells and more each; of more than ``SHOWN`` the first so many, and a row that says how many more
    there are."""
    if len(rows) <= SHOWN:
        return list(rows)
    return [*rows[:SHOWN], ("", f"{len(rows) - SHOWN} more", *[""] * (len(rows[0]) - 2))]


def left_to_runs(plans: t.Iterable[PlacementPlan], evacuated: t.Container[str]) -> list[str]:
    """What stays on ``evacuated`` clusters until a staged update run takes it away, by placement, in lines that fit the
    terminal."""
    lines: list[str] = []
    for plan in plans:
        held = [each for each in plan.clusters_with(LOST) if each in evacuated] if plan.is_by_staged_runs else []
        if held:
            lines += folded(f"not empty until a staged run takes it away: {plan.name} on {listed(held)}")
    return lines


def nothing_to_end(names: t.Iterable[str], plans: t.Iterable[PlacementPlan]) -> list[str]:
    """That no placement of those ``names`` is recorded of which ``plans`` has none; in lines that fit the terminal."""
    there = {plan.name for plan in plans}
    missing = [name for name in dict.fromkeys(names) if name not in there]
    return folded(f"no placement of this name is recorded, so nothing of it ends: {listed(missing)}") if missing else []


def notes_before_plan(findings: t.Sequence[Problem]) -> list[str]:
    """The notes that have to be read before the plan, that nothing is recorded, in lines that fit the terminal."""
    return [part for each in findings if each.code == NOTHING_RECORDED for part in folded(f"NOTE: {each}")]


def notes_text(findings: t.Sequence[Problem]) -> list[str]:
    """The notes but those of ``notes_before_plan``, in lines that fit the terminal: the first ``SHOWN``, and how many
    more there are."""
    findings = [each for each in findings if each.code != NOTHING_RECORDED]
    notes = [f"note: {finding}" for finding in findings[:SHOWN]]
    if len(findings) > SHOWN:
        notes.append(number_of(len(findings) - SHOWN, "more note"))
    return [part for note in notes for part in folded(note, INDENT)]


def _members_lines(outcomes: t.Mapping[str, MemberOutcome]) -> list[str]:
    """The lines of ``member_lines`` for each of the first ``SHOWN`` groups of clusters of which the same is to be told,
    and how many more clusters there are; one that could not be read stands alone. Clusters with nothing to tell are
    left out."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for cluster, outcome in outcomes.items():
        alike = tuple(member_lines("", outcome)) if outcome.error is None else (cluster,)
        if alike:
            groups.setdefault(alike, []).append(cluster)
    told = list(groups.values())
    lines = [line for clusters in told[:SHOWN] for line in member_lines(listed(clusters), outcomes[clusters[0]])]
    left = sum(map(len, told[SHOWN:]))
    return lines + ([f"  {number_of(left, 'more member')} with something to tell"] if left else [])


def member_lines(cluster: str, outcome: MemberOutcome) -> list[str]:
    """Objects that change, differ, drift or failed on one member, with their fields, or why it could not be read; none
    where all is as it should be. ``cluster`` stands before each object. Long lists are cut, and the rest counted."""
    if outcome.error:
        return folded(f"! {replace(outcome.error, where=cluster)}", INDENT)
    lines = []
    steps = [step for step in outcome.steps if step.action != UNCHANGED]
    for step in steps[:SHOWN]:
        lines += folded(f"{cluster}: {step.action} {step.id}" + (f": {step.message}" if step.message else ""), INDENT)
        lines += _drift_lines(step)
        lines += [part for line in field_lines(step.changes) for part in folded(line, "      ")]
    if len(steps) > SHOWN:
        lines += folded(f"{cluster}: {len(steps) - SHOWN} more", INDENT)
    told = {step.id for step in outcome.steps if step.message}
    failures = [each for each in outcome.failures if each.id not in told]
    for each in failures[:SHOWN]:
        lines += folded(f"! {cluster}: {each.id}: {each.message}", INDENT)
    if len(failures) > SHOWN:
        lines += folded(f"! {cluster}: {len(failures) - SHOWN} more", INDENT)
    return lines


def facts_text(snapshot: FactsSnapshot) -> list[str]:
    """A header, and one line a cluster, by name: version, nodes, free CPU and memory (what may be allocated, if it is
    not known what is free), costs where any are known, health; ``?`` for what is not known. Below a cluster why it
    could not be read."""
    clusters = sorted(snapshot.members, key=lambda each: each.name)
    priced = any(snapshot.costs(each) for each in clusters)
    header = ["CLUSTER", "VERSION", "NODES", "CPU", "MEMORY", "STATE"]
    header[-1:-1] = [f"PER {unit}" for unit in UNITS.values()] if priced else []
    head, *rows = table_rows(header, [_facts_row(snapshot, each, priced) for each in clusters], INDENT)
    lines = head
    for cluster, row in zip(clusters, rows, strict=True):
        why = snapshot.failed.get(cluster.name)
        lines += row + (folded(f"{why.get('message', '')} [{why.get('code', '')}]", DETAIL) if why else [])
    if priced:
        units = " or ".join(UNITS.values())
        lines += folded(f"costs: {CURRENCY} for an {PERIOD} and one {units}, {snapshot.costs_from}", INDENT)
    return lines


def _facts_row(snapshot: FactsSnapshot, cluster: MemberCluster, priced: bool) -> tuple[str, ...]:
    """The cells of one cluster; with ``priced`` those of costs too. The state is ``ready``, ``not ready`` or that it
    cannot be read, and names parts that were not read, each with the code."""
    status = cluster.status
    version = status.properties.get("k8s.io/k8s-version")
    nodes = status.properties.get("kubernetes-fleet.io/node-count")
    usage = status.resource_usage
    free = (usage.available or usage.allocatable) if usage else {}
    agent = status.agent_status[0] if status.agent_status else None
    healthy = find_condition(agent.conditions, "Healthy") if agent else None
    failed = snapshot.failed.get(cluster.name)
    state = UNREADABLE if failed else "ready" if healthy and healthy.status == "True" else "not ready"
    state += "".join(
        f", {part} not read: {why['code']}" for part, why in snapshot.missing.get(cluster.name, {}).items()
    )
    costs = {each.unit: each.value for each in snapshot.costs(cluster)}
    return (
        cluster.name,
        version.value if version else "?",
        nodes.value if nodes else "?",
        free.get("cpu", "?"),
        free.get("memory", "?"),
        *(costs.get(unit, "?") for unit in (UNITS.values() if priced else ())),
        state,
    )


def _headline(plan: PlacementPlan) -> str:
    """In a sentence: what ``standing`` says, and the first 16 digits of its digest."""
    return f"{plan.name}: {standing(plan)}, digest {plan.digest[:16]}"


def standing(plan: PlacementPlan) -> str:
    """In words: how many clusters the placement has, of how many if it is not fulfilled, or that it is deleted; how
    many that could not be read keep it."""
    if plan.deleting:
        return "is deleted"
    picked, beside = number_of(plan.picked, "cluster"), ""
    if not plan.fulfilled:
        picked = f"{plan.picked:,} of {number_of(plan.wanted, 'cluster')}, not fulfilled"
    if plan.unread:
        beside = f", {plan.unread} more could not be read and keep it"
    return f"{plan.placement.spec.placement_type}: {picked}{beside}"


def _cluster_row(each: ClusterPlan, outcome: MemberOutcome | None, by_run: bool) -> tuple[str, str, str, str]:
    """The cells sign, cluster, score (``spread/affinity``, empty without one) and cause with its reason; the code of
    the error where the member could not be read, and that it was not looked at if nothing was to change there; that
    objects have drifted where nothing else changes; with ``is_by_staged_runs``, that only a staged run changes it."""
    score = "" if each.affinity_score is None else f"{each.spread_score or 0}/{each.affinity_score}"
    why = each.cause if each.cause in ("unchanged", "picked") else f"{each.cause}: {each.reason}"
    why += BY_RUN if by_run and not each.stays else ""
    if outcome and outcome.error:
        unseen = each.cause == "unchanged" and not outcome.written
        why = f"{'not looked at' if unseen else why} ({outcome.error.code})"
    elif outcome and outcome.drifted and each.cause == "unchanged":
        why = "the placement is unchanged, and what it placed has drifted"
    return (MARKS[each.change], each.cluster, score, why)


def _rendered(plan: PlacementPlan) -> list[str]:
    """What overrides make of the objects, clusters that get the same together, for the first ``KINDS`` such groups; of
    the others how many clusters there are."""
    lines = []
    for clusters, told in override_lines(plan, KINDS):
        same = f"the same on {len(clusters)} clusters" if len(clusters) > 1 else "on one cluster"
        lines += folded(f"overridden, {same} ({listed(clusters)}):", INDENT)
        lines += [part for line in told for part in folded(line, "    ")]
    others = [each for rendering in plan.renderings[KINDS:] for each in rendering.clusters]
    if others:
        lines += folded(
            f"overridden in other ways on {number_of(len(others), 'more cluster')}; render shows what one of them gets",
            INDENT,
        )
    return lines


def _object_lines(plan: PlacementPlan) -> list[str]:
    """What is placed, the first 6 objects, unless the placement ends; and every object that leaves or is left behind,
    with all clusters; those that lose the same share a line."""
    named = listed([str(each.id) for each in plan.objects])
    count = f"{number_of(len(plan.objects), 'object')}: {named}" if plan.objects else "no object"
    lines = [] if plan.deleting else [count]
    return (
        lines
        + [
            f"{verb} {', '.join(clusters)}: {', '.join(map(str, objects))}"
            for way, verb in GOING.items()
            for objects, clusters in plan.objects_going(way, LEFT_BEHIND)
        ]
        + [
            f"left behind on {', '.join(clusters)}: {', '.join(map(str, objects))}"
            for objects, clusters in plan.objects_left_behind
        ]
    )


def _drift_lines(step: MemberStep) -> list[str]:
    """Of one object that it is missing, or its fields that drifted, and those that differ, the first 10 of each and how
    many more there are."""
    if step.missing:
        gone = "drift: it is missing; it was deleted, or an apply did not bring it there"
        return folded("differs: it is missing on the member" if step.action == DIFFERS else gone, "      ")
    lines = []
    for each in step.drifts[:10]:
        who = ", ".join(each.managers) or "unknown"
        text = f"drift: {each.path} is {_value(each.live)}, placed {_value(each.desired)}, set by {who}"
        lines += folded(text, "      ")
    for diff in step.diffs[:10]:
        lines += folded(f"differs: {diff.path} is {_value(diff.live)}, wanted {_value(diff.desired)}", "      ")
    more = max(0, len(step.drifts) - 10) + max(0, len(step.diffs) - 10)
    if more:
        lines.append(f"      {number_of(more, 'more field')}")
    return lines


def _value(value: t.Any) -> str:
    """The value as Python writes it, the first ``VALUE`` characters and ``...`` of a longer one."""
    text = told_text(repr(value))
    return text if len(text) <= VALUE else f"{text[:VALUE]}..."
