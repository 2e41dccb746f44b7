# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the published definitions of classes of machines say in CEL, and their forms of texts: EC2NodeClass of
Karpenter's provider for AWS v1.14.1, AKSNodeClass of that for Azure."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_class_rules import (
    KEPT_TAGS,
    KUBELET_KEYS,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.objects.karpenter.test_manifests import (
    wrong,
)

Spec = dict[str, t.Any]
SOUND: Spec = {
    "role": "r",
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "subnetSelectorTerms": [{"id": "subnet-1"}],
    "securityGroupSelectorTerms": [{"id": "sg-1"}],
}
TAGS = {"team": "a"}


def of_ec2(**fields: t.Any) -> list[str]:
    return wrong("EC2NodeClass", {**SOUND, **fields})


def of_aks(**fields: t.Any) -> list[str]:
    return wrong("AKSNodeClass", fields)


@pytest.mark.parametrize("other", [{"tags": TAGS}, {"name": "a"}, {"owner": "self"}])
def test_the_id_of_an_image_stands_alone_in_each_term(other: Spec) -> None:
    terms = [{"name": "a"}, {"id": "ami-1", **other}]
    assert of_ec2(amiFamily="AL2023", amiSelectorTerms=terms) == ["id-alone spec.amiSelectorTerms[1]"]
    assert of_ec2(amiFamily="AL2023", amiSelectorTerms=[{"id": "ami-1", "ssmParameter": "/a"}]) == []
    beside_alias = [{"id": "ami-1", "alias": "al2023@latest"}]
    assert of_ec2(amiSelectorTerms=beside_alias) == ["alias-alone spec.amiSelectorTerms"]


@pytest.mark.parametrize(
    ("name", "terms", "expected"),
    [
        ("subnetSelectorTerms", [{"id": "subnet-1", "tags": TAGS}], ["id-alone"]),
        ("subnetSelectorTerms", [{"id": "subnet-1", "tags": TAGS}, {"tags": TAGS}], []),
        ("securityGroupSelectorTerms", [{"id": "sg-1", "tags": TAGS}], ["id-alone"]),
        ("securityGroupSelectorTerms", [{"id": "sg-1", "name": "a"}], ["id-alone"]),
        ("securityGroupSelectorTerms", [{"name": "a", "tags": TAGS}], ["name-alone"]),
        ("securityGroupSelectorTerms", [{"name": "a", "tags": TAGS}, {"name": "b", "id": "sg-1"}], ["name-alone"]),
        ("securityGroupSelectorTerms", [{"name": "a", "tags": TAGS}, {"id": "sg-1", "tags": TAGS}], []),
        ("capacityReservationSelectorTerms", [{"id": "cr-1", "ownerID": "123456789012"}], ["id-alone"]),
    ],
)
def test_other_terms_are_refused_where_each_of_them_has_too_much(
    name: str, terms: list[Spec], expected: list[str]
) -> None:
    """The definition asks whether all have it, and takes a list in which one is well."""
    assert of_ec2(**{name: terms}) == [f"{each} spec.{name}" for each in expected]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"volumeType": "gp3"}, ["missing-field {}"]),
        ({"snapshotID": "snap-1", "volumeInitializationRate": 100}, []),
        ({"volumeSize": "20Gi", "volumeInitializationRate": 100}, ["missing-field {}.snapshotID"]),
        ({"volumeSize": "20Gi", "snapshotID": "", "volumeInitializationRate": 100}, ["missing-field {}.snapshotID"]),
    ],
)
def test_a_volume_comes_from_somewhere(volume: Spec, expected: list[str]) -> None:
    path = "spec.blockDeviceMappings[0].ebs"
    assert of_ec2(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": volume}]) == [
        each.format(path) for each in expected
    ]


def test_there_is_one_root_volume_at_most() -> None:
    disks = [{"deviceName": name, "rootVolume": root} for name, root in (("a", True), ("b", False), ("c", True))]
    assert of_ec2(blockDeviceMappings=disks) == ["two-root-volumes spec.blockDeviceMappings"]
    assert of_ec2(blockDeviceMappings=disks[:2]) == []


def is_size(number: int, unit: str) -> bool:
    """The published form has gaps in Ti, where the last digit is 8 or 9."""
    if unit == "Ti":
        return 1 <= number <= 9 or number == 58 or (10 <= number <= 57 and number % 10 <= 7)
    return 1 <= number <= {"Gi": 59000, "G": 64000, "T": 64}[unit]


@pytest.mark.parametrize("unit", ["Gi", "G", "Ti", "T"])
def test_sizes_of_volumes_are_those_of_the_definition(unit: str) -> None:
    edges = {0, 1, 9, 10, 9999, 10000, 49999, 50000, 58999, 59000, 59001, 63999, 64000, 64001, 99999, 100000}
    for number in edges | set(range(101)):
        disks = [{"ebs": {"volumeSize": f"{number}{unit}"}}]
        path = "spec.blockDeviceMappings[0].ebs.volumeSize"
        assert of_ec2(blockDeviceMappings=disks) == ([] if is_size(number, unit) else [f"wrong-form {path}"])


