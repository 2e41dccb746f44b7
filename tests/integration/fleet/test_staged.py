# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged update runs on real API servers: a placement of strategy External changes its clusters by them alone."""

from __future__ import annotations

import json
import os
import typing as t
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.conducting import (
    StagedOptions,
    StagedReport,
)
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


def external(fleet: Fleet, policy: Document | None = None) -> None:
    document = fleet.placement(policy)
    document["spec"]["strategy"] = {"type": "External"}
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


def rolled_out(fleet: Fleet, *stages: Document) -> None:
    """The old version is on all four by a first run of one stage, and available there."""
    joined(fleet, stage("all", maxConcurrency="100%"))
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
    """D4-59, D4-62: the next cluster begins when the one before is available, the next stage when all of one are."""
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
