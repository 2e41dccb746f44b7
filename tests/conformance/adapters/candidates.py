# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``candidates``: which nodes may be disrupted, why others may not, and what Karpenter says of them."""

from __future__ import annotations

import math
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.blockers import EVENTUAL, GRACEFUL
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.candidates import (
    METHODS,
    node_verdicts,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.expiration import expired
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import commands_of
from ansible_collections.gitops.fleet.tests.conformance import alternatives, recorded_clusters

Data = dict[str, t.Any]
same = alternatives.same


def answer(input: Data) -> Data:
    look = recorded_clusters.look(input)
    found = node_verdicts(look.state, look.now)
    claims = {each.name: each.claim for each in look.state.nodes}
    return {
        "candidates": [_costs(each) for each in found if each.costs is not None],
        "events_eventual": recorded_clusters.events(event for each in found for event in each.eventual.events),
        "events_graceful": recorded_clusters.events(event for each in found for event in each.graceful.events),
        "expired": sorted(claims[each.node].name for each in expired(look.state, look.now)),
        "methods": {each.name: _method(look, each) for each in METHODS},
        "nodeClaims": recorded_clusters.shared(look),
        "nodes": {
            each.node: {EVENTUAL: each.eventual.error or None, GRACEFUL: each.graceful.error or None} for each in found
        },
    }


def _costs(each: t.Any) -> Data:
    one = each.costs
    return {
        "disruptionCost": None if math.isnan(one.whole_cost) else one.whole_cost,
        "empty": one.empty,
        "name": one.name,
        "price": one.known_price,
        "rescheduleDisruptionCost": one.cost,
        "savingsRatio": one.ratio,
    }


def _method(look: t.Any, method: t.Any) -> Data:
    found = commands_of(look, method.name)
    return {
        "budget": recorded_clusters.budget(look, method.reason),
        "candidates": list(found.considered),
        "events": recorded_clusters.events([*found.filtering, *look.budget_events(method.reason)]),
    }
