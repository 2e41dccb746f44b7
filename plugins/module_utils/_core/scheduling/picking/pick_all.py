# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placement type PickAll (KubeFleet scheduler): every cluster that passes the filters; those that hold the placement
under this policy stay, whatever the filters say."""

from __future__ import annotations

from ...objects.placements.binding import ClusterScore
from ...scheduling import bitset, same_placement_affinity
from ..profile import Profile
from ..reasons import PASSES_ALL
from ..request import SchedulingRequest
from .bindings import Bindings, Pick
from .decisions import CycleView, decisions_of_bindings
from .ending import PickResult, take_in_order


def pick_all(asked: SchedulingRequest, book: Bindings) -> PickResult:
    """Holds in ``book`` every cluster that passes the filters, beside those held under the current policy, which stay
    whatever the filters say. With ``asked.upstream`` FleetError as of ``ClusterAffinityFilter.of`` and
    ``Bindings.take``."""
    profile = Profile.of(asked)
    index = asked.index
    held = book.clusters(book.current)
    survivors = bitset.positions(same_placement_affinity.passing(profile.passing, held))
    zero = ClusterScore(affinity_score=0, priority_score=0)
    order = take_in_order(book, [Pick(index.names[position], zero, PASSES_ALL) for position in survivors])
    return PickResult(
        selected=decisions_of_bindings(book, order),
        count=len(order),
        wanted=len(order),
        fulfilled=True,
        look=CycleView(index, profile),
        findings=profile.findings,
    )
