# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook tick takes up what else waits: staged update runs and node rotations, once, whoever else ticks."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec
from conducting import Conducting, Plays
from small_fleet import Server
from update_fleet import API, Document, UpdateFleet

PLACEMENTS = "placement.kubernetes-fleet.io/v1beta1"
NODES, KEPT = "/api/v1/nodes", "karpenter.sh/do-not-disrupt"
TILL = "/api/v1/namespaces/till/configmaps/till"


def object_of(api: str, kind: str, name: str, **more: t.Any) -> Document:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


def written_files(fleet: UpdateFleet, **files: t.Sequence[Document]) -> Document:
    """Variables with the folders that now hold these documents."""
    for name, documents in files.items():
        (fleet.folder / name).mkdir()
        for number, each in enumerate(documents):
            (fleet.folder / name / f"{number}.json").write_text(json.dumps(each))
    return fleet.variables(max_idle=0, interval=1, **{name: str(fleet.folder / name) for name in files})


def twice_at_once(plays: Plays, given: Document) -> list[Conducting]:
    both = [plays.start("gitops.fleet.tick", **given) for _number in range(2)]
    return [each.ended().code(0) for each in both]


def requests(server: Server, verb: str, resource: str, namespace: str = "") -> list[str]:
    """Names of objects for which this was done, as often as it was, by whoever is no part of the cluster; a dry run
    does nothing."""
    return sorted(
        each["objectRef"].get("name", "")
        for each in server.events()
        if each["verb"] == verb
        and (each.get("objectRef") or {}).get("resource") == resource
        and each["objectRef"].get("namespace", "") == namespace
        and not each["objectRef"].get("subresource")
        and not each["user"]["username"].startswith("system:")
        and "dryRun" not in each["requestURI"]
        and each["responseStatus"]["code"] < 300
    )


def test_a_staged_run_goes_on_when_its_approval_is_there(fleet: UpdateFleet, plays: Plays) -> None:
    """Two ticks at once before it and after it: nothing is given before, and everything once after."""
    names = fleet.members("all", "all", nodes=(NodesSpec(1, "blue"),))
    servers = [fleet.server(name) for name in names]
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "till"}
    placement = {"resourceSelectors": [selector], "strategy": {"type": "External"}}
    stages = [{"name": "all", "labelSelector": {}, "beforeStageTasks": [{"type": "Approval"}]}]
    run = {"placementName": "till", "stagedRolloutStrategyName": "rings"}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "till", "namespace": "till"}}
    given = written_files(
        fleet,
        placements=[object_of(PLACEMENTS, "ClusterResourcePlacement", "till", spec=placement)],
        resources=[object_of("v1", "Namespace", "till"), config],
        runs=[
            object_of(PLACEMENTS, "ClusterStagedUpdateStrategy", "rings", spec={"stages": stages}),
            object_of(PLACEMENTS, "ClusterStagedUpdateRun", "till-1", spec=run),
        ],
    )
    plays("gitops.fleet.facts", records=fleet.options).code(0)
    plays("gitops.fleet.apply", **given).code(0)
    plays("gitops.fleet.staged_update", **given).code(0)
    ticking = {name: each for name, each in given.items() if name not in ("placements", "runs")}
    for each in twice_at_once(plays, ticking):
        assert each.fleet["outcome"] in ("waiting", "done"), each.output
    assert not any(requests(each, "patch", "configmaps", "till") for each in servers)

    approval = {"run": "till-1", "kind": "ClusterStagedUpdateRun", "stage": "all", "timing": "Before", "reason": "well"}
    plays("gitops.fleet.approve", **fleet.variables(**approval)).code(0)
    twice_at_once(plays, ticking)
    stored = fleet.client.get(f"/apis/{PLACEMENTS}/clusterstagedupdateruns/till-1")
    conditions = {each["type"]: each["status"] for each in stored["status"]["conditions"]}
    assert conditions["Succeeded"] == "True", stored["status"]
    for server in servers:
        assert server.client.get(TILL)["metadata"]["name"] == "till"
        assert requests(server, "patch", "configmaps", "till") == ["till"]
    last = plays("gitops.fleet.tick", **ticking, read_members=False).code(0)
    assert (last.changed, last.fleet["outcome"]) == (0, "done"), last.output


def test_a_rotation_goes_on_when_nothing_holds_it_any_more(fleet: UpdateFleet, plays: Plays) -> None:
    """Each node is replaced once, and one that ended is not begun again."""
    (name,) = fleet.members("all", nodes=(NodesSpec(3, "blue"),))
    server = fleet.server(name)
    before = sorted(each["metadata"]["name"] for each in server.client.get(NODES)["items"])
    server.patch(f"{NODES}/{before[1]}", {"metadata": {"annotations": {KEPT: "true"}}})
    spec = {"budgets": [{"nodes": "1"}], "pace": {"firstWave": 3, "nodeTimeoutSeconds": 600}}
    given = written_files(fleet, rotations=[object_of(API, "NodeRotation", "monthly", spec=spec)])
    first = plays("gitops.fleet.rotate", **given).code(0)
    assert requests(server, "delete", "nodes") == [before[0], before[2]], first.output
    ticking = {each: value for each, value in given.items() if each != "rotations"}
    for each in twice_at_once(plays, ticking):
        assert each.fleet["outcome"] in ("waiting", "done"), each.output
    assert requests(server, "delete", "nodes") == [before[0], before[2]]

    server.patch(f"{NODES}/{before[1]}", {"metadata": {"annotations": {KEPT: None}}})
    twice_at_once(plays, ticking)
    assert requests(server, "delete", "nodes") == before
    assert len(requests(server, "create", "nodes")) == 6, "three at first, and one for each"
    (stored,) = fleet.records.list("NodeRotation")
    assert stored["status"]["phase"] == "Done" and stored["status"]["rotated"] == 3
    last = plays("gitops.fleet.tick", **ticking, read_members=False).code(0)
    assert (last.changed, last.fleet["outcome"]) == (0, "done"), last.output
    assert requests(server, "delete", "nodes") == before
