# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of a stack: what is there is accepted, what is wrong is told at once."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

from fleet_pulumi import stack
from fleet_pulumi.settings import Settings, read_settings

PROGRAM = Path(__file__).resolve().parents[2] / "pulumi" / "environments"
DEMO = PROGRAM.parents[1] / "playbooks"
PROJECT = yaml.safe_load((PROGRAM / "Pulumi.yaml").read_text(encoding="utf-8"))
STACKS = {"dev": 2, "demo": 4, "ci": 1}
WEB = {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}]}


def settings(**raw: t.Any) -> Settings:
    return read_settings("test", Path("/folder"), {"hub": {"name": "hub"}, "members": [{"name": "m1"}], **raw})


def problems(**raw: t.Any) -> dict[str, str]:
    """Codes by the place that is wrong."""
    with pytest.raises(FleetError) as refused:
        settings(**raw)
    return {each.where: each.code for each in refused.value.problems}


@pytest.mark.parametrize("name", STACKS)
def test_the_stacks_that_are_there_are_accepted(name):
    config = yaml.safe_load((PROGRAM / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))["config"]
    read = settings(**{key.removeprefix("gitops-fleet:"): value for key, value in config.items()})
    assert len(read.members) == STACKS[name]
    assert {key.removeprefix("gitops-fleet:") for key in config} <= PROJECT["config"].keys()


def test_the_stack_of_the_demo_is_the_fleet_of_the_demo():
    """Whoever makes it, the rest of the story is the same."""
    made = yaml.safe_load((DEMO / "files" / "demo" / "live" / "clusters.yml").read_text(encoding="utf-8"))
    tasks = yaml.safe_load((DEMO / "tasks" / "demo" / "local" / "up.yml").read_text(encoding="utf-8"))
    (joined,) = (
        each["gitops.fleet.member_cluster"]["members"] for each in tasks if "gitops.fleet.member_cluster" in each
    )
    config = yaml.safe_load((PROGRAM / "Pulumi.demo.yaml").read_text(encoding="utf-8"))["config"]
    hub, *members = made
    rows = [{"labels": row["labels"], "group": row["group"]} for row in joined]
    assert config["gitops-fleet:hub"] == hub
    assert config["gitops-fleet:members"] == [{**one, **row} for one, row in zip(members, rows, strict=True)]
    assert [each["name"] for each in members] == [row["name"] for row in joined]


def test_every_setting_is_in_the_schema_of_the_project_and_read():
    read = {*stack._TEXTS, *stack._OBJECTS, "folder", "tokenDays", *stack._FLAGS}
    assert PROJECT["config"].keys() == read
    assert all(row["description"] for row in PROJECT["config"].values())


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (None, ""),
        ("http://[", ""),
        ("file:///srv/state/?metadata=skip", " in /srv/state"),
        ("file:///srv/fleet%20state", " in /srv/fleet state"),
        ("https://me:secret@pulumi.example.org/", " in https://pulumi.example.org"),
        ("s3://bucket/fleet?region=eu&secret=1", " in s3://bucket/fleet"),
    ],
)
def test_a_stack_is_told_from_others_of_its_name_by_project_and_place_without_secrets(url, told, monkeypatch):
    monkeypatch.setattr(stack.pulumi, "get_organization", lambda: "org")
    monkeypatch.setattr(stack.pulumi, "get_project", lambda: "fleet")
    environ = {} if url is None else {"PULUMI_BACKEND_URL": url}
    assert stack.stack_owner("dev", environ) == f"stack dev of project org/fleet{told}"


def test_defaults_are_those_of_the_schema():
    schema = {key: row["default"] for key, row in PROJECT["config"].items() if "default" in row}
    plain = settings()
    assert (plain.backend, plain.ports, plain.token_days) == (schema["backend"], schema["ports"], schema["tokenDays"])
    assert (plain.protect, plain.skip_unreachable) == (schema["protect"], schema["skipUnreachable"])


def test_all_problems_are_told_at_once_with_their_places():
    found = problems(
        hub={"name": "Hub!", "labels": {"a": "b"}},
        members=[
            {"name": "m1", "versoin": "1.36"},
            {"name": "m2", "version": 1.36},
            {"name": "m3", "nodes": [{"count": "two"}]},
            "m4",
        ],
        applications={"name": "web"},
    )
    assert found == {
        "members[0]": "unknown-field",
        "members[1].version": "bad-config",
        "members[2].nodes[0].count": "bad-config",
        "members[3]": "bad-config",
        "applications": "bad-config",
    }


def test_a_misspelt_field_gets_the_right_word():
    with pytest.raises(FleetError) as refused:
        settings(members=[{"name": "m1", "versoin": "1.36"}])
    assert "version" in refused.value.hint


def test_what_only_a_cluster_knows_to_be_wrong_is_told_with_the_rest():
    found = problems(
        hub={"name": "m1", "group": "g"},
        members=[
            {"name": "m1", "version": "latest"},
            {"name": "m2", "nodes": [{"pool": "a", "count": 2}]},
            {"name": "m3", "labels": {"environment": "not a label!"}},
            {"name": "m4", "group": "no group!"},
        ],
        tokenDays=0,
    )
    assert found["members[0]: local cluster m1 version"] == "bad-version"
    assert found["members[1]: local cluster m2 nodes"] == "bad-profile"
    assert found["tokenDays"] == found["hub"] == "bad-config"
    assert found["members[0].name"] == "duplicate-cluster"
    assert any("members[2]" in where for where in found) and any("members[3]" in where for where in found)


