# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A cluster of the recorded kinds ``candidates`` and ``commands``, with the controller's memory put on its nodes."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from datetime import timedelta
from functools import cache

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import StatePool, assemble
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.daemon_sets import daemon_pods
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import read_instance_type
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    read_pod_disruption_budget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_reading import read_pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import read_node, read_node_claim
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.settings import Settings
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time

Data = dict[str, t.Any]
OURS = "TestNodeClass"


def look(input: Data, first: tuple[str, ...] = ()) -> MethodInput:
    now, memory, options = parse_time(input["now"]), input["memory"], input["options"]
    types = tuple(read_instance_type(each) for each in input["instanceTypes"])
    state = assemble(
        [read_node(each) for each in input["nodes"]],
        [read_node_claim(each) for each in input["nodeClaims"]],
        [read_pod(each) for each in input["pods"]],
        [_pool(each, types, options["poolsWithoutInstanceTypes"]) for each in input["nodePools"]],
        [read_pod_disruption_budget(each) for each in input["podDisruptionBudgets"]],
        daemon_pods(input["daemonSets"], input["pods"]),
    )
    awaited = {name: now + timedelta(seconds=20) for name in memory["nominated"]}
    nodes = [
        dataclasses.replace(each, queued=each.name in memory["inCommand"], nominated_until=awaited.get(each.name))
        for each in state.nodes
    ]
    settings = Settings(
        spot_to_spot=options["featureGates"]["SpotToSpotConsolidation"],
        respect=options["preferencePolicy"] == "Respect",
        upstream=True,
        first=first,
    )
    return MethodInput(dataclasses.replace(state, nodes=tuple(nodes)), now, settings)


def looks(input: Data) -> t.Callable[[tuple[str, ...]], MethodInput]:
    """A look for each choice of who goes first among equals, made once."""
    return cache(lambda first: look(input, first))


def replacement(each: t.Any) -> Data:
    told = sorted("/".join((one.instance_type, one.zone, one.capacity_type)) for one in each.options)
    return {
        "capacityTypes": None if each.capacity_types is None else list(each.capacity_types),
        "instanceTypes": list(each.instance_types),
        "nodePool": each.pool,
        "offerings": told,
        "zones": None if each.zones is None else list(each.zones),
    }


def shared(found: MethodInput) -> Data:
    """What both kinds tell of NodeClaims."""
    claims = [each for each in found.state.nodes if each.claim is not None]
    return {
        each.claim.name: {
            "consolidatable": found.consolidatable(each),
            "drifted": found.drifted[each.name].drift.reason if each.name in found.drifted else None,
        }
        for each in claims
    }


def budget(found: MethodInput, reason: str) -> Data:
    return {name: each.allowed for name, each in found.allowances(reason).items()}


def events(rows: t.Iterable[t.Any]) -> list[Data]:
    """In the order of the recording: by their text."""
    return sorted((each.as_dict() for each in set(rows)), key=text)


def text(row: Data) -> str:
    return json.dumps(row, sort_keys=True)


def _pool(document: Data, types: tuple[t.Any, ...], without: list[str]) -> StatePool:
    pool = decode_node_pool(document)
    managed = document["spec"]["template"]["spec"]["nodeClassRef"]["kind"] == OURS
    return StatePool(pool, instance_types=() if pool.name in without else types, managed=managed)
