# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pipelines of examples/ as they are written, step by step, on real API servers and a code host on loopback."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import typing as t
from base64 import b64encode
from itertools import count
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from code_hosts import BESIDE, TOKEN, Host, code_host
from pipeline_runner import ROOT, GitHub, Job, checkout, gitlab
from small_fleet import Fleet

EXAMPLES = ROOT / "examples"
MARKER = "<!-- gitops.fleet plan -->"
STRATEGY = {
    "apiVersion": "gitops.fleet/v1alpha1",
    "kind": "UpdateStrategy",
    "metadata": {"name": "rings"},
    "spec": {"strategy": {"stages": [{"name": "all", "groups": [{"name": "eu"}]}]}},
}
UPGRADE = {"type": "ControlPlaneOnly", "kubernetesVersion": "1.37.1"}
WANTED = {"updateStrategyId": "rings", "managedClusterUpdate": {"upgrade": UPGRADE}}
RUN = {**STRATEGY, "kind": "UpdateRun", "metadata": {"name": "to-137"}, "spec": WANTED}
_jobs = count(1)


class Repository:
    """A Git repository with the files of an example and the manifests of a fleet, whose members the hub can reach."""

    def __init__(self, example: str, fleet: Fleet) -> None:
        self.fleet, self.folder = fleet, fleet.folder / "repository"
        shutil.copytree(EXAMPLES / example, self.folder)
        (self.folder / "updates").mkdir()
        (self.folder / "updates" / "strategy.json").write_text(json.dumps(STRATEGY), encoding="utf-8")
        self.git("init", "--quiet", "--initial-branch", "main")
        self.push()

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=o", "-c", "user.email=o@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def push(self) -> str:
        """Commits the manifests of the fleet as they are now."""
        for name in ("placements", "resources"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self.fleet.folder / name, self.folder / name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.git("rev-parse", "HEAD")

    def plan_run(self) -> str:
        """Commits an update run."""
        (self.folder / "updates" / "run.json").write_text(json.dumps(RUN), encoding="utf-8")
        return self.push()

    def job(self, **environ: str) -> Job:
        place = self.fleet.folder / "jobs" / f"{next(_jobs)}" / "work"
        place.parent.mkdir(parents=True)
        return checkout(self.folder, place, environ)


def joined(fleet: Fleet, *names: str) -> str:
    """The members, by Secrets on the hub: then one login is enough for a runner. Gives that of the hub."""
    hub = fleet.hub
    assert hub is not None
    for name in names:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{name}-login", "namespace": "gitops-fleet"},
            "data": {"kubeconfig": b64encode(fleet.kubeconfig(name).read_bytes()).decode()},
        }
        path = f"/api/v1/namespaces/gitops-fleet/secrets/{name}-login"
        hub.client.request("PATCH", path, secret, {"fieldManager": "tests", "force": "true"}, APPLY)
    reference = {"namespace": "gitops-fleet", "key": "kubeconfig"}
    join(
        fleet.session(),
        [MemberSpec(name=name, connection={"secretRef": {**reference, "name": f"{name}-login"}}) for name in names],
        write=True,
    )
    return Path(hub.made.kubeconfig).read_text(encoding="utf-8")


APPLY = "application/apply-patch+yaml"


@pytest.fixture
def host() -> t.Iterator[Host]:
    with code_host() as started:
        yield started


class OnGitHub:
    def __init__(self, fleet: Fleet, host: Host) -> None:
        self.host, self.fleet, self.jobs = host, fleet, list[Job]()
        self.login = joined(fleet, "m1", "m2")
        self.repository = Repository("github", fleet)

    def run(self, name: str, sha: str, branch: str) -> Job:
        values = {
            "github.token": TOKEN,
            "github.repository": "o/r",
            "secrets.FLEET_KUBECONFIG": self.login,
            "github.event.pull_request.number": "5",
            "github.event.pull_request.head.sha": sha,
            "github.event.pull_request.head.repo.full_name": "o/r",
        }
        told = {"GITHUB_API_URL": self.host.url, "GITHUB_REPOSITORY": "o/r", "GITHUB_REPOSITORY_ID": "7"}
        job = self.repository.job(GITHUB_SHA=sha, GITHUB_RUN_ID=str(next(_jobs)), **told)
        run = GitHub(values, lambda *artifact: self.host.keep(*artifact, branch=branch, sha=sha))
        file = self.repository.folder / ".github" / "workflows" / f"fleet-{name}.yml"
        self.jobs.append(run(file, job))
        return job


@pytest.fixture
def github(hub_fleet: Fleet, host: Host) -> OnGitHub:
    hub_fleet.place()
    return OnGitHub(hub_fleet, host)


