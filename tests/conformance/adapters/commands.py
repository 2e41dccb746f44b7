# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``commands``: what each method does with a cluster."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.candidates import METHODS
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import commands_of
from ansible_collections.gitops.fleet.tests.conformance import alternatives, recorded_clusters

Data = dict[str, t.Any]
Names = tuple[str, ...]


def answer(input: Data) -> Data:
    """Each method waits to be asked, because it is asked again where the order of equals is chance."""
    look = recorded_clusters.looks(input)
    methods = {each.name: lambda first, each=each: _method(look(first), each) for each in METHODS}
    zones = sorted({offering["zone"] for each in input["instanceTypes"] for offering in each["offerings"]})
    return {"methods": methods, "nodeClaims": recorded_clusters.shared(look(())), "zones": zones}


def same(expected: Data, got: Data) -> str | None:
    rows = expected["methods"].items()
    texts = (alternatives.same_in_any_order(row, got["methods"][name], name, got["zones"]) for name, row in rows)
    return next((text for text in texts if text), alternatives.same(expected["nodeClaims"], got["nodeClaims"]))


def _method(look: t.Any, method: t.Any) -> Data:
    found = commands_of(look, method.name)
    return {
        "budget": recorded_clusters.budget(look, method.reason),
        "candidates": list(found.considered),
        "commands": [_command(each) for each in found.commands],
        "error": found.error or None,
        "events": recorded_clusters.events(found.events),
    }


def _command(one: t.Any) -> Data:
    moves = [{"from": each.source or None, "pod": each.pod, "to": each.target} for each in (*one.moves, *one.others)]
    return {
        "decision": one.decision,
        "estimatedSavings": one.saving,
        "moves": sorted(moves, key=recorded_clusters.text),
        "nodes": list(one.nodes),
        "replacements": [recorded_clusters.replacement(each) for each in one.replacements],
        "sourceCost": one.source_cost,
    }
