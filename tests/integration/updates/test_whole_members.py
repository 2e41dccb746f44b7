# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole upgrades of members with nodes, 1.35 to 1.36, counted from the API servers' audit logs. FLEET_WHOLE_MEMBERS
makes it more members than three."""

from __future__ import annotations

import json
import os
import re
import signal
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec
from conducting import Plays, gone
from small_fleet import Server
from update_fleet import API, NEW, OLD, UpdateFleet, sequence, until

CONDUCT = str(Path(__file__).with_name("conduct.yml"))
MEMBERS = int(os.environ.get("FLEET_WHOLE_MEMBERS", "3"))
NODES = "/api/v1/nodes"
MEMBER_CLUSTERS = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters"
KEPT = "karpenter.sh/do-not-disrupt"
BLUE = NodesSpec(3, "blue", image="SimulatedLinux-1")
ONE_BY_ONE = {
    "budgets": [{"nodes": "1"}],
    "pace": {"firstWave": 3, "blockedTimeoutSeconds": 3, "nodeTimeoutSeconds": 600},
}
ONE_MAY_FAIL = {"maxAllowedFailures": "1"}
STAGES = sequence(
    {"name": "canary", "groups": [{"name": "canary"}], "afterGates": [{"type": "Approval", "displayName": "well"}]},
    {"name": "early", **ONE_MAY_FAIL, "groups": [{"name": "early", **ONE_MAY_FAIL}]},
    {"name": "prod", **ONE_MAY_FAIL, "groups": [{"name": "prod", **ONE_MAY_FAIL}]},
)
EARLY = range(1, 1 + MEMBERS // 3)


class Seen:
    """What the API server of a member was asked for, by its audit log."""

    def __init__(self, server: Server) -> None:
        self.events = server.events()

    def nodes(self, verb: str, codes: t.Container[int] = range(300)) -> list[str]:
        """Nodes for which this was done, as often as it was, by whoever is no part of the cluster."""
        return sorted(
            each["objectRef"].get("name", "")
            for each in self.events
            if each["verb"] == verb
            and (each.get("objectRef") or {}).get("resource") == "nodes"
            and not each["objectRef"].get("subresource")
            and not each["user"]["username"].startswith("system:")
            and each["responseStatus"]["code"] in codes
        )

    def most_nodes(self, before: Seen, there: int) -> int:
        """How many nodes there were at the most since ``before``, when there were so many."""
        most = there
        for each in self.events[len(before.events) :]:
            if (each.get("objectRef") or {}).get("resource") != "nodes" or each["objectRef"].get("subresource"):
                continue
            if each["verb"] in ("create", "delete") and each["responseStatus"]["code"] < 300:
                there += 1 if each["verb"] == "create" else -1
                most = max(most, there)
        return most

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


def new_nodes(server: Server, before: t.Container[str]) -> int:
    """How many have come that were not there; its API server is away for a moment while it is upgraded."""
    try:
        return sum(name not in before for name in nodes_of(server))
    except ApiError:
        return 0


def maintained(fleet: UpdateFleet, opens: datetime, name: str = "kubernetes") -> None:
    """Members of ring ``early`` have a window of four hours each day, from ``opens`` on, for what its name says."""
    schedule = {"schedule": {"daily": {"intervalDays": 1}}, "startDate": "2026-01-01"}
    window = {**schedule, "durationHours": 4, "startTime": f"{opens:%H:%M}"}
    windows = [{"name": name, "memberSelector": {"byLabel": "ring=early"}, "maintenanceWindow": window}]
    found = {
        "apiVersion": API,
        "kind": "FleetMaintenance",
        "metadata": {"name": "nights"},
        "spec": {"windows": windows},
    }
    (fleet.folder / "updates" / "maintenance.json").write_text(json.dumps(found))


def versions(server: Server) -> set[tuple[str, str]]:
    return {(version, image) for _uid, version, image in nodes_of(server).values()}


def test_a_whole_fleet_once_and_no_more(fleet: UpdateFleet, plays: Plays) -> None:
    """D3-22, D3-41, F5. A gate, a window, in each later stage one member that fails within the limit. SIGKILL to
    a conductor while nodes are replaced, to the member's etcd while the next one does that, and to an upgrade. Every
    control plane and node is upgraded exactly once, and the next attempt goes on with what is left."""
    rings = ["canary", *("early" if each in EARLY else "prod" for each in range(1, MEMBERS))]
    names = fleet.members(*rings, nodes=(BLUE,))
    servers = {name: fleet.server(name) for name in names}
    before = {name: nodes_of(server) for name, server in servers.items()}
    canary, killed, stuck = names[0], names[1], names[-1]
    kept = sorted(before[stuck])[1]
    servers[stuck].patch(f"{NODES}/{kept}", {"metadata": {"annotations": {KEPT: "true"}}})
    for each in EARLY:
        fleet.patch(f"{MEMBER_CLUSTERS}/{names[each]}", {"metadata": {"labels": {"ring": "early"}}})
    opens = (datetime.now(UTC) + timedelta(hours=6)).replace(second=0, microsecond=0)
    maintained(fleet, opens)
    fleet.write(STAGES, kind="Full", nodePools=ONE_BY_ONE)
    looked = " ".join(plays("gitops.fleet.preflight", **fleet.variables()).code(0).output.split())
    assert f"note: {stuck}: {KEPT} holds nodes: node {kept} in pool blue; let go by" in looked, looked

    first = plays.start(CONDUCT, **fleet.variables())
    until(lambda: new_nodes(servers[canary], before[canary]), 600)
    first.kill(signal.SIGKILL, first.worker, first.pid)
    first.ended()
    assert fleet.row(canary).status.state == "Running" and len(fleet.records.list("NodeRotation")) == 1

    waiting = plays.start(CONDUCT, **fleet.variables())
    until(lambda: new_nodes(servers[canary], before[canary]) > 1, 600)
    without_etcd(fleet, canary)
    waiting.ended(900).code(0)
    assert waiting.fleet["code"] == "awaiting-approval", waiting.output
    row = fleet.row(canary)
    assert (row.status.state, row.attempt, row.version_before, row.version_after) == ("Completed", 1, OLD, NEW)
    assert versions(servers[canary]) == {(NEW, "SimulatedLinux-1")}
    assert all(nodes_of(servers[each]) == before[each] for each in names[1:]), "before the gate nothing is touched"
    approval = {"run": fleet.run_name, "stage": "canary", "timing": "After", "reason": "well"}
    plays("gitops.fleet.approve", **fleet.variables(**approval)).code(0)

    closed = plays(CONDUCT, **fleet.variables(max_idle=0)).code(0)
    assert closed.fleet == {"outcome": "waiting", "code": "waiting", "resume_at": f"{opens:%Y-%m-%dT%H:%M:%SZ}"}
    assert [fleet.row(each).status.state for each in names] == tree("Completed", "Pending", "NotStarted")
    assert fleet.row(killed).reason == "WindowClosed"
    assert all(nodes_of(servers[each]) == before[each] for each in names[1:]), "nor before the window"
    maintained(fleet, datetime.now(UTC) - timedelta(hours=1))

    failing = plays.start(CONDUCT, **fleet.variables())
    until(lambda: killed in fleet.upgrades(), 600)
    upgrade = int(until(lambda: fleet.row(killed).reference.split(":")[2:])[0])
    failing.kill(signal.SIGKILL, upgrade)
    assert gone(upgrade, 30)
    failing.ended(300 * MEMBERS).code(2)
    assert failing.fleet["code"] == "not-all-members", failing.output
    assert fleet.states() == {**dict.fromkeys(names, "Completed"), killed: "Failed", stuck: "Failed"}
    status = fleet.recorded().status
    assert (status.status.state, status.outcome, status.failure_count) == ("Completed", "CompletedWithFailures", 2)
    assert [(each.status.state, each.failure_count) for each in status.stages] == [
        ("Completed", 0), ("Completed", 1), ("Completed", 1)]  # fmt: skip
    assert "killed" in fleet.row(killed).message
    assert KEPT in fleet.row(stuck).message and fleet.version(stuck) == NEW
    assert nodes_of(servers[stuck])[kept] == before[stuck][kept], "it stays as it is"

    servers[stuck].patch(f"{NODES}/{kept}", {"metadata": {"annotations": {KEPT: None}}})
    plays("gitops.fleet.retry", **fleet.variables(run=fleet.run_name)).code(0)
    again = plays("gitops.fleet.update", **fleet.variables(run=f"{fleet.run_name}-retry")).code(0)
    assert again.fleet["outcome"] == "done", again.output
    for name, server in servers.items():
        seen = Seen(server)
        assert seen.control_planes == [OLD, NEW], (name, seen.control_planes)
        replaced_once(seen, before[name], doubtful=name == canary)
        assert versions(server) == {(NEW, "SimulatedLinux-1")}
        assert not any(each["spec"].get("unschedulable") for each in server.client.get(NODES)["items"])
    assert not fleet.records.list("NodeRotation"), "a rotation is recorded as long as it goes on"
    assert fleet.upgrades() == dict.fromkeys(names, 1)
    images_alone(fleet, plays, canary)


def replaced_once(seen: Seen, before: t.Collection[str], doubtful: bool) -> None:
    """No node is deleted or made twice. ``doubtful``: etcd was killed, so that an answer of the API server may say that
    it failed though it was done."""
    unsure = {verb: set(seen.nodes(verb, range(500, 600))) if doubtful else set() for verb in ("delete", "create")}
    deleted, created = seen.nodes("delete"), seen.nodes("create")
    assert len(deleted) == len(set(deleted)) and set(deleted) <= set(before), deleted
    assert set(before) - set(deleted) <= unsure["delete"], (deleted, unsure)
    assert len(created) == len(set(created)), created
    assert 6 - len(unsure["create"]) <= len(created) <= 6, (created, unsure)


def images_alone(fleet: UpdateFleet, plays: Plays, member: str) -> None:
    """D3-24, D3-32, D3-105, D3-106. In its own window every node is replaced once more, for its image, by one more at
    a time; kubelets stay at their version, the control plane as it is. What it got is recorded."""
    server = fleet.server(member)
    before, seen = nodes_of(server), Seen(server)
    fleet.run_name += "-images"
    wanted = {"type": "Custom", "customNodeImageVersions": [{"version": "SimulatedLinux-2"}]}
    patient = {"budgets": [{"nodes": "1"}], "pace": {"firstWave": 3, "nodeTimeoutSeconds": 600}}
    fleet.write(sequence(("canary",)), kind="NodeImageOnly", target="", images=wanted, nodePools=patient)
    fleet.patch(f"{MEMBER_CLUSTERS}/{member}", {"metadata": {"labels": {"ring": "early"}}})
    opens = (datetime.now(UTC) + timedelta(hours=6)).replace(second=0, microsecond=0)
    maintained(fleet, opens, "nodeImage")
    assert plays(CONDUCT, **fleet.variables(max_idle=0)).code(0).fleet["resume_at"] == f"{opens:%Y-%m-%dT%H:%M:%SZ}"
    assert nodes_of(server) == before and fleet.row(member).reason == "WindowClosed"
    maintained(fleet, datetime.now(UTC) - timedelta(hours=1), "nodeImage")
    kept = f"{NODES}/{sorted(before)[0]}"
    server.patch(kept, {"metadata": {"annotations": {KEPT: "true"}}})
    held = plays(CONDUCT, **fleet.variables(max_idle=0)).code(0)
    row = fleet.row(member)
    assert (held.fleet["outcome"], row.status.state) == ("waiting", "Running"), held.output
    assert row.message.startswith("pool blue waits: ") and KEPT in row.message
    assert "pool blue waits: " in held.output.split("HOW FAR, AND WHY")[1], "the tree says why"
    server.patch(kept, {"metadata": {"annotations": {KEPT: None}}})
    assert plays(CONDUCT, **fleet.variables()).code(0).fleet["outcome"] == "done"
    assert KEPT not in fleet.row(member).message
    after = Seen(server)
    assert fleet.row(member).node_images == ("SimulatedLinux-2",)
    assert after.most_nodes(seen, len(before)) == len(before) + 1
    assert versions(server) == {(NEW, "SimulatedLinux-2")} and len(nodes_of(server)) == len(before)
    assert after.nodes("delete") == sorted([*seen.nodes("delete"), *before])
    assert len(after.nodes("create")) == len(seen.nodes("create")) + len(before)
    assert after.control_planes == [OLD, NEW] and fleet.upgrades()[member] == 1
    ahead_of_an_older_image(fleet, plays, member)


def ahead_of_an_older_image(fleet: UpdateFleet, plays: Plays, member: str) -> None:
    """D3-27. The record of the member is of its nodes before: what is planned is by those that are there now."""
    stored = fleet.records.get("FleetMember", member) or {}
    pools = [{"name": "blue", "count": 3, "version": NEW, "image": "SimulatedLinux-0"}]
    fleet.records.replace({**stored, "status": {**stored.get("status", {}), "nodePools": pools}})
    fleet.run_name += "-older"
    wanted = {"type": "Custom", "customNodeImageVersions": [{"version": "SimulatedLinux-1"}]}
    fleet.write(sequence(("canary",)), kind="NodeImageOnly", target="", images=wanted)
    ahead = "pool blue is at SimulatedLinux-2, ahead of 1: named in the run"
    for playbook, flags in (("preflight", ()), ("update", ("--check",)), ("update", ())):
        told = plays(f"gitops.fleet.{playbook}", *flags, **fleet.variables()).code(0)
        assert ahead in " ".join(told.output.split()) and "image 0 -> 1" not in told.output, told.output
    assert fleet.row(member).status.state == "Skipped" and "0/1 done (1 skipped)" in told.output
    assert "0 of 1 cluster done, 1 skipped" in told.output


def tree(canary: str, early: str, prod: str) -> list[str]:
    """One state for each member of a ring; of those with a closed window the first one's turn has come, and it passes
    the turn on."""
    return [canary, *(early if each in EARLY else prod for each in range(1, MEMBERS))]


def without_etcd(fleet: UpdateFleet, member: str) -> None:
    """SIGKILL to it; its API server finds nothing to read or write until it is there again."""
    folder = fleet.clusters.root
    etcd = cluster.status(folder, member).processes["etcd"]["pid"]
    os.kill(etcd, signal.SIGKILL)
    assert gone(etcd, 30)
    back = cluster.upgraded(member, NEW.removeprefix("v"), folder)
    assert "start etcd, which had died" in back.changes, back.changes