def test_github(github: OnGitHub, host: Host) -> None:
    """Plan in the pull request, apply what was merged, drift, tick, lint: every step of the workflows."""
    fleet, repository = github.fleet, github.repository
    sha = repository.git("rev-parse", "HEAD")
    assert github.run("lint", sha, "web").code == 0, github.jobs[-1].output
    assert github.run("tick", sha, "main").code == 0, github.jobs[-1].output
    assert github.jobs[-1].result()["fleet"]["outcome"] == "done"
    # What others upload under the same name, or write under the same marker, is not taken for ours.
    host.keep("fleet-facts", "facts.json", b"{}", "a-branch", sha)
    host.keep("fleet-facts", "facts.json", b"{}", "main", sha, repository=8)
    for number in range(120):
        host.comment("somebody", f"{MARKER} {number}")

    host.keep("fleet-records", "fleet.db", b"{}", "a-branch", sha)
    ahead = github.run("forecast", repository.plan_run(), "web")
    assert ahead.code == 0 and "run to-137: ControlPlaneOnly to 1.37.1, rings" in ahead.output, ahead.output
    summary = Path(ahead.environ["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert "| to-137 | ControlPlaneOnly to 1.37.1 | not recorded yet | 0 |" in summary
    assert "note: the records are a copy of hub https" in summary
    assert host.comments[-1]["body"] == f"<!-- gitops.fleet forecast -->\n{summary}".rstrip("\n")
    host.changed.clear()

    assert github.run("plan", sha, "web").code == 0, github.jobs[-1].output
    first = host.comments[-1]["body"]
    assert first.startswith(f"{MARKER}\n## Fleet plan") and "| 2 | 0 | 0 |" in first and fleet.holders() == []
    fleet.resources(fleet.configmap(color="green"))
    approved = repository.push()
    assert github.run("plan", approved, "web").code == 0, github.jobs[-1].output
    assert host.changed == ["POST", "PATCH"] and host.comments[-1]["body"] != first

    # Nobody has approved it; somebody has approved something else; that very plan.
    assert github.run("apply", approved, "main").code == 2
    host.merged = [{"merged_at": "2026-01-01T00:00:00Z", "head": {"sha": sha}}]
    refused = github.run("apply", approved, "main")
    assert refused.code == 2 and refused.result()["fleet"]["code"] == "digest-mismatch", refused.output
    assert fleet.holders() == []
    host.merged = [{"merged_at": "2026-01-01T00:00:00Z", "head": {"sha": approved}}]
    applied = github.run("apply", approved, "main")
    assert applied.code == 0 and applied.result()["fleet"]["outcome"] == "done", applied.output
    assert fleet.holders() == ["m1", "m2"]

    # The plan of the next pull request knows what is held; what is not as it was placed is found.
    assert github.run("plan", approved, "web").code == 0, github.jobs[-1].output
    assert "| 0 | 2 | 0 |" in host.comments[-1]["body"]
    assert github.run("drift", approved, "main").code == 0, github.jobs[-1].output
    fleet.servers["m1"].patch(fleet.namespaced("configmaps", "settings"), {"data": {"color": "red"}})
    drifted = github.run("drift", approved, "main")
    assert drifted.code == 2 and drifted.result()["fleet"] == {
        "outcome": "drifted",
        "code": "drifted",
        "resume_at": "",
    }
    # A plan that cannot be made says so where it would have been.
    (fleet.folder / "placements" / f"{fleet.name}.yml").write_text("{", encoding="utf-8")
    assert github.run("plan", repository.push(), "web").code == 2
    assert "There is none (`" in host.comments[-1]["body"] and host.changed.count("POST") == 1

    assert host.leaked == []
    checkouts = [each for each in fleet.folder.glob("jobs/*/*") if each.name == "work"]
    assert len(checkouts) == len(github.jobs)
    assert not [each for each in checkouts if (each / BESIDE).exists()], "an artifact was unpacked over the checkout"
    told = "".join(each.output for each in github.jobs)
    key = json.loads(github.login)["users"][0]["user"]
    assert not any(each in told for each in (TOKEN, *(str(value) for value in key.values()))), "a secret in a log"
    assert not list(fleet.folder.glob("jobs/*/work.home/kubeconfig")), "a login is left behind"


def test_gitlab(hub_fleet: Fleet, host: Host) -> None:
    """The same on GitLab; the login to the hub is a file that its runner writes."""
    fleet = hub_fleet
    fleet.place()
    (fleet.folder / "hub").write_text(joined(fleet, "m1", "m2"), encoding="utf-8")
    repository = Repository("gitlab", fleet)
    jobs = []

    def run(name: str, ref: str) -> Job:
        job = repository.job(
            CI_API_V4_URL=host.url,
            CI_PROJECT_ID="7",
            CI_MERGE_REQUEST_IID="5",
            CI_DEFAULT_BRANCH="main",
            CI_COMMIT_SHA=repository.git("rev-parse", "HEAD"),
            CI_JOB_ID=str(next(_jobs)),
            CI_JOB_TOKEN=TOKEN,
            FLEET_TOKEN=TOKEN,
            KUBECONFIG=str(fleet.folder / "hub"),
        )

        def keep(job_name: str, path: str, content: bytes) -> None:
            host.files[ref, job_name, path] = content

        jobs.append(gitlab(repository.folder / ".gitlab-ci.yml", name, job, keep))
        return job

    change = "refs/merge-requests/5/head"
    for name, ref in (("lint", change), ("tick", "main"), ("plan", change), ("plan", change)):
        assert run(name, ref).code == 0, jobs[-1].output
    assert host.changed == ["POST", "PUT"] and host.comments[-1]["body"].startswith(f"{MARKER}\n## Fleet plan")
    assert host.files[change, "lint", "lint.sarif"]
    repository.plan_run()
    assert run("forecast", change).code == 0 and "run to-137: ControlPlaneOnly to 1.37.1" in jobs[-1].output
    assert [each["body"].splitlines()[1] for each in host.comments] == ["## Fleet plan", "## Fleet forecast"]
    assert run("apply", "main").code == 2 and fleet.holders() == []
    host.merged = [{"state": "merged", "iid": 5}]
    assert run("apply", "main").code == 0, jobs[-1].output
    assert fleet.holders() == ["m1", "m2"]
    assert run("drift", "main").code == 0, jobs[-1].output
    fleet.servers["m1"].patch(fleet.namespaced("configmaps", "settings"), {"data": {"color": "red"}})
    assert run("drift", "main").code == 2 and jobs[-1].result()["fleet"]["outcome"] == "drifted"
    assert TOKEN not in "".join(each.output for each in jobs)


def test_awx(hub_fleet: Fleet) -> None:
    """The playbooks of the project, the digest of the plan handed on as a workflow does; and what setup.yml names."""
    fleet = hub_fleet
    fleet.place()
    (fleet.folder / "hub").write_text(joined(fleet, "m1", "m2"), encoding="utf-8")
    repository = Repository("awx", fleet)
    show = {"ANSIBLE_SHOW_CUSTOM_STATS": "true", "KUBECONFIG": str(fleet.folder / "hub")}
    jobs = []

    def play(name: str, **given: t.Any) -> int:
        job = repository.job(**show)
        jobs.append(job)
        values = json.dumps({"records": {"type": "hub"}, "max_idle": 0, **given})
        return job.run(f"ansible-playbook {name}.yml -e '{values}'", {})

    assert play("tick") == 0, jobs[-1].output
    assert play("plan") == 0, jobs[-1].output
    (digest,) = set(re.findall(r'"digest": "(\S+?)"', jobs[-1].output))
    fleet.resources(fleet.configmap(color="green"))
    repository.push()
    assert play("apply", digest=digest) == 2 and "digest-mismatch" in jobs[-1].output and fleet.holders() == []
    assert play("plan") == 0, jobs[-1].output
    (digest,) = set(re.findall(r'"digest": "(\S+?)"', jobs[-1].output))
    assert play("apply", digest=digest) == 0 and fleet.holders() == ["m1", "m2"], jobs[-1].output
    assert play("drift") == 0, jobs[-1].output

    (setup,) = yaml.load((EXAMPLES / "awx" / "setup.yml").read_text(encoding="utf-8"), UnsafeTexts)
    tasks = {next(key for key in each if key.startswith("awx.")): each for each in setup["tasks"]}
    templates = [row["name"] for row in tasks["awx.awx.job_template"]["loop"]]
    assert all((EXAMPLES / "awx" / f"{name}.yml").exists() for name in templates)
    nodes = {
        row["identifier"]: row
        for row in tasks["awx.awx.workflow_job_template"]["awx.awx.workflow_job_template"]["schema"]
    }
    after = {name: [each["identifier"] for each in row["related"]["success_nodes"]] for name, row in nodes.items()}
    assert after == {"plan": ["approval"], "approval": ["apply"], "apply": []}
    assert nodes["approval"]["unified_job_template"]["type"] == "workflow_approval"
    assert {row["name"] for row in tasks["awx.awx.schedule"]["loop"]} < set(templates)


class UnsafeTexts(yaml.SafeLoader):
    """Reads ``!unsafe`` as the text that it marks."""


UnsafeTexts.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(t.cast(yaml.ScalarNode, node)))


def test_kubernetes(hub_fleet: Fleet) -> None:
    """An API server takes the CronJob as it is, with strict fields; what it starts does a tick."""
    fleet = hub_fleet
    (fleet.folder / "config").write_text(joined(fleet, "m1"), encoding="utf-8")
    document = yaml.safe_load((EXAMPLES / "kubernetes" / "cron_job.yml").read_text(encoding="utf-8"))
    server = fleet.servers["m1"]
    how = {"fieldManager": "tests", "fieldValidation": "Strict", "dryRun": "All"}
    document["metadata"]["namespace"] = "default"
    server.client.request("PATCH", "/apis/batch/v1/namespaces/default/cronjobs/fleet-tick", document, how, APPLY)
    (container,) = document["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    job = checkout(EXAMPLES / "kubernetes", fleet.folder / "pod" / "work", {"KUBECONFIG": str(fleet.folder / "config")})
    words = [*container["command"], *container["args"]]
    words = [word.replace("/fleet/", f"{job.folder}/") for word in words]
    assert job.run(shlex.join(words), {}) == 0, job.output
    assert job.result()["fleet"]["outcome"] == "done"
