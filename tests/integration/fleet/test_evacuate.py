# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Six members in three regions, of which one is lost whole: placements are evacuated, and what is left is told (F1)."""

from __future__ import annotations

import threading
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import read_snapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.explaining import Question, explanations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import Document, Fleet, Server, changes

REGIONS = {"west": ("m1", "m2"), "east": ("m3", "m4"), "north": ("m5", "m6")}
WEST = "region=west"
SPREAD = [{"maxSkew": 1, "topologyKey": "region", "whenUnsatisfiable": "ScheduleAnyway"}]
THREE = {"placementType": "PickN", "numberOfClusters": 3, "topologySpreadConstraints": SPREAD}
ANYTHING = {**THREE, "tolerations": [{"operator": "Exists"}]}


@pytest.fixture
def regions(file_fleet: Fleet, module_clusters: t.Any) -> Fleet:
    """Six members in three regions."""
    return _regions(file_fleet, module_clusters)


@pytest.fixture
def hub_regions(hub_fleet: Fleet, module_clusters: t.Any) -> Fleet:
    return _regions(hub_fleet, module_clusters)


def _regions(fleet: Fleet, clusters: t.Any) -> Fleet:
    more = {name: Server(clusters(name, audit=True)) for name in REGIONS["north"]}
    for each in more.values():
        each.empty()
    fleet.servers = {**fleet.servers, **more}
    for region, names in REGIONS.items():
        fleet.join(*names, labels={"region": region})
    return fleet


def held_in(fleet: Fleet) -> dict[str, int]:
    """How many members hold the placement, by region; those that do not answer are not asked."""
    return {region: len(set(names) & set(fleet.holders())) for region, names in REGIONS.items()}


def causes(report: Report) -> dict[str, str]:
    (plan,) = report.plan.plans
    return {each.cluster: each.cause for each in plan.clusters}


def states(fleet: Fleet) -> dict[str, str]:
    found = fleet.records.list("ClusterResourceBinding")
    return {each["spec"]["targetCluster"]: each["spec"]["state"] for each in found}


def taints(fleet: Fleet, name: str) -> list[Document]:
    return (fleet.records.get("MemberCluster", name) or {})["spec"].get("taints", [])


def text(report: Report) -> str:
    return " ".join(" ".join(plan_text(report.plan.plans[0], report.outcomes_of(report.plan.plans[0].name))).split())


def test_a_region_is_killed_whole_and_its_placements_move(hub_regions: Fleet, local_cluster_factory: t.Any) -> None:
    """F1: nothing of it is asked to go away while nobody answers; back again it is cleaned, and not moved back."""
    fleet = hub_regions
    fleet.place(THREE)
    assert not fleet.apply().problems
    assert held_in(fleet) == {"west": 1, "east": 1, "north": 1}
    (lost,) = set(fleet.holders()) & set(REGIONS["west"])
    for name in REGIONS["west"]:
        cluster.stopped(name, local_cluster_factory.root)
    try:
        _while_it_is_down(fleet, lost)
    finally:
        for name in REGIONS["west"]:
            local_cluster_factory(name, audit=True)
    assert held_in(fleet) == {"west": 1, "east": 1, "north": 2}
    back = fleet.look()
    assert causes(back)[lost] == "evacuated" and back.left_behind == () and back.changed
    assert f"deleted from {lost}: ConfigMap" in text(back)
    cleaned = fleet.apply()
    assert not cleaned.problems and not cleaned.waits
    assert held_in(fleet) == {"west": 0, "east": 1, "north": 2} and lost not in states(fleet)
    assert not fleet.apply().changed
    assert fleet.apply(readmit=WEST).changed
    assert taints(fleet, "m1") == [] and not fleet.apply().changed
    assert held_in(fleet) == {"west": 0, "east": 1, "north": 2}


