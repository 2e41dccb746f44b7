# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Options by provider of the member, and versions that a platform never has."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.by_provider import (
    not_offered,
    target_remarks,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.command import CommandDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.options import OptionPlace, drivers_from
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients

EXAMPLES = Path(__file__).parents[6] / "examples" / "updates"
OWN = {"begin": ["upgrade", "{member}"]}
BOTH = {"aks": {"definition": "az_aks", "settings": {"resource_group": "rg"}}, "own": OWN}


def members(driver: str = "command", **providers: str) -> dict[str, FleetMember]:
    found = {}
    for name, provider in providers.items():
        spec = {"connection": {"kubeconfig": "/k"}, "driver": driver, "provider": provider}
        spec |= {"location": "eu-west-1", "group": "blue"}
        kind = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": name}}
        found[name] = decode(FleetMember, {**kind, "spec": spec})
    return found


def made(command: t.Any, **providers: str) -> dict[str, t.Any]:
    of = members(**providers)
    place = OptionPlace(operations=Path("/operations"), environ={"HOME": "/home/ann"}, cwd=Path("/base"))
    return dict(drivers_from({"command": command}, of, Clients(of), place))


def test_each_member_has_the_options_of_its_provider():
    found = made({"providers": BOTH, "definition": None}, east="aks", west="own", south="own")
    assert isinstance(found["east"], CommandDriver) and "az_aks" in found["east"].begin_argv
    assert found["west"].begin_argv == ("upgrade", "{member}") and found["south"] is found["west"]


def test_the_example_as_it_is():
    text = (EXAMPLES / "with_several_clouds.yml").read_text(encoding="utf-8")
    found = made(yaml.safe_load(text)["drivers"]["command"], east="aks", west="eks", north="gke")
    assert {name: each.begin_argv[4] for name, each in found.items()} == {
        "east": "az_aks",
        "west": "eksctl",
        "north": "gcloud",
    }
    assert "--set=resource_group=rg-east" in found["east"].begin_argv
    assert "--set=project=fleet-blue" in found["north"].begin_argv


@pytest.mark.parametrize(
    "command, code, where, words",
    [
        ({"providers": BOTH, **OWN}, "bad-option", "begin", "options of one of the providers"),
        ({"providers": {}}, "bad-option", "providers", "by provider"),
        ({"providers": {"aks": "az_aks"}}, "bad-option", "providers.aks", "a mapping"),
        ({"providers": {"aks": {"providers": BOTH}}}, "bad-option", "providers.aks", "a mapping"),
        ({"providers": {"aks": {}}}, "bad-option", "providers.aks.begin", "needed"),
        ({"providers": {"aks": {"definition": ["az_aks"]}}}, "bad-option", "providers.aks.definition", "a text"),
        ({"providers": {7: OWN}}, "driver-without-options", "providers", "the provider of east"),
        ({"providers": {"own": OWN}}, "driver-without-options", "providers", "the provider of east"),
        (
            {"providers": {"aks": {"definition": "az_aks"}}},
            "bad-option",
            "providers.aks.settings.resource_group",
            "nothing says",
        ),
    ],
)
def test_what_is_wrong_with_the_split_is_told(command: t.Any, code: str, where: str, words: str):
    with pytest.raises(FleetError) as refused:
        made(command, east="aks")
    ((found, place, message),) = [(each.code, each.where, each.message) for each in refused.value.problems]
    assert (found, place) == (code, f"drivers.command.{where}") and words in message


@pytest.mark.parametrize(
    "definition, three, two", [("az_aks", True, True), ("gcloud", True, True), ("eksctl", False, True)]
)
def test_which_ready_definition_takes_which_form_of_a_version(definition: str, three: bool, two: bool):
    options = {"command": {"definition": definition}}
    of = members(east="").values()
    assert (not not_offered(options, of, "1.36.3"), not not_offered(options, of, "1.36")) == (three, two)
    assert not_offered(options, of, "") == {}, "images alone have no version"


def test_a_topology_of_cluster_api_takes_three_parts_alone():
    of = members("cluster_api", east="").values()
    assert not_offered({}, of, "1.36.3") == {} and "write kubernetesVersion" in not_offered({}, of, "1.36")["east"]


def test_commands_and_other_drivers_take_whatever_is_asked():
    assert not_offered({"command": OWN}, members(east="").values(), "1.36.3") == {}
    assert not_offered({}, members("local", east="").values(), "1.36") == {}


def test_remarks_for_some_and_a_refusal_for_all():
    eks = {"command": {"providers": {"aks": {"definition": "az_aks"}, "eks": {"definition": "eksctl"}}}}
    of = members(east="aks", west="eks", south="eks")
    refused = not_offered(eks, of.values(), "1.36.3")
    (remark,) = target_remarks(refused, list(of), "here")
    assert (remark.code, remark.where) == ("target-not-offered", "here") and remark.message.endswith("south, west")
    with pytest.raises(FleetError, match="two parts"):
        target_remarks(refused, ["west", "south"], "here")
    assert target_remarks(refused, ["east"], "here") == ()
