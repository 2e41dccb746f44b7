# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which driver each member gets, and what is refused before anything starts."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.cluster_api import ClusterApiDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.command import CommandDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.role_job import RoleJobDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.local import LocalDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.options import (
    OptionPlace,
    drivers_from,
    stops_unattended_updates,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.role import RoleDriver, variables
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients

COMMAND = {"begin": ["upgrade", "{member}"]}


def member(name: str, driver: str, **connection: t.Any) -> FleetMember:
    spec = {"connection": connection or {"kubeconfig": "/k"}, "driver": driver}
    document = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": name}, "spec": spec}
    return decode(FleetMember, document)


def made(options: t.Mapping[str, t.Any], cwd: Path = Path("/base"), **drivers: str) -> t.Mapping[str, t.Any]:
    members = {name: member(name, driver) for name, driver in drivers.items()}
    place = OptionPlace(operations=Path("/operations"), environ={"HOME": "/home/ann"}, cwd=cwd)
    return drivers_from(options, members, Clients(members), place)


def refused(options: t.Mapping[str, t.Any], **drivers: str) -> list[tuple[str, str, str]]:
    with pytest.raises(FleetError) as error:
        made(options, **drivers)
    return [(each.code, each.where, each.message) for each in error.value.problems]


def test_each_member_gets_the_driver_of_its_spec(tmp_path: Path):
    (tmp_path / "roles" / "mine").mkdir(parents=True)
    options = {"local": {"root": "clusters"}, "command": COMMAND, "role": {"role": "./roles/mine"}}
    found = made(options, tmp_path, east="local", west="command", north="role", south="command")
    assert isinstance(found["east"], LocalDriver) and found["east"].root == (tmp_path / "clusters").resolve()
    assert isinstance(found["west"], CommandDriver) and found["south"] is found["west"]
    assert isinstance(found["north"], RoleDriver) and found["north"].role == str(tmp_path / "roles" / "mine")


def test_local_clusters_need_no_options():
    assert made({}, east="local")["east"].root == Path("/home/ann/.local/state/gitops-fleet/local")


def test_a_role_may_be_a_name_in_a_collection():
    assert made({"role": {"role": "acme.ops.upgrade"}}, east="role")["east"].role == "acme.ops.upgrade"


@pytest.mark.parametrize(
    ("options", "driver", "where"),
    [
        ({"kubeconfig": "/m", "name": "prod"}, "cluster_api", "drivers.cluster_api.name"),
        ({"kubeconfig": "/m", "name": "prod", "namespace": "fleet"}, "cluster_api", "drivers.cluster_api.name"),
        ({"definition": "az_aks", "settings": {"name": "prod", "resource_group": "rg"}}, "command", "settings.name"),
        (
            {
                "definition": "az_aks",
                "settings": {"resource_group": "rg"},
                "members": {"canary": {"name": "prod", "patience": 5}},
            },
            "command",
            "settings.name",
        ),
        (
            {"providers": {"": {"definition": "gcloud", "settings": {"name": "prod", "location": "eu"}}}},
            "command",
            "drivers.command.providers..settings.name",
        ),
    ],
)
def test_two_members_are_never_one_cluster(options: dict[str, t.Any], driver: str, where: str):
    """The canary's turn would upgrade the cluster of all the others."""
    ((code, place, message),) = refused({driver: options}, canary=driver, prod=driver)
    assert (code, place.endswith(where)) == ("bad-option", True)
    assert message.startswith("canary, prod would all be one cluster, '") and "prod'" in message
    assert made({driver: options}, prod=driver)


def test_a_run_of_one_member_does_not_upgrade_the_cluster_of_another_in_the_fleet():
    """As far as these are known to whoever conducts it."""
    members = {name: member(name, "command") for name in ("canary", "prod", "test")}
    place = OptionPlace(operations=Path("/operations"), environ={"HOME": "/home/ann"}, cwd=Path("/base"))
    own = {"canary": {"name": "prod"}}
    options = {"command": {"definition": "az_aks", "settings": {"resource_group": "rg"}, "members": own}}
    with pytest.raises(FleetError, match="canary, prod would all be one cluster"):
        drivers_from(options, {"canary": members["canary"]}, Clients(members), place)
    assert drivers_from(options, {"test": members["test"]}, Clients(members), place)


