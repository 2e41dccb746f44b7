# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is handed to a Job, what is asked of its cluster, and what is done when that does not answer as it should."""

from __future__ import annotations

import json
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
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import intent_reference
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs import role_job
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.manifests import (
    INPUTS,
    JobSettings,
    job_name,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.role_job import RoleJobDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

TOKEN = "t0ken-{{ lookup('env', 'HOME') }}"
# In place of a status: the login of the kubeconfig has expired, and no request leaves.
LOGGED_OUT = -1
KUBECONFIG = {
    "current-context": "east",
    "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1:6443"}}],
    "users": [{"name": "u", "user": {"token": TOKEN}}],
    "contexts": [{"name": "east", "context": {"cluster": "c", "user": "u"}}],
}


class Cluster:
    """Keeps what is made; ``refuses`` has the status for requests that end so, by verb and resource."""

    server_name = "jobs"

    def __init__(self) -> None:
        self.kept: dict[str, t.Any] = {}
        self.refuses: dict[tuple[str, str], int] = {}
        self.asked: list[tuple[str, str]] = []

    def _ask(self, verb: str, path: str, name: str = "") -> str:
        resource = path.split("/namespaces/jobs/")[1].partition("/")[0]
        self.asked.append((verb, resource))
        status = self.refuses.get((verb, resource), 200)
        if status == LOGGED_OUT:
            raise FleetError("credentials-plugin", "aws ended with 255", self.server_name)
        if status != 200:
            codes = {403: "forbidden", 404: "not-found", 429: "too-many-requests", 0: "timeout"}
            raise ApiError(codes.get(status, "server-error"), f"{verb} {resource}", status=status)
        return f"{path}/{name}" if name else path

    def get(self, path: str, query: t.Any = None) -> t.Any:
        self._ask("get", path)
        if path.endswith(("/jobs", "/pods", "/events")):
            return {"items": [each for key, each in self.kept.items() if key.startswith(f"{path}/")]}
        if path not in self.kept:
            raise ApiError("not-found", path, status=404)
        return self.kept[path]

    def post(self, path: str, body: t.Any) -> t.Any:
        place = self._ask("post", path, body["metadata"]["name"])
        if place in self.kept:
            raise ApiError("already-exists", path, status=409)
        self.kept[place] = {**body, "metadata": {**body["metadata"], "uid": f"uid-{len(self.kept)}"}}
        return self.kept[place]

    def delete(self, path: str, body: t.Any) -> None:
        self._ask("delete", path)
        assert body["preconditions"]["uid"] == self.kept.pop(path)["metadata"]["uid"]

    def hide(self, text: str) -> str:
        return text

    def job(self) -> t.Any:
        (found,) = [each for key, each in self.kept.items() if "/jobs/fleet-" in key]
        return found

    def files(self) -> dict[str, str]:
        (found,) = [each for key, each in self.kept.items() if "/secrets/" in key]
        return t.cast(dict[str, str], found["stringData"])


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def driver(tmp_path: Path, cluster: Cluster) -> RoleJobDriver:
    (tmp_path / "east").write_text(json.dumps(KUBECONFIG))
    spec = {"connection": {"kubeconfig": str(tmp_path / "east")}, "driver": "role"}
    member = decode(FleetMember, {"metadata": {"name": "east"}, "spec": spec})
    return RoleJobDriver(
        clients=Clients({"east": member}),
        operations=tmp_path / "operations",
        environ={},
        jobs=t.cast(t.Any, cluster),
        settings=JobSettings(image="i", namespace="jobs"),
        role="acme.ops.upgrade",
        inventories=("/opt/hosts",),
        extra_vars={"password": "s3cret", "greeting": "{{ mine }}"},
    )


@pytest.fixture
def work(driver: RoleJobDriver) -> Work:
    """As a conductor has recorded its intent."""
    intent = intent_reference(driver.operations)
    return Work(
        operation="run-1234.east.1",
        run="{{ run }}",
        member="east",
        upgrade_type="ControlPlaneOnly",
        target="1.36.3",
        reference=intent,
    )


class Loader(yaml.SafeLoader):
    """Reads ``!unsafe`` as Ansible does, and tells it."""


def _unsafe(loader: yaml.SafeLoader, node: yaml.Node) -> t.Any:
    return {"unsafe": loader.construct_object(yaml.MappingNode("tag:yaml.org,2002:map", node.value), deep=True)}


Loader.add_constructor("!unsafe", _unsafe)


def test_a_role_is_told_the_same_as_in_a_process(driver: RoleJobDriver, cluster: Cluster, work: Work):
    driver.begin(work)
    files = cluster.files()
    told = yaml.load(files["vars.yml"], Loader)["unsafe"]
    assert told["cluster_upgrade_kubeconfig"] == f"{INPUTS}/kubeconfig" and told["cluster_upgrade_context"] == "east"
    assert (told["cluster_upgrade_run"], told["cluster_upgrade_secret"]) == ("{{ run }}", {})
    assert yaml.load(files["extra_vars.yml"], Loader)["unsafe"]["greeting"] == "{{ mine }}"
    assert json.loads(files["kubeconfig"])["users"][0]["user"]["token"] == TOKEN
    templates = [name for name, text in files.items() if "{{" in text and not text.startswith("!unsafe")]
    assert templates == ["python.yml", "kubeconfig"] and "password" not in files["python.yml"]


