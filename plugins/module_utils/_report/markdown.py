# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A plan of placements as Markdown, for a comment on a pull request, equal plans with equal bytes; tables, notes and
foreign text in Markdown, and as many lines as have room."""

from __future__ import annotations

import re
import typing as t

from .._core.errors import Problem
from .._core.plan.document import (
    GAINED,
    KEPT,
    LOST,
    NOTHING_RECORDED,
    PRUNE,
    PlacementPlan,
)
from .._core.values.listed import listed, number_of
from .changes import override_lines, unseen_change_lines
from .text import GOING, KINDS, standing, waves_lines
from .widths import told_line, told_text

MARKS = re.compile(r"[&<>|`*_~\[\]()!#@\\]")
# Code hosts make links of these: mentions, numbers of issues and requests, addresses.
LINKS = re.compile(r"[@#!]|[$%&^~](?=[\w\"])|:(?=//)|\bwww(?=\.)|\bGH(?=-)", re.IGNORECASE)
BREAK = "\u200b"
# What stands for itself in code, in a cell of a table too.
PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._:@/+-]{0,251}[A-Za-z0-9])?")
CELL, NOTE = 300, 1_000

LIMIT = 60_000
# Of these bytes, what comes before the details takes three quarters at the most.
SUMMARY, NOTES, BEFORE = LIMIT // 2, LIMIT // 8, LIMIT * 3 // 4
SHOWN, FEW, NAMED = 200, 20, 12


def plans_markdown(
    plans: t.Sequence[PlacementPlan], digest: str, facts: str, findings: t.Sequence[Problem] = ()
) -> str:
    """A summary with a row for each placement, notes, what is deleted or released, then one folded section for each
    placement, as many as keep below ``LIMIT`` bytes. ``facts`` is the digest of the facts, ``findings`` are notes about
    all placements. FleetError as of ``waves``."""
    first = [f"**{escaped(str(each), NOTE)}**" for each in findings if each.code == NOTHING_RECORDED]
    findings = [each for each in findings if each.code != NOTHING_RECORDED]
    lines = ["## Fleet plan", "", *(line for each in first for line in (each, ""))]
    lines += [f"Digest `{digest}`", f"Facts `{facts[:16]}`", ""]
    lines += ["| placement | gained | kept | lost | objects | deleted | stopped by |", "|" + " --- |" * 7]
    lines += as_many_as_fit(map(_summary, plans[:SHOWN]), len(plans), SUMMARY, "| {} more | | | | | | |")
    room, notes = BEFORE - size_of(lines), [f"{each.name}: {standing(each)}" for each in plans if not each.fulfilled]
    notes += [str(finding) for finding in findings]
    going = _removals(plans, room - size_of(notes_markdown(notes, NOTES)))
    lines += [*notes_markdown(notes, max(NOTES, room - size_of(going))), *going]
    room = LIMIT - size_of(lines)
    for plan in plans:
        section = _section(plan)
        room -= size_of(section)
        if room < 0:
            lines += ["", f"Details of {escaped(plan.name)} and the rest are in the JSON plan: this comment is full."]
            break
        lines += section
    return "\n".join(lines) + "\n"


def size_of(lines: t.Iterable[str]) -> int:
    """Bytes of the lines in UTF-8, each with its end."""
    return sum(len(line.encode()) + 1 for line in lines)


def as_many_as_fit(lines: t.Iterable[str], total: int, room: int, more: str) -> list[str]:
    """The first of the ``total`` lines, as many as keep within ``room`` bytes; then, not counted, ``more`` with how
    many more there are in place of its ``{}``. Of ``lines`` not all of the total need be given."""
    kept: list[str] = []
    for line in lines:
        room -= size_of([line])
        if room < 0:
            break
        kept.append(line)
    return [*kept, more.format(total - len(kept))] if len(kept) < total else kept


def notes_markdown(notes: t.Sequence[str], room: int) -> list[str]:
    """An empty line, and a line for each of the first ``SHOWN`` notes, as many as keep within ``room`` bytes; nothing
    without notes."""
    told = (f"- note: {escaped(each, NOTE)}" for each in notes[:SHOWN])
    return ["", *as_many_as_fit(told, len(notes), room, "- {} more notes")] if notes else []


def _summary(plan: PlacementPlan) -> str:
    """The row of the placement: how many clusters gain, keep and lose it, how many objects it has, what is deleted, and
    the brakes that stop it, or ``nothing``."""
    gained, kept, lost = (len(plan.clusters_with(change)) for change in (GAINED, KEPT, LOST))
    stops = ", ".join(brake.name for brake in plan.brakes if brake.stops) or "nothing"
    counted = f"{gained} | {kept} | {lost} | {len(plan.objects)} | {_deleted(plan)}"
    return f"| {escaped(plan.name)} | {counted} | {escaped(stops)} |"


def _deleted(plan: PlacementPlan) -> str:
    """``3 on 2``: how many different objects are deleted, and on how many clusters; ``0`` for none. What is released
    does not count."""
    gone = plan.objects_going(PRUNE)
    objects = {each for each_set, _clusters in gone for each in each_set}
    return f"{len(objects)} on {sum(len(clusters) for _set, clusters in gone)}" if gone else "0"


def _removals(plans: t.Sequence[PlacementPlan], room: int) -> list[str]:
    """An empty line, and a line for each set of objects that is deleted or released, with its clusters; nothing without
    any. A line that has no room in ``room`` bytes names the first ``FEW`` of each; where even that has none, the last
    line says how many such sets are left."""
    rows = [
        (f"- {escaped(plan.name)}: {verb} ", clusters, [str(each) for each in objects])
        for plan in plans
        for way, verb in GOING.items()
        for objects, clusters in plan.objects_going(way)
    ]
    lines = [""] if rows else []
    for place, (head, clusters, objects) in enumerate(rows):
        line = f"{head}{_names(clusters)}: {_names(objects)}"
        if size_of([line]) > room:
            line = f"{head}{_names(clusters, FEW)}: {_names(objects, FEW)}"
        room -= size_of([line])
        if room < 0:
            return [
                *lines,
                f"- {len(rows) - place} more lists of objects that are deleted or released: see the JSON plan",
            ]
        lines.append(line)
    return lines


def _names(names: t.Sequence[str], most: int | None = None) -> str:
    """The names, ``escaped``, parted by commas; of more than ``most`` (None: no limit) the first, and how many more
    there are."""
    left = len(names[most:]) if most is not None else 0
    return ", ".join(map(escaped, names[:most])) + (f" and {left} more, see the JSON plan" if left else "")


def _section(plan: PlacementPlan) -> list[str]:
    """The folded section of one placement: how many clusters it has and which, who is not picked, overrides, changes,
    waves, brakes that stop it, notes. Long lists are cut, and the rest counted. FleetError as of ``waves``."""
    lines = ["", "<details>", f"<summary>{escaped(plan.name)}</summary>", ""]
    lines += [escaped(standing(plan)), ""]
    changes = [(each.cluster, each.change, each.cause, each.reason) for each in plan.changes_first]
    lines += markdown_table(("cluster", "change", "cause", "reason"), changes)
    left = [(listed(names, NAMED), rule, reason) for names, rule, reason in plan.left_out_alike(FEW)]
    if left:
        lines += ["", *markdown_table(("not picked", "rule", "reason"), left)]
    for clusters, told in override_lines(plan, KINDS):
        lines += ["", f"Overridden, the same on {number_of(len(clusters), 'cluster')} ({_names(clusters, FEW)}):", ""]
        lines += [f"{'  ' if line.startswith(' ') else ''}- {escaped(line.strip())}" for line in told]
    others = sum(len(each.clusters) for each in plan.renderings[KINDS:])
    lines += (
        ["", f"Overridden in other ways on {number_of(others, 'more cluster')}, see the JSON plan."] if others else []
    )
    for clusters, changed in unseen_change_lines(plan, {}):
        lines += ["", f"Changes on {_names(clusters, SHOWN)}:", ""]
        lines += [f"{'  ' if line.startswith(' ') else ''}- {escaped(line.strip())}" for line in changed]
    lines.append("")
    lines += [f"- {escaped(line)}" for line in waves_lines(plan)]
    lines += [f"- stopped by {escaped(brake.name)}: {escaped(brake.message)}" for brake in plan.brakes if brake.stops]
    lines += [f"- note: {escaped(str(finding), NOTE)}" for finding in plan.findings[:SHOWN]]
    if len(plan.findings) > SHOWN:
        lines.append(f"- {number_of(len(plan.findings) - SHOWN, 'more note')}")
    return [*lines, "", "</details>"]


def markdown_table(header: tuple[str, ...], rows: t.Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table: the header as it stands, so nothing foreign, and the first ``SHOWN`` rows, ``escaped``."""
    lines = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
    lines += [f"| {' | '.join(map(escaped, row))} |" for row in rows[:SHOWN]]
    if len(rows) > SHOWN:
        lines.append(f"| {len(rows) - SHOWN} more |" + " |" * (len(header) - 1))
    return lines


def as_code(value: str) -> str:
    """A foreign name, such as ``ann@host``, as code, where code hosts make no mention of it; one that is not plain is
    ``escaped``."""
    shown = told_text(value)
    return f"`{shown}`" if PLAIN.fullmatch(shown) else escaped(shown)


def escaped(value: str, most: int = CELL) -> str:
    """Foreign text for one line of Markdown: it cannot break out of a table cell or become markup or a link. It is cut
    at about ``most`` characters, and white space becomes single spaces."""
    line = LINKS.sub(rf"\g<0>{BREAK}", " ".join(told_line(value, most).split()))
    return MARKS.sub(lambda found: f"&#{ord(found[0])};", line).replace(BREAK, f"&#{ord(BREAK)};")
