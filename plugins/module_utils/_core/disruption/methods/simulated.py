# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A scheduling simulation as a method of disruption asks for it, with the events that Karpenter writes meanwhile (``no
nodepools found``, ``Not all pods would schedule``)."""

from __future__ import annotations

import typing as t

from ..scheduling.simulation import Simulation
from . import events as words
from .candidates import NodeCandidate
from .events import NodeEvent
from .method_input import MethodInput

NO_POOLS = "creating scheduler, no nodepools found"


def simulated(
    look: MethodInput, going: t.Sequence[NodeCandidate], consolidation: bool = False
) -> tuple[Simulation | None, list[NodeEvent]]:
    """The simulation of what becomes of pods without the nodes ``going``, and the events meanwhile: about annotations
    of their pods, then of nodes on their way out, then about pools without types. ``consolidation`` as of
    ``Simulator.simulate``. None, as in Karpenter, with the setting ``upstream`` where no pool may make nodes. Errors as
    of ``Simulator.simulate``."""
    simulator = look.simulator
    told = [event for each in going for event in words.of_annotations(each.pods, look.now, moving=True)]
    told += look.leaving_events
    if not simulator.making and look.settings.upstream:
        return None, told
    told += [words.no_types(name, short) for name, short in simulator.without_types]
    return simulator.simulate([each.node for each in going], consolidation), told


def misfit_message(look: MethodInput, done: Simulation) -> str:
    """Upstream's words about pods that find no place in a simulation that has such, for an event, without the causes,
    whose order is left to chance there."""
    text = "Not all pods would schedule"
    if len(done.misfits) == 1 and done.misfits[0].uninitialized:
        only = done.misfits[0]
        node = next(each for each in look.state.nodes if each.name == only.uninitialized)
        parts = [f"nodeclaim/{node.claim.name}"] if node.claim is not None else []
        parts += [f"node/{node.node.name}"] if node.node is not None else []
        text += f", {only.pod} => would schedule against uninitialized {', '.join(parts)}"
    return text
