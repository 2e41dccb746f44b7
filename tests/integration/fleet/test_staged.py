# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged update runs on real API servers: a placement of strategy External changes its clusters by them alone."""

from __future__ import annotations

import json
import os
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.approval import RUN_LABEL
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.answering import (
    WishedApproval,
    give_approval,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import (
    StagedOptions,
    StagedReport,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import delete_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import staged_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from small_fleet import Document, Fleet, conditions

API = "placement.kubernetes-fleet.io/v1beta1"
MEMBERS = ("m1", "m2", "m3", "m4")
RINGS = {"m1": "canary", "m2": "prod", "m3": "prod", "m4": "prod"}
APPROVAL = {"type": "Approval"}
LIFTED = BrakeLimits(max_removals="100%", max_object_removals="100%")


def stage(name: str, ring: str = "", **more: t.Any) -> Document:
    selector = {"matchLabels": {"ring": ring}} if ring else {}
    return {"name": name, "labelSelector": selector, **more}


def strategy(fleet: Fleet, *stages: Document) -> Document:
    kind = "ClusterStagedUpdateStrategy"
    return {"apiVersion": API, "kind": kind, "metadata": {"name": f"rings-{fleet.name}"}, "spec": {"stages": stages}}


def run(fleet: Fleet, name: str = "first", **spec: t.Any) -> Document:
    wanted = {"placementName": fleet.name, "stagedRolloutStrategyName": f"rings-{fleet.name}", **spec}
    metadata = {"name": f"{fleet.name}-{name}"}
    return {"apiVersion": API, "kind": "ClusterStagedUpdateRun", "metadata": metadata, "spec": wanted}


def write(fleet: Fleet, *documents: Document) -> None:
    folder = fleet.folder / "runs"
    folder.mkdir(exist_ok=True)
    text = "\n---\n".join(map(json.dumps, documents))
    (folder / "all.yml").write_text(text, encoding="utf-8")


def staged(
    fleet: Fleet, state: str = "conducted", name: str = "first", *, records: Records | None = None, **more: t.Any
) -> StagedReport:
    """The verb on the files of the fleet, waiting for nobody."""
    rollout = RolloutOptions(max_idle=timedelta(0), time_limit=more.pop("time_limit", None))
    check = more.pop("check", False)
    given = staged_manifests([str(fleet.folder / "runs")] if more.pop("files", True) else [], (), resources(fleet))
    wish = StagedOptions(**{"ways": ApplyOptions(rollout=rollout), "limits": LIFTED, "timeout": 2.0, **more})
    session = fleet.session(records, environ=dict(os.environ))
    return staged_run(session, f"{fleet.name}-{name}", given, state, wish, write=not check)


def resources(fleet: Fleet) -> list[str]:
    return [str(fleet.folder / "resources")]


def external(fleet: Fleet, policy: Document | None = None, **strategy: t.Any) -> None:
    document = fleet.placement(policy)
    document["spec"]["strategy"] = {"type": "External", **strategy}
    file = fleet.folder / "placements" / f"{fleet.name}.yml"
    file.write_text(json.dumps(document), encoding="utf-8")


def joined(fleet: Fleet, *stages: Document, policy: Document | None = None) -> None:
    """Four members in two rings, a placement that is recorded, and a run in two stages unless told otherwise."""
    for name in MEMBERS:
        fleet.join(name, labels={"ring": RINGS[name], "rank": str(9 - int(name[1:]))})
    external(fleet, policy)
    fleet.resources(fleet.deployment("web:1"))
    assert not fleet.apply(limits=LIFTED).problems
    write(fleet, strategy(fleet, *(stages or (stage("canary", "canary"), stage("prod", "prod")))), run(fleet))


def rolled_out(fleet: Fleet, *stages: Document, policy: Document | None = None) -> None:
    """The old version is on all four by a first run of one stage, and available there."""
    joined(fleet, stage("all", maxConcurrency="100%"), policy=policy)
    staged(fleet)
    fleet.available(*MEMBERS)
    assert staged(fleet).state == "Succeeded"
    write(
        fleet,
        strategy(fleet, *(stages or (stage("canary", "canary"), stage("prod", "prod")))),
        run(fleet),
        run(fleet, "second"),
    )


def images(fleet: Fleet) -> dict[str, str]:
    return {name: fleet.image(name) for name in MEMBERS}


def on(*names: str, image: str = "web:1", others: str = "") -> dict[str, str]:
    return {name: image if name in names else others for name in MEMBERS}


def test_an_apply_leaves_the_clusters_to_staged_runs(fleet: Fleet) -> None:
    """D4-77: it records who is picked and what is wanted, writes no member, and says what is waited for."""
    for name in MEMBERS:
        fleet.join(name)
    external(fleet)
    fleet.resources(fleet.deployment("web:1"))
    looked = fleet.look()
    assert looked.changed
    assert any("changed by a staged update run alone" in line for line in plan_text(looked.plan.plans[0]))
    with fleet.writing() as written:
        report = fleet.apply()
    assert not report.problems and report.changed
    assert [each for each in written if not each.startswith("hub:")] == []
    assert images(fleet) == on()
    assert conditions(report.statuses[fleet.name]) == {"Scheduled": "True", "RolloutStarted": "False"}
    assert not fleet.apply().changed and not fleet.look().changed


def test_a_run_goes_stage_by_stage_as_clusters_become_available(fleet: Fleet) -> None:
    """The next cluster begins when the one before is available, the next stage when all of one are."""
    joined(fleet)
    report = staged(fleet)
    assert images(fleet) == on("m1") and report.verdict[:2] == ("waiting", "waiting")
    (line,) = report.lines
    assert line.startswith("stage canary waits for m1: Deployment") and report.resumes
    assert staged(fleet).verdict[0] == "waiting" and images(fleet) == on("m1")
    for done in range(1, 5):
        fleet.available(MEMBERS[done - 1])
        report = staged(fleet)
        assert images(fleet) == on(*MEMBERS[: done + 1])
    assert report.verdict == ("done", "", "") and report.state == "Succeeded"
    record = fleet.record()
    assert record is not None
    assert conditions(fleet.apply().statuses[fleet.name])["Available"] == "True"
    with fleet.writing(but=("leases",)) as written:
        again = staged(fleet)
    assert not again.changed and again.verdict[0] == "done" and written == []


def test_check_mode_tells_the_stages_without_any_cluster(fleet: Fleet) -> None:
    """Who is in which stage, in which order; nothing is recorded, and no member needs to answer."""
    joined(fleet, stage("canary", "canary", beforeStageTasks=[APPROVAL]), stage("prod", "prod", sortingLabelKey="rank"))
    fleet.cut(*MEMBERS)
    with fleet.writing() as written:
        report = staged(fleet, check=True)
    assert written == [] and report.changed and report.digest
    stages = {each.stage_name: [one.cluster_name for one in each.clusters] for each in report.run.status.stages_status}
    assert stages == {"canary": ["m1"], "prod": ["m4", "m3", "m2"]}
    assert fleet.records.get("ClusterStagedUpdateRun", f"{fleet.name}-first") is None


def approve(fleet: Fleet, name: str, timing: str, reason: str = "", digest: str = "") -> t.Any:
    session = fleet.session(environ=dict(os.environ))
    asked = WishedApproval(run=f"{fleet.name}-first", stage=name, timing=timing, reason=reason, digest=digest)
    return give_approval(session, asked, fleet.user, write=True)


def requests(fleet: Fleet) -> list[str]:
    found = fleet.records.list("ClusterApprovalRequest", {RUN_LABEL: f"{fleet.name}-first"})
    return [each["metadata"]["name"] for each in found]


def settled_stage(fleet: Fleet, *names: str) -> StagedReport:
    fleet.available(*names)
    return staged(fleet)


def test_approvals_before_and_after_a_stage_and_a_wait(fleet: Fleet) -> None:
    """Each holds the run, which says for what; given by ``gate`` it goes on where it was."""
    after = [APPROVAL, {"type": "TimedWait", "waitTime": "10m"}]
    joined(fleet, stage("canary", "canary", beforeStageTasks=[APPROVAL], afterStageTasks=after), stage("prod", "prod"))
    report = staged(fleet)
    assert images(fleet) == on() and report.verdict[:2] == ("waiting", "awaiting-approval")
    run_name = f"{fleet.name}-first"
    assert report.lines == ("stage canary waits for an approval",)
    with pytest.raises(FleetError) as unasked:
        approve(fleet, "canary", "After")
    assert unasked.value.code == "gate-not-open"
    with pytest.raises(FleetError) as other:
        approve(fleet, "canary", "Before", digest="0123456789abcdef")
    assert other.value.code == "digest-mismatch"
    given = approve(fleet, "canary", "Before", "looks fine", digest=report.digest)
    assert given.changed and not approve(fleet, "canary", "Before").changed
    staged(fleet)
    assert images(fleet) == on("m1")
    report = settled_stage(fleet, "m1")
    assert images(fleet) == on("m1") and report.verdict[1] == "awaiting-approval"
    assert any("waits until" in line for line in report.lines) and report.resumes
    approve(fleet, "canary", "After")
    report = staged(fleet)
    assert report.verdict[:2] == ("waiting", "waiting") and report.resume_at
    assert images(fleet) == on("m1")
    fleet.later = timedelta(minutes=11)
    staged(fleet)
    assert images(fleet) == on("m1", "m2")
    said = fleet.records.get("ClusterApprovalRequest", f"{run_name}-before-canary")
    assert said is not None
    told = {each["type"]: each["message"] for each in said["status"]["conditions"]}
    assert told["Approved"] == f"by {fleet.user} for {report.digest}: looks fine" and "ApprovalAccepted" in told


def test_an_approval_that_was_given_to_a_former_run_counts_for_nothing(fleet: Fleet) -> None:
    """A run that was deleted by hand leaves its request behind, approved; the next of that name asks anew."""
    joined(fleet, stage("all", beforeStageTasks=[APPROVAL]))
    staged(fleet)
    approve(fleet, "all", "Before")
    fleet.records.delete("ClusterStagedUpdateRun", f"{fleet.name}-first")
    report = staged(fleet)
    assert images(fleet) == on() and report.verdict[1] == "awaiting-approval"
    assert any("counts for nothing: it was made for an earlier run" in line for line in fleet.said)
    approve(fleet, "all", "Before")
    staged(fleet)
    assert images(fleet) == on("m1")
    with pytest.raises(FleetError) as flying:
        delete_run(fleet.records, f"{fleet.name}-first", force=False, write=True)
    assert flying.value.code == "run-in-flight"
    assert delete_run(fleet.records, f"{fleet.name}-first", force=True, write=True) and requests(fleet) == []


def test_limit_and_order_of_a_stage_are_obeyed(fleet: Fleet) -> None:
    """Two at once, by the sorting label from the smallest number on."""
    joined(fleet, stage("all", maxConcurrency="50%", sortingLabelKey="rank"))
    staged(fleet)
    assert images(fleet) == on("m3", "m4")
    assert settled_stage(fleet, "m3").state == "Running" and images(fleet) == on("m2", "m3", "m4")
    assert settled_stage(fleet, "m2").state == "Running" and images(fleet) == on(*MEMBERS)
    assert settled_stage(fleet, "m1", "m4").state == "Succeeded"


def test_clusters_that_leave_go_after_the_last_stage(fleet: Fleet) -> None:
    """The delete stage; an apply only says that they are to go."""
    rolled_out(fleet, policy={"placementType": "PickFixed", "clusterNames": list(MEMBERS)})
    external(fleet, {"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    fleet.resources(fleet.deployment("web:2"))
    fleet.apply(limits=LIFTED)
    assert images(fleet) == on(*MEMBERS)
    write(fleet, strategy(fleet, stage("all", maxConcurrency="100%")), run(fleet, "second"))
    with pytest.raises(FleetError) as stopped:
        staged(fleet, name="second", limits=BrakeLimits())
    assert stopped.value.code == "brake-max-removals" and images(fleet) == on(*MEMBERS)
    report = staged(fleet, name="second")
    assert images(fleet) == on("m1", "m2", image="web:2", others="web:1")
    fleet.available("m1", "m2")
    report = staged(fleet, name="second")
    assert report.state == "Succeeded" and images(fleet) == on("m1", "m2", image="web:2")
    assert not fleet.apply(limits=LIFTED).changed


def test_a_run_takes_the_snapshot_that_it_names(fleet: Fleet) -> None:
    """D4-61: an older index brings its content back, stage by stage."""
    rolled_out(fleet)
    fleet.resources(fleet.deployment("web:2"))
    fleet.apply(limits=LIFTED)
    write(
        fleet,
        strategy(fleet, stage("all", maxConcurrency="100%")),
        run(fleet, "second"),
        run(fleet, "back", resourceSnapshotIndex="0"),
    )
    staged(fleet, name="second")
    fleet.available(*MEMBERS)
    assert staged(fleet, name="second").state == "Succeeded" and images(fleet) == on(*MEMBERS, image="web:2")
    staged(fleet, name="back")
    fleet.available(*MEMBERS)
    assert staged(fleet, name="back").state == "Succeeded" and images(fleet) == on(*MEMBERS)


def test_a_run_that_is_stopped_begins_nothing_and_goes_on_later(fleet: Fleet) -> None:
    """What is in flight is followed to its end."""
    joined(fleet)
    staged(fleet)
    assert staged(fleet, "stopped").changed
    assert staged(fleet).state == "Stopping" and images(fleet) == on("m1")
    assert settled_stage(fleet, "m1").verdict[:2] == ("waiting", "stopped") and images(fleet) == on("m1")
    assert staged(fleet).verdict[1] == "stopped" and images(fleet) == on("m1")
    assert staged(fleet, "started").changed
    staged(fleet)
    assert images(fleet) == on("m1", "m2")


def test_a_cluster_that_never_becomes_available_makes_the_run_stuck(fleet: Fleet) -> None:
    """Nothing else begins, and the run says so; it goes on when the cluster comes right."""
    joined(fleet)
    staged(fleet)
    fleet.later = timedelta(minutes=6)
    report = staged(fleet)
    assert report.verdict[:2] == ("waiting", "stuck") and images(fleet) == on("m1")
    stuck, waits = report.verdict[2].splitlines()
    assert stuck.startswith("stage canary waits too long for m1; in flight since ")
    assert waits.startswith("stage canary waits for m1: Deployment ") and report.is_late
    settled_stage(fleet, "m1")
    assert images(fleet) == on("m1", "m2")


def test_two_runs_on_one_placement(fleet: Fleet) -> None:
    """As upstream: one takes the other's cluster, which then ends; while one is carried on the other is refused."""
    rolled_out(fleet)
    fleet.resources(fleet.deployment("web:2"))
    fleet.apply()
    assert staged(fleet, name="second").before == "0"
    assert images(fleet) == on("m1", image="web:2", others="web:1")
    write(fleet, strategy(fleet, stage("all")), run(fleet, "third", resourceSnapshotIndex="0"))
    fleet.later = timedelta(seconds=5)
    (beside,) = staged(fleet, name="third").notes
    assert beside.code == "run-beside" and f"staged run {fleet.name}-second " in beside.message
    assert fleet.image("m1") == "web:1"
    report = staged(fleet, name="second")
    assert report.verdict[:2] == ("failed", "run-failed") and report.verdict[2] == (
        f"run {fleet.name}-third of the same placement has begun since, and gave snapshot 0 to m1; make a new run"
    )
    lease = fleet.records.acquire(f"placement/{fleet.name}", "somebody", 600)
    with pytest.raises(FleetError) as refused:
        staged(fleet, name="third")
    assert refused.value.code == "lease-held"
    fleet.records.release(lease)


def test_an_older_run_does_not_roll_back_what_a_newer_one_has_brought(file_fleet: Fleet) -> None:
    """The old one waited for an approval, which comes after the new one is everywhere."""
    fleet = file_fleet
    joined(fleet, stage("canary", "canary"), stage("prod", "prod", maxConcurrency="100%", beforeStageTasks=[APPROVAL]))
    staged(fleet)
    assert settled_stage(fleet, "m1").verdict[1] == "awaiting-approval"
    fleet.resources(fleet.deployment("web:2"))
    fleet.apply()
    write(fleet, strategy(fleet, stage("all", maxConcurrency="100%")), run(fleet, "second"))
    staged(fleet, name="second")
    fleet.available(*MEMBERS)
    assert staged(fleet, name="second").state == "Succeeded"
    said = f"run {fleet.name}-second of the same placement has begun since, and gave snapshot 1"
    said += " to m1, m2, m3 and 1 more; make a new run"
    assert approve(fleet, "prod", "Before").useless == said
    report = staged(fleet, files=False)
    assert report.verdict == ("failed", "run-failed", said)
    assert images(fleet) == on(*MEMBERS, image="web:2")


def test_a_member_that_refuses_holds_its_place_and_is_told(file_fleet: Fleet) -> None:
    """F1: cut off in its turn, it is in flight until it answers; nothing else begins in its stage."""
    fleet = file_fleet
    joined(fleet)
    fleet.cut("m1")
    report = staged(fleet)
    assert report.verdict[:2] == ("partial", "unreachable") and images(fleet) == on()
    fleet.mend("m1")
    staged(fleet)
    assert images(fleet) == on("m1")


def test_a_run_that_cannot_begin_is_refused_before_it_is_recorded(file_fleet: Fleet) -> None:
    fleet = file_fleet
    joined(fleet, stage("canary", "canary"))
    for check in (True, False):
        try:
            report = staged(fleet, check=check)
        except FleetError as refused:
            assert refused.code == "clusters-not-in-any-stage" and "m2, m3, m4" in str(refused)
        else:
            assert check and report.verdict[:2] == ("failed", "run-failed")
    assert fleet.records.get("ClusterStagedUpdateRun", f"{fleet.name}-first") is None
    write(fleet, strategy(fleet, stage("all")), run(fleet, placementName="nobody"))
    with pytest.raises(FleetError) as missing:
        staged(fleet)
    assert missing.value.code == "placement-not-found" and "apply the placement first" in str(missing.value)


def test_what_people_write_on_the_hub_is_carried_out(hub_fleet: Fleet) -> None:
    """Strategy and run as objects; the approval is given by kubectl, as the condition that KubeFleet wants."""
    fleet = hub_fleet
    joined(fleet)
    assert fleet.hub
    client, path = fleet.hub.client, f"/apis/{API}"
    client.post(f"{path}/clusterstagedupdatestrategies", strategy(fleet, stage("all", beforeStageTasks=[APPROVAL])))
    client.post(f"{path}/clusterstagedupdateruns", run(fleet, state="Run"))
    assert staged(fleet, files=False).verdict[1] == "awaiting-approval" and images(fleet) == on()
    asked = client.get(f"{path}/clusterapprovalrequests/{fleet.name}-first-before-all")
    said = {"type": "Approved", "status": "True", "reason": "Fine", "message": "by hand", "observedGeneration": 1}
    asked["status"] = {"conditions": [{**said, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    client.put(f"{path}/clusterapprovalrequests/{fleet.name}-first-before-all/status", asked)
    staged(fleet, files=False)
    assert images(fleet) == on("m1")
    shown = client.get(f"{path}/clusterstagedupdateruns/{fleet.name}-first")["status"]
    assert [each["clusterName"] for each in shown["stagesStatus"][0]["clusters"]] == list(MEMBERS)
    assert {each["type"] for each in shown["conditions"]} == {"Initialized", "Progressing"}


class Died(BaseException):
    """As if the process had ended there."""


def mortal(fleet: Fleet, lives: int) -> tuple[Records, list[int]]:
    """Records of a process that ends at the write after so many; how many it made."""
    records, made = fleet.open(), [0]

    def counted(real: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
        def call(*arguments: t.Any, **options: t.Any) -> t.Any:
            if made[0] >= lives:
                raise Died
            made[0] += 1
            return real(*arguments, **options)

        return call

    for name in ("create", "replace", "delete"):
        setattr(records, name, counted(getattr(records, name)))
    return records, made


WRITES = 18
"""Strategy and run; its stages; two requests, asked for and taken; bindings and run of two clusters, and of one that
leaves; the status of the placement."""


@pytest.mark.parametrize("lives", range(0, WRITES, 3))
def test_killed_at_any_write_it_goes_on_and_writes_no_member_twice(file_fleet: Fleet, lives: int) -> None:
    """F5: whoever comes next goes on at the same place, and no cluster is given again what it got. The simulation of
    staged runs tries every single write."""
    fleet = file_fleet
    for name in ("m1", "m2", "m3"):
        fleet.join(name, labels={"ring": RINGS[name]})
    external(fleet, {"placementType": "PickFixed", "clusterNames": ["m1", "m2", "m3"]})
    fleet.resources(fleet.configmap())
    fleet.apply(limits=LIFTED)
    write(fleet, strategy(fleet, stage("all", maxConcurrency=3)), run(fleet, "before"))
    assert staged(fleet, name="before").state == "Succeeded"
    external(fleet, {"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    fleet.resources(fleet.configmap(color="red"))
    fleet.apply(limits=LIFTED)
    tasks = {"beforeStageTasks": [APPROVAL]}
    write(fleet, strategy(fleet, stage("canary", "canary"), stage("prod", "prod", **tasks)), run(fleet))
    records, made = mortal(fleet, lives)
    with fleet.writing(but=("leases",)) as written:
        with pytest.raises(Died):
            staged(fleet, records=records)
            approve(fleet, "prod", "Before")
            staged(fleet, records=records)
        for _attempt in range(4):
            if staged(fleet).state == "Succeeded":
                break
            if staged(fleet).verdict[1] == "awaiting-approval":
                approve(fleet, "prod", "Before")
    assert staged(fleet).state == "Succeeded" and made == [lives]
    path = fleet.namespaced("configmaps", "settings")
    assert [fleet.servers[name].data(path) for name in ("m1", "m2", "m3")] == [{"color": "red"}] * 2 + [None]
    given = [each for each in written if f"configmaps {fleet.namespace}/settings" in each]
    assert sorted(given) == [
        f"m1: patch configmaps {fleet.namespace}/settings",
        f"m2: patch configmaps {fleet.namespace}/settings",
        f"m3: delete configmaps {fleet.namespace}/settings",
    ]


def override(fleet: Fleet, value: str) -> Document:
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": fleet.namespace}
    patch = {"op": "add", "path": "/metadata/labels", "value": {"tier": value}}
    rule = {"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": [patch]}
    spec = {"clusterResourceSelectors": [selector], "policy": {"overrideRules": [rule]}}
    metadata = {"name": f"tier-{fleet.name}"}
    return {"apiVersion": API, "kind": "ClusterResourceOverride", "metadata": metadata, "spec": spec}


def test_other_overrides_than_it_began_with_stop_a_run(file_fleet: Fleet) -> None:
    """A cluster whose turn comes later gets just what the run began with, or nothing. With others it can be stopped:
    what is in flight is judged by the records then, and not written."""
    fleet = file_fleet
    joined(fleet)
    stages = (strategy(fleet, stage("canary", "canary"), stage("prod", "prod")), run(fleet))
    write(fleet, *stages, override(fleet, "gold"))
    staged(fleet)
    namespace = fleet.servers["m1"].get(f"/api/v1/namespaces/{fleet.namespace}")
    assert namespace and namespace["metadata"]["labels"]["tier"] == "gold"
    fleet.available("m1")
    write(fleet, *stages, override(fleet, "silver"))
    with pytest.raises(FleetError) as refused:
        staged(fleet)
    assert refused.value.code == "overrides-changed" and images(fleet) == on("m1")
    assert staged(fleet, "stopped").changed
    with fleet.writing(but=("leases",)) as written:
        stopping = staged(fleet)
    assert stopping.state == "Stopping" and stopping.resume_at and not written
    assert [each.code for each in stopping.notes] == ["overrides-changed"]
    assert staged(fleet, "started").changed
    write(fleet, *stages, override(fleet, "gold"))
    staged(fleet)
    assert images(fleet) == on("m1", "m2")


def test_a_run_is_recorded_before_it_gives_anything(file_fleet: Fleet) -> None:
    """``present``: its stages and who is in each can be looked at; ``started`` tells it to go on, and does nothing."""
    fleet = file_fleet
    joined(fleet)
    assert staged(fleet, "present").changed and not staged(fleet, "present").changed
    recorded = fleet.records.get("ClusterStagedUpdateRun", f"{fleet.name}-first")
    assert recorded and recorded["spec"]["state"] == "Initialize"
    assert [each["stageName"] for each in recorded["status"]["stagesStatus"]] == ["canary", "prod"]
    assert staged(fleet, "started").changed and images(fleet) == on()
    staged(fleet)
    assert images(fleet) == on("m1")


def test_whoever_made_a_run_may_be_kept_from_approving_it(file_fleet: Fleet) -> None:
    """Four eyes: the maker is the account that recorded it."""
    fleet = file_fleet
    joined(fleet, stage("all", beforeStageTasks=[APPROVAL]))
    staged(fleet)
    recorded = fleet.records.get("ClusterStagedUpdateRun", f"{fleet.name}-first")
    assert recorded
    maker = recorded["metadata"]["annotations"][MADE_BY]
    asked = WishedApproval(run=f"{fleet.name}-first", self_approval=False)
    with pytest.raises(FleetError) as own:
        give_approval(fleet.session(environ=dict(os.environ)), asked, maker, write=True)
    assert own.value.code == "self-approval" and "let somebody else approve it" in str(own.value)
    assert give_approval(fleet.session(environ=dict(os.environ)), asked, f"not {maker}", write=True).changed
    staged(fleet)
    assert images(fleet) == on("m1")


def test_a_run_gives_secrets_that_no_record_holds(file_fleet: Fleet) -> None:
    """F23: what they hold is read from the files again, and one that has changed since is not given."""
    fleet = file_fleet
    for name in ("m1", "m2"):
        fleet.join(name, labels={"ring": RINGS[name]})
    external(fleet, {"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    metadata = {"name": "login", "namespace": fleet.namespace}
    secret: Document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "data": {"word": "b3BlbiBzZXNhbWU="},
    }
    fleet.resources(secret)
    fleet.apply(limits=LIFTED)
    stages = stage("canary", "canary"), stage("prod", "prod", beforeStageTasks=[APPROVAL])
    write(fleet, strategy(fleet, *stages), run(fleet))
    path = fleet.namespaced("secrets", "login")
    assert staged(fleet).verdict[1] == "awaiting-approval"
    assert [fleet.servers[name].data(path) for name in ("m1", "m2")] == [secret["data"], None]
    approve(fleet, "prod", "Before")
    fleet.resources({**secret, "data": {"word": "c2hpYmJvbGV0aA=="}})
    with pytest.raises(FleetError) as refused:
        staged(fleet)
    assert "login" in str(refused.value) and fleet.servers["m2"].data(path) is None
    fleet.resources(secret)
    assert staged(fleet).state == "Succeeded" and fleet.servers["m2"].data(path) == secret["data"]
    kept = b"".join(file.read_bytes() for file in fleet.folder.glob("records*"))
    assert b"login" in kept and b"b3BlbiBzZXNhbWU" not in kept


def test_an_apply_repairs_what_runs_have_given_and_brings_nothing_newer(fleet: Fleet) -> None:
    """D4-77: KubeFleet's member agents keep what a cluster was given as it is, whoever rolls it out."""
    rolled_out(fleet)
    web = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"
    fleet.servers["m1"].patch(web, {"spec": {"replicas": 1}})
    fleet.servers["m2"].client.delete(web)
    looked = fleet.look()
    assert looked.changed and {name for name, each in looked.outcomes_of(fleet.name).items() if each.changes} == {
        "m1",
        "m2",
    }
    report = fleet.apply()
    assert report.changed and not report.problems
    assert images(fleet) == on(*MEMBERS) and fleet.servers["m1"].client.get(web)["spec"]["replicas"] == 3
    fleet.available(*MEMBERS)
    fleet.apply()
    assert not fleet.apply().changed and not fleet.look().changed

    fleet.resources(fleet.deployment("web:2"))
    assert not fleet.apply().problems
    staged(fleet, name="second")
    assert images(fleet) == on("m1", image="web:2", others="web:1"), "the canary has the new version"
    fleet.servers["m1"].client.delete(web)
    with fleet.writing(but=("leases", "events")) as written:
        assert fleet.apply().changed
    assert {each.partition(":")[0] for each in written} <= {"hub", "m1"}
    assert images(fleet) == on("m1", image="web:2", others="web:1")


def test_a_plan_warns_of_a_run_that_would_fail_by_it(fleet: Fleet) -> None:
    """D4-77: a staged run refuses other clusters than those it began with; a plan of new content warns of none."""
    joined(fleet)
    assert staged(fleet).verdict[0] == "waiting"
    fleet.resources(fleet.deployment("web:2"))
    assert not [each for each in fleet.look().plan.findings if each.code == "run-upset"]
    terms = {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"ring": "canary"}}}]}
    affinity = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    external(fleet, {"placementType": "PickAll", "affinity": affinity})
    (told,) = (each for each in fleet.look().plan.findings if each.code == "run-upset")
    assert f"staged run {fleet.name}-first has begun, and fails when it goes on" in told.message
    assert not fleet.apply(limits=LIFTED).problems
    assert staged(fleet).verdict[:2] == ("failed", "run-failed")
    assert not [each for each in fleet.look().plan.findings if each.code == "run-upset"], "it has ended"


def test_a_new_apply_strategy_is_for_runs_to_bring(fleet: Fleet) -> None:
    """D4-77: what was only reported so far is not written by an apply that stands beside the stages."""
    rolled_out(fleet)
    fleet.servers["m1"].patch(f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web", {"spec": {"replicas": 1}})
    external(fleet, applyStrategy={"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}})
    with fleet.writing(but=("leases", "events")) as written:
        report = fleet.apply()
    assert not report.problems and {each.partition(":")[0] for each in written} <= {"hub"}
    assert conditions(report.statuses[fleet.name])["RolloutStarted"] == "False"


def test_a_repair_goes_on_beside_a_member_that_is_silent(fleet: Fleet) -> None:
    rolled_out(fleet)
    web = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"
    for name in ("m1", "m2"):
        fleet.servers[name].client.delete(web)
    fleet.cut("m2")
    report = fleet.apply()
    assert [each.code for each in report.problems] == ["unreachable"] and "m2" in report.problems[0].where
    assert images(fleet) == on("m1", "m3", "m4")
    fleet.mend("m2")
    assert fleet.apply().changed and images(fleet) == on(*MEMBERS)
