# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles that run as Kubernetes Jobs, on a real API server with the real Job controller and a small kubelet."""

from __future__ import annotations

import json
import os
import signal
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    FAILED,
    IN_PROGRESS,
    NOT_BEGUN,
    UNKNOWN,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import intent_reference
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.manifests import (
    OPERATION,
    JobSettings,
    job_manifest,
    job_name,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.role_job import RoleJobDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.unsafe import unsafe
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from conducting import ROOT, Plays, gone
from further_user import client_kubeconfig
from pod_runner import IMAGE, PodRunner, as_text
from small_fleet import Server
from update_fleet import NEW, OLD, Document, UpdateFleet, sequence, until

NAMESPACE = "gitops-fleet-jobs"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
NO_IMAGE = "registry.example.com/none:1"
CANARY = "c4n4ry-{{ lookup('env', 'HOME') }}"
TASKS = [
    {
        "name": "Refuse",
        "ansible.builtin.fail": {"msg": "the platform says no to {{ cluster_upgrade_member }}"},
        "when": "cluster_upgrade_member in refused",
    },
    {"name": "Wait", "ansible.builtin.wait_for": {"path": "{{ seen }}/go", "sleep": 1, "timeout": 300}},
    {
        "name": "Bring up the newer API server on the same data",
        "gitops.fleet.local_cluster": {
            "root": "{{ clusters }}",
            "clusters": [{"name": "{{ cluster_upgrade_member }}", "version": "{{ cluster_upgrade_target }}"}],
        },
    },
    {
        "name": "Note it, and that the kubeconfig leads to the member",
        "ansible.builtin.lineinfile": {
            "path": "{{ seen }}/{{ cluster_upgrade_member }}",
            "line": "{{ cluster_upgrade_operation }} {{ secret }} {{ (lookup('file', cluster_upgrade_kubeconfig) | "
            "from_json).clusters[0].cluster.server }}",
            "create": True,
            "mode": "0600",
        },
    },
]


@pytest.fixture(scope="module")
def jobs_server(module_clusters: t.Any) -> Server:
    """A cluster for Jobs, whose namespace takes only pods of the profile ``restricted``."""
    server = Server(module_clusters("jobs", profile="control", audit=True))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    server.client.post("/api/v1/namespaces", namespace)
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    server.client.post(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "upgrader"}})
    until(lambda: len(server.client.get(accounts)["items"]) > 1)
    return server


@pytest.fixture
def runner(jobs_server: Server, tmp_path: Path) -> t.Iterator[PodRunner]:
    with PodRunner(jobs_server.client, tmp_path / "pods", NAMESPACE) as found:
        yield found
        for job in jobs_server.client.get(JOBS)["items"]:
            jobs_server.client.delete(f"{JOBS}/{job['metadata']['name']}", {"propagationPolicy": "Background"})
        # The Secrets go with the Jobs that own them.
        until(lambda: not (found.pods() or jobs_server.client.get(SECRETS)["items"]))