def _while_it_is_down(fleet: Fleet, lost: str) -> None:
    silent = fleet.apply()
    assert [each.sentence for each in silent.together] == ["region west: 2 of 2 do not answer"]
    assert set(causes(silent).values()) == {"unchanged"}
    shown = fleet.look(evacuate=WEST)
    assert causes(shown)[lost] == "left-behind" and sorted(changes(shown, fleet.name).values()).count("gained") == 1
    assert taints(fleet, "m1") == [] and shown.changed, "a look records nothing"
    report = fleet.apply(evacuate=WEST)
    assert not report.problems and not report.waits and report.changed
    assert [(each.cluster, len(each.objects)) for each in report.left_behind] == [(lost, 2)]
    assert f"left behind on {lost}: ConfigMap" in text(report)
    assert [each["key"] for each in taints(fleet, "m1")] == ["gitops.fleet/evacuated"]
    living = {name: server for name, server in fleet.servers.items() if name not in REGIONS["west"]}
    assert len([name for name in living if fleet.is_ours(name, fleet.namespaced("configmaps", "settings"))]) == 3
    assert states(fleet)[lost] == "Unscheduled"
    again = fleet.apply()
    assert not again.changed and not again.problems and [each.cluster for each in again.left_behind] == [lost]
    assert not fleet.apply(evacuate=WEST).changed
    (why,) = explanations(fleet.session(), Question(name=fleet.name, clusters=(lost,)))
    assert "evacuated" in why["sentence"]


ONE = {"placementType": "PickN", "numberOfClusters": 1, "tolerations": [{"operator": "Exists"}]}
PATIENT = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(minutes=5)))


def _with_a_deployment(fleet: Fleet, policy: Document, **rolling: t.Any) -> None:
    """The placement, available everywhere where it is."""
    fleet.resources(fleet.deployment("web:1"), fleet.configmap())
    fleet.place(policy, rolling=rolling)
    fleet.apply()
    fleet.available(*fleet.holders())
    assert not fleet.apply().waits


def test_members_that_answer_are_cleaned_when_others_have_it(regions: Fleet) -> None:
    """The new home first: nothing goes while it is not available there, whatever the budget says."""
    fleet = regions
    _with_a_deployment(fleet, ANYTHING, maxUnavailable=3)
    (old,) = set(fleet.holders()) & set(REGIONS["west"])
    shown = fleet.look(evacuate=WEST)
    (new,) = {name for name, change in changes(shown, fleet.name).items() if change == "gained"}
    assert shown.waves[fleet.name] == [[new], [old]] and f"what it holds goes once {new} has it" in text(shown)
    report = fleet.apply(evacuate=WEST)
    assert causes(report)[old] == "evacuated" and changes(report, fleet.name)[new] == "gained"
    (line,) = report.waits[fleet.name].lines
    assert line.startswith(f"{old} waits until what it holds is available in {new}: Deployment"), line
    assert "empty_first" in line
    assert {old, new} <= set(fleet.holders()), "what leaves stays until the other is available"
    assert fleet.apply().waits and old in fleet.holders(), "and so in every later run"
    fleet.available(new)
    done = fleet.apply()
    assert not done.waits and old not in fleet.holders() and held_in(fleet)["west"] == 0
    fleet.join("m1", "m2", labels={"region": "west"})
    join(fleet.session(), [MemberSpec(name="m1", taints=[])], write=True)
    assert [each["key"] for each in taints(fleet, "m1")] == ["gitops.fleet/evacuated"], "lists of taints keep it"
    assert not fleet.apply().changed


