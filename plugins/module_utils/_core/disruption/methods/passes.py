# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One pass over the methods (Karpenter, ``disruption.Controller``): the first that yields a command ends it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState
from .candidates import (
    DRIFT,
    EMPTINESS,
    METHODS,
    MULTI_NODE,
    SINGLE_NODE,
    STATIC_DRIFT,
    Command,
    MethodCommands,
    RefusedCommand,
)
from .consolidation import multi_node, single_node
from .drift_method import drift_method, static_drift_method
from .emptiness import emptiness


@dataclass(frozen=True)
class Pass:
    """What a pass does. ``refused`` is by method, of those that were tried; empty commands: nothing is to be gained."""

    commands: tuple[Command, ...]
    refused: t.Mapping[str, tuple[RefusedCommand, ...]]

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "commands": [each.as_dict() for each in self.commands],
            "refused": {name: [each.as_dict() for each in rows] for name, rows in self.refused.items()},
        }


def one_pass(state: ClusterState, now: datetime, spot_to_spot: bool = False) -> Pass:
    """The commands of the first method that has any, at an aware instant."""
    methods: dict[str, t.Callable[[], MethodCommands]] = {
        EMPTINESS: lambda: emptiness(state, now),
        STATIC_DRIFT: lambda: static_drift_method(state, now),
        DRIFT: lambda: drift_method(state, now),
        MULTI_NODE: lambda: multi_node(state, now, spot_to_spot),
        SINGLE_NODE: lambda: single_node(state, now, spot_to_spot),
    }
    refused: dict[str, tuple[RefusedCommand, ...]] = {}
    for method in METHODS:
        found = methods[method.name]()
        refused[method.name] = found.refused
        if found.commands:
            return Pass(found.commands, refused)
    return Pass((), refused)