def test_another_machine_goes_on_with_the_jobs_of_a_conductor_that_was_killed(
    fleet: UpdateFleet, plays: Plays, runner: PodRunner, jobs_server: Server
) -> None:
    names = fleet.members("all", "all", "all", driver="role")
    *fine, bad = names
    fleet.write(sequence({"name": "all", "maxAllowedFailures": "1", "groups": [
        {"name": "all", "maxConcurrency": "3", "maxAllowedFailures": "1"}]}))  # fmt: skip
    told = {"clusters": str(fleet.clusters.root), "seen": str(plays.folder), "refused": [bad], "secret": CANARY}
    example = yaml.safe_load((ROOT / "examples" / "updates" / "with_jobs.yml").read_text())["drivers"]["role"]
    executor = {**example["executor"], "image": IMAGE, "kubeconfig": str(jobs_server.made.kubeconfig)}
    role = {"role": _role(fleet.folder), "extra_vars": told, "executor": executor}
    # The outer play must not template the canary, or it would prove nothing.
    (fleet.folder / "drivers.yml").write_text(unsafe({"drivers": {"role": role}}))
    cache = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}

    def conductor(home: str) -> t.Any:
        (fleet.folder / home).mkdir()
        variables = fleet.variables(operations=str(fleet.folder / home / "operations"), interval=1)
        del variables["drivers"]
        flags = ("-e", f"@{fleet.folder / 'drivers.yml'}")
        return plays.start(
            "gitops.fleet.update", *flags, environ={"HOME": str(fleet.folder / home), **cache}, **variables
        )

    first = conductor("first")
    until(lambda: len(runner.ran) == 3)
    worker = first.worker
    os.killpg(first.pid, signal.SIGKILL)
    first.kill(signal.SIGKILL, worker)
    assert gone(worker)
    for job in jobs_server.client.get(JOBS)["items"]:
        _holds_no_secret(fleet, job)
    fleet.expire_leases()

    second = conductor("second")
    (plays.folder / "go").touch()
    second.ended(300)
    assert fleet.states() == {**dict.fromkeys(fine, "Completed"), bad: "Failed"}, second.output
    assert [fleet.version(name) for name in names] == [NEW, NEW, OLD]
    for name in fine:
        (line,) = (plays.folder / name).read_text().splitlines()
        server = json.loads((fleet.clusters.root / name / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
        assert line == f"{fleet.row(name).operation_id} {CANARY} {server}"
    message = fleet.row(bad).status.error.message
    assert "ended with exit code 2" in message and f"the platform says no to {bad}" in message
    assert {each.attempt for each in fleet.rows()} == {1} and len(runner.ran) == 3
    assert sorted(_created(jobs_server)) == sorted(job_name(fleet.row(name).operation_id) for name in names)


def _created(server: Server) -> list[str]:
    """Names of Jobs, as often as the API server was asked to make one."""
    asked = [each for each in server.events() if each["verb"] == "create"]
    return [each["objectRef"]["name"] for each in asked if each.get("objectRef", {}).get("resource") == "jobs"]


def _holds_no_secret(fleet: UpdateFleet, job: Document) -> None:
    text = as_text(job)
    operation = job["metadata"]["annotations"][OPERATION]
    (name,) = [each for each in fleet.made if f".{each}." in operation]
    user = json.loads((fleet.clusters.root / name / "kubeconfig").read_text())["users"][0]["user"]
    assert user and not [value for value in (*user.values(), CANARY, "c4n4ry") if str(value) in text]
    assert "PRIVATE KEY" not in text


def _role(folder: Path) -> str:
    tasks = folder / "roles" / "upgrade" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text(json.dumps(TASKS))
    return str(tasks.parent)


class Deed:
    """One operation on a member that is the cluster of the Jobs itself."""

    def __init__(self, server: Server, folder: Path, number: int, **settings: t.Any) -> None:
        kubeconfig = str(server.made.kubeconfig)
        spec = {"connection": {"kubeconfig": kubeconfig}, "driver": "role"}
        member = decode(FleetMember, {"metadata": {"name": f"m{number}"}, "spec": spec})
        self.server = server
        self.operations = folder / f"operations{number}"
        self.driver = RoleJobDriver(
            clients=Clients({member.name: member}),
            operations=self.operations,
            environ={},
            jobs=settings.pop("jobs", server.client),
            settings=JobSettings(namespace=NAMESPACE, **{"image": IMAGE, **settings}),
            role=str(folder / "nothing"),
        )
        self.work = Work(
            operation=f"run-1234.{member.name}.1",
            run="run",
            member=member.name,
            upgrade_type="ControlPlaneOnly",
            target="1.36.3",
            reference=intent_reference(self.operations),
        )
        self.job = f"{JOBS}/{job_name(self.work.operation)}"

    def begin(self) -> Deed:
        self.work = replace(self.work, reference=self.driver.begin(self.work))
        return self

    def stands(self, *words: str) -> OperationProgress:
        """As soon as it is told with these words."""
        found: list[OperationProgress] = []

        def told() -> bool:
            found[:] = [self.driver.poll(self.work)]
            return all(word in found[0].message for word in words)

        until(told, pause=0.1)
        return found[0]

    def from_elsewhere(self) -> OperationProgress:
        """To a machine that knows nothing but the intent that was recorded here."""
        elsewhere = replace(self.driver, operations=self.operations.with_name("elsewhere"))
        return elsewhere.poll(replace(self.work, reference=intent_reference(self.operations)))


def test_what_holds_a_job_and_why_it_failed_is_told(runner: PodRunner, jobs_server: Server, tmp_path: Path) -> None:
    """Its image, a quota, its deadline, a node that throws it out, somebody who deletes its pod, its role."""
    late = Deed(jobs_server, tmp_path, 1, image=NO_IMAGE, deadline=20).begin()
    wrong = Deed(jobs_server, tmp_path, 5, image=NO_IMAGE).begin()
    assert wrong.stands("its image cannot be pulled: ErrImagePull").state == IN_PROGRESS
    quota = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
    limit = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}, "apiVersion": "v1", "kind": "ResourceQuota"}
    jobs_server.client.post(quota, limit)
    until(lambda: (jobs_server.client.get(f"{quota}/none").get("status") or {}).get("hard"))
    full = Deed(jobs_server, tmp_path, 2, image=NO_IMAGE).begin()
    assert full.stands("its pod cannot be made: FailedCreate", "exceeded quota: none").state == IN_PROGRESS
    jobs_server.client.delete(f"{quota}/none")

    evicted = Deed(jobs_server, tmp_path, 3)
    runner.evict.add(job_name(evicted.work.operation))
    evicted.begin()
    assert evicted.stands("its pod was evicted: The node was low on resource").state == FAILED
    # The printed rights are enough for all of it, also where the pod has an account of its own.
    limits = {"limits": {"memory": "1Gi"}}
    own = {"service_account": "upgrader", "resources": limits, "jobs": _user(jobs_server, "enough")}
    refused = Deed(jobs_server, tmp_path, 4, **own).begin()
    assert refused.stands("ended with exit code", "was not found").state == FAILED
    (pod,) = [each for each in runner.pods() if _is_of(each, wrong)]
    jobs_server.client.delete(f"{runner.path}/pods/{pod['metadata']['name']}")
    assert wrong.stands("its pod was deleted").state == FAILED
    assert late.stands("ended after 20 s, which is its deadline", "Failed to pull image").state == FAILED


