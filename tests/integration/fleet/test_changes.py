# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What changes is shown: object and field, old and new, before anything is written; and the server then does so."""

from __future__ import annotations

import base64
import json
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._report.changes import plan_diff
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import Document, Fleet

CANARY = "canary-51aa-in-a-secret"


def deployment(fleet: Fleet, image: str = "web:1", **spec: t.Any) -> Document:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
    metadata = {"name": "web", "namespace": fleet.namespace}
    spec = {"selector": {"matchLabels": labels}, "template": pod, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def secret(fleet: Fleet, value: str) -> Document:
    metadata = {"name": "login", "namespace": fleet.namespace}
    data = {"password": base64.b64encode(value.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def web(fleet: Fleet, member: str) -> Document:
    path = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"
    return fleet.servers[member].get(path) or {}


def texts(report: Report) -> list[str]:
    """Plan, Markdown and difference, each as one text."""
    (plan,) = report.plan.plans
    outcomes = report.outcomes_of(plan.name)
    return [
        " ".join(" ".join(plan_text(plan, outcomes)).split()),
        plans_markdown([plan], "d", "f"),
        "\n".join(f"{each['before_header']}\n{each['before']}{each['after']}" for each in plan_diff(plan, outcomes)),
    ]


def placed(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.resources(deployment(fleet, replicas=5), secret(fleet, f"{CANARY}-1"), fleet.configmap("old"))
    fleet.place()
    fleet.apply()


def test_every_field_is_shown_and_the_server_does_what_was_said(fleet: Fleet) -> None:
    placed(fleet)
    fleet.resources(deployment(fleet, "web:2"), secret(fleet, f"{CANARY}-2"), fleet.configmap("new"))
    offline, online = fleet.look(look=False), fleet.look()
    for report in (offline, online):
        plan, markdown, difference = texts(report)
        assert '.spec.template.spec.containers[name="web"].image: "web:1" -> "web:2"' in plan
        assert ".spec.replicas: 5 is given up: it goes to the server's default, 1" in plan
        assert '.data.password: "<masked>" -> "<masked>"' in plan
        assert f"deleted from m1, m2: ConfigMap {fleet.namespace}/old" in plan
        assert plan.count('"web:1" -> "web:2"') == 1
        assert "web:1" in markdown and "given up" in markdown
        assert ".spec.replicas: 5\n" in difference and ".spec.replicas goes to the server's default, 1\n" in difference
        assert not any(
            CANARY in each or base64.b64encode(CANARY.encode()).decode()[:20] in each for each in texts(report)
        )
    assert offline.plan.digest == online.plan.digest
    fleet.apply()
    for member in ("m1", "m2"):
        spec = web(fleet, member)["spec"]
        assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (1, "web:2")


def test_a_field_that_an_autoscaler_owns_too_stays_as_was_said(fleet: Fleet) -> None:
    placed(fleet)
    path = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"
    owned = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    client = fleet.servers["m1"].client
    client.request("PATCH", path, owned, {"fieldManager": "hpa"}, "application/apply-patch+yaml")
    fleet.resources(deployment(fleet), secret(fleet, f"{CANARY}-1"), fleet.configmap("old"))
    plan, _markdown, _difference = texts(fleet.look())
    assert "m1: update Deployment" in plan and "stays as it is, since hpa owns it too" in plan
    assert "m2: update Deployment" in plan and "goes to the server's default, 1" in plan
    fleet.apply()
    assert [web(fleet, member)["spec"]["replicas"] for member in ("m1", "m2")] == [5, 1]


def test_a_spec_that_picks_the_same_clusters_and_objects_is_recorded(fleet: Fleet) -> None:
    """What the records show is what is written down, also where nothing on any member depends on it."""
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    document = fleet.placement()
    document["spec"]["revisionHistoryLimit"] = 7
    (fleet.folder / "placements" / f"{fleet.name}.yml").write_text(json.dumps(document), encoding="utf-8")
    looked = fleet.look()
    assert looked.changed and not looked.outcomes_of(fleet.name)["m1"].changes
    assert fleet.apply().changed
    recorded = fleet.record() or {}
    assert recorded["spec"]["revisionHistoryLimit"] == 7 and recorded["metadata"]["generation"] == 2
    with fleet.writing() as written:
        assert not fleet.look().changed and not fleet.apply().changed
    assert written == []


def test_applied_is_not_available(fleet: Fleet) -> None:
    """Nothing runs pods here: what was applied does not become available, until somebody says that it is."""
    fleet.join("m1", "m2")
    fleet.resources(deployment(fleet))
    fleet.place()
    report = fleet.apply()
    (plan,) = report.plan.plans
    text = " ".join(" ".join(plan_text(plan, report.outcomes_of(plan.name))).split())
    assert "applied on 2 of 2 clusters, 0 of 2 available" in text
    assert f"not available yet on m1, m2: Deployment {fleet.namespace}/web" in text
    assert "look again: ansible-playbook gitops.fleet.drift" in text
    assert f"{fleet.name}: 2 of 2 clusters done, 0 of 2 available" in fleet.said
    path = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web/status"
    generation = web(fleet, "m1")["metadata"]["generation"]
    counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    fleet.servers["m1"].patch(path, {"status": {"observedGeneration": generation, **counts}})
    report = fleet.look()
    text = " ".join(" ".join(plan_text(report.plan.plans[0], report.outcomes_of(plan.name))).split())
    assert "applied on 2 of 2 clusters, 1 of 2 available" in text and "not available yet on m2:" in text