def test_nothing_secret_stands_in_the_job(driver: RoleJobDriver, cluster: Cluster, work: Work):
    driver.begin(work)
    text = json.dumps(cluster.job())
    assert "t0ken" not in text and "s3cret" not in text and "192.0.2.1" not in text
    (container,) = cluster.job()["spec"]["template"]["spec"]["containers"]
    assert container["command"][0] == "ansible-playbook" and "/opt/hosts" in container["command"]


def test_to_begin_again_finds_the_job(driver: RoleJobDriver, cluster: Cluster, work: Work):
    first = driver.begin(work)
    assert driver.begin(work) == first == driver.begin(replace(work, reference=first))
    assert len(cluster.kept) == 2


def test_two_that_begin_at_once_make_one(driver: RoleJobDriver, cluster: Cluster, work: Work, tmp_path: Path):
    """The other one's Job comes between the look and the creation."""
    other = replace(driver, operations=tmp_path / "elsewhere")
    real, calls = cluster.get, []

    def get(path: str, query: t.Any = None) -> t.Any:
        if query is None:
            return real(path)
        cluster.get = real  # type: ignore[method-assign]
        calls.append(other.begin(replace(work, reference="")))
        return real(path, query)

    cluster.get = get  # type: ignore[method-assign]
    assert driver.begin(work) == calls[0] and len(cluster.kept) == 2


def test_only_who_would_have_begun_it_knows_that_it_was_not(driver: RoleJobDriver, work: Work, tmp_path: Path):
    assert driver.poll(work).state == NOT_BEGUN
    assert replace(driver, operations=tmp_path / "elsewhere").poll(work).state == UNKNOWN
    assert driver.poll(replace(work, reference="")).state == UNKNOWN


def test_what_is_gone_is_not_begun_again(driver: RoleJobDriver, cluster: Cluster, work: Work):
    reference = driver.begin(work)
    cluster.kept.clear()
    assert driver.poll(replace(work, reference=reference)).state == UNKNOWN
    assert driver.poll(work).state == UNKNOWN, "it was begun here, although that was not recorded"
    with pytest.raises(FleetError) as refused:
        driver.begin(work)
    assert refused.value.code == "begun-before"


def test_another_attempt_waits_until_the_pod_of_the_one_before_has_ended(
    driver: RoleJobDriver, cluster: Cluster, work: Work
):
    """API servers older than 1.31 tell that a Job has failed while its pod is still being ended."""
    driver.begin(work)
    again, job = replace(work, operation="run-1234.east.2"), cluster.job()
    job["status"] = {"conditions": [{"type": "Failed", "status": "True"}], "terminating": 1}
    with pytest.raises(FleetError) as refused:
        driver.begin(again)
    assert refused.value.code == "operation-in-progress"
    job["status"]["terminating"] = 0
    assert driver.begin(again)


def test_a_job_without_its_inputs_may_be_begun_and_one_that_runs_is_followed(
    driver: RoleJobDriver, cluster: Cluster, work: Work
):
    reference = driver.begin(work)
    assert driver.poll(work).state == NOT_BEGUN
    cluster.job()["status"] = {"ready": 1}
    running = driver.poll(work)
    assert (running.state, running.reference) == (IN_PROGRESS, reference)
    assert running.message == f"its pod runs (Job jobs/{job_name(work.operation)})"


@pytest.mark.parametrize("status, left", [(403, 0), (0, 1)])
def test_a_job_whose_inputs_are_refused_is_taken_back(
    driver: RoleJobDriver, cluster: Cluster, work: Work, status: int, left: int
):
    """Not where no answer came: the Secret may be there then."""
    cluster.refuses["post", "secrets"] = status
    with pytest.raises(ApiError):
        driver.begin(work)
    assert len(cluster.kept) == left


@pytest.mark.parametrize("resource", ["jobs", "secrets"])
@pytest.mark.parametrize("status, code", [(429, "busy"), (503, "busy"), (500, "job-refused")])
def test_what_a_server_refuses_for_the_moment_is_begun_later(
    driver: RoleJobDriver, cluster: Cluster, work: Work, resource: str, status: int, code: str
) -> None:
    """F5: one that has too much to do, or is started anew, fails no upgrade."""
    cluster.refuses["post", resource] = status
    with pytest.raises(FleetError) as refused:
        driver.begin(work)
    assert (refused.value.code, cluster.kept) == (code, {})
    cluster.refuses.clear()
    if code == "busy":
        assert driver.begin(work).startswith(role_job.REFERENCE) and len(cluster.kept) == 2


