# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Empty nodes: all that budgets allow, what saves most first, deleted in one command, whatever the policy of their
pools (Karpenter, ``emptiness.go``)."""

from __future__ import annotations

from ...objects.karpenter.node_pool import EMPTY_REASON
from ...values.listed import number_of
from .candidates import EMPTINESS
from .commands import EMPTY, Command, MethodCommands, by_saving, summed_price, within_budgets
from .consolidation_candidates import sorted_out, why_not_emptied
from .method_input import MethodInput


def emptiness(look: MethodInput) -> MethodCommands:
    """One command for all empty nodes that may go within the budgets, what saves most first, or none: whatever the
    policy of the pool, unless ``why_not_emptied`` says otherwise. ValueError as of ``MethodInput.candidates`` and
    ``never_consolidates``."""
    nodes, refused, events = sorted_out([(each, why_not_emptied(look, each)) for each in look.candidates()])
    kept, over = within_budgets(by_saving(nodes, look.settings.first), look.allowances(EMPTY_REASON))
    refused += over
    names = tuple(each.name for each in by_saving(nodes))
    if not kept:
        return MethodCommands((), tuple(refused), names, tuple(events))
    price = summed_price(kept, look.settings.upstream)
    command = Command(
        method=EMPTINESS,
        reason=EMPTY_REASON,
        motive=EMPTY,
        nodes=tuple(each.name for each in kept),
        saving=price,
        source_cost=price,
        text=number_of(len(kept), "empty node"),
    )
    return MethodCommands((command,), tuple(refused), names, tuple(events))
