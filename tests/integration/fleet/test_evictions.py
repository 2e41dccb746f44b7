# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evictions on real members: judged by their budget, one after another, tried once, ended by whoever comes next."""

from __future__ import annotations

import json
import os
import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.write_facts import record_facts
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.carry_out import (
    EvictionReport,
    EvictionRequest,
    run_evictions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from small_fleet import NOT_WAITING, Document, Fleet

API = "placement.kubernetes-fleet.io/v1beta1"
THREE = {"placementType": "PickN", "numberOfClusters": 3}
ALL = ("m1", "m2", "m3")


def eviction(fleet: Fleet, cluster: str, name: str = "") -> Document:
    kind = "ClusterResourcePlacementEviction"
    spec = {"placementName": fleet.name, "clusterName": cluster}
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name or f"{fleet.name}-off-{cluster}"}, "spec": spec}


def budget(fleet: Fleet, **spec: t.Any) -> Document:
    kind = "ClusterResourcePlacementDisruptionBudget"
    return {"apiVersion": API, "kind": kind, "metadata": {"name": fleet.name}, "spec": spec}


def write(fleet: Fleet, *documents: Document) -> tuple[str, ...]:
    folder = fleet.folder / "evictions"
    folder.mkdir(exist_ok=True)
    text = "\n---\n".join(map(json.dumps, documents))
    (folder / "all.yml").write_text(text, encoding="utf-8")
    return (str(folder),)


def evict(fleet: Fleet, *clusters: str, records: Records | None = None, **asked: t.Any) -> EvictionReport:
    request = {"placement": fleet.name if clusters else "", "clusters": clusters, "write": True, "timeout": 2.0}
    return run_evictions(fleet.session(records, environ=dict(os.environ)), EvictionRequest(**{**request, **asked}))


def placed(fleet: Fleet, policy: Document | None = None, names: t.Sequence[str] = ALL) -> None:
    """With THREE if no policy is given."""
    fleet.join(*names)
    fleet.place(policy or THREE)
    assert not fleet.apply().problems


def placed_again(fleet: Fleet) -> None:
    """The next apply. Our namespace went with the last that was there, and nobody else ends it on these servers."""
    for each in fleet.servers.values():
        each.finish_namespaces()
    assert not fleet.apply().problems and fleet.holders() == list(ALL)


def facts_recorded(fleet: Fleet) -> None:
    members = recorded_members(fleet.records)
    with Clients(members={name: each.fleet for name, each in members.items()}, hub=fleet.hub_client) as clients:
        record_facts(fleet.records, read_fleet(members, clients, fleet.now, pods=False))


def bound(fleet: Fleet) -> list[str]:
    found = fleet.records.list("ClusterResourceBinding", {"kubernetes-fleet.io/parent-CRP": fleet.name})
    return sorted(each["spec"]["targetCluster"] for each in found)


def tried(fleet: Fleet) -> dict[str, dict[str, str]]:
    """Conditions of the recorded evictions of this fleet, by cluster."""
    return {
        each["spec"]["clusterName"]: {
            one["type"]: one["status"] for one in each.get("status", {}).get("conditions", ())
        }
        for each in fleet.records.list("ClusterResourcePlacementEviction")
        if each["spec"]["placementName"] == fleet.name
    }


def states(report: EvictionReport) -> list[tuple[str, str, str]]:
    return [(each.cluster, each.state, each.verdict.why) for each in report.results]


