# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who disrupts a node."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import (
    StateNode,
    read_node,
    read_node_claim,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.origins import DISRUPTED_BY, origin

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)


def disrupted(
    reason: str = "", lifetime: str = "Never", leaving: bool = True, annotations: t.Mapping[str, str] | None = None
) -> StateNode:
    conditions = [{"type": "DisruptionReason", "status": "True", "reason": reason}] if reason else []
    metadata = {"name": "a", "creationTimestamp": "2026-03-27T12:00:00Z"}
    if leaving:
        metadata["deletionTimestamp"] = "2026-03-28T12:00:00Z"
    spec, status = {"expireAfter": lifetime}, {"nodeName": "a", "conditions": conditions}
    claim = read_node_claim({"metadata": metadata, "spec": spec, "status": status})
    node = read_node({"metadata": {"name": "a", "annotations": dict(annotations or {})}})
    return StateNode(node=node, claim=claim)


DELETED = StateNode(node=read_node({"metadata": {"name": "a", "deletionTimestamp": "2026-03-28T12:00:00Z"}}))


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (disrupted(leaving=False), ""),
        (disrupted("Drifted"), "Drift"),
        (disrupted("Empty"), "Consolidation"),
        (disrupted("Underutilized"), "Consolidation"),
        (disrupted(lifetime="24h"), "Expiration"),
        (disrupted(lifetime="24h1m"), "external"),
        (disrupted(annotations={DISRUPTED_BY: "blue/a.1"}), "manual"),
        (disrupted("Drifted", annotations={DISRUPTED_BY: "blue/a.1"}), "manual"),
        (DELETED, "external"),
    ],
)  # fmt: skip
def test_every_disruption_has_one_origin_d0_06(node: StateNode, told: str) -> None:
    assert origin(node, NOW) == told
