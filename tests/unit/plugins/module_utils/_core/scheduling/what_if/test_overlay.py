# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Supposed changes of a fleet as plain data: read with all problems at once, laid over the facts."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import (
    EVACUATED,
    is_evacuated,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cluster_eligibility import first_fault
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.properties import observed
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.overlay import (
    Overlay,
    overlaid,
    read_overlay,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    NODES,
    NOW,
    cluster,
)

FLEET = ("berlin", "paris", "rome")


def read(**document: t.Any) -> Overlay:
    return read_overlay(document, FLEET)


def codes(document: t.Any, where: str = "") -> dict[str, str]:
    with pytest.raises(FleetError) as caught:
        read_overlay(document, FLEET, where)
    return {each.where: each.code for each in caught.value.problems}


def laid(overlay: Overlay, *clusters: MemberCluster) -> dict[str, MemberCluster]:
    return {each.name: each for each in overlaid(clusters, overlay, NOW)}


def test_nothing_supposed_changes_nothing() -> None:
    paris = cluster("paris", "3", cpu="8", labels={"a": "b"})
    assert laid(read(), paris) == {"paris": paris}


def test_clusters_go() -> None:
    assert list(laid(read(gone=["paris"]), cluster("berlin"), cluster("paris"))) == ["berlin"]


def test_labels_and_properties_are_merged_and_null_takes_away() -> None:
    before = cluster("paris", "3", labels={"env": "prod", "old": "x"}, properties={"p/q": "1"})
    change = {"labels": {"env": "test", "old": None}, "properties": {NODES: 7, "p/q": None, "n/m": "1.50"}}
    after = laid(read(change={"paris": change}), before)["paris"]
    assert after.metadata.labels == {"env": "test"}
    assert (observed(after, NODES), observed(after, "p/q"), observed(after, "n/m")) == ("7", None, "1.50")
    assert after.status.agent_status == before.status.agent_status


def test_resource_names_change_the_usage() -> None:
    free = "resources.kubernetes-fleet.io/available-memory"
    after = laid(read(change={"paris": {"properties": {CPU: 16, free: "1Gi"}}}), cluster("paris", cpu="8"))["paris"]
    assert (observed(after, CPU), observed(after, free)) == ("16", "1Gi")


def test_an_older_name_of_the_same_fact_gives_way() -> None:
    older = "kubernetes.azure.com/node-count"
    after = laid(read(change={"paris": {"properties": {NODES: 9}}}), cluster("paris", properties={older: "3"}))["paris"]
    assert (observed(after, NODES), observed(after, older)) == ("9", None)


def test_prices_are_those_of_a_core_and_a_gib_an_hour() -> None:
    after = laid(read(change={"paris": {"prices": {"cpu": 0.03, "memory": "0.004"}}}), cluster("paris"))["paris"]
    assert observed(after, "kubernetes.azure.com/per-cpu-core-cost") == "0.03"
    assert observed(after, "kubernetes.azure.com/per-gb-memory-cost") == "0.004"


def test_taints_stand_for_the_whole_list() -> None:
    tainted = cluster("paris", taints=[{"key": "a", "effect": "NoSchedule"}])
    after = laid(read(change={"paris": {"taints": [{"key": "b", "value": "c"}]}}), tainted)["paris"]
    assert encode(after)["spec"]["taints"] == [{"key": "b", "value": "c", "effect": "NoSchedule"}]
    assert laid(read(change={"paris": {"taints": []}}), tainted)["paris"].taints == ()


def test_a_new_cluster_joins_healthy_and_may_be_like_another() -> None:
    paris = cluster(
        "paris",
        "3",
        labels={"env": "prod"},
        taints=[{"key": "a", "effect": "NoSchedule"}],
        leaving="2026-01-01T00:00:00Z",
    )
    after = laid(read(new=[{"name": "oslo", "like": "paris", "labels": {"ring": "1"}}, {"name": "bare"}]), paris)
    assert first_fault(after["oslo"], NOW) is None and first_fault(after["bare"], NOW) is None
    assert after["oslo"].metadata.labels == {"env": "prod", "ring": "1"}
    assert observed(after["oslo"], NODES) == "3"
    assert [each.key for each in after["oslo"].taints] == ["a"]


