# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The manifests are gone from the checkout: nothing on the members goes with them before somebody has said so (F4)."""

from __future__ import annotations

import json
import shutil
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import parent_manifest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.observe import parsed_parent
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import PARENTS, Document, Fleet, codes

TWO = ("m1", "m2")


def fixed(*names: str) -> Document:
    return {"placementType": "PickFixed", "clusterNames": list(names)}


def placed(fleet: Fleet, objects: int, *members: str) -> None:
    """The namespace and so many ConfigMaps, ``c0`` and so on."""
    fleet.join(*(members or TWO))
    fleet.resources(*(fleet.configmap(f"c{number}") for number in range(objects)))
    fleet.place(fixed(*(members or TWO)))
    assert not fleet.apply().problems


def held(fleet: Fleet, name: str) -> list[str]:
    found = fleet.servers[name].client.get(fleet.namespaced("configmaps"))["items"]
    return sorted(each["metadata"]["name"] for each in found)


def stopped(fleet: Fleet, **asked: t.Any) -> dict[str, str]:
    """The hints of an apply that is refused without a write, by code."""
    with fleet.writing() as written, pytest.raises(FleetError) as caught:
        fleet.apply(**asked)
    assert written == []
    return {each.code: each.hint for each in caught.value.problems}


def test_an_empty_folder_stops_and_both_brakes_have_to_be_lifted(fleet: Fleet) -> None:
    placed(fleet, 4)
    (fleet.folder / "resources" / "all.yml").unlink()
    looked = fleet.look()
    assert [each.code for each in looked.plan.findings] == ["no-manifests"]
    told = stopped(fleet)
    assert told == {
        "brake-max-object-removals": "if it is meant: max_object_removals: 4",
        "brake-allow-no-objects": "if it is meant: allow_no_objects: true",
    }
    lifted = BrakeLimits(max_object_removals="100%")
    assert list(stopped(fleet, limits=lifted)) == ["brake-allow-no-objects"]
    assert held(fleet, "m1") == held(fleet, "m2") == ["c0", "c1", "c2", "c3"]
    free = BrakeLimits(max_object_removals="100%", allow_no_objects=True)
    report = fleet.apply(limits=free)
    assert report.changed and not report.problems and held(fleet, "m1") == []
    assert report.plan.digest != fleet.look(limits=free).plan.digest
    assert not fleet.apply().changed  # nothing is held any more, so that nothing needs to be lifted


def test_a_folder_without_a_manifest_of_what_is_placed_stops_too(file_fleet: Fleet) -> None:
    """There is something in it, and nothing of that is selected."""
    placed(file_fleet, 1)
    file_fleet.resources(file_fleet.configmap(), namespace=False)
    with pytest.raises(FleetError) as caught:
        file_fleet.apply()
    assert "brake-allow-no-objects" in {each.code for each in caught.value.problems}
    assert held(file_fleet, "m1") == ["c0"]


@pytest.mark.parametrize("kind", ["resources", "placements"])
def test_a_path_that_does_not_exist_is_an_error_also_in_a_list(file_fleet: Fleet, kind: str) -> None:
    fleet = file_fleet
    placed(fleet, 2)
    mistyped = str(fleet.folder / "resuorces")
    option = "resources" if kind == "resources" else "src"
    for paths in ((mistyped,), (str(fleet.folder / kind), mistyped)):
        assert stopped(fleet, **{option: paths}).keys() == {"no-such-file"}
    shutil.move(fleet.folder / kind, fleet.folder / "elsewhere")
    assert stopped(fleet).keys() == {"no-such-file"}
    assert held(fleet, "m1") == ["c0", "c1"]


def test_a_link_to_a_folder_is_not_passed_over(file_fleet: Fleet) -> None:
    """What lies behind it would count as gone."""
    fleet = file_fleet
    placed(fleet, 2)
    shutil.move(fleet.folder / "resources", fleet.folder / "elsewhere")
    (fleet.folder / "resources").mkdir()
    (fleet.folder / "resources" / "linked").symlink_to(fleet.folder / "elsewhere")
    assert stopped(fleet).keys() == {"unreadable"}
    assert held(fleet, "m1") == ["c0", "c1"]


def test_half_of_the_objects_gone_is_too_many_and_one_renamed_is_not(file_fleet: Fleet) -> None:
    fleet = file_fleet
    placed(fleet, 2)
    fleet.resources(fleet.configmap("c0"), fleet.configmap("renamed"))
    assert not fleet.apply().problems and held(fleet, "m1") == ["c0", "renamed"]
    fleet.resources(fleet.configmap("other"))
    assert stopped(fleet) == {"brake-max-object-removals": "if it is meant: max_object_removals: 2"}
    fleet.apply(limits=BrakeLimits(max_object_removals=2))
    assert held(fleet, "m1") == ["other"]