def test_a_job_that_cannot_be_taken_back_does_not_hide_that_its_inputs_were_refused(
    driver: RoleJobDriver, cluster: Cluster, work: Work
) -> None:
    """Its deadline ends it."""
    cluster.refuses |= {("post", "secrets"): 403, ("delete", "jobs"): LOGGED_OUT}
    with pytest.raises(ApiError) as refused:
        driver.begin(work)
    assert refused.value.code == "forbidden" and len(cluster.kept) == 1


def test_a_kubeconfig_that_cannot_be_read_begins_nothing(driver: RoleJobDriver, cluster: Cluster, work: Work):
    (driver.operations.parent / "east").unlink()
    with pytest.raises(FleetError) as refused:
        driver.begin(work)
    assert refused.value.code == "kubeconfig-missing" and cluster.kept == {}
    assert driver.poll(work).state == NOT_BEGUN


def test_words_are_left_out_where_pods_and_events_may_not_be_read(driver: RoleJobDriver, cluster: Cluster, work: Work):
    reference = driver.begin(work)
    cluster.job()["status"] = {
        "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": ""}]
    }
    cluster.refuses |= {("get", "pods"): 403, ("get", "events"): 403}
    told = driver.poll(replace(work, reference=reference))
    assert told.state == FAILED and "its pod was deleted, or lost" in told.message
    cluster.refuses["get", "jobs"] = 403
    with pytest.raises(ApiError):
        driver.poll(replace(work, reference=reference))


@pytest.mark.parametrize(
    "part",
    [
        {"metadata": None},
        {"metadata": {"name": "x", "namespace": "jobs"}},
        {"status": []},
        {"status": {"conditions": ["Failed"]}},
        {"status": {"conditions": [{"type": "Failed", "status": "True", "reason": 7}]}},
        {"status": {"ready": "1"}},
    ],
)
def test_a_job_that_is_none_is_an_error_of_its_server(driver: RoleJobDriver, cluster: Cluster, work: Work, part: t.Any):
    reference = driver.begin(work)
    cluster.job().update(part)
    for ask in (driver.poll, driver.begin, lambda each: driver.begin(replace(each, operation="run-2.east.1"))):
        with pytest.raises(ApiError) as refused:
            ask(replace(work, reference=reference))
        assert refused.value.code == "bad-answer"


@pytest.mark.parametrize(
    "pod",
    [
        {"status": {"containerStatuses": [{"state": {"terminated": 7}}]}},
        {"status": {"conditions": {"type": "x"}}},
        {"status": {"containerStatuses": "x"}},
    ],
)
def test_of_pods_that_are_none_nothing_is_said(driver: RoleJobDriver, cluster: Cluster, work: Work, pod: t.Any):
    reference = driver.begin(work)
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": ""}
    cluster.job()["status"] = {"conditions": [failed]}
    cluster.kept["/api/v1/namespaces/jobs/pods/one"] = {"metadata": {"name": "one"}, **pod}
    assert driver.poll(replace(work, reference=reference)).state == FAILED


def test_a_job_that_cannot_be_noted_is_not_made(
    driver: RoleJobDriver, cluster: Cluster, work: Work, monkeypatch: pytest.MonkeyPatch
):
    def full(*_arguments: t.Any) -> t.NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(role_job, "write_private", full)
    with pytest.raises(FleetError) as refused:
        driver.begin(work)
    assert refused.value.code == "unwritable-folder" and cluster.kept == {}


@pytest.mark.parametrize("status", [502, 504])
def test_a_job_that_may_have_been_made_has_not_failed(
    driver: RoleJobDriver, cluster: Cluster, work: Work, status: int
) -> None:
    """It may come late: the next look finds it."""
    cluster.refuses["post", "jobs"] = status
    with pytest.raises(ApiError) as unsure:
        driver.begin(work)
    assert unsure.value.code == "server-error" and driver.poll(work).state == UNKNOWN


@pytest.mark.parametrize("status", [502, 504])
def test_inputs_that_may_have_been_taken_leave_the_job(
    driver: RoleJobDriver, cluster: Cluster, work: Work, status: int
):
    """Whoever answers so for the server does not know what that has done; the pod may run."""
    cluster.refuses["post", "secrets"] = status
    with pytest.raises(ApiError) as unsure:
        driver.begin(work)
    assert unsure.value.code != "job-refused" and cluster.job()
    cluster.refuses.clear()
    assert driver.poll(work).state == NOT_BEGUN and driver.begin(work).startswith(role_job.REFERENCE)


def test_the_job_of_another_conductor_is_not_taken_back(
    driver: RoleJobDriver, cluster: Cluster, work: Work, monkeypatch: pytest.MonkeyPatch
):
    """Ours saw none, and the other made it first; its play may be under way."""
    driver.begin(work)
    found, first = RoleJobDriver._found, [None]
    monkeypatch.setattr(RoleJobDriver, "_found", lambda one, what: first.pop() if first else found(one, what))
    monkeypatch.setattr(RoleJobDriver, "_refuse_twice", lambda _one, _what: None)
    cluster.refuses["post", "secrets"] = 429
    with pytest.raises(FleetError):
        driver.begin(work)
    assert cluster.job()
