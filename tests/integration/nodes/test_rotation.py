# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes replaced on a real API server with real evictions; a watcher of its own counts how many are disrupted."""

from __future__ import annotations

import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.origins import DISRUPTED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import draining
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import node_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotating import (
    RotationReport,
    RotationWish,
    conduct_rotation,
    planned,
    stop_rotation,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_report import (
    report_data,
    rotation_verdict,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests, node_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.rotation_text import rotation_text
from karpenter_members import NODES, gone, put
from rotation_workload import Workload
from small_fleet import Document, Fleet, Server
from watching import Watcher

OURS = "gitops.fleet/v1alpha1"
PATIENT = RotationWish(max_idle=timedelta(seconds=60), interval=timedelta(seconds=1))
AT_ONCE = RotationWish(max_idle=timedelta(0), interval=timedelta(seconds=1))
ASKED, NOTHING = ReadingWish(), NodeManifests()
FAST = {"firstWave": 12, "nodeTimeoutSeconds": 300}


def rotation(name: str, pace: Document | None = None, **spec: t.Any) -> Document:
    wanted = {"nodes": {"byLabel": "pool=blue"}, "pace": {**FAST, **(pace or {})}, **spec}
    return {"apiVersion": OURS, "kind": "NodeRotation", "metadata": {"name": name}, "spec": wanted}


def run(fleet: Fleet, wanted: Document, wish: RotationWish = PATIENT, *more: Document) -> RotationReport:
    given = node_manifests((), [wanted, *more])
    return conduct_rotation(fleet.session(), wanted["metadata"]["name"], given, wish)


def cordoned(items: list[Document]) -> frozenset[str]:
    return frozenset(each["metadata"]["name"] for each in items if each["spec"].get("unschedulable"))


def node_watcher(server: Server) -> Watcher:
    """Of the nodes that no pod may come to."""
    return Watcher(server, NODES, "pool=blue", cordoned)


def blue(server: Server) -> dict[str, Document]:
    items = server.client.get(NODES, {"labelSelector": "pool=blue"})["items"]
    return {each["metadata"]["name"]: each for each in items}


def nobody_is_held(server: Server) -> None:
    for node in blue(server).values():
        assert not node["spec"].get("unschedulable"), node["metadata"]["name"]
        assert DISRUPTED_BY not in (node["metadata"].get("annotations") or {})


@pytest.fixture
def workload(node_server: Server) -> t.Iterator[Workload]:
    made = Workload(node_server)
    yield made
    made.end()
    nobody_is_held(node_server)


def of(entry: Document, rotation_name: str) -> bool:
    return bool(entry["spec"]["object"] == {"kind": "NodeRotation", "name": rotation_name})


def test_no_more_nodes_than_the_budget_and_the_blocked_one_is_named(
    node_fleet: Fleet, node_server: Server, workload: Workload
) -> None:
    """D0-06, D0-50, D0-54, D0-98: 12 nodes, 25 %, a PodDisruptionBudget that lets neither of two pods go."""
    workload.deployment("web", 12)
    held = workload.deployment("stays", 2)
    workload.pdb("stays", minAvailable=2)
    workload.settled()
    for name in blue(node_server):  # those that came in the place of others are young
        node_server.patch(f"{NODES}/{name}", {"metadata": {"annotations": {"gitops.fleet/simulated-age": "40d"}}})
    before, blocked = blue(node_server), workload.nodes_of(held)
    wanted = rotation("age", budgets=[{"nodes": "25%"}], due={"olderThan": "720h"}, memberSelector=None)
    plan = planned(node_fleet.session(), "age", node_manifests((), [wanted]), AT_ONCE)
    assert len(plan.begins) == 3 and len(plan.state.nodes) == 12
    assert all("it is 96" in why and why.endswith(" h old") for why in plan.due.values())
    with node_watcher(node_server) as watcher:
        report = run(node_fleet, wanted, RotationWish(max_idle=timedelta(seconds=6), interval=timedelta(seconds=1)))
    outcome, code, message = rotation_verdict(report)
    assert (outcome, code) == ("waiting", "waiting"), message
    data = {each["name"]: each for each in report_data(report)["nodes"]}
    waiting = {name for name, each in data.items() if each["phase"] != "Rotated"}
    assert waiting == {f"n1/{name}" for name in blocked}
    assert f"pdb {workload.namespace}/stays" in message and all(name in message for name in waiting)
    assert 1 <= watcher.most <= 3
    assert {each["origin"] for name, each in data.items() if name not in waiting} == {"manual"}
    events = [each.message for each in node_fleet.records.events("NodeRotation", "age") if each.reason == "Disrupted"]
    assert len(events) == 12 - len(waiting) and all("origin manual" in each for each in events)
    told = [each["spec"]["action"] for each in node_fleet.records.list("AuditEntry") if of(each, "age")]
    assert told == ["RotationBegun", "RotationConducted", "RotationConducted"]
    after = blue(node_server)
    assert len(after) == 12 and {name for name in after if name in before} == set(blocked)
    # The pods may go: the rest of it is done, and then there is nothing to do.
    workload.pdb_gone("stays")
    done = run(node_fleet, wanted)
    assert rotation_verdict(done)[0] == "done" and done.state.count("Rotated") == 12, rotation_verdict(done)
    became = {each.name: each.text for each in done.state.nodes}
    new = blue(node_server)
    image = {each["status"]["nodeInfo"]["osImage"] for each in new.values()}.pop()
    assert {text.split("; ")[0] for text in became.values()} == {f"had {image}"}
    assert {text.split("; ")[1] for text in became.values()} == {f"{name} has {image}" for name in new}
    told_images = {(each.image, each.version) for each in node_report(node_fleet.session(), NOTHING, ASKED, "").answers}
    assert told_images >= {(image, each["status"]["nodeInfo"]["kubeletVersion"]) for each in new.values()}
    again = run(node_fleet, wanted)
    assert (rotation_verdict(again)[0], again.changed, len(again.state.nodes)) == ("done", False, 0)
    workload.settled()


def test_a_window_that_closes_starts_nothing_and_tells_the_next_opening(
    node_fleet: Fleet, node_server: Server, workload: Workload
) -> None:
    """Outside its budgets' windows nothing begins, and the verb says when it may go on."""
    now = node_fleet.now
    minute = now + timedelta(minutes=1)
    night = {"nodes": "0", "schedule": f"{minute.minute} {minute.hour} * * *", "duration": "2h"}
    wanted = rotation("window", {"firstWave": 1, "growth": 1, "soakSeconds": 40}, budgets=[{"nodes": "1"}, night])
    report = run(node_fleet, wanted, PATIENT)
    assert rotation_verdict(report)[0] == "waiting"
    assert report.state.count("Draining", "Returning", "Surging") == 0 and 1 <= report.state.count("Rotated") < 12
    opening = minute.replace(second=0, microsecond=0) + timedelta(hours=2)
    assert report.resume_at == opening, report_data(report)["waits"]
    hours = f"{minute:%H:%M}-{opening:%H:%M} UTC"
    assert f"budget 2 (0 nodes, {hours}) until {opening:%a %H:%M} UTC" in report_data(report)["waits"][0]
    asked = stop_rotation(node_fleet.session(), "window", write=True)
    assert asked.changed and asked.rotation.status.phase == "Stopped"
    assert asked.state.done and asked.state.halted == "the rotation was stopped"
    done, left = asked.state.count("Rotated"), asked.state.count("GivenUp")
    told = " ".join(" ".join(rotation_text("window", asked.state, asked.due, (), ())).split())
    assert f"window: 12 nodes to replace ({done} Rotated, {left} not begun); the rotation was stopped" in told
    assert not stop_rotation(node_fleet.session(), "window", write=True).changed


def test_freezes_of_the_fleet_hold_it_and_other_files_are_refused(node_fleet: Fleet, node_server: Server) -> None:
    today = node_fleet.now.date().isoformat()
    spec = {"freezes": [{"name": "sales", "start": today, "end": today}]}
    frozen = {"apiVersion": OURS, "kind": "FleetMaintenance", "metadata": {"name": "standard"}, "spec": spec}
    wanted = rotation("frozen")
    report = run(node_fleet, wanted, AT_ONCE, frozen)
    assert rotation_verdict(report)[0] == "waiting" and "freeze sales" in rotation_verdict(report)[2]
    assert report.state.count("Waiting") == 12
    with pytest.raises(FleetError) as error:
        run(node_fleet, rotation("frozen", budgets=[{"nodes": "100%"}]), AT_ONCE)
    assert error.value.code == "rotation-begun"
    command = "ansible-playbook gitops.fleet.rotate -e rotation=frozen"
    assert f"stop it: {command} -e state=stopped, and begin it anew" in error.value.problems[0].hint


def test_two_rotations_over_the_same_nodes_keep_to_one_budget(
    node_fleet: Fleet, node_server: Server, workload: Workload
) -> None:
    """What one has in hand counts for the other, which leaves it alone until it is done."""
    held = workload.deployment("held", 1)
    workload.settled()
    (name,) = set(workload.nodes_of(held))
    workload.pdb("held", maxUnavailable=0)
    budgets = [{"nodes": "1"}]
    one = rotation("one", {"nodeTimeoutSeconds": 600}, nodes={"byLabel": f"kubernetes.io/hostname={name}"})
    mark = {"metadata": {"annotations": {DISRUPTED_BY: f"one/{name}.1"}}, "spec": {"unschedulable": True}}
    node_server.patch(f"{NODES}/{name}", mark)  # as its conductor left it when it was killed
    report = run(node_fleet, rotation("two", budgets=budgets), AT_ONCE)
    assert rotation_verdict(report)[0] == "waiting" and report.state.count("Waiting") == 12
    waits = "\n".join(map(str, report_data(report)["waits"]))
    assert "is in the hands of one" in waits and "limit 1" in waits and "1 disrupted" in waits
    assert blue(node_server)[name]["metadata"]["annotations"][DISRUPTED_BY] == f"one/{name}.1"
    workload.pdb_gone("held")
    assert rotation_verdict(run(node_fleet, one))[0] == "done"
    with node_watcher(node_server) as watcher:
        assert rotation_verdict(run(node_fleet, rotation("two", budgets=budgets)))[0] == "done"
    assert watcher.most == 1


def test_a_node_that_is_not_emptied_in_time_is_let_go(
    node_fleet: Fleet, node_server: Server, workload: Workload
) -> None:
    """The budget has room when it begins, and none for the second pod: 429 until the time is over; then uncordoned."""
    pods = workload.deployment("pair", 2, together=True)
    workload.pdb("pair", minAvailable=1)
    workload.settled()
    (name,) = set(workload.nodes_of(pods))
    workload.nowhere_else(name)
    try:
        wanted = rotation("stuck", {"nodeTimeoutSeconds": 8}, nodes={"byLabel": f"kubernetes.io/hostname={name}"})
        report = run(node_fleet, wanted)
        outcome, code, message = rotation_verdict(report)
        assert (outcome, code) == ("failed", "nodes-left") and "not drained in time" in message
        assert "pair" in message
        assert name in blue(node_server)
        nobody_is_held(node_server)
    finally:
        workload.everywhere()


def test_a_protected_pod_that_comes_while_its_node_is_cordoned_keeps_all_that_is_on_it(
    node_fleet: Fleet, node_server: Server, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F13: the node was chosen, and the pod lands on it at the very last; nothing is evicted, it is let go."""
    pods = workload.deployment("before", 1)
    workload.settled()
    (name,) = set(workload.nodes_of(pods))
    uids = {each["metadata"]["uid"] for each in workload.pods(pods)}
    real = draining.cordon

    def cordoned_late(*arguments: t.Any) -> Document | None:
        if not workload.pods("late"):
            workload.pod("late", name, {"karpenter.sh/do-not-disrupt": "true"})
        return real(*arguments)

    monkeypatch.setattr(draining, "cordon", cordoned_late)
    wanted = rotation("late", nodes={"byLabel": f"kubernetes.io/hostname={name}"})
    report = run(node_fleet, wanted, AT_ONCE)
    outcome, _code, message = rotation_verdict(report)
    assert outcome != "done" and "do-not-disrupt" in message and f"{workload.namespace}/late" in message, message
    assert {each["metadata"]["uid"] for each in workload.pods(pods)} == uids and workload.nodes_of(pods) == [name]
    nobody_is_held(node_server)


def test_with_surge_the_new_node_is_ready_before_the_old_one_is_touched(
    node_fleet: Fleet, node_server: Server, workload: Workload
) -> None:
    """D0-07, D3-105: in the order in which the server took it; one node more than before, never two."""
    pods = workload.deployment("first", 1)
    workload.settled()
    (name,) = set(workload.nodes_of(pods))
    before = blue(node_server)
    wanted = rotation("surge", {"replacement": "before"}, nodes={"byLabel": f"kubernetes.io/hostname={name}"})
    start = len(node_server.events())
    with Watcher(node_server, NODES, "pool=blue", named) as watcher:
        assert rotation_verdict(run(node_fleet, wanted))[0] == "done"
    assert max(map(len, watcher.samples)) == len(before) + 1 and name not in blue(node_server)
    (new,) = blue(node_server).keys() - before.keys()
    done = [each for each in node_server.events()[start:] if each["stage"] == "ResponseComplete"]
    steps = [step for each in done if (step := step_of(each, name, new))]
    assert steps.index("ready") < steps.index("cordon") < steps.index("evict") < steps.index("delete"), steps


def named(items: list[Document]) -> frozenset[str]:
    return frozenset(each["metadata"]["name"] for each in items)


def step_of(event: Document, old: str, new: str) -> str:
    """What a request did to one of the two nodes: said to be ready, cordoned, evicted from, deleted."""
    about = event.get("objectRef") or {}
    ours = event["user"]["username"] == "kubernetes-admin"
    steps = {
        ("patch", "status", new, False): "ready",
        ("patch", "", old, True): "cordon",
        ("delete", "", old, True): "delete",
    }
    if about.get("resource") == "pods" and about.get("subresource") == "eviction":
        return "evict"
    told = (event["verb"], about.get("subresource", ""), about.get("name", ""), ours)
    return steps.get(told, "") if about.get("resource") == "nodes" else ""


def test_a_deadline_overrides_what_holds_pods(node_fleet: Fleet, node_server: Server, workload: Workload) -> None:
    """D0-52, D0-53: with a grace period the protected pod is deleted near its end, and the node goes."""
    pods = workload.deployment("hard", 1, annotations={"karpenter.sh/do-not-disrupt": "true"})
    workload.settled()
    (name,) = set(workload.nodes_of(pods))
    wanted = rotation(
        "deadline",
        {"terminationGracePeriodSeconds": 4},
        nodes={"byLabel": f"kubernetes.io/hostname={name}"},
    )
    report = run(node_fleet, wanted)
    assert rotation_verdict(report)[0] == "done", rotation_verdict(report)
    assert name not in blue(node_server)


def test_what_nobody_can_replace_is_refused_before_anything_begins(node_fleet: Fleet, node_server: Server) -> None:
    labels = {"pool": "alien"}
    put(node_server, NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "alien", "labels": labels}})
    try:
        with pytest.raises(FleetError) as error:
            run(node_fleet, rotation("alien", nodes={"byLabel": "pool=alien"}))
        assert error.value.code == "no-driver"
        assert node_fleet.records.get("NodeRotation", "alien") is None
        node_fleet.cut("m1")
        with pytest.raises(FleetError) as error:
            run(node_fleet, rotation("alien"))
        assert error.value.code == "members-unread"
    finally:
        gone(node_server, f"{NODES}/alien")


def test_a_command_deletes_the_machine_and_then_the_node_goes(node_fleet: Fleet, node_server: Server) -> None:
    """D0-50: evictions, machine, Node, in this order; a command that fails lets the node go again."""
    name = "byhand"
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"pool": "hand"}}}
    put(node_server, NODES, {**document, "spec": {"providerID": "machine://7"}})
    log = node_fleet.folder / "machines"
    wanted = rotation("hand", {"replacement": "none"}, nodes={"byLabel": "pool=hand"})
    try:
        failing = RotationWish(replacement=_by("sh", "-c", "echo no such machine; exit 3"), interval=PATIENT.interval)
        report = run(node_fleet, wanted, failing)
        assert rotation_verdict(report)[1] == "nodes-left" and "no such machine" in rotation_verdict(report)[2]
        assert node_server.get(f"{NODES}/{name}")["spec"].get("unschedulable") is None  # type: ignore[index]
        noted = _by("sh", "-c", f'echo "$GITOPS_FLEET_NODE $GITOPS_FLEET_PROVIDER_ID" >> {log}')
        done = run(node_fleet, wanted, RotationWish(replacement=noted, interval=PATIENT.interval))
        assert rotation_verdict(done)[0] == "done", rotation_verdict(done)
        assert log.read_text().split() == [name, "machine://7"]
        assert node_server.get(f"{NODES}/{name}") is None
    finally:
        gone(node_server, f"{NODES}/{name}")


def _by(*argv: str) -> t.Any:
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.replacing import ReplacementWish

    return ReplacementWish(command=argv, environ={"PATH": "/usr/bin:/bin"})
