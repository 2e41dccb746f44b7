# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What each member costs whose upgrade is a role in an ansible-playbook of its own."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
import typing as t
from pathlib import Path

TASKS = [{"name": "Call one module", "ansible.builtin.ping": {}}]
MEMBERS, AT_ONCE = 8, 2


def bench_playbook_member() -> t.Iterator[tuple[str, float, str, str]]:
    """A role with one module for each of some members, two at a time; supervising processes are counted too."""
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.role import RoleDriver
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients

    setup = f"role with one module, {MEMBERS} members, {AT_ONCE} at a time, with the two processes that supervise each"
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Clients({}) as clients:
        tasks = Path(folder, "roles", "step", "tasks")
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(json.dumps(TASKS), encoding="utf-8")
        driver = RoleDriver(
            clients=clients,
            operations=Path(folder, "operations"),
            environ=dict(os.environ),
            cwd=Path(folder),
            role="step",
            roles_path=(str(tasks.parent.parent),),
        )
        _run(driver, ["warm"])
        cpu, began = _cpu(), time.monotonic()
        names = [f"m{number}" for number in range(MEMBERS)]
        _run(driver, names)
        wall = time.monotonic() - began
        yield "playbook_member", (_cpu() - cpu) / MEMBERS, "CPU-s", f"CPU per member; {setup}"
        yield "playbook_member_wall", wall / MEMBERS, "s", f"wall time divided by members; {setup}"


def _run(driver: t.Any, names: list[str]) -> None:
    from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
        IN_PROGRESS,
        SUCCEEDED,
        Work,
    )

    waiting = [
        Work(operation=f"bench.{name}.1", run="bench", member=name, upgrade_type="Full", target="1.36.3")
        for name in names
    ]
    running: list[Work] = []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            running.append(waiting.pop())
            driver.begin(running[-1])
        for work in list(running):
            progress = driver.poll(work)
            if progress.state != IN_PROGRESS:
                assert progress.state == SUCCEEDED, progress
                running.remove(work)
        time.sleep(0.02)
    _reap()


def _reap() -> None:
    """What children used is known once they have been waited for."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
