# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placements as people find them printed, from the manifest to the clusters: read, repaired where needed, decided."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import Scheduled, schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.tests.data.manifest_parts import (
    NAMESPACE,
    PICK_N,
    PREFERRED,
    REQUIRED,
    crp,
    needs,
    preferred,
    required,
    rp,
    sorter,
    want,
    wish,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import gone_wrong
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    cluster,
    fleet,
    picked,
    snapshot,
)
from hypothesis import given

NODES, OLDER = "kubernetes-fleet.io/node-count", "kubernetes.azure.com/node-count"
VERSIONS = pytest.mark.parametrize("version", ["v1beta1", "v1"])


def decided(policy: t.Any, index: FleetIndex, version: str = "v1beta1") -> tuple[list[str], Scheduled]:
    """The codes of what was found while reading, and the outcome."""
    reading = read(crp(policy, version=version))
    return [each.code for each in reading.findings], schedule(reading.object, snapshot(), index, ())


def labelled(**labels: str) -> dict[str, t.Any]:
    return {"labelSelector": {"matchLabels": labels}}


def scored(outcome: Scheduled) -> dict[str, int]:
    return {name: each.spec.cluster_decision.cluster_score.affinity_score for name, each in outcome.holders.items()}


@VERSIONS
@pytest.mark.parametrize(("name", "found"), [(OLDER, ["property-alias"]), (NODES, [])])
def test_five_nodes_at_least_by_either_name_d1_25_d1_26_d4_56_d4_57(name: str, found: list[str], version: str) -> None:
    index = fleet(cluster("four", "4"), cluster("five", "5"), cluster("nine", "9"), "unknown")
    codes, outcome = decided(required(needs(want(name, "Ge", "5"))), index, version)
    assert (codes, picked(outcome)) == (found, ["five", "nine"])


@VERSIONS
def test_a_region_and_five_nodes_at_least_d1_27(version: str) -> None:
    east = {"region": "east"}
    index = fleet(
        cluster("in", "5", labels=east),
        cluster("small", "4", labels=east),
        cluster("west", "9", labels={"region": "west"}),
        cluster("nowhere", "9"),
    )
    codes, outcome = decided(required({**labelled(**east), **needs(want(OLDER, "Ge", "5"))}), index, version)
    assert (codes, picked(outcome)) == (["property-alias"], ["in"])


@VERSIONS
def test_the_ten_with_most_nodes_d1_41(version: str) -> None:
    index = fleet(*(cluster(f"n{number:02}", str(number)) for number in range(1, 13)))
    codes, outcome = decided(preferred([wish(metricSorter=sorter(OLDER))], numberOfClusters=10), index, version)
    assert codes == ["metric-sorter", "property-alias"]
    assert picked(outcome) == [f"n{number:02}" for number in range(3, 13)]
    assert (scored(outcome)["n12"], scored(outcome)["n03"]) == (20, 4)


@VERSIONS
def test_weight_by_cpu_for_production_alone_d1_42_d4_58(version: str) -> None:
    prod = {"env": "prod"}
    index = fleet(
        cluster("p8", cpu="8", labels=prod),
        cluster("p32", cpu="32", labels=prod),
        cluster("d4", cpu="4"),
        cluster("d64", cpu="64"),
    )
    wishes = [wish(**labelled(**prod), metricSorter=sorter(CPU))]
    codes, outcome = decided(preferred(wishes, numberOfClusters=10), index, version)
    assert codes == ["metric-sorter"]
    assert scored(outcome) == {"p8": 1, "p32": 9, "d4": 0, "d64": 0}


def test_three_that_are_allowed_the_critical_ones_first_d4_28() -> None:
    affinity = {
        PREFERRED: {"weight": 20, "preference": [{"labelSelector": {"matchLabels": {"critical-level": 1}}}]},
        REQUIRED: {"clusterSelectorTerms": [labelled(**{"critical-allowed": "true"})]},
    }
    allowed, critical = {"critical-allowed": "true"}, {"critical-level": "1"}
    index = fleet(
        *(cluster(name, labels=allowed | critical) for name in "ad"),
        *(cluster(name, labels=allowed) for name in "be"),
        cluster("c", labels=critical),
    )
    policy = {"placementType": "PickN", "numberOfClusters": 3, "affinity": {"clusterAffinity": affinity}}
    codes, outcome = decided(policy, index, "v1")
    assert codes == ["preferred-not-a-list", "preference-is-a-list", "label-value-not-text"]
    assert scored(outcome) == {"a": 20, "d": 20, "e": 0}


