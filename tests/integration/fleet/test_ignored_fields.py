# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields that are somebody else's once an object is there: replicas under an autoscaler, and whole objects."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.object_writes import write_object
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import Document, Fleet

IGNORE = "gitops.fleet/ignore"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "placement.md"
STRATEGIES: list[Document | None] = [None, {"type": "ServerSideApply"}]


def web(fleet: Fleet, ignore: str = "", image: str = "web:1", **spec: t.Any) -> Document:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
    metadata: Document = {"name": "web", "namespace": fleet.namespace}
    if ignore:
        metadata["annotations"] = {IGNORE: ignore}
    spec = {"selector": {"matchLabels": labels}, "template": pod, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def documented(fleet: Fleet, **changes: t.Any) -> list[Document]:
    """The Deployment and its autoscaler as the page on placements shows them."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = [each for each in blocks if IGNORE in each]
    found = list(yaml.safe_load_all(block))
    for each in found:
        each["metadata"]["namespace"] = fleet.namespace
    found[0]["spec"] |= changes
    return found


def path(fleet: Fleet) -> str:
    return f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"


def there(fleet: Fleet) -> Document:
    found = fleet.servers["m1"].get(path(fleet))
    assert found is not None
    return found


def scaled(fleet: Fleet, replicas: int) -> None:
    """As the controller of autoscalers does it: an update of the subresource ``scale``."""
    client = fleet.servers["m1"].client
    scale = client.get(f"{path(fleet)}/scale")
    scale["spec"]["replicas"] = replicas
    client.request("PUT", f"{path(fleet)}/scale", scale, {"fieldManager": "kube-controller-manager"})


def step(fleet: Fleet) -> MemberStep:
    """What a look says is to be done to the Deployment."""
    return next(each for each in fleet.look().outcomes_of(fleet.name)["m1"].steps if each.id.name == "web")


def placed(fleet: Fleet, *objects: Document, strategy: Document | None = None) -> None:
    fleet.join("m1")
    fleet.resources(*objects)
    fleet.place(strategy=strategy)
    assert not fleet.apply().problems


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["ClientSideApply", "ServerSideApply"])
def test_an_autoscaler_keeps_the_replicas_that_it_set(fleet: Fleet, strategy: Document | None) -> None:
    placed(fleet, *documented(fleet), strategy=strategy)
    assert there(fleet)["spec"]["replicas"] == 3
    scaled(fleet, 7)
    assert not fleet.look().changed
    fleet.resources(*documented(fleet, replicas=4, paused=True))
    (plan,) = fleet.look(look=False).plan.plans
    assert ".spec.paused: true" in " ".join(plan_text(plan, {})) and "replicas" not in " ".join(plan_text(plan, {}))
    assert not fleet.look(ways=ApplyOptions(validate=True)).problems
    assert not fleet.apply().problems
    assert (there(fleet)["spec"]["replicas"], there(fleet)["spec"]["paused"]) == (7, True)
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []


def test_without_the_annotation_it_is_drift(file_fleet: Fleet) -> None:
    placed(file_fleet, web(file_fleet, replicas=3))
    scaled(file_fleet, 7)
    assert file_fleet.look().changed
    file_fleet.apply()
    assert there(file_fleet)["spec"]["replicas"] == 3


def test_a_field_can_leave_the_manifest_as_it_is_ignored_and_nothing_scales_down(file_fleet: Fleet) -> None:
    """Nobody else owns it yet, so that the server would set it to 1."""
    placed(file_fleet, web(file_fleet, replicas=5))
    file_fleet.resources(web(file_fleet, ".spec.replicas"))
    assert not file_fleet.apply().problems
    assert there(file_fleet)["spec"]["replicas"] == 5
    scaled(file_fleet, 8)
    assert not file_fleet.apply().changed
    file_fleet.resources(web(file_fleet, replicas=2))
    file_fleet.apply()
    assert there(file_fleet)["spec"]["replicas"] == 2


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["ClientSideApply", "ServerSideApply"])
def test_an_item_that_is_ignored_stays_and_goes_as_others_have_it(file_fleet: Fleet, strategy: Document | None) -> None:
    """First the manifest does not name it any more, then it is taken away, then the manifest names it again."""
    ignore = '.spec.template.spec.containers[name="side"]'
    both, alone = web(file_fleet, ignore), web(file_fleet, ignore)
    both["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "side:1"})

    def names() -> list[str]:
        return [each["name"] for each in there(file_fleet)["spec"]["template"]["spec"]["containers"]]

    placed(file_fleet, both, strategy=strategy)
    file_fleet.resources(alone)
    assert not file_fleet.apply().problems and names() == ["web", "side"]
    file_fleet.resources(both)
    assert not file_fleet.apply().problems and names() == ["web", "side"]
    gone = {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}
    client = file_fleet.servers["m1"].client
    client.request("PATCH", path(file_fleet), gone, content_type="application/strategic-merge-patch+json")
    assert names() == ["web"] and not file_fleet.look().changed
    both["spec"]["minReadySeconds"] = 5
    file_fleet.resources(both)
    assert not file_fleet.apply().problems and names() == ["web"]


def test_a_scale_between_look_and_write_is_kept(file_fleet: Fleet) -> None:
    """The write names the state that was seen: it is refused, and made anew of what is there then. The first time, as
    the field changes hands, it is refused for good."""
    placed(file_fleet, web(file_fleet, ".spec.replicas", replicas=3))
    file_fleet.resources(web(file_fleet, ".spec.replicas", "web:2", replicas=3))
    client = file_fleet.servers["m1"].client
    wanted, seen = step(file_fleet), there(file_fleet)
    scaled(file_fleet, 6)
    with pytest.raises(FleetError) as moved:
        write_object(client, wanted, seen, True, lambda: None)
    assert moved.value.code == "member-moved" and there(file_fleet)["spec"]["replicas"] == 6
    seen = there(file_fleet)
    scaled(file_fleet, 8)
    answer = write_object(client, wanted, seen, True, lambda: None)
    assert answer
    after = answer["spec"]
    assert (after["replicas"], after["template"]["spec"]["containers"][0]["image"]) == (8, "web:2")


def test_a_whole_object_is_made_and_then_left_alone(fleet: Fleet) -> None:
    settings = fleet.configmap(color="first")
    settings["metadata"]["annotations"] = {IGNORE: "*"}
    placed(fleet, settings)
    name = fleet.namespaced("configmaps", "settings")
    fleet.servers["m1"].patch(name, {"data": {"color": "theirs"}})
    settings["data"] = {"color": "second"}
    fleet.resources(settings)
    assert not fleet.apply().problems and not fleet.look().changed
    assert fleet.servers["m1"].data(name) == {"color": "theirs"}
    fleet.servers["m1"].client.delete(name)
    assert fleet.look().changed
    fleet.apply()
    assert fleet.servers["m1"].data(name) == {"color": "second"}
    fleet.end()
    assert fleet.servers["m1"].get(name) is None or fleet.holders() == []


def test_the_label_of_a_whole_object_is_put_back_and_nothing_else(file_fleet: Fleet) -> None:
    settings = file_fleet.configmap(color="first", size="1")
    settings["metadata"]["annotations"] = {IGNORE: "*"}
    placed(file_fleet, settings)
    name = file_fleet.namespaced("configmaps", "settings")
    label = {"applyset.kubernetes.io/part-of": None}
    file_fleet.servers["m1"].patch(name, {"data": {"color": "theirs"}, "metadata": {"labels": label}})
    assert not file_fleet.apply().problems
    assert file_fleet.holders() == ["m1"]
    assert file_fleet.servers["m1"].data(name) == {"color": "theirs", "size": "1"}


def test_what_is_there_may_differ_where_it_is_ignored(file_fleet: Fleet) -> None:
    """``IfNoDiff`` takes over, ``ReportDiff`` reports nothing."""
    server = file_fleet.servers["m1"]
    server.client.post("/api/v1/namespaces", {"metadata": {"name": file_fleet.namespace}})
    server.client.post(path(file_fleet).rpartition("/")[0], web(file_fleet, replicas=9), {"fieldManager": "somebody"})
    file_fleet.join("m1")
    file_fleet.resources(web(file_fleet, ".spec.replicas", replicas=3))
    file_fleet.place(strategy={"type": "ReportDiff"})
    assert step(file_fleet).action == "unchanged"
    file_fleet.place(strategy={"whenToTakeOver": "IfNoDiff"})
    assert not file_fleet.apply().problems and there(file_fleet)["spec"]["replicas"] == 9


@pytest.mark.parametrize("text", ["/spec/replicas", ".metadata.name", ".spec.containers[0].image"])
def test_what_cannot_be_ignored_stops_the_plan_and_says_how_to_name_it(file_fleet: Fleet, text: str) -> None:
    file_fleet.join("m1")
    file_fleet.resources(web(file_fleet, text, replicas=3), namespace=True)
    file_fleet.place()
    with pytest.raises(FleetError) as refused:
        file_fleet.apply()
    assert refused.value.code == "bad-ignore"
    assert text in refused.value.message and "web" in refused.value.where and ".spec.replicas" in refused.value.hint