def test_members_whose_clusters_have_one_name_in_several_places_are_told_apart():
    settings = {"name": "prod", "resource_group": "rg-{member}"}
    assert made({"command": {"definition": "az_aks", "settings": settings}}, a="command", b="command")
    named = {"kubeconfig": "/m", "name": "prod", "namespace": "{member}"}
    assert made({"cluster_api": named}, a="cluster_api", b="cluster_api")


def test_all_problems_at_once_each_with_its_members():
    found = refused({"command": {}}, a="", b="helm", c="command", d="", e="role", f="cluster_api")
    assert [(code, where) for code, where, _message in found] == [
        ("no-driver", "members a, d"),
        ("driver-not-supported", "member b"),
        ("driver-without-options", "member c"),
        ("driver-without-options", "member e"),
        ("driver-without-options", "member f"),
    ]


def test_of_many_members_some_are_named():
    ((_code, where, _message),) = refused({}, **{f"m{number:02}": "" for number in range(12)})
    assert where.endswith("m09 and 2 more")


@pytest.mark.parametrize(
    "options, where, words",
    [
        ({"command": {"begin": ["x", "{cluster}"]}}, "drivers.command.begin", "{cluster}"),
        ({"command": {"begin": ["x", "{reference}"]}}, "drivers.command.begin", "{reference}"),
        ({"command": {**COMMAND, "observe": ["x", "{target}"]}}, "drivers.command.observe", "{target}"),
        ({"command": {"begin": "x --now"}}, "drivers.command.begin", "list"),
        ({"command": {"begin": []}}, "drivers.command.begin", "list"),
        ({"command": {"poll": ["x"]}}, "drivers.command.begin", "needed"),
        ({"command": {**COMMAND, "timeout": 0}}, "drivers.command.timeout", "seconds"),
        (
            {"command": {**COMMAND, "stops_unattended_updates": "no"}},
            "drivers.command.stops_unattended_updates",
            "true",
        ),
        ({"command": {**COMMAND, "shell": True}}, "drivers.command.shell", "no such option"),
        ({"command": {"definition": "aks"}}, "drivers.command.definition", "no ready definition"),
        ({"command": {"definition": "az_aks", "poll": ["x"]}}, "drivers.command.poll", "has a command for this"),
        ({"command": {**COMMAND, "settings": {"name": "x"}}}, "drivers.command.settings", "only a ready definition"),
        (
            {"command": {"definition": "az_aks", "settings": {"x": "y"}}},
            "drivers.command.settings.x",
            "no such setting",
        ),
        ({"command": {"definition": "gcloud", "settings": {"name": ["y"]}}}, "drivers.command.settings.name", "a text"),
        ({"command": {"definition": "gcloud", "settings": ["y"]}}, "drivers.command.settings", "a mapping"),
        ({"command": {"definition": "gcloud", "members": ["y"]}}, "drivers.command.members", "by name of the member"),
        (
            {"command": {"definition": "gcloud", "members": {"a": {"interval": "soon"}}}},
            "drivers.command.members.a.interval",
            "seconds above 0",
        ),
        ({"command": {"definition": ["az_aks"]}}, "drivers.command.definition", "a text"),
        ({"command": {"begin": ["a\0b"]}}, "drivers.command.begin", "no program can be given"),
        ({"command": {**COMMAND, "poll": ["\ud800"]}}, "drivers.command.poll", "no program can be given"),
        ({"command": {**COMMAND, "timeout": float("inf")}}, "drivers.command.timeout", "1000000 at most"),
        ({"command": {**COMMAND, "timeout": float("nan")}}, "drivers.command.timeout", "1000000 at most"),
        ({"local": {"timeout": 10**400}}, "drivers.local.timeout", "1000000 at most"),
        (
            {"local": {"root": "~nosuchuser/clusters"}},
            "drivers.local.root",
            "there is no home for ~nosuchuser/clusters",
        ),
        ({"local": {"root": "a\0b"}}, "drivers.local.root", "a text"),
        (
            {"command": {"definition": "gcloud", "settings": {"patience": 1e300}}},
            "drivers.command.settings.patience",
            "1000000 at most",
        ),
        (
            {"command": {"definition": "gcloud", "settings": {"interval": 10**400}}},
            "drivers.command.settings.interval",
            "1000000 at most",
        ),
        ({"role": {"role": "./nowhere"}}, "drivers.role.role", "/base/nowhere"),
        ({"role": {"role": "x", "extra_vars": {"a": object()}}}, "drivers.role.extra_vars", "only texts"),
        ({"role": {"role": "x", "inventory": "hosts"}}, "drivers.role.inventory", "list"),
        ({"local": []}, "drivers.local", "mapping"),
        ({"helm": {}}, "drivers.helm", "no such driver"),
    ],
)
def test_bad_options_are_refused_whether_used_or_not(options: dict[str, t.Any], where: str, words: str):
    found = refused(options, east="local")
    assert [(code, place) for code, place, _message in found] == [("bad-option", where)]
    assert words in found[0][2]


