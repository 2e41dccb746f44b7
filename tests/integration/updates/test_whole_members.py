# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole upgrades of members with nodes, 1.35 to 1.36, counted from the API servers' audit logs. FLEET_WHOLE_MEMBERS
makes it more members than two."""

from __future__ import annotations

import os
import re
import signal
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec
from conducting import Plays
from small_fleet import Server
from update_fleet import NEW, OLD, UpdateFleet, sequence, until

CONDUCT = str(Path(__file__).with_name("conduct.yml"))
MEMBERS = int(os.environ.get("FLEET_WHOLE_MEMBERS", "2"))
NODES = "/api/v1/nodes"
KEPT = "karpenter.sh/do-not-disrupt"
BLUE = NodesSpec(3, "blue", image="SimulatedLinux-1")
ONE_BY_ONE = {
    "budgets": [{"nodes": "1"}],
    "pace": {"firstWave": 3, "blockedTimeoutSeconds": 3, "nodeTimeoutSeconds": 600},
}


class Seen:
    """What the API server of a member was asked for, by its audit log."""

    def __init__(self, server: Server) -> None:
        self.events = server.events()

    def nodes(self, verb: str) -> list[str]:
        """Nodes for which this was done, as often as it was, by whoever is no part of the cluster."""
        return sorted(
            each["objectRef"].get("name", "")
            for each in self.events
            if each["verb"] == verb
            and (each.get("objectRef") or {}).get("resource") == "nodes"
            and not each["objectRef"].get("subresource")
            and not each["user"]["username"].startswith("system:")
            and each["responseStatus"]["code"] < 300
        )

    @property
    def control_planes(self) -> list[str]:
        """Versions of the API server, in the order in which they served."""
        found: list[str] = []
        for each in self.events:
            told = re.match(r"kube-apiserver/(v[0-9.]+)", each.get("userAgent", ""))
            if told and (not found or found[-1] != told[1]):
                found.append(told[1])
        return found


def nodes_of(server: Server) -> dict[str, tuple[str, str, str]]:
    """Uid, version and image by name."""
    found = server.client.get(NODES)["items"]
    return {
        each["metadata"]["name"]: (
            each["metadata"]["uid"],
            each["status"]["nodeInfo"]["kubeletVersion"],
            each["status"]["nodeInfo"]["osImage"],
        )
        for each in found
    }


def came(server: Server, before: t.Container[str]) -> bool:
    """Whether a node has come that was not there; its API server is away for a moment while it is upgraded."""
    try:
        return any(name not in before for name in nodes_of(server))
    except ApiError:
        return False


def versions(server: Server) -> set[tuple[str, str]]:
    return {(version, image) for _uid, version, image in nodes_of(server).values()}


def test_a_whole_fleet_once_and_no_more(fleet: UpdateFleet, plays: Plays) -> None:
    """D3-22, F5. Stages, a gate, one member that fails within the limit, a conductor that is killed while nodes are
    replaced: every control plane and node is upgraded exactly once, and the next attempt goes on with what is left."""
    names = fleet.members(*["canary", *["prod"] * (MEMBERS - 1)], nodes=(BLUE,))
    servers = {name: fleet.server(name) for name in names}
    before = {name: nodes_of(server) for name, server in servers.items()}
    stuck = names[-1]
    kept = sorted(before[stuck])[1]
    servers[stuck].patch(f"{NODES}/{kept}", {"metadata": {"annotations": {KEPT: "true"}}})
    stages = sequence(
        {"name": "canary", "groups": [{"name": "canary"}], "afterGates": [{"type": "Approval", "displayName": "well"}]},
        {"name": "prod", "maxAllowedFailures": "1", "groups": [{"name": "prod", "maxAllowedFailures": "1"}]},
    )
    fleet.write(stages, kind="Full", nodePools=ONE_BY_ONE)

    first = plays.start(CONDUCT, **fleet.variables())
    until(lambda: came(servers[names[0]], before[names[0]]), 600)
    first.kill(signal.SIGKILL, first.worker, first.pid)
    first.ended()
    assert fleet.row(names[0]).status.state == "Running" and len(fleet.records.list("NodeRotation")) == 1

    waiting = plays(CONDUCT, **fleet.variables()).code(0)
    assert waiting.fleet["code"] == "awaiting-approval", waiting.output
    row = fleet.row(names[0])
    assert (row.status.state, row.attempt, row.version_before, row.version_after) == ("Completed", 1, OLD, NEW)
    assert versions(servers[names[0]]) == {(NEW, "SimulatedLinux-1")}
    assert nodes_of(servers[names[1]]) == before[names[1]], "before the gate nothing is touched"
    approval = {"run": fleet.run_name, "stage": "canary", "timing": "After", "reason": "well"}
    plays("gitops.fleet.approve", **fleet.variables(**approval)).code(0)

    failed = plays(CONDUCT, **fleet.variables()).code(2)
    assert failed.fleet["code"] == "not-all-members", failed.output
    assert fleet.states() == {**dict.fromkeys(names, "Completed"), stuck: "Failed"}
    assert KEPT in fleet.row(stuck).message and fleet.version(stuck) == NEW
    assert nodes_of(servers[stuck])[kept] == before[stuck][kept], "it stays as it is"

    servers[stuck].patch(f"{NODES}/{kept}", {"metadata": {"annotations": {KEPT: None}}})
    plays("gitops.fleet.retry", **fleet.variables(run=fleet.run_name)).code(0)
    again = plays("gitops.fleet.update", **fleet.variables(run=f"{fleet.run_name}-retry")).code(0)
    assert again.fleet["outcome"] == "done", again.output
    for name, server in servers.items():
        seen = Seen(server)
        assert seen.control_planes == [OLD, NEW], name
        assert seen.nodes("delete") == sorted(before[name]), name
        assert len(seen.nodes("create")) == 6, (name, seen.nodes("create"))
        assert versions(server) == {(NEW, "SimulatedLinux-1")}
        assert not any(each["spec"].get("unschedulable") for each in server.client.get(NODES)["items"])
    assert not fleet.records.list("NodeRotation"), "a rotation is recorded as long as it goes on"
    assert fleet.upgrades() == dict.fromkeys(names, 1)
