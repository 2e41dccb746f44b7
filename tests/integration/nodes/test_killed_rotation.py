# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""SIGKILL at random instants of a rotation: whoever comes next goes on where it was. ROTATION_KILLS makes it more."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from karpenter_members import NODES
from rotation_workload import Workload
from small_fleet import Document, Fleet, Server
from test_rotation import (
    blue,
    nobody_is_held,
    node_watcher,
    rotation,
    rotation_verdict,
    run,
)

KILLS = int(os.environ.get("ROTATION_KILLS", "4"))
SCRIPT = Path(__file__).with_name("conducted_rotation.py")


def started(fleet: Fleet, wanted: Document) -> subprocess.Popen[str]:
    told = {"options": fleet.options, "rotation": wanted}
    command = [sys.executable, str(SCRIPT), json.dumps(told)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def deleted_nodes(server: Server, start: int) -> list[str]:
    """The names of all Nodes that were deleted since, once for each request that succeeded."""
    with open(server.made.after.audit_log, "rb") as log:
        log.seek(start)
        events = [json.loads(line) for line in log.read().splitlines() if line.endswith(b"}")]
    return [
        each["objectRef"]["name"]
        for each in events
        if (each["verb"], (each.get("objectRef") or {}).get("resource")) == ("delete", "nodes")
        and each.get("stage") == "ResponseComplete"
        and each["responseStatus"]["code"] == 200
    ]


def aged(server: Server) -> dict[str, str]:
    """All nodes pretend to be old, whoever they came in place of; their names by UID."""
    found = blue(server)
    for name in found:
        server.patch(f"{NODES}/{name}", {"metadata": {"annotations": {"gitops.fleet/simulated-age": "40d"}}})
    return {each["metadata"]["uid"]: name for name, each in found.items()}


def killed_in(fleet: Fleet, wanted: Document, chance: random.Random, most: int) -> int:
    """How many conductors of the rotation were killed while they worked, no more than ``most``."""
    killed = 0
    while killed < most:
        process = started(fleet, wanted)
        try:
            assert process.stdout is not None
            while "begins" not in (line := process.stdout.readline()):
                assert line, "it did not begin"
            time.sleep(chance.uniform(0, 3))
            killed += process.poll() is None
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
        document = fleet.records.get("NodeRotation", wanted["metadata"]["name"])
        # Killed between its record and the first status there is none yet.
        if document is not None and document.get("status", {}).get("phase") == "Done":
            break
    return killed


def test_killed_anywhere_it_goes_on_and_no_node_is_drained_twice(node_fleet: Fleet, node_server: Server) -> None:
    """F5: at no instant more than three nodes are held, none stays so, and none that came new is touched. Rotations,
    one after the other, until so many conductors were killed."""
    workload = Workload(node_server)
    workload.deployment("web", 12)
    chance = random.Random(7)
    rotations, left = 0, KILLS
    while left > 0:
        rotations += 1
        workload.settled()
        start = Path(node_server.made.after.audit_log).stat().st_size
        before = aged(node_server)
        pace = {"firstWave": 1, "growth": 1}
        wanted = rotation(f"killed{rotations}", pace, budgets=[{"nodes": "25%"}], due={"olderThan": "720h"})
        with node_watcher(node_server) as watcher:
            killed = killed_in(node_fleet, wanted, chance, left)
            report = run(node_fleet, wanted)
        assert killed > 0
        left -= killed
        behind = [(each.name, each.code, each.text) for each in report.state.nodes if each.phase != "Rotated"]
        assert rotation_verdict(report)[0] == "done", "\n".join(map(str, behind))
        after = {each["metadata"]["uid"] for each in blue(node_server).values()}
        assert len(after) == 12 and not after & before.keys()
        touched = frozenset[str]().union(*watcher.samples)
        assert touched <= set(before.values()), "a node that came new was cordoned"
        assert watcher.most <= 3
        assert sorted(deleted_nodes(node_server, start)) == sorted(before.values()), (
            "a node was replaced twice, or never"
        )
        recorded = node_fleet.records.get("NodeRotation", wanted["metadata"]["name"])
        assert recorded is not None and recorded["status"]["phase"] == "Done"
        assert all(each.get("attempts", 0) <= 1 for each in recorded["status"]["state"]["nodes"])
        nobody_is_held(node_server)
    print(f"{KILLS} conductors killed in {rotations} rotations of 12 nodes")
    workload.settled()
    workload.end()