def test_what_the_budget_permits_leaves_the_member_and_the_records(fleet: Fleet) -> None:
    placed(fleet)
    src = write(fleet, budget(fleet, maxUnavailable=1))
    with fleet.writing() as written:
        foretold = evict(fleet, "m2", src=src, write=False)
    assert written == [] and foretold.changed and foretold.outcome == "done"
    outcome = foretold.results[0].outcome
    assert outcome and [str(each.id) for each in outcome.changes if each.action == "prune"] == [
        f"ConfigMap {fleet.namespace}/settings",
        "Namespace gitops-fleet",
    ]
    done = evict(fleet, "m2", src=src)
    (result,) = done.results
    assert (result.state, result.verdict.why) == ("executed", "budget") and not done.problems
    assert result.as_dict()["arithmetic"] == {"available": 3, "total": 3, "limit": 1, "allowed": 1}
    assert fleet.holders() == ["m1", "m3"] == bound(fleet)
    assert fleet.servers["m2"].get("/api/v1/namespaces/gitops-fleet/configmaps/" + fleet.name) is None
    assert tried(fleet) == {"m2": {"Valid": "True", "Executed": "True"}}
    assert "PlacementEvicted" in fleet.reasons()
    rows = (fleet.record() or {})["status"]["placementStatuses"]
    assert [each["clusterName"] for each in rows] == ["m1", "m3"]


def test_one_after_the_other_is_refused_until_an_apply_has_picked_another(fleet: Fleet) -> None:
    """The cluster that is missing counts: nothing picks another one before the next apply."""
    placed(fleet)
    src = write(fleet, budget(fleet, maxUnavailable=1))
    assert "the next apply may pick m2 again" in evict(fleet, "m2", src=src).results[0].next_pick
    with fleet.writing() as written:
        refused = evict(fleet, "m3")  # the budget is recorded
    assert written == [] or all("leases" in each for each in written)
    assert states(refused) == [("m3", "refused", "budget")] and refused.outcome == "failed"
    assert refused.results[0].verdict.message == "2 of 3 bindings are available and 1 is missing, so that 0 may go"
    assert fleet.holders() == ["m1", "m3"] and list(tried(fleet)) == ["m2"]
    placed_again(fleet)
    assert states(evict(fleet, "m3")) == [("m3", "executed", "budget")]


def test_of_two_at_once_the_budget_permits_one_and_the_other_has_had_its_try(fleet: Fleet) -> None:
    placed(fleet)
    src = write(fleet, eviction(fleet, "m1"), eviction(fleet, "m3"), budget(fleet, maxUnavailable=1))
    foretold = evict(fleet, src=src, write=False)
    both = [("m1", "executed", "budget"), ("m3", "refused", "budget")]
    assert states(foretold) == both
    done = evict(fleet, src=src)
    assert states(done) == both and done.outcome == "partial" and fleet.holders() == ["m2", "m3"]
    assert tried(fleet) == {
        "m1": {"Valid": "True", "Executed": "True"},
        "m3": {"Valid": "True", "Executed": "False"},
    }
    placed_again(fleet)
    with fleet.writing() as written:
        again = evict(fleet, src=src)
    assert [each for each in written if "leases" not in each] == []
    assert [state for _cluster, state, _why in states(again)] == ["over", "over"]
    assert not again.changed and again.outcome == "done" and fleet.holders() == list(ALL)


def test_a_cluster_that_is_not_available_counts_against_the_budget(file_fleet: Fleet) -> None:
    """F4: on a member whose object is not available nothing more is taken away."""
    placed(file_fleet)
    claim = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": file_fleet.namespace},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }
    file_fleet.resources(file_fleet.configmap(), claim)
    file_fleet.apply(ways=replace(NOT_WAITING, patience=1))
    src = write(file_fleet, budget(file_fleet, minAvailable=3))
    refused = evict(file_fleet, "m1", src=src)
    assert refused.outcome == "failed" and states(refused)[0][2] == "budget"
    assert refused.results[0].as_dict()["arithmetic"]["available"] < 3


