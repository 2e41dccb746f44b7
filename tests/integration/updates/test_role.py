# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role of the user upgrades two members, inside what a job runner makes of a run, which is killed on the way."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from conducting import Conducting, Plays, gone
from update_fleet import NEW, UpdateFleet, sequence, until

# What the job runner of AWX sets for ansible-playbook, but for its own callback, which only it has.
JOB_RUNNER = {
    "ANSIBLE_CACHE_PLUGIN": "jsonfile",
    "ANSIBLE_CACHE_PLUGIN_CONNECTION": "{folder}/artifacts/7/fact_cache",
    "ANSIBLE_CALLBACK_PLUGINS": "{folder}/callbacks",
    "ANSIBLE_FORCE_COLOR": "True",
    "ANSIBLE_HOST_KEY_CHECKING": "False",
    "ANSIBLE_INVENTORY_EXPORT": "True",
    "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
    "ANSIBLE_PARAMIKO_RECORD_HOST_KEYS": "False",
    "ANSIBLE_RETRY_FILES_ENABLED": "False",
    "ANSIBLE_SSH_CONTROL_PATH_DIR": "{folder}/cp",
    "ANSIBLE_UNSAFE_WRITES": "1",
    "AWX_HOST": "https://awx.example.com",
    "AWX_ISOLATED_DATA_DIR": "{folder}/artifacts/7",
    "AWX_PRIVATE_DATA_DIR": "{folder}",
    "HOME": "{folder}",
    "INVENTORY_ID": "1",
    "JOB_ID": "7",
    "MAX_EVENT_RES": "700000",
    "PROJECT_REVISION": "0f0e",
    "RUNNER_OMIT_EVENTS": "False",
    "RUNNER_ONLY_FAILED_EVENTS": "False",
    "TOWER_HOST": "https://awx.example.com",
}
ROLE = [
    {
        "name": "Bring up the newer API server on the same data",
        "gitops.fleet.local_cluster": {
            "root": "{{ clusters }}",
            "clusters": [{"name": "{{ cluster_upgrade_member }}", "version": "{{ cluster_upgrade_target }}"}],
        },
    },
    {
        "name": "Note it",
        "ansible.builtin.lineinfile": {
            "path": "{{ seen }}/{{ cluster_upgrade_member }}",
            "line": "{{ cluster_upgrade_operation }} {{ cluster_upgrade_kubeconfig }}",
            "create": True,
            "mode": "0600",
        },
    },
]


def test_a_role_upgrades_two_members_below_a_job_runner_that_is_killed(fleet: UpdateFleet, plays: Plays) -> None:
    names = fleet.members("all", "all", driver="role")
    fleet.write(sequence(("all",), at_once=2))
    role = {
        "role": _role(fleet.folder),
        "extra_vars": {"clusters": str(fleet.clusters.root), "seen": str(plays.folder)},
    }
    environ = {name: value.format(folder=fleet.folder) for name, value in JOB_RUNNER.items()}
    (fleet.folder / "inventory").write_text("localhost ansible_connection=local\n")
    variables = fleet.variables(drivers={"role": role})
    cache = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}

    def job() -> Conducting:
        return plays.start("gitops.fleet.update", "-i", "inventory", environ=environ | cache, **variables)

    first = job()
    until(lambda: len([name for name in names if _begun(fleet, name)]) == 2)
    worker = first.worker
    os.killpg(first.pid, signal.SIGKILL)  # what a job runner does to a job that is cancelled
    assert gone(worker, 300), "the worker did not end by itself"
    assert set(fleet.states().values()) == {"Running"}

    second = job().ended(600)
    assert second.process.returncode == 0, second.output
    assert fleet.states() == dict.fromkeys(names, "Completed")
    assert [fleet.version(name) for name in names] == [NEW, NEW]
    for name in names:
        (line,) = (plays.folder / name).read_text().splitlines()
        operation, kubeconfig = line.split()
        assert operation == fleet.row(name).operation_id
        assert Path(kubeconfig) == fleet.clusters.root / name / "kubeconfig"
    assert len(fleet.folders()) == 2 and {each.attempt for each in fleet.rows()} == {1}
    assert fleet.leftovers() == []


def _role(folder: Path) -> str:
    tasks = folder / "roles" / "upgrade" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text(json.dumps(ROLE))
    return str(tasks.parent)


def _begun(fleet: UpdateFleet, name: str) -> bool:
    """Its role runs."""
    return any(name in each.name and (each / "process.json").exists() for each in fleet.folders())
