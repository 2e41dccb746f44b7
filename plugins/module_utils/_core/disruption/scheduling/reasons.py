# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why a pod finds no place in a simulation (is unschedulable), in words, by cause and how many nodes (``fits none of 3
nodes``): asked only of those that found none."""

from __future__ import annotations

from collections import Counter

from ...objects.clusters.tolerations import first_untolerated
from ...values.listed import number_of
from .requirement import compatible
from .rooms import Room, port_clash
from .solve import SchedulingRun
from .wishes import PodDemands


def why_unplaced(one: PodDemands, work: SchedulingRun) -> str:
    """Why a pod fits nowhere, in a sentence: what of it cannot be judged, or how many nodes, as the run has left them,
    refuse it for which cause, the most frequent first; why no new node can be made for it is not told."""
    if one.pod.unjudged:
        return f"pod {one.key} fits nowhere: its {one.pod.unjudged} cannot be judged here"
    rooms = work.rooms.not_left_out
    causes = Counter(_cause(one, room, work) for room in rooms)
    told = ", ".join(f"{count} {text}" for text, count in sorted(causes.items(), key=lambda row: (-row[1], row[0])))
    return f"pod {one.key} fits none of {number_of(len(rooms), 'node')}{f' ({told})' if told else ''} and no new one"


def _cause(one: PodDemands, room: Room, work: SchedulingRun) -> str:
    """Why a node refuses a pod, the first cause of: not Ready, taint, resource, labels, host port, volumes,
    ``consolidateAfter``; else a constraint between pods is taken for it."""
    if not room.ready:
        return "not Ready"
    taint = first_untolerated(room.taints, one.wishes.tolerations)
    if taint is not None:
        return f"taint {taint.key}"
    short = next((name for name, amount in one.requests.items() if amount > room.free.get(name, 0)), "")
    if short:
        return f"too little {short}"
    if not compatible(room.requirements, one.requirements):
        return "node selector or affinity"
    if one.ports and port_clash(one, room.ports):
        return "host port"
    if one.volumes and not compatible(room.requirements, one.volumes):
        return "zone of its volumes"
    if work.settled and room.waits:
        return "consolidateAfter still runs"
    return "constraint between pods"