def test_what_cannot_be_evicted_is_told_why(file_fleet: Fleet) -> None:
    placed(file_fleet, {"placementType": "PickFixed", "clusterNames": ["m1"]}, ["m1", "m2"])
    with file_fleet.writing() as written:
        assert states(evict(file_fleet, "m1")) == [("m1", "refused", "pick-fixed")]
        assert states(evict(file_fleet, "m1", placement="other")) == [("m1", "refused", "placement-not-found")]
    assert written == [] and file_fleet.holders() == ["m1"] and tried(file_fleet) == {}
    src = write(file_fleet, eviction(file_fleet, "m2"), eviction(file_fleet, "m1"))
    evict(file_fleet, src=src)
    assert tried(file_fleet) == {"m1": {"Valid": "False"}, "m2": {"Valid": "False"}}
    with pytest.raises(FleetError, match="cannot be changed"):
        evict(file_fleet, src=write(file_fleet, eviction(file_fleet, "m3", f"{file_fleet.name}-off-m1")))


def test_a_cluster_that_holds_nothing_has_nothing_to_lose(file_fleet: Fleet) -> None:
    placed(file_fleet, {"placementType": "PickN", "numberOfClusters": 1})
    (holder,) = file_fleet.holders()
    other = next(name for name in ALL if name != holder)
    assert states(evict(file_fleet, other)) == [(other, "refused", "no-binding")]
    facts_recorded(file_fleet)
    (result,) = evict(file_fleet, holder).results
    assert (result.state, result.verdict.why) == ("executed", "no-budget")
    assert result.next_pick.startswith("the next apply would pick m")


def test_a_taint_keeps_the_cluster_away_and_that_is_said(file_fleet: Fleet) -> None:
    placed(file_fleet, {"placementType": "PickN", "numberOfClusters": 2})
    first, other = file_fleet.holders()
    taint = {"key": "service", "value": "", "effect": "NoSchedule"}
    member = file_fleet.records.get("MemberCluster", first)
    assert member is not None
    file_fleet.records.replace({**member, "spec": {**member["spec"], "taints": [taint]}})
    facts_recorded(file_fleet)
    free = next(name for name in ALL if name not in (first, other))
    (result,) = evict(file_fleet, first).results
    assert result.next_pick == f"the next apply would pick {free}"
    file_fleet.apply()
    assert file_fleet.holders() == sorted([other, free])


def test_budgets_of_files_are_recorded_and_go_with_their_file(fleet: Fleet) -> None:
    placed(fleet)
    src = write(fleet, budget(fleet, maxUnavailable=0))
    for given in (src, ()):
        assert evict(fleet, "m1", src=given).outcome == "failed"
    src = write(fleet, eviction(fleet, "m1"))
    for writes in (False, True):  # it guards what is evicted in the run that finds it gone
        assert states(evict(fleet, src=src, write=writes)) == [("m1", "refused", "budget")]
    assert fleet.records.get("ClusterResourcePlacementDisruptionBudget", fleet.name) is not None
    evict(fleet, src=src)
    assert fleet.records.get("ClusterResourcePlacementDisruptionBudget", fleet.name) is None
    src = write(fleet, eviction(fleet, "m1", f"{fleet.name}-again"))
    assert states(evict(fleet, src=src)) == [("m1", "executed", "no-budget")]


def test_evictions_that_anybody_made_on_the_hub_are_carried_out(hub_fleet: Fleet) -> None:
    placed(hub_fleet)
    assert hub_fleet.hub
    path = f"/apis/{API}/clusterresourceplacementevictions"
    hub_fleet.hub.client.post(path, eviction(hub_fleet, "m1", "mine"))
    hub_fleet.hub.client.post(
        f"/apis/{API}/clusterresourceplacementdisruptionbudgets", budget(hub_fleet, minAvailable=2)
    )
    assert states(evict(hub_fleet)) == [("m1", "executed", "budget")]
    shown = hub_fleet.hub.client.get(f"{path}/mine")["status"]["conditions"]
    assert [(each["type"], each["status"], each["reason"]) for each in shown] == [
        ("Valid", "True", "ClusterResourcePlacementEvictionValid"),
        ("Executed", "True", "ClusterResourcePlacementEvictionExecuted"),
    ]
    assert evict(hub_fleet).results == () and hub_fleet.holders() == ["m2", "m3"]