@pytest.mark.parametrize(
    "options, where",
    [
        ({"command": "x"}, "drivers.command"),
        ({"command": ["x"]}, "drivers.command"),
        ({"command": {"providers": ["x"]}}, "drivers.command.providers"),
        ({"command": {"providers": {"": 7}}}, "drivers.command.providers."),
    ],
)
def test_what_drivers_declare_is_asked_for_before_their_options_are_checked(options: t.Any, where: str):
    """For the plan of a run that nobody upgrades by these options yet."""
    with pytest.raises(FleetError) as error:
        stops_unattended_updates(options, member("east", "command"))
    assert (error.value.code, error.value.where) == ("bad-option", where)


@pytest.mark.parametrize("options, stops", [({}, False), ({"command": None}, False), ({"command": {"x": 1}}, False)])
def test_without_a_word_nothing_is_declared(options: t.Any, stops: bool):
    assert stops_unattended_updates(options, member("east", "command")) is stops


def test_a_cluster_of_cluster_api_is_found_by_what_its_member_says(tmp_path: Path):
    options = {"cluster_api": {"kubeconfig": "management", "namespace": "team-{group}"}}
    place = OptionPlace(operations=Path("/operations"), environ={}, cwd=tmp_path)
    one = member("east", "cluster_api")
    members = {"east": replace(one, spec=replace(one.spec, group="blue"))}
    found = drivers_from(options, members, Clients(members), place)["east"]
    assert isinstance(found, ClusterApiDriver) and found.kubeconfig == str(tmp_path / "management")
    assert (found.namespace, found.name) == ("team-blue", "east")
    ((code, where, _words),) = refused(options, east="cluster_api")
    assert (code, where) == ("bad-option", "drivers.cluster_api.namespace"), "it has no group"


