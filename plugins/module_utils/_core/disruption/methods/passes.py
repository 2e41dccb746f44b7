# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What Karpenter would do: the commands of each method on its own (``commands_of``), or one pass over all of them
(``pass_of``), which the first with a command ends (Karpenter, ``disruption.Controller``).

Which nodes may be disrupted at all is told by ``candidates.py``.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .candidates import (
    DRIFT,
    EMPTINESS,
    METHODS,
    MULTI_NODE,
    SINGLE_NODE,
    STATIC_DRIFT,
)
from .commands import Command, MethodCommands, RefusedCommand
from .consolidation import multi_node, single_node
from .drift_method import drift_method, static_drift_method
from .emptiness import emptiness
from .method_input import MethodInput

_METHODS: t.Mapping[str, t.Callable[[MethodInput], MethodCommands]] = {
    EMPTINESS: emptiness,
    STATIC_DRIFT: static_drift_method,
    DRIFT: drift_method,
    MULTI_NODE: multi_node,
    SINGLE_NODE: single_node,
}


@dataclass(frozen=True)
class Pass:
    """What one pass of Karpenter's disruption controller does. ``refused`` is by method, of those that were tried."""

    commands: tuple[Command, ...]
    refused: t.Mapping[str, tuple[RefusedCommand, ...]]

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``commands``, and ``refused`` by method."""
        return {
            "commands": [each.as_dict() for each in self.commands],
            "refused": {name: [each.as_dict() for each in rows] for name, rows in self.refused.items()},
        }


def commands_of(look: MethodInput, method: str) -> MethodCommands:
    """What one method, by its name in ``METHODS``, does. KeyError for another name; FleetError ``undecodable``,
    ``invalid-quantity`` and, for durations, ValueError where pools or NodeClaims cannot be read."""
    return _METHODS[method](look)


def pass_of(look: MethodInput) -> Pass:
    """What one pass of the controller does: the commands of the first method that has any, and why methods up to it
    leave nodes alone; after a method's ``error`` the next is tried. FleetError and ValueError as of ``commands_of``."""
    refused: dict[str, tuple[RefusedCommand, ...]] = {}
    for method in METHODS:
        found = commands_of(look, method.name)
        refused[method.name] = found.refused
        if found.commands:
            return Pass(found.commands, refused)
    return Pass((), refused)
