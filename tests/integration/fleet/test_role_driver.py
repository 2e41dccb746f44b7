# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A role of the user in a real ansible-playbook of its own, also below one that a job runner started."""

from __future__ import annotations

import json
import os
import signal
import time
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import contract, detached
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import OperationProgress, Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.role import RoleDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._local import processes

SECRET = "canary-of-extra-vars"
# What a job of AWX finds in its environment; the callback folder holds a plugin that nothing may load.
JOB_RUNNER = {
    "ANSIBLE_CALLBACK_PLUGINS": "{folder}/callbacks",
    "ANSIBLE_STDOUT_CALLBACK": "awx_display",
    "ANSIBLE_CACHE_PLUGIN": "no_such_cache",
    "ANSIBLE_FORKS": "no number",
    "ANSIBLE_INVENTORY": "{folder}/no/such/inventory",
    "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
    "ANSIBLE_RETRY_FILES_ENABLED": "False",
    "ANSIBLE_SSH_CONTROL_PATH_DIR": "{folder}/no/such/cp",
    "ANSIBLE_STRATEGY": "no_such_strategy",
    "ANSIBLE_UNSAFE_WRITES": "1",
    "AWX_ISOLATED_DATA_DIR": "{folder}/artifacts/7",
    "INVENTORY_ID": "1",
    "JOB_ID": "7",
    "MAX_EVENT_RES": "700000",
    "PROJECT_REVISION": "abc",
    "RUNNER_OMIT_EVENTS": "False",
}
TASKS = [
    {
        "name": "Say what was told",
        "ansible.builtin.copy": {
            "dest": "{{ seen }}",
            "mode": "0600",
            "content": "{{ {'host': inventory_hostname, 'target': cluster_upgrade_target,"
            " 'operation': cluster_upgrade_operation, 'attempt': cluster_upgrade_attempt,"
            " 'kubeconfig': cluster_upgrade_kubeconfig, 'context': cluster_upgrade_context,"
            " 'member': cluster_upgrade_member, 'from_inventory': colour | default('')} | to_json }}",
        },
    },
    {"name": "Take some time", "ansible.builtin.command": {"argv": ["sleep", "{{ seconds }}"]}, "changed_when": False},
    {"name": "Fail if told so", "ansible.builtin.fail": {"msg": "quota is used up"}, "when": "broken | bool"},
]


def work(attempt: int = 1) -> Work:
    return Work(
        operation=f"run-1.east.{attempt}",
        run="run",
        member="east",
        upgrade_type="Full",
        target="1.36.3",
        attempt=attempt,
    )


@pytest.fixture
def driver(tmp_path: Path) -> t.Iterator[RoleDriver]:
    role = tmp_path / "project" / "roles" / "step"
    (role / "tasks").mkdir(parents=True)
    (role / "defaults").mkdir()
    (role / "tasks" / "main.yml").write_text(json.dumps(TASKS))
    (role / "defaults" / "main.yml").write_text(json.dumps({"seconds": 0, "broken": False}))
    spec = {"connection": {"kubeconfig": "/etc/east.kubeconfig", "context": "east-admin"}, "driver": "role"}
    document = {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "FleetMember",
        "metadata": {"name": "east"},
        "spec": spec,
    }
    with Clients({"east": decode(FleetMember, document)}) as clients:
        driver = RoleDriver(
            clients=clients,
            operations=tmp_path / "operations",
            environ=dict(os.environ),
            cwd=tmp_path / "project",
            role="step",
            roles_path=(str(role.parent),),
            extra_vars={"seen": str(tmp_path / "seen.json"), "password": SECRET, "cluster_upgrade_member": "mine"},
        )
        yield driver
    for folder in (tmp_path / "operations").glob("*"):
        processes.stop(processes.processes_marked(str(folder)), grace=2)


def ended(driver: RoleDriver, one: Work) -> OperationProgress:
    end = time.monotonic() + 300
    while (progress := driver.poll(one)).state == contract.IN_PROGRESS:
        assert time.monotonic() < end, progress
        time.sleep(0.05)
    return progress