def test_every_object_that_goes_is_named_wherever_a_plan_is_shown(file_fleet: Fleet) -> None:
    fleet = file_fleet
    placed(fleet, 60)
    fleet.resources(fleet.configmap("c0"))
    report = fleet.look()
    (plan,) = report.plan.plans
    names = [f"ConfigMap {fleet.namespace}/c{number}" for number in range(1, 60)]
    text = " ".join(" ".join(plan_text(plan, report.outcomes_of(plan.name))).split())
    markdown = plans_markdown(report.plan.plans, report.plan.digest, report.plan.facts_digest)
    document = json.dumps(report.plan.as_dict())
    deleted = text[text.index("deleted from m1, m2: ") : text.index("brake ")]
    assert [name for name in names if name not in deleted] == []
    assert [name for name in names if f"{name}," not in markdown and f"{name}\n" not in markdown] == []
    assert [name for name in names if f'"{name}"' not in document] == []
    assert "| 59 on 2 | max&#95;object&#95;removals |" in markdown


def test_what_is_only_released_is_called_so_and_counts_for_no_brake(file_fleet: Fleet) -> None:
    fleet = file_fleet
    placed(fleet, 1, "m1")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{fleet.namespace}-b"}}
    document = fleet.placement(fixed("m1"))
    document["spec"]["resourceSelectors"].append(
        {**document["spec"]["resourceSelectors"][0], "name": space["metadata"]["name"]}
    )
    fleet.resources(fleet.configmap("c0"), space)
    fleet.apply(definition=document)
    looked = fleet.look()
    (row,) = looked.plan.plans[0].clusters
    assert (row.prune, [each.name for each in row.release]) == ((), [f"{fleet.namespace}-b"])
    assert not fleet.apply().problems
    assert not fleet.is_ours("m1", f"/api/v1/namespaces/{fleet.namespace}-b")


def grown(fleet: Fleet, name: str, objects: int) -> None:
    """The member holds more for this placement than its records know: another run of it wrote that."""
    server = fleet.servers[name]
    parent = parsed_parent(server.client.get(f"{PARENTS}/{fleet.name}"), server.client)
    extra = [fleet.configmap(f"x{number}") for number in range(objects)]
    for each in extra:
        each["metadata"]["labels"] = {"applyset.kubernetes.io/part-of": parent.id}
        server.client.post(fleet.namespaced("configmaps"), each)
    manifest = parent_manifest(parent)
    rows = json.loads(manifest["data"]["inventory"])
    rows += [["", "v1", "ConfigMap", fleet.namespace, each["metadata"]["name"], ""] for each in extra]
    manifest["data"]["inventory"] = json.dumps(rows)
    apply_object(server.client, manifest, "gitops-fleet", force=True)


def test_a_member_that_holds_more_than_the_records_know_keeps_it(fleet: Fleet) -> None:
    placed(fleet, 2)
    grown(fleet, "m1", 5)
    fleet.resources(*(fleet.configmap(f"c{number}", color="red") for number in range(2)))
    report = fleet.apply()
    assert codes(report) == {"refused-on-member"} and "5 objects are held here" in str(report.problems)
    assert held(fleet, "m1") == ["c0", "c1", *(f"x{number}" for number in range(5))]
    assert not fleet.apply(limits=BrakeLimits(max_object_removals=5)).problems
    assert held(fleet, "m1") == ["c0", "c1"]
    assert not fleet.apply().changed


def test_under_an_approved_digest_nothing_goes_that_the_plan_does_not_name(file_fleet: Fleet) -> None:
    """Not even the one object that the brake would let go."""
    fleet = file_fleet
    placed(fleet, 2)
    grown(fleet, "m1", 1)
    fleet.resources(*(fleet.configmap(f"c{number}", color="red") for number in range(2)))
    facts = fleet.facts()
    approved = fleet.look(facts=facts, look=False).plan.digest
    report = fleet.apply(facts=facts, approved=approved)
    assert codes(report) == {"refused-on-member"} and held(fleet, "m1") == ["c0", "c1", "x0"]
    assert not fleet.apply().problems and held(fleet, "m1") == ["c0", "c1"]


def test_a_lost_cluster_keeps_what_the_records_do_not_know_too(file_fleet: Fleet) -> None:
    fleet = file_fleet
    placed(fleet, 2)
    grown(fleet, "m2", 5)
    fleet.place(fixed("m1"))
    report = fleet.apply()
    assert codes(report) == {"refused-on-member"}
    assert held(fleet, "m2") == [f"x{number}" for number in range(5)]
    assert len(fleet.records.list("ClusterResourceBinding")) == 2, "it is remembered that something is left there"
    fleet.apply(limits=BrakeLimits(max_object_removals="100%"))
    assert held(fleet, "m2") == [] and len(fleet.records.list("ClusterResourceBinding")) == 1