def test_objects_are_read_by_the_rules_of_their_kinds():
    bad = {"resourceSelectors": WEB["resourceSelectors"], "policy": {"placementType": "PickSome"}}
    found = problems(applications=[{"name": "web", "spec": bad}], updateStrategies=[{"name": "s", "spec": {}}])
    assert any("applications[0]" in where for where in found)
    assert any("updateStrategies[0]" in where for where in found)
    assert settings(applications=[{"name": "web", "spec": WEB}]).applications[0].name == "web"


def test_existing_clusters_need_a_kubeconfig_and_take_nothing_that_only_ours_have():
    member = {"name": "m1", "version": "1.36"}
    found = problems(backend="existing", hub={"name": "hub", "kubeconfig": "~/.kube/config"}, members=[member])
    assert found == {"members[0].version": "bad-config", "members[0]": "missing-field"}
    assert problems(hub={"name": "hub", "context": "prod"}) == {"hub.context": "bad-config"}


def test_a_cluster_has_one_row_so_that_who_is_taken_out_takes_nothing_of_another():
    def row(name, context):
        return {"name": name, "kubeconfig": "/fleet/config", "context": context}

    hub, member = row("hub", "a"), row("m1", "b")
    settings(backend="existing", hub=hub, members=[member])
    found = problems(backend="existing", hub=hub, members=[row("m1", "a"), row("m2", "b"), row("m3", "b")])
    assert found == dict.fromkeys(("members[0].kubeconfig", "members[2].kubeconfig"), "duplicate-cluster")


def test_an_unknown_backend_is_refused_with_those_there_are():
    with pytest.raises(FleetError) as refused:
        settings(backend="docker")
    assert refused.value.where == "backend" and "local, kind, existing" in refused.value.hint


@pytest.mark.parametrize("kind", ["nodes", "labels"])
@pytest.mark.parametrize("labels", [{"x": 1}, {"x": None}, {5: "a"}, {"x": ["a"]}])
def test_labels_are_texts(kind, labels):
    member = {"name": "m1", "profile": "fleet", **({"labels": labels} if kind == "labels" else {})}
    member |= {"nodes": [{"labels": labels}]} if kind == "nodes" else {}
    where = "members[0].labels" if kind == "labels" else "members[0].nodes[0].labels"
    assert problems(members=[member], tokenDays=1) == {where: "bad-config"}


def test_a_field_that_has_no_text_for_a_name_is_told():
    assert problems(members=[{"name": "m1", 5: "a"}]) == {"members[0]": "unknown-field"}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ({}, "missing-field"),
        ({"api_version": "v1"}, "missing-field"),
        ({"kind": "Web"}, "missing-field"),
        ({"api_version": "example.org/v1", "kind": "Web"}, "unknown-kind"),
    ],
)
def test_kinds_that_logins_could_not_be_given_are_told_before_anything_is_made(kind, code):
    assert problems(placedKinds=[{"api_version": "v1", "kind": "Pod"}, kind]) == {"placedKinds[1]": code}


@pytest.mark.parametrize("ports", ["abc", "21000", "5-9", "22000-21000", "21000-99999"])
def test_ports_are_a_range(ports):
    assert problems(ports=ports) == {"ports": "bad-port-range"}


def test_what_would_be_made_twice_under_one_name_is_told():
    twice = [{"name": "web", "spec": WEB}] * 2
    assert problems(applications=twice) == {"applications[1].name": "duplicate-object"}
    strategy = {"name": "s", "spec": {"strategy": {"stages": [{"name": "one", "groups": [{"name": "g"}]}]}}}
    assert problems(updateStrategies=[strategy] * 3).keys() == {f"updateStrategies[{number}].name" for number in (1, 2)}
    pool = {"name": "general", "spec": {}}
    found = problems(members=[{"name": "m1", "node_pools": [pool, pool], "node_classes": [pool, pool]}])
    assert found["members[0].node_pools[1].name"] == found["members[0].node_classes[1].name"] == "duplicate-object"


@pytest.mark.parametrize("kubeconfig", ["~nobody-of-that-name/config", "~nobody\0/config"])
def test_a_home_that_nobody_has_is_told(kubeconfig):
    found = problems(backend="existing", hub={"name": "hub", "kubeconfig": kubeconfig}, members=[])
    assert found == {"hub.kubeconfig": "bad-config"}


def test_a_stack_is_called_so_that_labels_can_name_it():
    raw = {"hub": {"name": "hub"}, "members": []}
    assert read_settings("s" * 63, Path("/folder"), raw).stack == "s" * 63
    with pytest.raises(FleetError) as refused:
        read_settings("s" * 64, Path("/folder"), raw)
    assert (refused.value.code, refused.value.where) == ("bad-config", "stack")


@pytest.mark.parametrize("raw", [None, "hub", 5, []])
def test_a_hub_is_needed(raw):
    assert problems(hub=raw) == {"hub": "bad-config"}


@pytest.mark.parametrize(
    "pasted",
    [
        "apiVersion: v1\nusers: [{user: {token: canary-of-a-token}}]",
        '{"users": [{"user": {"token": "canary-of-a-token"}}]}',
        {"users": [{"user": {"token": "canary-of-a-token"}}]},
    ],
)
def test_a_kubeconfig_that_is_pasted_is_refused_and_not_shown(pasted):
    """It would stand in the stack's settings and in its state."""
    with pytest.raises(FleetError) as refused:
        settings(backend="existing", hub={"name": "hub", "kubeconfig": pasted}, members=[])
    assert "kubeconfig-content" in str(refused.value) and "canary" not in str(refused.value)
