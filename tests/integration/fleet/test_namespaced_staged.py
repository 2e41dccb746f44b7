# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""StagedUpdateRuns on real API servers: a ResourcePlacement of strategy External changes its clusters by them alone."""

from __future__ import annotations

import json
import os
import re
import typing as t
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.answering import (
    WishedApproval,
    give_approval,
    is_staged,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import (
    StagedOptions,
    StagedReport,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import delete_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import staged_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._report.staged_text import staged_text
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import Document, Fleet, codes

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rollout.md"
API = "placement.kubernetes-fleet.io/v1beta1"
RINGS = {"m1": "canary", "m2": "prod"}
LIFTED = BrakeLimits(max_removals="100%", max_object_removals="100%")
APPROVAL = {"beforeStageTasks": [{"type": "Approval"}]}
ALL_AT_ONCE: Document = {"name": "all", "labelSelector": {}, "maxConcurrency": "100%"}
DEPLOYMENTS: Document = {"group": "apps", "version": "v1", "kind": "Deployment"}
CONFIG_MAPS: Document = {"group": "", "version": "v1", "kind": "ConfigMap"}
KINDS = ("StagedUpdateRun", "StagedUpdateStrategy", "ApprovalRequest")


def stage(name: str, **more: t.Any) -> Document:
    return {"name": name, "labelSelector": {"matchLabels": {"ring": name}}, **more}


def inside(kind: str, namespace: str, name: str, **spec: t.Any) -> Document:
    """An object of the placement API; cluster-scoped, with ``Cluster`` before its kind, where no namespace is given."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind if namespace else f"Cluster{kind}", "metadata": metadata, "spec": spec}


def run(fleet: Fleet, namespace: str, name: str = "first", **spec: t.Any) -> Document:
    wanted = {"placementName": fleet.name, "stagedRolloutStrategyName": "rings", **spec}
    return inside("StagedUpdateRun", namespace, name, **wanted)


def strategy(namespace: str, *stages: Document) -> Document:
    return inside("StagedUpdateStrategy", namespace, "rings", stages=list(stages))


def write(fleet: Fleet, folder: str, *documents: Document, file: str = "all") -> None:
    (fleet.folder / folder).mkdir(exist_ok=True)
    text = "\n---\n".join(map(json.dumps, documents))
    (fleet.folder / folder / f"{file}.yml").write_text(text, encoding="utf-8")


def placed(fleet: Fleet, namespace: str, selector: Document, **spec: t.Any) -> None:
    spec = {"resourceSelectors": [selector], "strategy": {"type": "External"}, **spec}
    write(fleet, "placements", inside("ResourcePlacement", namespace, fleet.name, **spec), file=namespace or "wide")


def joined(fleet: Fleet, *namespaces: str) -> None:
    """Two members in two rings with these namespaces, which the hub has too."""
    for name, ring in RINGS.items():
        fleet.join(name, labels={"ring": ring})
    for server in (*(fleet.servers[name] for name in RINGS), *((fleet.hub,) if fleet.hub else ())):
        for each in namespaces:
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}}
            server.client.post("/api/v1/namespaces", document)


def applied(fleet: Fleet) -> None:
    assert not codes(fleet.apply(limits=LIFTED))


def staged(fleet: Fleet, name: str, state: str = "conducted", *, files: bool = True, **more: t.Any) -> StagedReport:
    """The verb, waiting for nobody."""
    check = more.pop("check", False)
    given = staged_manifests([str(fleet.folder / "runs")] if files else [], (), [str(fleet.folder / "resources")])
    ways = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0)))
    wish = StagedOptions(**{"ways": ways, "limits": LIFTED, "timeout": 2.0, **more})
    return staged_run(fleet.session(environ=dict(os.environ)), name, given, state, wish, write=not check)


def approve(fleet: Fleet, run: str, stage: str, digest: str = "") -> bool:
    """As ``gate`` does it."""
    session = fleet.session(environ=dict(os.environ))
    assert is_staged(session.records, run, "")
    return give_approval(
        session, WishedApproval(run=run, stage=stage, timing="Before", digest=digest), fleet.user, write=True
    ).changed


def images(fleet: Fleet) -> list[str]:
    return [fleet.image(name) for name in RINGS]


def rolled(fleet: Fleet, name: str) -> None:
    """The run to its end, each cluster becoming available as it gets its turn."""
    for _turn in range(3):
        if staged(fleet, name).state == "Succeeded":
            return
        fleet.available(*(name for name in RINGS if fleet.image(name)))
    raise AssertionError(staged(fleet, name).lines)


def test_a_placement_in_a_namespace_moves_by_its_runs_alone(fleet: Fleet) -> None:
    """D4-61, D4-77: stages, an approval, a stop, an older index, the clusters that leave; records in the namespace."""
    shop = fleet.namespace
    joined(fleet, shop)
    placed(fleet, shop, DEPLOYMENTS)
    fleet.resources(fleet.deployment("web:1"))
    looked = fleet.look()
    assert any("changed by a staged update run alone" in line for line in plan_text(looked.plan.plans[0]))
    applied(fleet)
    assert images(fleet) == ["", ""]
    write(fleet, "runs", strategy(shop, stage("canary"), stage("prod", **APPROVAL)), run(fleet, shop))
    name = f"{shop}/first"
    told = staged(fleet, name, check=True)
    assert told.digest and all(not fleet.records.list(kind) for kind in KINDS)
    tree = staged_text(told.run, told.state, told.digest)
    assert tree[0].startswith(f"run {name}: placement {shop}/{fleet.name}, snapshot 0, strategy {shop}/rings")
    report = staged(fleet, name)
    assert images(fleet) == ["web:1", ""] and report.lines[0].startswith("stage canary waits for m1: Deployment")
    assert staged(fleet, name, "stopped").changed
    fleet.available("m1")
    assert staged(fleet, name).verdict[:2] == ("waiting", "stopped")
    assert staged(fleet, name, "started").changed
    report = staged(fleet, name)
    assert report.verdict[1] == "awaiting-approval" and report.digest == told.digest
    request = f"{name}-before-prod"
    assert report.lines == ("stage prod waits for an approval",)
    assert [each["name"] for each in report.as_dict()["approvals"]] == [request]
    with pytest.raises(FleetError) as other:
        approve(fleet, name, "prod", digest="0123456789abcdef")
    assert other.value.code == "digest-mismatch" and other.value.where == name
    assert approve(fleet, name, "prod", report.digest) and not approve(fleet, name, "prod")
    staged(fleet, name)
    fleet.available("m2")
    assert staged(fleet, name).state == "Succeeded" and images(fleet) == ["web:1", "web:1"]
    for kind in KINDS:
        (found,) = fleet.records.list(kind, namespace=shop)
        assert found["metadata"]["namespace"] == shop
    told_of = {each["type"] for each in fleet.records.get("ApprovalRequest", request)["status"]["conditions"]}  # type: ignore[index]
    assert told_of == {"Approved", "ApprovalAccepted"}
    assert "StageUpdatingSucceeded" in {each.reason for each in fleet.records.events("StagedUpdateRun", name)}
    placement = fleet.records.get("ResourcePlacement", f"{shop}/{fleet.name}")
    assert placement and placement["status"]["conditions"][-1]["type"] == "ResourcePlacementAvailable"
    with fleet.writing(but=("leases",)) as written:
        assert not staged(fleet, name).changed
    assert written == []


def test_an_older_index_comes_back_and_clusters_leave_last(fleet: Fleet) -> None:
    shop = fleet.namespace
    joined(fleet, shop)
    both = {"placementType": "PickFixed", "clusterNames": ["m1", "m2"]}
    placed(fleet, shop, DEPLOYMENTS, policy=both)
    fleet.resources(fleet.deployment("web:1"))
    applied(fleet)
    runs = [run(fleet, shop, "one"), run(fleet, shop, "two"), run(fleet, shop, "back", resourceSnapshotIndex="0")]
    write(fleet, "runs", strategy(shop, ALL_AT_ONCE), *runs, run(fleet, shop, "leave"))
    rolled(fleet, f"{shop}/one")
    fleet.resources(fleet.deployment("web:2"))
    applied(fleet)
    rolled(fleet, f"{shop}/two")
    assert images(fleet) == ["web:2", "web:2"]
    rolled(fleet, f"{shop}/back")
    assert images(fleet) == ["web:1", "web:1"]
    placed(fleet, shop, DEPLOYMENTS, policy={**both, "clusterNames": ["m1"]})
    applied(fleet)
    assert images(fleet) == ["web:1", "web:1"]
    rolled(fleet, f"{shop}/leave")
    assert images(fleet) == ["web:2", ""]


def colors(fleet: Fleet, *namespaces: str) -> list[t.Any]:
    """The color on m1 in each of the namespaces; None where nothing was placed."""
    found = (fleet.servers["m1"].data(f"/api/v1/namespaces/{each}/configmaps/settings") for each in namespaces)
    return [each and each["color"] for each in found]


def test_runs_of_one_name_in_two_namespaces_and_in_none_go_their_own_ways(fleet: Fleet) -> None:
    """F6, F18: strategies, requests, digests and approvals of one are none of another; an approved request that was
    carried over from another namespace counts for nothing."""
    shop, pub = fleet.namespace, f"pub{fleet.number}"
    joined(fleet, shop, pub)
    wide: Document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"wide{fleet.number}"}}
    theirs = {**fleet.configmap(color="red"), "metadata": {"name": "settings", "namespace": pub}}
    fleet.resources(fleet.configmap(), theirs, wide, namespace=False)
    for each in (shop, pub):
        placed(fleet, each, CONFIG_MAPS)
    placed(fleet, "", {"group": "", "version": "v1", "kind": "Namespace", "name": wide["metadata"]["name"]})
    applied(fleet)
    scopes = ("", shop, pub)
    runs = [run(fleet, each) for each in scopes]
    write(fleet, "runs", *runs, *(strategy(each, {**ALL_AT_ONCE, **APPROVAL}) for each in scopes))
    names = ["first", f"{shop}/first", f"{pub}/first"]
    reports = [staged(fleet, each) for each in names]
    assert {each.verdict[1] for each in reports} == {"awaiting-approval"}
    assert len({each.digest for each in reports}) == 3
    assert approve(fleet, names[1], "all")
    approved = fleet.records.get("ApprovalRequest", f"{names[1]}-before-all")
    assert approved
    taken = {**approved, "metadata": {**approved["metadata"], "namespace": pub}}
    own = fleet.records.get("ApprovalRequest", f"{names[2]}-before-all")
    assert own and own["metadata"]["annotations"] != approved["metadata"]["annotations"]
    fleet.records.delete("ApprovalRequest", f"{names[2]}-before-all")
    fleet.records.create(taken)
    for each in (names[0], names[2]):
        assert staged(fleet, each).verdict[1] == "awaiting-approval"
    assert any(f"approval request {names[2]}-before-all counts for nothing" in line for line in fleet.said)
    assert colors(fleet, shop, pub) == [None, None]
    assert fleet.servers["m1"].get(f"/api/v1/namespaces/{wide['metadata']['name']}") is None
    assert staged(fleet, names[1]).state == "Succeeded" and colors(fleet, shop, pub) == ["blue", None]
    assert delete_run(fleet.records, names[1], force=False, write=True)
    assert fleet.records.get("ApprovalRequest", f"{names[1]}-before-all") is None
    for each, kind in ((names[0], "ClusterApprovalRequest"), (names[2], "ApprovalRequest")):
        assert fleet.records.get(kind, f"{each}-before-all") and approve(fleet, each, "all")
        assert staged(fleet, each).state == "Succeeded"
    assert colors(fleet, shop, pub) == ["blue", "red"]
    with pytest.raises(FleetError) as gone:
        staged(fleet, f"{shop}/second", files=False)
    assert gone.value.code == "no-such-run" and f"first, {pub}/first" in gone.value.hint


def test_what_lies_on_the_hub_is_carried_out_as_the_page_says(hub_fleet: Fleet) -> None:
    """The documented manifests, written and approved with kubectl."""
    fleet = hub_fleet
    shop = fleet.namespace
    joined(fleet, shop)
    assert fleet.hub
    page = PAGE.read_text(encoding="utf-8").replace("shop", shop)
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (block,) = [each for each in blocks if "\nkind: ResourcePlacement\n" in each]
    documents = {each["kind"]: each for each in yaml.safe_load_all(block)}
    client, path = fleet.hub.client, f"/apis/{API}/namespaces/{shop}"
    for kind, plural in (("StagedUpdateStrategy", "stagedupdatestrategies"), ("StagedUpdateRun", "stagedupdateruns")):
        client.post(f"{path}/{plural}", documents[kind])
    write(fleet, "placements", documents["ResourcePlacement"])
    fleet.resources(fleet.configmap())
    applied(fleet)
    report = staged(fleet, f"{shop}/web-1", files=False)
    assert report.verdict[1] == "awaiting-approval" and colors(fleet, shop) == ["blue"]
    asked = f"{path}/approvalrequests/web-1-before-prod"
    document = client.get(asked)
    said = {"type": "Approved", "status": "True", "reason": "Fine", "message": "by hand", "observedGeneration": 1}
    document["status"] = {"conditions": [{**said, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    client.put(f"{asked}/status", document)
    assert staged(fleet, f"{shop}/web-1", files=False).state == "Succeeded"
    assert fleet.servers["m2"].data(fleet.namespaced("configmaps", "settings")) == {"color": "blue"}
    shown = client.get(f"{path}/stagedupdateruns/web-1")["status"]
    assert [each["stageName"] for each in shown["stagesStatus"]] == ["canary", "prod"]


def test_what_was_selected_on_the_hub_stays_there_where_the_hub_is_a_member(hub_fleet: Fleet) -> None:
    """It is its author's own: what leaves the placement by a run goes from the other member, and is released there."""
    fleet, hub, shop = hub_fleet, hub_fleet.hub, hub_fleet.namespace
    assert hub is not None
    fleet.servers = {**fleet.servers, "hub": hub}
    fleet.join("hub", "m1")
    for server in (hub, fleet.servers["m1"]):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shop}}
        server.client.post("/api/v1/namespaces", namespace)
    path = f"/api/v1/namespaces/{shop}/configmaps"
    for name in ("own", "other"):
        hub.client.post(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
    write(fleet, "runs", strategy(shop, ALL_AT_ONCE), *(run(fleet, shop, name) for name in ("first", "second")))

    def brought(selected: str, name: str) -> StagedReport:
        placed(fleet, shop, {**CONFIG_MAPS, "name": selected})
        assert not codes(fleet.apply(resources=None, limits=LIFTED))
        given = staged_manifests([str(fleet.folder / "runs")])
        wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))), limits=LIFTED)
        session = fleet.session(environ=dict(os.environ))
        return staged_run(session, f"{shop}/{name}", given, "conducted", wish, write=True)

    def there(server: t.Any) -> list[str]:
        return [name for name in ("other", "own") if server.get(f"{path}/{name}")]

    assert brought("own", "first").state == "Succeeded" and there(fleet.servers["m1"]) == ["own"]
    report = brought("other", "second")
    assert report.state == "Succeeded" and "originals-stay" in {each.code for each in report.notes}
    assert (there(fleet.servers["m1"]), there(hub)) == (["other"], ["other", "own"])
    assert "applyset.kubernetes.io/part-of" not in hub.get(f"{path}/own")["metadata"].get("labels", {})
