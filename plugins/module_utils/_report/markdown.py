# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet plan as Markdown, for a comment on a pull request. Equal plans give equal bytes."""

from __future__ import annotations

import typing as t

from .._core.plan.document import KEPT, LOST, PlacementPlan

LIMIT = 60_000


def plans_markdown(plans: t.Sequence[PlacementPlan], digest: str, facts: str) -> str:
    """Summary first, then one folded section for each placement; cut below the size that code hosts accept."""
    lines = ["## Fleet plan", "", f"Digest `{digest}`", f"Facts `{facts[:16]}`", ""]
    lines += ["| placement | gained | kept | lost | objects | stopped by |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [_summary(plan) for plan in plans]
    for plan in plans:
        section = _section(plan)
        if sum(map(len, lines)) + sum(map(len, section)) > LIMIT:
            lines += ["", f"Details of `{_text(plan.name)}` and the rest are in the JSON plan: this comment is full."]
            break
        lines += section
    return "\n".join(lines) + "\n"


def _summary(plan: PlacementPlan) -> str:
    gained = len(plan.changed_clusters("gained"))
    kept, lost = len(plan.changed_clusters(KEPT)), len(plan.changed_clusters(LOST))
    stops = ", ".join(brake.name for brake in plan.brakes if brake.stops) or "nothing"
    return f"| {_text(plan.name)} | {gained} | {kept} | {lost} | {len(plan.objects)} | {stops} |"


def _section(plan: PlacementPlan) -> list[str]:
    lines = ["", "<details>", f"<summary>{_text(plan.name)}</summary>", ""]
    lines += ["| cluster | change | cause | reason |", "| --- | --- | --- | --- |"]
    lines += [f"| {each.cluster} | {each.change} | {each.cause} | {_text(each.reason)} |" for each in plan.clusters]
    if plan.left_out:
        lines += ["", "| not picked | rule | reason |", "| --- | --- | --- |"]
        lines += [f"| {each.cluster} | {each.rule} | {_text(each.reason)} |" for each in plan.left_out]
    lines += [""] + [f"- stopped by {brake.name}: {_text(brake.message)}" for brake in plan.brakes if brake.stops]
    lines += [f"- note: {_text(str(finding))}" for finding in plan.findings]
    return [*lines, "", "</details>"]


def _text(value: str) -> str:
    """Text that cannot break out of a table cell or become markup."""
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\n", " ")):
        value = value.replace(mark, safe)
    return value
