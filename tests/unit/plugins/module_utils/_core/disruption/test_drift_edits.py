# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an edit would drift, and which edits of a subnet are supported."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.drift_edits import (
    changed_paths,
    drifts_pool,
    effect_of_edit,
    field_class,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import (
    Network,
    Subnet,
    check_subnet_change,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_claim,
    a_node,
    a_pool,
    a_state,
)

POOL: dict[str, t.Any] = {
    "metadata": {"name": "p"},
    "spec": {
        "weight": 1,
        "limits": {"cpu": "10"},
        "disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "10%"}]},
        "template": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {
                "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m", "l"]}],
                "taints": [{"key": "x", "effect": "NoSchedule"}, {"key": "y", "effect": "NoSchedule"}],
            },
        },
    },
}


def subnet_id(name: str) -> str:
    return f"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/{name}"


OLD, NEW = subnet_id("old"), subnet_id("new")


def edited(path: str, value: t.Any) -> dict[str, t.Any]:
    out = copy.deepcopy(POOL)
    *way, last = path.split(".")
    place = out
    for each in way:
        place = place.setdefault(each, {})
    place[last] = value
    return out


def nodes(*pools: str) -> t.Any:
    return a_state([a_node(f"n{place}", pool) for place, pool in enumerate(pools)])


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("NodePool", "spec.template.spec.requirements", "special"),
        ("AKSNodeClass", "spec.vnetSubnetID", "static"),
        ("AKSNodeClass", "spec.imageFamily", "static"),
        ("AKSNodeClass", "spec.tags", "unhashed"),
        ("NodePool", "spec.disruption.budgets", "behaviour"),
        ("NodePool", "spec.template.spec.expireAfter", "static"),
        ("NodePool", "status", None),
        ("EC2NodeClass", "spec.subnetSelectorTerms", "special"),
        ("EC2NodeClass", "spec.tags", "static"),
        ("EC2NodeClass", "spec.ipPrefixCount", "unhashed"),
    ],
)
def test_the_class_of_a_field_d0_35(kind: str, path: str, expected: str | None) -> None:
    assert field_class(kind, path) == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.weight", 50),
        ("spec.limits", {"cpu": "1"}),
        ("spec.disruption.budgets", []),
        ("spec.disruption.budgets", [{"nodes": "0"}]),  # the stop of a whole pool: D0-97
        ("spec.disruption.consolidateAfter", "Never"),
        ("spec.disruption.consolidationPolicy", "WhenEmpty"),
    ],
)
def test_behaviour_drifts_nothing_d0_36_d0_97(path: str, value: t.Any) -> None:
    found = effect_of_edit("NodePool", POOL, edited(path, value), nodes("p", "p"))
    assert found.drifted == {}
    assert {each for _path, each in found.changed} == {"behaviour"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.template.spec.expireAfter", "24h"),
        ("spec.template.spec.terminationGracePeriod", "30s"),
        ("spec.template.metadata.annotations", {"karpenter.sh/do-not-disrupt": "true"}),
        ("spec.template.metadata.labels", {"team": "b"}),
    ],
)
def test_the_template_drifts_every_node_of_the_pool_d0_30(path: str, value: t.Any) -> None:
    found = effect_of_edit("NodePool", POOL, edited(path, value), nodes("p", "q", "p"))
    assert {name: each.reason for name, each in found.drifted.items()} == {
        "n0": "NodePoolDrifted",
        "n2": "NodePoolDrifted",
    }
    assert not found.unsure


def test_requirements_drift_only_what_they_no_longer_admit_d0_32_d0_33() -> None:
    path, key = "spec.template.spec.requirements", "node.kubernetes.io/instance-type"
    state = a_state([a_node("m", kind="m"), a_node("l", kind="l")])
    wider = effect_of_edit(
        "NodePool", POOL, edited(path, [{"key": key, "operator": "In", "values": ["m", "l", "xl"]}]), state
    )
    narrower = effect_of_edit("NodePool", POOL, edited(path, [{"key": key, "operator": "In", "values": ["l"]}]), state)
    assert list(wider.drifted) == []
    assert {name: each.reason for name, each in narrower.drifted.items()} == {"m": "RequirementsDrifted"}


