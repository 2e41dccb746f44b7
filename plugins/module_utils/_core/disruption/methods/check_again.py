# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a command to disrupt nodes still holds when it is carried out, a pause (15 s in Karpenter) after it was
planned, or what has changed meanwhile (``failure``: ``budget``, ``scheduling``, ``churn``; Karpenter,
``validation.go``)."""

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState
from ..blockers import blockers
from ..scheduling.settings import DEFAULTS, Settings
from .candidates import EMPTINESS, MULTI_NODE, SINGLE_NODE, NodeCandidate
from .commands import Command, within_budgets
from .consolidation import Consolidation, NoPools, underused
from .consolidation_candidates import why_not_consolidated, why_not_emptied
from .method_input import MethodInput

# Found in the time between the plan and the act.
BUDGET, SCHEDULING, CHURN = "budget", "scheduling", "churn"


@dataclass(frozen=True)
class Checked:
    """A command that may go on, perhaps with fewer nodes; or None with the class of the ``failure`` (``budget``,
    ``scheduling``, or ``churn``: a node is no candidate any more) and a sentence."""

    command: Command | None
    failure: str = ""
    text: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``nodes`` that would still go, empty without a command, ``failure`` and ``text``."""
        nodes = list(self.command.nodes) if self.command else []
        return {"nodes": nodes, "failure": self.failure, "text": self.text}


def check_again(command: Command, state: ClusterState, now: datetime, settings: Settings = DEFAULTS) -> Checked:
    """Whether a command still holds in the state of a later instant ``now``; the pause is the caller's.

    Of empty nodes those stay in it that are still empty and have room in the budgets; a consolidation needs all of its
    nodes (``churn``), then room in the budgets for all (``budget``), then as many new nodes, which may still be of all
    types that it names (``scheduling``); drift is not checked and always holds. Policy ``Balanced`` is not asked again.
    Errors as of ``Simulator.simulate`` and ``underused``.
    """
    look = MethodInput(state, now, settings)
    if command.method == EMPTINESS:
        return _still_empty(command, look)
    if command.method not in (MULTI_NODE, SINGLE_NODE):
        return Checked(command)
    nodes, _refused, _events = underused(look)
    by_name = {each.name: each for each in nodes}
    gone = [name for name in command.nodes if name not in by_name]
    if gone:
        return Checked(None, CHURN, _why(look, gone[0], command.method))
    same = [by_name[name] for name in command.nodes]
    _kept, over = within_budgets(same, look.allowances(command.reason))
    if over:
        return Checked(None, BUDGET, over[0].text)
    try:
        again = Consolidation(look).command_for(same)
    except NoPools:
        return Checked(None, SCHEDULING, "no pool may make nodes any more")
    if not isinstance(again, Command):
        return Checked(None, SCHEDULING, again.text)
    if len(again.replacements) != len(command.replacements) or not _types(command) <= _types(again):
        return Checked(None, SCHEDULING, "the pods now need other nodes than the command starts")
    return Checked(command)


def _still_empty(command: Command, look: MethodInput) -> Checked:
    """The command with those of its nodes that are still empty and that budgets have room for, whatever else has become
    empty meanwhile; failure ``budget`` if only room lacks, else ``churn``. ValueError as of ``underused``."""
    able = {each.name: each for each in look.candidates() if why_not_emptied(look, each) is None}
    still = [able[name] for name in command.nodes if name in able]
    kept, over = within_budgets(still, look.allowances(command.reason))
    if kept:
        return Checked(dataclasses.replace(command, nodes=tuple(each.name for each in kept)))
    if over:
        return Checked(None, BUDGET, over[0].text)
    return Checked(None, CHURN, _why(look, command.nodes[0], command.method))


def _why(look: MethodInput, name: str, method: str) -> str:
    """Why a node is no candidate of the method any more, in a sentence: it is gone, its first gate, or the method's own
    rules. ValueError as of ``NodeCandidate.of`` and ``never_consolidates``."""
    node = next((each for each in look.state.nodes if each.name == name), None)
    if node is None:
        return f"node {name} is gone"
    found = blockers(look.state, node, look.now)
    if found:
        return found[0].text
    one = NodeCandidate.of(look.state, node, look.now)
    why = why_not_emptied(look, one) if method == EMPTINESS else why_not_consolidated(look, one)
    return f"node {name}: {why.text}" if why else f"node {name} is not empty any more"


def _types(command: Command) -> set[str]:
    """The names of all types that the replacements of a command may be."""
    return {name for each in command.replacements for name in each.instance_types}
