# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether what was planned still holds when it is carried out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState
from ..blockers import blockers
from .candidates import (
    EMPTINESS,
    MULTI_NODE,
    SINGLE_NODE,
    Command,
    allowances,
    within_budgets,
)
from .consolidation import Consolidation, underused
from .eligibility import unconsolidatable
from .emptiness import emptiness

# Found in the time between the plan and the act.
BUDGET, SCHEDULING, CHURN = "budget", "scheduling", "churn"


@dataclass(frozen=True)
class Checked:
    """A command that may go on, perhaps with fewer nodes; or None with the class of the failure and a sentence."""

    command: Command | None
    failure: str = ""
    text: str = ""


def check_again(command: Command, state: ClusterState, now: datetime, spot_to_spot: bool = False) -> Checked:
    """Whether a command still holds after a pause (Karpenter, ``validation.go``; 15 s there, and none for drift).

    Of empty nodes those that still are stay; a consolidation needs all of its nodes, room in the budgets, and the
    same new nodes.
    """
    if command.method == EMPTINESS:
        return _still_empty(command, state, now)
    if command.method not in (MULTI_NODE, SINGLE_NODE):
        return Checked(command)
    nodes, _refused = underused(state, now)
    by_name = {each.name: each for each in nodes}
    gone = [name for name in command.nodes if name not in by_name]
    if gone:
        return Checked(None, CHURN, _why(state, gone[0], now))
    same = [by_name[name] for name in command.nodes]
    _kept, over = within_budgets(same, allowances(state, now, command.reason))
    if over:
        return Checked(None, BUDGET, over[0].text)
    again = Consolidation(state, now, spot_to_spot).of(same)
    if not isinstance(again, Command):
        return Checked(None, SCHEDULING, again.text)
    if len(again.replacements) != len(command.replacements) or not _types(command) <= _types(again):
        return Checked(None, SCHEDULING, "the pods now need other nodes than the command starts")
    return Checked(command)


def _still_empty(command: Command, state: ClusterState, now: datetime) -> Checked:
    found = emptiness(state, now)
    able = found.commands[0].nodes if found.commands else ()
    kept = tuple(name for name in command.nodes if name in able)
    if kept:
        return Checked(dataclasses.replace(command, nodes=kept))
    over = [each for each in found.refused if each.code == "budget" and each.nodes[0] in command.nodes]
    return Checked(None, BUDGET, over[0].text) if over else Checked(None, CHURN, _why(state, command.nodes[0], now))


def _why(state: ClusterState, name: str, now: datetime) -> str:
    """Why a node is no candidate any more."""
    node = next((each for each in state.nodes if each.name == name), None)
    if node is None:
        return f"node {name} is gone"
    found = blockers(state, node, now)
    if found:
        return found[0].text
    why = unconsolidatable(state, node, now)
    return f"node {name}: {why.text}" if why else f"node {name} is not empty any more"


def _types(command: Command) -> set[str]:
    return {option.instance_type for each in command.replacements for option in each.options}