def test_the_order_of_lists_and_zero_values_are_no_change() -> None:
    taints = list(reversed(POOL["spec"]["template"]["spec"]["taints"]))
    assert effect_of_edit("NodePool", POOL, edited("spec.template.spec.taints", taints), nodes("p")).changed == ()
    twice_more = [*taints, taints[0], taints[0]]
    assert effect_of_edit("NodePool", POOL, edited("spec.template.spec.taints", twice_more), nodes("p")).changed == ()
    assert changed_paths({}, {"template": {"metadata": {}}}, "spec") == []
    assert changed_paths({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, "spec") == ["spec.a.b", "spec.a.c"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.template.metadata.labels", {"team": "a", "tier": ""}),
        ("spec.template.metadata.annotations", {"note": ""}),
        ("spec.template.metadata.annotations", {}),
        ("spec.template.metadata.labels", {}),
        ("spec.template.spec.startupTaints", []),
        (
            "spec.template.spec.taints",
            [{"key": "x", "effect": "NoSchedule"}, *POOL["spec"]["template"]["spec"]["taints"]],
        ),
        ("spec.template.spec.terminationGracePeriod", "0s"),
        ("spec.template.spec.expireAfter", "0s"),
    ],
)
def test_a_zero_that_is_set_is_a_change(path: str, value: t.Any) -> None:
    """Each of these changes what ``NodePool.Hash`` of Karpenter v1.14.1 gives; the other tests of this file name what
    does not. Only fields of structs are skipped where they are zero."""
    assert list(effect_of_edit("NodePool", POOL, edited(path, value), nodes("p", "p")).drifted) == ["n0", "n1"]


def test_an_empty_value_of_a_taint_is_none() -> None:
    taints = [{"key": "x", "effect": "NoSchedule", "value": ""}, {"key": "y", "effect": "NoSchedule"}]
    assert effect_of_edit("NodePool", POOL, edited("spec.template.spec.taints", taints), nodes("p")).changed == ()


def test_one_duration_in_two_spellings_is_one() -> None:
    path = "spec.template.spec.expireAfter"
    assert effect_of_edit("NodePool", edited(path, "720h"), edited(path, "43200m"), nodes("p")).changed == ()
    assert list(effect_of_edit("NodePool", edited(path, "720h"), edited(path, "Never"), nodes("p")).drifted) == ["n0"]


def of_zone(kept: str) -> dict[str, t.Any]:
    return {"localDNS": {"vnetDNSOverrides": [{"zone": ".", "cacheDuration": kept, "serveStaleDuration": "1h"}]}}