def test_whoever_watches_finds_it_available_somewhere_at_every_instant(regions: Fleet) -> None:
    """By the default budget; one run, from the first write to the last. Nobody asks the new home before it comes up."""
    fleet = regions
    _with_a_deployment(fleet, ONE)
    (old,) = fleet.holders()
    (new,) = {name for name, change in changes(fleet.look(evacuate=old), fleet.name).items() if change == "gained"}
    seen, ended = list[tuple[bool, bool]](), threading.Event()

    def watch() -> None:
        """What is missing on the old one and, looked at after that, not available on the new one either was nowhere."""
        early = 0
        while not ended.is_set():
            seen.append((_is_available(fleet, old), _is_available(fleet, new)))
            early += _deployed(fleet, new) is not None
            if early == 20:
                fleet.available(new)

    helper = threading.Thread(target=watch)
    helper.start()
    try:
        report = fleet.apply(evacuate=old, ways=PATIENT)
    finally:
        ended.set()
        helper.join()
    assert not report.waits and not report.problems and fleet.holders() == [new]
    assert (True, False) in seen and (True, True) in seen and (False, False) not in seen


def test_a_new_home_that_never_has_it_is_waited_for_until_somebody_says_otherwise(regions: Fleet) -> None:
    fleet = regions
    _with_a_deployment(fleet, ONE)
    (old,) = fleet.holders()
    waits = fleet.apply(evacuate=old).waits[fleet.name].as_dict()
    (row,) = (each for each in waits["waits"] if each["wants"] == "remove")
    assert (row["reason"], row["clusters"]) == ("new-home", [old])
    (new,) = row["for"]
    planned, lifted = fleet.look(), fleet.look(empty_first=True)
    assert planned.plan.digest != lifted.plan.digest, "who approves the one has not approved the other"
    assert not fleet.apply(empty_first=True).problems and fleet.holders() == [new]


@pytest.mark.parametrize("point", ["intent", "object", "members"])
def test_killed_while_it_is_evacuated(regions: Fleet, point: str) -> None:
    """Once with the new home under way, once with the old one; the next run ends it."""
    fleet = regions
    _with_a_deployment(fleet, ONE)
    (old,) = fleet.holders()
    fleet.apply(evacuate=old, ways=ApplyOptions(rollout=RolloutOptions(time_limit=timedelta(0))))
    fleet.killed(point)
    assert _is_available(fleet, old)
    fleet.apply()
    (new,) = set(fleet.holders()) - {old}
    assert _is_available(fleet, old) and not _is_available(fleet, new)
    fleet.available(new)
    fleet.killed(point)
    assert _is_available(fleet, new)
    assert not fleet.apply().waits and fleet.holders() == [new]


def test_who_takes_no_place_waits_for_nobody_that_could_not_come(regions: Fleet) -> None:
    """No other cluster may have it: it stays, and the run says so at once."""
    fleet = regions
    _with_a_deployment(fleet, {"placementType": "PickFixed", "clusterNames": ["m1", "m3"]})
    report = fleet.apply(evacuate=WEST, ways=PATIENT)
    (line,) = report.waits[fleet.name].lines
    assert "no other cluster can take what it holds, 1 of 2 are found; empty_first: true" in line
    assert fleet.holders() == ["m1", "m3"] and report.shortfall[0] == "unfulfilled"
    assert not fleet.apply(empty_first=True).problems and fleet.holders() == ["m3"]