SPREAD = [
    {"maxSkew": 2, "topologyKey": "region", "whenUnsatisfiable": "DoNotSchedule"},
    {"maxSkew": 2, "topologyKey": "updateDay", "whenUnsatisfiable": "ScheduleAnyway"},
]


@pytest.mark.parametrize(("number", "fulfilled"), [(4, True), (5, False)])
def test_over_regions_hard_and_update_days_soft_d4_30(number: int, fulfilled: bool) -> None:
    places = {"a": "east mon", "b": "east mon", "c": "east tue", "d": "east tue", "e": "west tue"}
    index = fleet(
        *(
            cluster(name, labels=dict(zip(("region", "updateDay"), place.split(), strict=True)))
            for name, place in places.items()
        )
    )
    policy = {"placementType": "PickN", "numberOfClusters": number, "topologySpreadConstraints": SPREAD}
    codes, outcome = decided(policy, index, "v1")
    assert (codes, picked(outcome), outcome.fulfilled) == ([], ["a", "b", "d", "e"], fulfilled)


def test_a_hole_beside_the_policy_lets_decisions_through_d1_04() -> None:
    index = fleet(cluster("four", "4"), cluster("five", "5"))
    holed = {**crp(required(needs(want(NODES, "Ge", "5"))))}
    holed["spec"] = {**holed["spec"], "resourceSelectors": ["...", {**NAMESPACE, "name": "..."}, NAMESPACE]}
    with pytest.raises(FleetError) as refused:
        read(holed)
    assert {each.code for each in refused.value.problems} == {"placeholder", "placeholder-text"}
    found = read(holed, holes=True)
    assert [each.old_path for each in found.findings] == [
        "spec.resourceSelectors[0]",
        "spec.resourceSelectors[1].name",
    ]
    assert [each.name for each in found.object.spec.resource_selectors] == [NAMESPACE["name"]]
    assert picked(schedule(found.object, snapshot(), index, ())) == ["five"]


@pytest.mark.parametrize("policy", ["...", {"placementType": "PickN", "numberOfClusters": "..."}])
def test_a_hole_in_the_policy_lets_none_through_d1_04(policy: t.Any) -> None:
    with pytest.raises(FleetError) as refused:
        read(crp(policy), holes=True)
    assert [each.code for each in refused.value.problems] == ["placeholder"]


@pytest.mark.parametrize("part", ["spec", "metadata"])
def test_a_hole_around_what_decides_lets_none_through_d1_04(part: str) -> None:
    with pytest.raises(FleetError) as refused:
        read({**crp(), part: "..."}, holes=True)
    assert [each.code for each in refused.value.problems] == ["placeholder"]


@pytest.mark.parametrize("field", ["name", "namespace"])
def test_a_hole_in_the_name_or_the_namespace_lets_none_through_d1_04(field: str) -> None:
    placement = rp()
    with pytest.raises(FleetError) as refused:
        read({**placement, "metadata": {**placement["metadata"], field: "..."}}, holes=True)
    assert [each.code for each in refused.value.problems] == ["placeholder"]


@given(document=gone_wrong(crp(PICK_N), 3))
def test_whatever_has_holes_is_decided_or_refused_d1_04(document: t.Any) -> None:
    holed = {**document, "spec": {**document["spec"], "resourceSelectors": "..."}} if _has_spec(document) else document
    try:
        found = read(holed, holes=True).object
    except FleetError:
        return
    schedule(found, snapshot(), fleet("a", "b"), ())


def _has_spec(document: t.Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("spec"), dict)


def test_without_a_number_nothing_is_decided_d4_29() -> None:
    with pytest.raises(FleetError) as refused:
        decided({"placementType": "PickN", "topologySpreadConstraints": SPREAD}, fleet("a"), "v1")
    assert [each.where.split()[-1] for each in refused.value.problems] == ["spec.policy.numberOfClusters"]