def of_volume(size: str) -> dict[str, t.Any]:
    return {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": size}}]}


def of_grace(grace: str) -> dict[str, t.Any]:
    return {"kubelet": {"evictionSoftGracePeriod": {"memory.available": grace}}}


@pytest.mark.parametrize(
    ("kind", "made", "before", "respelled", "other"),
    [
        ("EC2NodeClass", of_grace, "1m", "60s", "61s"),
        ("EC2NodeClass", of_volume, "1Ti", "1024Gi", "1T"),
        ("EC2NodeClass", of_volume, "1000G", "1T", "1001G"),
        ("AKSNodeClass", of_zone, "1h", "3600s", "1m"),
        ("AKSNodeClass", lambda period: {"kubelet": {"cpuCFSQuotaPeriod": period}}, "100ms", "0.1s", "200ms"),
    ],
)
def test_a_node_class_with_another_spelling_is_the_same(
    kind: str, made: t.Callable[[str], dict[str, t.Any]], before: str, respelled: str, other: str
) -> None:
    """Its hash is made of the durations and quantities that the published types read, not of the texts."""
    assert changed_paths(made(before), made(respelled), "spec") == []
    old, new = ({"metadata": {"name": "default"}, "spec": made(each)} for each in (before, other))
    (changed,) = effect_of_edit(kind, old, new, a_state([a_node("n", "p")])).changed
    assert changed[1] == "static"


@pytest.mark.parametrize(
    "made",
    [
        lambda text: {"template": {"metadata": {"labels": {"expireAfter": text}}}},
        lambda text: {"tags": {"terminationGracePeriod": text}},
        lambda text: {"kubelet": {"kubeReserved": {"memory": text}}},
    ],
)
def test_what_upstream_has_as_a_text_is_compared_as_one(made: t.Callable[[str], dict[str, t.Any]]) -> None:
    assert len(changed_paths(made("1h"), made("60m"), "spec")) == 1
    assert len(changed_paths(made("1Gi"), made("1024Mi"), "spec")) == 1


def test_a_subnet_edit_lists_all_nodes_of_all_pools_of_the_class_d0_48() -> None:
    made = [a_node("a", "p"), a_node("b", "q"), a_node("c", "q")]
    claims = [a_claim(made[0]), a_claim(made[1]), a_claim(made[2], node_class="other")]
    old, new = ({"metadata": {"name": "default"}, "spec": {"vnetSubnetID": each}} for each in (OLD, NEW))
    found = effect_of_edit("AKSNodeClass", old, new, a_state(made, claims=claims))
    assert {name: each.reason for name, each in found.drifted.items()} == {"a": "NodeClassDrift", "b": "NodeClassDrift"}
    assert found.changed == (("spec.vnetSubnetID", "static"),)


def network(**more: t.Any) -> Network:
    subnets = {OLD: Subnet(prefixes=("10.1.0.0/24",)), NEW: Subnet(prefixes=("10.2.0.0/24",))}
    return Network(**({"subnets": subnets} | more))


def errors(old: str, new: str, facts: Network, override: bool = False) -> list[str]:
    return [each.code for each in check_subnet_change(old, new, facts, override) if each.level == "error"]


def test_a_move_between_good_subnets_is_refused_unless_overridden_d0_41() -> None:
    assert errors(OLD, NEW, network()) == ["subnet-migration-unsupported"]
    assert errors(OLD, NEW, network(subnets=None)) == ["subnet-migration-unsupported"], "unknown is not broken"
    assert errors("", NEW, network()) == ["subnet-migration-unsupported"]
    found = check_subnet_change(OLD, NEW, network(), override=True)
    assert [(each.code, each.level) for each in found][:1] == [("subnet-migration-unsupported", "warning")]
    assert "explicit override" in found[0].message


def test_a_malformed_identity_may_be_mended_d0_42() -> None:
    assert errors("/subscriptions/s/subnets/old", NEW, network()) == []
    assert errors(OLD, "old", network()) == ["subnet-malformed"]


def test_a_subnet_that_does_not_exist_may_be_left_d0_43() -> None:
    assert errors(subnet_id("gone"), NEW, network()) == []
    assert errors(subnet_id("gone"), subnet_id("also-gone"), network()) == ["subnet-missing"]


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"pod_cidrs": ("10.2.0.0/16",)}, "the pod CIDR 10.2.0.0/16"),
        ({"service_cidrs": ("10.2.0.128/25",)}, "the service CIDR 10.2.0.128/25"),
        ({"docker_bridge": "10.2.0.1/16"}, "the Docker bridge CIDR 10.2.0.1/16"),
        ({"pod_cidrs": ("10.244.0.0/16",), "service_cidrs": ("10.0.0.0/16", "fd00::/108")}, ""),
    ],
)
def test_overlaps_name_both_ranges_d0_44(facts: dict[str, t.Any], named: str) -> None:
    found = [
        each.message
        for each in check_subnet_change(subnet_id("gone"), NEW, network(**facts))
        if each.code == "subnet-overlap"
    ]
    assert found == ([f"the subnet 10.2.0.0/24 overlaps {named}"] if named else [])


def test_a_subnet_too_small_for_the_pool_is_told_with_both_numbers_d0_45() -> None:
    small = {NEW: Subnet(prefixes=("10.2.0.0/28",))}
    found = check_subnet_change(subnet_id("gone"), NEW, network(subnets=small, nodes=50))
    assert found[0].message == "the subnet has 11 free addresses, and 50 nodes of the pool need 50"
    assert errors(subnet_id("gone"), NEW, network(subnets=small, nodes=11)) == []
    assert errors(subnet_id("gone"), NEW, network(subnets=small, nodes=2, addresses_per_node=31)) == [
        "subnet-too-small"
    ]


def test_routes_are_for_people_to_confirm_d0_46() -> None:
    assert check_subnet_change(subnet_id("gone"), NEW, network())[-1].code == "subnet-routes-unconfirmed"


def test_no_change_and_case_alone_are_nothing() -> None:
    assert check_subnet_change(OLD, OLD.upper(), network()) == ()


def test_a_range_that_is_none_is_told() -> None:
    with pytest.raises(FleetError) as error:
        check_subnet_change("x", NEW, network(pod_cidrs=("10.2.0.0/99",)))
    assert error.value.code == "invalid-cidr"


def test_which_changes_of_a_pool_drift_all_its_nodes() -> None:
    assert not drifts_pool("spec.templates") and not drifts_pool("spec.template.spec.requirements[0].values")
    assert not drifts_pool("spec.disruption.budgets") and drifts_pool("spec.template.metadata.annotations")
    assert drifts_pool("spec.template.spec.taints[0].key")


def test_other_kinds_are_refused() -> None:
    with pytest.raises(FleetError):
        effect_of_edit("Deployment", {}, {}, a_state([], pool=a_pool()))
