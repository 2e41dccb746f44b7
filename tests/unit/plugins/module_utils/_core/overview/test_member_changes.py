# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is other about a member is told with what it was and what it is."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.member_changes import member_changes


def fleet(**spec: t.Any) -> dict[str, t.Any]:
    return {"kind": "FleetMember", "metadata": {"name": "prod-1"}, "spec": spec}


def cluster(labels: dict[str, str] | None = None, *taints: dict[str, str]) -> dict[str, t.Any]:
    return {"kind": "MemberCluster", "metadata": {"name": "prod-1", "labels": labels}, "spec": {"taints": list(taints)}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (fleet(driver="local"), fleet(driver="command"), "driver local -> command"),
        (fleet(), fleet(group="canary", maintenance="standard"), "group none -> canary, maintenance none -> standard"),
        (fleet(location="Vienna"), fleet(location="Graz"), "location Vienna -> Graz"),
        (
            fleet(connection={"kubeconfig": "a.conf", "context": "prod"}),
            fleet(connection={"kubeconfig": "b.conf", "context": "prod"}),
            "connection kubeconfig a.conf -> b.conf",
        ),
        (
            fleet(connection={"kubeconfig": "a.conf", "inCluster": False}),
            fleet(connection={"secretRef": {"name": "prod", "namespace": "keys"}, "inCluster": True}),
            "connection kubeconfig a.conf -> none, connection secretRef name none -> prod, "
            "connection secretRef namespace none -> keys, connection inCluster none -> true",
        ),
        (
            cluster({"env": "test", "tier": "web"}),
            cluster({"env": "prod"}),
            "label env test -> prod, label tier web -> none",
        ),
        (
            cluster(None, {"key": "slow", "effect": "NoSchedule"}),
            cluster(None, {"key": "team", "value": "web", "effect": "NoSchedule"}),
            "taint slow NoSchedule -> none, taint team none -> web:NoSchedule",
        ),
        (
            cluster(None, {"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}),
            cluster(None, {"key": "gpu", "value": "a", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}),
            "taint gpu NoSchedule and NoExecute -> a:NoSchedule and NoExecute",
        ),
        (fleet(driver="local", longTermSupport=False), fleet(driver="local"), ""),
    ],
)
def test_each_field_is_told_with_what_it_was_and_is(
    before: dict[str, t.Any], after: dict[str, t.Any], told: str
) -> None:
    assert member_changes([before], [after]) == told


def test_both_records_of_a_member_are_told_together() -> None:
    before, after = [cluster({"env": "test"}), fleet(driver="local")], [cluster({"env": "prod"}), fleet(driver="role")]
    assert member_changes(before, after) == "label env test -> prod, driver local -> role"


def test_nothing_but_labels_and_specs_is_told() -> None:
    """What a cluster said of itself, and marks of others on its record, are no change that somebody made."""
    after = fleet(driver="local")
    after["metadata"]["annotations"] = {"note": "secret"}
    assert member_changes([fleet(driver="local")], [{**after, "status": {"version": "1.35"}}]) == ""