class TestReadyDefinitions:
    """Each member has a driver of its own, by what holds for it."""

    def settings(self, driver: CommandDriver, argv: str = "begin_argv") -> dict[str, str]:
        words = [each.removeprefix("--set=") for each in getattr(driver, argv) if each.startswith("--set=")]
        return dict(each.partition("=")[::2] for each in words)

    def test_settings_of_a_member_stand_above_those_of_all(self):
        options = {
            "definition": "az_aks",
            "settings": {"resource_group": "rg-{member}", "interval": 5},
            "members": {"west": {"resource_group": "old", "name": "aks-1"}},
        }
        found = made({"command": options}, east="command", west="command", home="local")
        east, west = self.settings(found["east"]), self.settings(found["west"])
        assert (east["name"], east["resource_group"], east["interval"]) == ("east", "rg-east", "5")
        assert (west["name"], west["resource_group"], west["patience"]) == ("aks-1", "old", "600")
        assert found["east"].pool_argv and isinstance(found["home"], LocalDriver)

    def test_what_a_fleet_member_says_of_its_place_counts(self):
        place = OptionPlace(operations=Path("/operations"), environ={}, cwd=Path("/"))
        one = member("east", "command")
        members = {"east": replace(one, spec=replace(one.spec, location="eu-west-1"))}
        options = {"command": {"definition": "eksctl"}}
        found = drivers_from(options, members, Clients(members), place)["east"]
        assert isinstance(found, CommandDriver) and self.settings(found)["region"] == "eu-west-1"
        assert found.poll_argv == (), "eksctl ends with the upgrade"

    def test_settings_that_are_missing_are_told_with_the_members(self):
        found = refused({"command": {"definition": "az_aks"}}, east="command", west="command")
        where = "drivers.command.settings.resource_group"
        assert found == [("bad-option", where, "nothing says the resource_group of east, west")]
        ((_code, where, _words),) = refused({"command": {"definition": "gcloud"}}, east="command")
        assert where == "drivers.command.settings.location"

    @pytest.mark.parametrize("value", ["--output=yaml", "a\nb", "a\ud800"])
    def test_what_would_be_another_argument_is_refused(self, value: str):
        options = {"definition": "gcloud", "settings": {"location": "x", "name": value}}
        ((code, where, _words),) = refused({"command": options}, east="command")
        assert (code, where) == ("bad-option", "drivers.command.settings.name")


class TestWhatARoleIsTold:
    WORK = Work(operation="run-1.east.2", run="run", member="east", upgrade_type="Full", target="1.36.3", attempt=2)

    def test_by_reference_and_never_by_content(self):
        told = variables(self.WORK, member("east", "role", kubeconfig="~/k", context="east-admin"), {})
        assert told == {
            "cluster_upgrade_member": "east",
            "cluster_upgrade_target": "1.36.3",
            "cluster_upgrade_operation": "run-1.east.2",
            "cluster_upgrade_attempt": 2,
            "cluster_upgrade_run": "run",
            "cluster_upgrade_type": "Full",
            "cluster_upgrade_kubeconfig": str(Path("~/k").expanduser()),
            "cluster_upgrade_context": "east-admin",
            "cluster_upgrade_secret": {},
        }

    def test_a_secret_on_the_hub_is_named(self):
        told = variables(self.WORK, member("east", "role", secretRef={"name": "s", "namespace": "n"}), {})
        assert told["cluster_upgrade_secret"] == {"name": "s", "namespace": "n", "key": "kubeconfig"}
        assert told["cluster_upgrade_kubeconfig"] == "" and json.dumps(told)


def test_a_role_runs_as_jobs_where_its_executor_says_so(tmp_path: Path):
    (tmp_path / "jobs").write_text(json.dumps({
        "current-context": "a",
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "c"}}],
    }))  # fmt: skip
    executor = {"kind": "kubernetes_job", "image": "i", "kubeconfig": "jobs"}
    found = made({"role": {"role": "/opt/upgrade", "executor": executor}}, tmp_path, east="role")["east"]
    assert isinstance(found, RoleJobDriver) and found.role == "/opt/upgrade"
    assert found.jobs.connection.server == "https://192.0.2.1"
    process = {"role": "acme.ops.upgrade", "executor": {"kind": "process", "image": None}}
    assert isinstance(made({"role": process}, east="role")["east"], RoleDriver)


def test_a_role_runs_as_jobs_on_the_hub_if_nothing_else_is_said():
    options = {"role": {"role": "acme.ops.upgrade", "executor": {"kind": "kubernetes_job", "image": "i"}}}
    assert refused(options, east="role") == [
        ("bad-option", "drivers.role.executor.kubeconfig", "there is no hub to run Jobs in")
    ]
    members = {"east": member("east", "role")}
    hub = t.cast(t.Any, object())
    place = OptionPlace(operations=Path("/operations"), environ={}, cwd=Path("/base"))
    found = drivers_from(options, members, Clients(members, hub=hub), place)["east"]
    assert isinstance(found, RoleJobDriver) and found.jobs is hub
