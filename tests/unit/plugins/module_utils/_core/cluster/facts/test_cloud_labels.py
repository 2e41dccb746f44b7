# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What nodes tell of their cloud. The ids have the forms that the clouds' own controllers document."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.cloud_labels import cloud_labels

GUID = "0b1f6471-1bf0-4dda-aec3-cb9272f09590"
MACHINES = "providers/Microsoft.Compute/virtualMachineScaleSets/aks-a-vmss/virtualMachines/0"
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


def node(provider_id: t.Any, **labels: str) -> dict[str, t.Any]:
    long = {"region": REGION, "zone": ZONE}
    metadata = {"name": "n", "labels": {long[key]: value for key, value in labels.items()}}
    return {"metadata": metadata, "spec": {"providerID": provider_id}}


def azure(group: str) -> str:
    return f"azure:///subscriptions/{GUID}/resourceGroups/{group}/{MACHINES}"


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (
            node("aws:///eu-central-1b/i-0123456789abcdef0"),
            {"gitops.fleet/provider": "aws", REGION: "eu-central-1", ZONE: "eu-central-1b"},
        ),
        (
            node("aws:///us-gov-east-1a/i-0123456789abcdef0", region="us-gov-east-1", zone="us-gov-east-1a"),
            {"gitops.fleet/provider": "aws", REGION: "us-gov-east-1", ZONE: "us-gov-east-1a"},
        ),
        (
            node("aws:///us-west-2-lax-1a/i-0123456789abcdef0"),
            {"gitops.fleet/provider": "aws", REGION: "us-west-2", ZONE: "us-west-2-lax-1a"},
        ),
        (
            node("aws:///us-east-1-wl1-bos-wlz-1/i-0123456789abcdef0"),
            {"gitops.fleet/provider": "aws", REGION: "us-east-1", ZONE: "us-east-1-wl1-bos-wlz-1"},
        ),
        (
            node("gce://my-project/europe-west3-c/gke-a-1"),
            {
                "gitops.fleet/provider": "gce",
                "gitops.fleet/account": "my-project",
                REGION: "europe-west3",
                ZONE: "europe-west3-c",
            },
        ),
        (
            node(azure("mc_shop_aks-1_westeurope"), region="westeurope", zone="westeurope-2"),
            {
                "gitops.fleet/provider": "azure",
                REGION: "westeurope",
                ZONE: "westeurope-2",
                "fleet.azure.com/location": "westeurope",
                "fleet.azure.com/resource-group": "shop",
                "fleet.azure.com/subscription-id": GUID,
            },
        ),
        (
            node(azure("own-group"), region="westeurope", zone="0"),
            {
                "gitops.fleet/provider": "azure",
                REGION: "westeurope",
                "fleet.azure.com/location": "westeurope",
                "fleet.azure.com/resource-group": "own-group",
                "fleet.azure.com/subscription-id": GUID,
            },
        ),
    ],
    ids=[
        "aws",
        "aws with labels",
        "aws, Local Zone",
        "aws, Wavelength",
        "google",
        "azure",
        "azure, its own group and no zone",
    ],
)
def test_what_a_cloud_tells_d4_38(given: dict[str, t.Any], labels: dict[str, str]) -> None:
    assert cloud_labels([given, {"metadata": {"name": "x"}, "spec": {}}]) == labels


def test_only_what_all_nodes_agree_on_is_told() -> None:
    nodes = [node(f"aws:///eu-central-1{zone}/i-0") for zone in "ab"]
    assert cloud_labels(nodes) == {"gitops.fleet/provider": "aws", REGION: "eu-central-1"}
    nodes = [node(f"aws:///us-west-2{zone}/i-0") for zone in ("a", "-lax-1a")]
    assert cloud_labels(nodes) == {"gitops.fleet/provider": "aws", REGION: "us-west-2"}
    assert cloud_labels([*nodes, node("gce://p/europe-west3-c/n")]) == {}


@pytest.mark.parametrize(
    "told", ["", "kwok://n", "kind://docker/a/b", "aws:///", "gce://p/zone", "azure:///x", "x" * 9000]
)
def test_machines_of_nobody_we_know_tell_nothing(told: str) -> None:
    assert cloud_labels([node(told, region="somewhere", zone="somewhere-1")]) == {}


def test_a_group_of_aks_with_parts_that_cannot_be_told_apart_is_left_out() -> None:
    found = cloud_labels([node(azure("MC_my_shop_aks_westeurope"), region="westeurope")])
    assert "fleet.azure.com/resource-group" not in found and found["fleet.azure.com/subscription-id"] == GUID


def test_what_no_label_can_hold_is_left_out() -> None:
    found = cloud_labels([node("gce://a b/europe-west3-c/n", region="\x1b[2J")])
    assert found == {"gitops.fleet/provider": "gce", ZONE: "europe-west3-c"}
    with pytest.raises(ValueError):
        cloud_labels([node(7)])