def test_a_member_that_does_not_answer_keeps_what_it_has_until_it_does(fleet: Fleet) -> None:
    """F1: the eviction is begun and not over; the cluster counts as unavailable, and the next run ends it."""
    placed(fleet)
    src = write(fleet, eviction(fleet, "m2"), budget(fleet, maxUnavailable=1))
    fleet.cut("m2")
    begun = evict(fleet, src=src)
    assert states(begun) == [("m2", "underway", "budget")] and begun.outcome == "partial"
    assert {each.code for each in begun.problems} == {"unreachable"}
    assert bound(fleet) == list(ALL) and tried(fleet) == {"m2": {"Valid": "True"}}
    assert states(evict(fleet, "m1")) == [("m1", "refused", "budget")]
    fleet.mend("m2")
    ended = evict(fleet, src=src)
    assert states(ended) == [("m2", "executed", "already-deleting")] and fleet.holders() == ["m1", "m3"]
    assert bound(fleet) == ["m1", "m3"] and tried(fleet) == {"m2": {"Valid": "True", "Executed": "True"}}


WRITES = 8
"""The budget; what begins, for the history; the eviction; the binding, as leaving; the eviction, as executed; the
binding, gone; the status; what it came to, for the history."""


class Died(BaseException):
    """As if the process had ended there."""


@pytest.mark.parametrize("write_number", range(1, WRITES + 2))
def test_killed_at_any_write_it_goes_on_and_is_executed_once(file_fleet: Fleet, write_number: int) -> None:
    """F5: whatever was begun is ended, and no budget is passed by a run that did not end."""
    placed(file_fleet)
    src = write(file_fleet, eviction(file_fleet, "m2"), budget(file_fleet, maxUnavailable=1))
    records, writes = file_fleet.open(), 0

    def counted(real: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
        def call(*arguments: t.Any, **options: t.Any) -> t.Any:
            nonlocal writes
            writes += 1
            if writes >= write_number:
                raise Died
            return real(*arguments, **options)

        return call

    for name in ("create", "replace", "delete"):
        setattr(records, name, counted(getattr(records, name)))
    if write_number > WRITES:
        evict(file_fleet, src=src, records=records)
    else:
        with pytest.raises(Died):
            evict(file_fleet, src=src, records=records)
    second = evict(file_fleet, "m1", src=src)
    available = {each for each in ALL if each in file_fleet.holders()}
    assert len(available) >= 2, states(second)
    evict(file_fleet, src=src)
    assert len(file_fleet.holders()) == 2
    placed_again(file_fleet)
    assert bound(file_fleet) == list(ALL)
    assert evict(file_fleet, src=src, write=False).changed is False


def test_what_a_finalizer_holds_is_not_gone(file_fleet: Fleet) -> None:
    placed(file_fleet)
    path = file_fleet.namespaced("configmaps", "settings")
    file_fleet.servers["m1"].patch(path, {"metadata": {"finalizers": ["example.org/held"]}})
    held = evict(file_fleet, "m1", ways=ApplyOptions(patience=0.2))
    assert states(held) == [("m1", "underway", "no-budget")] and {each.code for each in held.problems} == {"not-gone"}
    file_fleet.servers["m1"].patch(path, {"metadata": {"finalizers": None}})
    assert states(evict(file_fleet, "m1")) == [("m1", "executed", "already-deleting")]
    assert bound(file_fleet) == ["m2", "m3"]


def test_another_run_on_the_placement_is_told(file_fleet: Fleet) -> None:
    """F6: the placement's lease is taken."""
    placed(file_fleet)
    lease = file_fleet.records.acquire(f"placement/{file_fleet.name}", "somebody", 600)
    with pytest.raises(FleetError) as refused:
        evict(file_fleet, "m1")
    assert refused.value.code == "lease-held" and "somebody" in str(refused.value)
    file_fleet.records.release(lease)
    assert file_fleet.holders() == list(ALL) and tried(file_fleet) == {}