def test_a_new_cluster_is_not_evacuated_though_it_is_like_one_that_is() -> None:
    other = {"key": "a", "effect": "NoSchedule"}
    paris = cluster("paris", taints=[other, {"key": EVACUATED, "effect": "NoSchedule"}])
    after = laid(read(new=[{"name": "oslo", "like": "paris"}]), paris)
    assert encode(after["oslo"])["spec"]["taints"] == [other]
    assert is_evacuated(after["paris"])
    supposed = {"name": "oslo", "like": "paris", "taints": [{"key": EVACUATED}]}
    assert is_evacuated(laid(read(new=[supposed]), paris)["oslo"]), "unless it is supposed to be"


def test_every_problem_is_found_at_once() -> None:
    assert codes(
        {
            "gone": ["pariss", "rome", "rome", 3],
            "new": [{"name": "paris"}, {"name": "Oslo", "like": "nobody"}, {"name": "bonn"}, {"name": "bonn"}, {}, "x"],
            "change": {
                "rome": {},
                "berlin": {
                    "labels": {"a b": "x", "c": 1, "d": "e f"},
                    "properties": {"resources.kubernetes-fleet.io/some-cpu": "1", NODES: "many"},
                    "prices": {"cpu": "dear", "disk": 1},
                    "taints": [
                        {"key": ""},
                        {"key": "a", "effect": "NoExecute"},
                        {"key": "b"},
                        {"key": "b"},
                        {"colour": 1},
                    ],
                    "colour": "red",
                },
            },
            "numberOfClusters": -1,
            "numberofclusters": 2,
        },
        "what_if.yml",
    ) == {
        f"what_if.yml {path}": code
        for path, code in {
            "numberofclusters": "unknown-field",
            "gone[0]": "unknown-cluster",
            "gone[2]": "duplicate-cluster-name",
            "gone[3]": "wrong-type",
            "new[0].name": "duplicate-cluster-name",
            "new[1].name": "invalid-name",
            "new[1].like": "unknown-cluster",
            "new[3].name": "duplicate-cluster-name",
            "new[4].name": "missing-field",
            "new[5]": "wrong-type",
            "change[rome]": "changed-and-gone",
            "change[berlin].colour": "unknown-field",
            "change[berlin].labels[a b]": "invalid-label",
            "change[berlin].labels[c]": "wrong-type",
            "change[berlin].labels[d]": "invalid-label",
            "change[berlin].properties[resources.kubernetes-fleet.io/some-cpu]": "unknown-capacity",
            f"change[berlin].properties[{NODES}]": "invalid-quantity",
            "change[berlin].prices.cpu": "invalid-quantity",
            "change[berlin].prices.disk": "unknown-field",
            "change[berlin].taints[0].key": "empty-text",
            "change[berlin].taints[1].effect": "not-one-of",
            "change[berlin].taints[3]": "duplicate-taint",
            "change[berlin].taints[4].colour": "unknown-field",
            "change[berlin].taints[4].key": "missing-field",
            "numberOfClusters": "out-of-range",
        }.items()
    }


@pytest.mark.parametrize("document", [[], "gone", 3, {"gone": "paris"}, {"change": []}, {"new": {}}, {1: 2}])
def test_what_is_no_overlay_is_refused(document: t.Any) -> None:
    assert "wrong-type" in codes(document).values()


def test_a_price_stands_once() -> None:
    cost = "kubernetes.azure.com/per-cpu-core-cost"
    change = {"prices": {"cpu": 1}, "properties": {cost: "2"}}
    assert codes({"change": {"paris": change}}) == {"change[paris].prices.cpu": "given-twice"}


def test_a_slip_of_the_pen_is_guessed_at() -> None:
    with pytest.raises(FleetError) as caught:
        read_overlay({"gone": ["pariss"]}, FLEET)
    assert caught.value.hint == "did you mean paris?"


def test_what_is_longer_than_any_name_is_not_guessed_at() -> None:
    with pytest.raises(FleetError) as caught:
        read_overlay({"gone": ["c" * 220 + "d"]}, ["c" * 221])
    assert caught.value.hint == ""
