# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members carry the labels of their cloud from the moment they join, without anybody giving them (D4-38)."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import Joined, MemberSpec, join
from small_fleet import Fleet

NODES = "/api/v1/nodes"
REGION, ZONE, PROVIDER = "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "gitops.fleet/provider"


@pytest.fixture
def in_aws(file_fleet: Fleet) -> Iterator[Fleet]:
    """Two nodes on m1, of one region and two zones."""
    client = file_fleet.servers["m1"].client
    for zone in "ab":
        spec = {"providerID": f"aws:///eu-central-1{zone}/i-0123456789abcdef{zone}"}
        client.post(NODES, {"metadata": {"name": f"of-aws-{zone}", "labels": {"of": "aws"}}, "spec": spec})
    yield file_fleet
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    for name in ("m1", "m2"):
        file_fleet.servers[name].client.request("DELETE", NODES, options, {"labelSelector": "of=aws"})


def labels(fleet: Fleet, name: str = "m1") -> dict[str, t.Any]:
    found = fleet.records.get("MemberCluster", name)
    assert found is not None
    return found["metadata"].get("labels") or {}


def rebuilt(fleet: Fleet, given: t.Mapping[str, str]) -> Joined:
    wish = MemberSpec(name="m1", connection={"kubeconfig": str(fleet.kubeconfig("m1"))}, labels=given, rebuilt=True)
    return join(fleet.session(), [wish], write=True)


def test_a_member_joins_with_the_labels_of_its_cloud(in_aws: Fleet) -> None:
    in_aws.join("m1", "m2")
    assert labels(in_aws) == {PROVIDER: "aws", REGION: "eu-central-1"}
    assert labels(in_aws, "m2") == {}


def test_what_is_given_stands_above_and_a_second_join_changes_nothing(in_aws: Fleet) -> None:
    given = {"env": "prod", REGION: "here"}
    planned = in_aws.join("m1", labels=given, write=False)
    assert planned.diff[0]["after"]["metadata"]["labels"] == {PROVIDER: "aws", **given}
    in_aws.join("m1", labels=given)
    assert labels(in_aws) == {PROVIDER: "aws", **given}
    assert in_aws.join("m1", labels=given).unchanged == ("m1",)
    in_aws.join("m1", labels={"env": "test"})
    assert labels(in_aws) == {PROVIDER: "aws", REGION: "here", "env": "test"}


def test_a_rebuilt_cluster_is_asked_again(in_aws: Fleet) -> None:
    in_aws.join("m1", labels={})
    client = in_aws.servers["m1"].client
    client.delete(f"{NODES}/of-aws-a")
    rebuilt(in_aws, {"env": "prod"})
    assert labels(in_aws) == {PROVIDER: "aws", REGION: "eu-central-1", ZONE: "eu-central-1b", "env": "prod"}


def test_what_a_member_says_of_itself_later_changes_no_label(in_aws: Fleet) -> None:
    """It could draw placements to itself."""
    in_aws.join("m1", "m2", labels={"env": "prod"})
    before = labels(in_aws), labels(in_aws, "m2")
    for name, region in (("m1", "us-east-1"), ("m2", "eu-central-1")):
        client = in_aws.servers[name].client
        client.request("DELETE", NODES, {"kind": "DeleteOptions", "apiVersion": "v1"}, {"labelSelector": "of=aws"})
        node = {
            "metadata": {"name": "of-aws-x", "labels": {"of": "aws"}},
            "spec": {"providerID": f"aws:///{region}a/i-0"},
        }
        client.post(NODES, node)
    capture(in_aws.session(), pods=False, prices=NO_PRICES, threads=2, timeout=5.0, record=True)
    assert in_aws.join("m1", "m2", labels={"env": "prod"}).unchanged == ("m1", "m2")
    assert (labels(in_aws), labels(in_aws, "m2")) == before


def test_a_placement_can_spread_by_them(in_aws: Fleet) -> None:
    in_aws.join("m1", "m2")
    terms = [{"labelSelector": {"matchLabels": {REGION: "eu-central-1"}}}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}}
    in_aws.resources(in_aws.configmap())
    in_aws.place({"placementType": "PickAll", "affinity": {"clusterAffinity": required}})
    in_aws.apply()
    assert in_aws.holders() == ["m1"]
