# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What Karpenter's consolidation would do to nodes, as text: delete, replace or keep, where pods go, what is saved."""

from __future__ import annotations

import typing as t

from ..._core.disruption.members.consolidation_plan import KEEP, MemberPlan, NodePlan
from ..._core.disruption.methods.check_again import Checked
from ..._core.disruption.methods.commands import Command
from ..._core.values.listed import listed, number_of
from ..text import first_rows, folded, table

MOST_PODS, MOST_TYPES = 6, 3
OBSERVED = (
    "instance types are those that nodes have: nothing is known of others, and of prices only what prices say. "
    "With * the answer may be another with a catalogue"
)


def consolidation_text(plans: t.Sequence[MemberPlan]) -> list[str]:
    """A sentence and a table of nodes for each member; what its next pass does comes first, nodes that are kept last. A
    single sentence without plans, for no member has Karpenter then."""
    lines: list[str] = []
    for each in plans:
        lines += folded(_headline(each))
        for command, found in zip(each.commands, each.again, strict=False):
            lines += folded(f"looked at again, {command.method}: {_again(command, found)}", "    ")
        rows = sorted(each.nodes, key=lambda one: (not one.next, one.decision == KEEP, one.node))
        if rows:
            lines += table(("NODE", "DECISION", "SAVES", "WHY"), first_rows([_row(one) for one in rows]))
        if rows and not each.given:
            lines += folded(OBSERVED, "    ")
    return lines or ["no member has Karpenter: nobody consolidates nodes"]


def _headline(plan: MemberPlan) -> str:
    """What the member's next pass does and saves per hour, that it disrupts no node, or why there is no plan."""
    if plan.unknown:
        return f"{plan.member}: no consolidation plan: {plan.unknown}"
    if not plan.commands:
        return f"{plan.member}: the next pass of Karpenter disrupts no node"
    told = "; ".join(f"{each.method} {each.text}, saves {_money(each.saving)}" for each in plan.commands)
    return f"{plan.member}: the next pass of Karpenter: {told}"


def _again(command: Command, found: Checked) -> str:
    """What became of a command when the member was looked at once more: given up and why, as before, or for how many of
    its nodes."""
    if found.command is None:
        return f"given up, {found.failure}: {found.text}"
    left = len(found.command.nodes)
    return "as before" if left == len(command.nodes) else f"{left:,} of {number_of(len(command.nodes), 'node')}"


def _row(one: NodePlan) -> tuple[str, str, str, str]:
    """The cells of one node; a star marks that with a catalogue of instance types the answer might be another. One that
    is kept saves nothing."""
    decision = f"{one.decision}, next" if one.next else one.decision
    saves = "" if one.decision == KEEP else _money(one.saving)
    return one.node, decision + ("*" if one.needs_catalogue else ""), saves, "; ".join(_why(one))


def _why(one: NodePlan) -> t.Iterator[str]:
    """Why, with whom together, by what the node is replaced, where its pods go and what it waits for, as far as that
    applies; at most ``MOST_PODS`` names and ``MOST_TYPES`` instance types."""
    yield one.text if one.decision == KEEP else f"{one.reason}: {one.text}"
    if one.together:
        yield f"together with {listed(one.together, MOST_PODS)}"
    for each in one.replacements:
        price = "" if each.price is None else f" from {each.price:g}"
        yield f"replaced by {listed(each.instance_types, MOST_TYPES)} of pool {each.pool}{price}"
    if one.moves:
        yield f"pods: {listed([f'{each.pod} to {each.target}' for each in one.moves], MOST_PODS)}"
    if one.held:
        yield f"waits: {one.held}"


def _money(value: float | None) -> str:
    """A price per hour, four digits of it; ``?`` for None, as a price that nobody knows is no zero."""
    return "?" if value is None else f"{value:.4g}"