def _deployed(fleet: Fleet, name: str) -> Document | None:
    found: Document | None = fleet.servers[name].get(f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web")
    return found


def _is_available(fleet: Fleet, name: str) -> bool:
    return ((_deployed(fleet, name) or {}).get("status") or {}).get("availableReplicas") == 3


def test_a_changed_surge_holds_no_one_back_for_the_dead(regions: Fleet) -> None:
    """Two of three holders are lost: both go to others although the surge is one, as nobody counts on the dead."""
    fleet = regions
    fleet.place({"placementType": "PickN", "numberOfClusters": 3})
    fleet.apply()
    old = fleet.holders()[:2]
    for name in old:
        fleet.join(name, labels={"lost": "yes"})
    fleet.cut(*old)
    report = fleet.apply(evacuate="lost=yes")
    assert not report.waits and not report.problems and {each.cluster for each in report.left_behind} == set(old)
    assert len(set(fleet.holders()) - set(old)) == 3
    fleet.mend(*old)
    assert not fleet.apply(readmit="lost").problems
    assert len(fleet.holders()) == 3 and not set(old) & set(fleet.holders()), "they hold nothing twice"


def test_who_is_readmitted_in_time_keeps_what_it_has(regions: Fleet) -> None:
    """PickAll wants it again: nothing is deleted and made anew."""
    fleet = regions
    fleet.place()
    fleet.apply()
    fleet.cut(*REGIONS["west"])
    fleet.apply(evacuate=WEST)
    assert states(fleet)["m1"] == "Unscheduled"
    fleet.mend(*REGIONS["west"])
    with fleet.writing(but=("leases",)) as written:
        report = fleet.apply(readmit=WEST)
    assert not report.problems and states(fleet)["m1"] == "Bound" and not fleet.apply().changed
    assert [each for each in written if "delete" in each] == []
    assert set(fleet.holders()) == set(fleet.servers)


def test_a_facts_snapshot_is_enough_to_plan_it(regions: Fleet) -> None:
    """Without any cluster and without the records; an older snapshot cannot undo it."""
    fleet = regions
    fleet.place(THREE)
    fleet.apply()
    (old,) = set(fleet.holders()) & set(REGIONS["west"])
    session = fleet.session()
    taken = capture(session, pods=False, prices=NO_PRICES, threads=4, timeout=2.0, record=False)
    facts = read_snapshot(taken.document, "facts.json")
    empty = fleet.another()
    asked: dict[str, t.Any] = {
        "src": (str(fleet.folder / "placements"),),
        "resources": (str(fleet.folder / "resources"),),
        "facts": facts,
        "look": False,
        "evacuate": WEST,
    }
    planned = empty.look(**asked)
    assert causes(planned)[old] == "evacuated" and sorted(planned.evacuation.evacuated) == sorted(REGIONS["west"])
    assert "gained" in changes(planned, fleet.name).values()
    assert planned.plan.digest == fleet.look(facts=facts, look=False, evacuate=WEST).plan.digest
    fleet.apply(evacuate=WEST)
    old_facts = fleet.look(facts=facts, look=False)
    assert set(changes(old_facts, fleet.name).values()) == {"kept"} and held_in(fleet)["west"] == 0
    assert "labels-differ" not in {each.code for each in old_facts.plan.findings}


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"evacuate": "region in"}, "bad-option"),
        ({"evacuate": "region=south"}, "nothing-selected"),
        ({"evacuate": "region"}, "nothing-left"),
        ({"evacuate": WEST, "readmit": "region"}, "bad-option"),
    ],
)
def test_what_is_refused(regions: Fleet, asked: dict[str, str], code: str) -> None:
    fleet = regions
    fleet.place()
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(**asked)
    assert [each.code for each in refused.value.problems] == [code] and refused.value.problems[0].where
    assert written == []


def test_brakes_and_other_placements(regions: Fleet) -> None:
    """Who is named does not count as a loss, but a placement that would be nowhere stops it all; one that is not part
    of the run is named."""
    fleet = regions
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    fleet.apply()
    with pytest.raises(FleetError) as stopped:
        fleet.apply(evacuate=WEST)
    assert "allow_empty" in str(stopped.value)
    assert taints(fleet, "m1") == []
    report = fleet.apply(definition=fleet.placement(THREE, name=f"{fleet.name}-b"), evacuate=WEST)
    told = [each for each in report.plan.findings if each.code == "not-moved-yet"]
    assert [each.where for each in told] == [f"ClusterResourcePlacement/{fleet.name}"]
    report = fleet.apply(limits=BrakeLimits(allow_empty=True))
    assert report.shortfall[0] == "unfulfilled" and "m2 waits" in report.waits[fleet.name].lines[0], "budgets hold, too"