def _is_of(pod: Document, deed: Deed) -> bool:
    return str(pod["metadata"]["name"]).startswith(job_name(deed.work.operation))


def test_nothing_is_begun_twice_and_nothing_stays_behind(
    runner: PodRunner, jobs_server: Server, tmp_path: Path
) -> None:
    deed = Deed(jobs_server, tmp_path, 6, image=NO_IMAGE)
    assert deed.driver.poll(deed.work).state == NOT_BEGUN
    assert deed.from_elsewhere().state == UNKNOWN, "it might have been begun, and be gone"
    # Killed between the Job and its Secret: whoever comes next, wherever, makes the Secret and no second Job.
    before = len(_created(jobs_server))
    made = jobs_server.client.post(JOBS, job_manifest(deed.work, deed.driver.settings, ("true",)))
    assert deed.from_elsewhere().state == NOT_BEGUN
    assert deed.begin().begin().work.reference.endswith(made["metadata"]["uid"])
    (secret,) = jobs_server.client.get(SECRETS)["items"]
    assert secret["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    assert len(set(_created(jobs_server)[before:])) == 1
    other = replace(deed.work, operation="run-5678.m6.1", reference="")
    _is_refused("operation-in-progress", lambda: deed.driver.begin(other))

    # Somebody deletes it: neither begun again nor taken for another one.
    jobs_server.client.delete(deed.job, {"propagationPolicy": "Background"})
    until(lambda: jobs_server.get(deed.job) is None and not jobs_server.client.get(SECRETS)["items"])
    assert deed.stands("there is no Job").state == UNKNOWN
    again = jobs_server.client.post(JOBS, job_manifest(deed.work, deed.driver.settings, ("true",)))
    assert again["metadata"]["uid"] != made["metadata"]["uid"] and deed.stands("made again").state == UNKNOWN
    jobs_server.client.delete(deed.job, {"propagationPolicy": "Background"})

    forged = Deed(jobs_server, tmp_path, 7)
    manifest = job_manifest(replace(forged.work, operation="other"), forged.driver.settings, ("true",))
    manifest["metadata"]["name"] = job_name(forged.work.operation)
    jobs_server.client.post(JOBS, manifest)
    _is_refused("job-of-another", forged.begin)
    assert forged.stands("was not made for").state == UNKNOWN

    # Who may not hand over a Secret leaves no Job behind.
    poor = Deed(jobs_server, tmp_path, 8, jobs=_user(jobs_server, "few", "secrets"))
    _is_refused("forbidden", poor.begin)
    until(lambda: jobs_server.get(poor.job) is None)


def _user(server: Server, name: str, *without: str) -> KubeClient:
    """One who has the printed rights, but those on resources that are named."""
    for each in rights("jobs", {"kind": "User", "name": name}, []):
        if each["kind"] == "Role":
            each["rules"] = [rule for rule in each["rules"] if not {*rule["resources"]} & {*without}]
        apply_object(server.client, each, "administrator", force=True)
    return KubeClient(connection_from_kubeconfig(client_kubeconfig(server.folder, name)))


def _is_refused(code: str, act: t.Callable[[], object]) -> None:
    with pytest.raises(FleetError) as refused:
        act()
    assert refused.value.code == code, refused.value