@pytest.mark.parametrize(("alias", "good"), [("windows2022@latest", True), ("windows2022@v1", False), ("al2@v1", True)])
def test_images_of_windows_are_the_latest_alone(alias: str, good: bool) -> None:
    found = of_ec2(amiSelectorTerms=[{"alias": alias}])
    assert found == ([] if good else ["wrong-form spec.amiSelectorTerms[0].alias"])


def test_each_soft_eviction_signal_has_a_grace_period_and_each_grace_period_a_signal() -> None:
    both = {"evictionSoft": {"memory.available": "5%"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}
    assert of_ec2(kubelet=both) == []
    for name, other in (both, tuple(both)[::-1]):
        assert of_ec2(kubelet={name: both[name]}) == [f"missing-field spec.kubelet.{other}[memory.available]"]
        apart = {**both, other: {"pid.available": both[other]["memory.available"]}}
        assert set(of_ec2(kubelet=apart)) == {
            f"missing-field spec.kubelet.{name}[pid.available]",
            f"missing-field spec.kubelet.{other}[memory.available]",
        }


@pytest.mark.parametrize(("name", "known"), KUBELET_KEYS)
def test_maps_of_the_kubelet_have_the_keys_that_it_knows(name: str, known: tuple[str, ...]) -> None:
    value = "1m" if name == "evictionSoftGracePeriod" else "1"
    soft = {each: dict.fromkeys(known, "1m") for each in ("evictionSoft", "evictionSoftGracePeriod")}
    beside = soft if name in soft else {}
    assert of_ec2(kubelet={**beside, name: dict.fromkeys(known, value)}) == []
    found = of_ec2(kubelet={**beside, name: {**dict.fromkeys(known, value), "pods": value}})
    assert found == [f"not-one-of spec.kubelet.{name}[pods]"]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "evictionHard",
            ("5%", "99.25%", "100.0%", "", "500Mi", "-1", ".5Gi", "1e3"),
            ("101%", "5.125%", "5 %", "5Zi"),
        ),
        ("kubeReserved", ("100m", "+1Gi", "1.", "2E"), ("-100m", "", "5%", "1 Gi")),
        ("systemReserved", ("100m",), ("-1Gi",)),
    ],
)
def test_amounts_of_the_kubelet_have_the_published_form(name: str, good: t.Sequence[str], bad: t.Sequence[str]) -> None:
    key = dict(KUBELET_KEYS)[name][0]
    for text in (*good, *bad):
        expected = [f"wrong-form spec.kubelet.{name}[{key}]"] if text in bad else []
        assert of_ec2(kubelet={name: {key: text}}) == expected, text


@pytest.mark.parametrize("key", [*KEPT_TAGS, "kubernetes.io/cluster/prod", "kubernetes.io/clusters"])
def test_tags_that_the_provider_sets_are_refused(key: str) -> None:
    assert of_ec2(tags={key: "a", "team": ""}) == [f"restricted-tag spec.tags[{key}]"]


def test_tags_have_a_key_and_in_terms_a_value() -> None:
    assert of_ec2(tags={"": "a"}) == ["empty-tag spec.tags[]"]
    for name in ("subnetSelectorTerms", "securityGroupSelectorTerms", "capacityReservationSelectorTerms"):
        assert of_ec2(**{name: [{"tags": {"": "a"}}]}) == [f"empty-tag spec.{name}[0].tags[]"]
        assert of_ec2(**{name: [{"tags": {"team": ""}}]}) == [f"wrong-length spec.{name}[0].tags[team]"]
    images = [{"tags": {"": "a"}}]
    assert of_ec2(amiFamily="AL2", amiSelectorTerms=images) == ["empty-tag spec.amiSelectorTerms[0].tags[]"]


def test_tags_in_azure_have_keys_and_values_that_it_takes() -> None:
    assert of_aks(tags={"a" * 512: "b" * 256, "karpenter.sh/nodepool": ""}) == []
    (long_key,) = of_aks(tags={"a" * 513: "b"})
    assert re.fullmatch(r"wrong-length spec\.tags\[a{60}\]", long_key)
    assert of_aks(tags={"a": "b" * 257}) == ["wrong-length spec.tags[a]"]
    for odd in "<>%&?\\":
        assert of_aks(tags={f"a{odd}": "b"}) == [f"wrong-form spec.tags[a{odd}]"]


@pytest.mark.parametrize(
    ("group", "good"), [("rg-1", True), ("RG_(1).x", True), ("rg.", False), ("rg 1", False), ("a" * 91, False)]
)
def test_a_subnet_is_in_a_resource_group_that_azure_can_have(group: str, good: bool) -> None:
    place = f"/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/n/subnets/a"
    assert of_aks(vnetSubnetID=place) == ([] if good else ["wrong-form spec.vnetSubnetID"])


def test_fips_is_there_for_the_image_that_a_server_writes_where_none_is_named() -> None:
    """The default, Ubuntu, is written before the rules are asked."""
    assert of_aks(fipsMode="FIPS") == []
    assert of_aks(fipsMode="FIPS", security={"trustedLaunch": {"vtpm": True}}) == []
    assert of_aks(fipsMode="FIPS", imageFamily="Ubuntu2404") == ["no-such-fips spec.fipsMode"]