def seen(driver: RoleDriver) -> dict[str, t.Any]:
    return t.cast(dict[str, t.Any], json.loads(Path(driver.extra_vars["seen"]).read_text()))


def test_the_role_runs_once_on_its_member_and_is_told_what_to_do(driver: RoleDriver) -> None:
    reference = driver.begin(work())
    progress = ended(driver, work())
    assert progress.state == contract.SUCCEEDED, progress
    assert driver.begin(work()) == reference
    assert seen(driver) == {
        "host": "east",
        "member": "east",
        "target": "1.36.3",
        "operation": "run-1.east.1",
        "attempt": 1,
        "kubeconfig": "/etc/east.kubeconfig",
        "context": "east-admin",
        "from_inventory": "",
    }
    assert "failed=0" in progress.message


def test_a_job_runners_variables_change_nothing(driver: RoleDriver, tmp_path: Path) -> None:
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks" / "awx_display.py").write_text("raise RuntimeError('the outer one')\n")
    runner = {name: value.format(folder=tmp_path) for name, value in JOB_RUNNER.items()}
    inside = replace(driver, environ={**os.environ, **runner})
    inside.begin(work())
    progress = ended(inside, work())
    assert progress.state == contract.SUCCEEDED, progress
    assert seen(inside)["host"] == "east"
    assert not (tmp_path / "artifacts").exists()


def test_the_users_inventory_gives_variables_and_its_groups_are_not_mistaken(
    driver: RoleDriver, tmp_path: Path
) -> None:
    hosts = {"east": {"hosts": {"other": {}}}, "fleet": {"hosts": {"east": {}}, "vars": {"colour": "blue"}}}
    (tmp_path / "project" / "hosts.json").write_text(json.dumps(hosts))
    with_hosts = replace(driver, inventories=("hosts.json",))
    with_hosts.begin(work())
    progress = ended(with_hosts, work())
    assert progress.state == contract.SUCCEEDED, progress
    assert (seen(with_hosts)["host"], seen(with_hosts)["from_inventory"]) == ("east", "blue")
    assert "other" not in detached.output(with_hosts.operations / work().operation, 100).partition("PLAY RECAP")[2]


def test_a_failure_shows_the_end_of_its_output(driver: RoleDriver) -> None:
    broken = replace(driver, extra_vars={**driver.extra_vars, "broken": True})
    broken.begin(work())
    progress = ended(broken, work())
    assert progress.state == contract.FAILED
    assert "exit code 2" in progress.message and "quota is used up" in progress.message


def test_a_role_that_is_not_there_is_a_failure(driver: RoleDriver) -> None:
    missing = replace(driver, role="no_such_role")
    missing.begin(work())
    progress = ended(missing, work())
    assert progress.state == contract.FAILED and "no_such_role" in progress.message


def test_extra_vars_are_on_disk_only_while_it_runs(driver: RoleDriver) -> None:
    driver.begin(work())
    ended(driver, work())
    left = [path for path in driver.operations.rglob("*") if path.is_file() and SECRET in path.read_text()]
    assert left == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_the_middle_nothing_of_it_goes_on(driver: RoleDriver, number: signal.Signals) -> None:
    """Ansible's workers and modules have sessions of their own, and are found all the same."""
    slow = replace(driver, extra_vars={**driver.extra_vars, "seconds": 985})
    reference = slow.begin(work())
    folder = slow.operations / work().operation
    _wait(lambda: any("985" in processes.process_arguments(one) for one in processes.processes_marked(str(folder))))
    os.kill(int(reference.split(":")[2]), number)
    _wait((folder / "result.json").exists)
    _wait(lambda: not processes.processes_marked(str(folder)))
    progress = ended(slow, work())
    assert progress.state == contract.FAILED
    assert ("was killed" if number == signal.SIGKILL else "SIGTERM") in progress.message
    again = replace(driver, extra_vars={**driver.extra_vars, "seconds": 0})
    again.begin(work(2))
    assert ended(again, work(2)).state == contract.SUCCEEDED


def _wait(holds: t.Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
