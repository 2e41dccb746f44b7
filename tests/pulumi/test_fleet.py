# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole program as the engine sees it: which resources, whose children, by which provider, going with which."""

from __future__ import annotations

import json
import typing as t
from functools import cache
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import CRD_FOLDER

from fleet_pulumi.components.member import member_documents
from fleet_pulumi.fleet import make_fleet
from fleet_pulumi.labels import ENVIRONMENT
from fleet_pulumi.settings import read_settings

WEB = {
    "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}],
    "policy": {"placementType": "PickN", "numberOfClusters": 1},
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}},
}
STAGES = {"strategy": {"stages": [{"name": "canary", "groups": [{"name": "canary"}]}]}}
LOCAL: dict[str, t.Any] = {
    "hub": {"name": "hub"},
    "members": [
        {"name": "m1", "group": "canary", "labels": {"environment": "canary"}, "region": "eu-north"},
        {"name": "m2", "version": "1.35", "profile": "fleet", "nodes": [{"pool": "general", "count": 2}]},
    ],
    "applications": [{"name": "web", "spec": WEB}],
    "updateStrategies": [{"name": "canary-first", "spec": STAGES}],
}
EXISTING: dict[str, t.Any] = {
    "backend": "existing",
    "hub": {"name": "hub", "kubeconfig": "/etc/hub", "context": "hub-admin"},
    "members": [{"name": "m1", "kubeconfig": "/etc/m1", "context": "m1-admin"}],
}
CLUSTER = ":LocalCluster"


@pytest.fixture(scope="module")
def made(run):
    """What the program registers with such settings; looked at by several tests, made once."""

    @cache
    def of(text):
        return run(lambda: make_fleet(read_settings("test", Path("/folder"), json.loads(text))))

    return lambda raw, **more: of(json.dumps({**raw, **more}))


CHANGED = {
    "protect": True,
    "ports": "22000-22100",
    "placedKinds": [{"api_version": "example.org/v1", "kind": "Widget", "plural": "widgets"}],
}


def objects(ran):
    return [each for each in ran.found if each.type.startswith("kubernetes:")]


def test_every_object_has_an_explicit_provider_a_parent_and_the_label_of_its_environment(made):
    for each in objects(made(LOCAL)):
        assert each.provider in ("hub/provider", "m1/provider", "m2/provider"), each
        assert each.parent in ("hub", "m1", "m2", "web", "canary-first"), each
        assert each.inputs["metadata"]["labels"][ENVIRONMENT] == "test", each


def test_the_hub_gets_all_that_the_role_installs_marked_as_ours(made):
    ran = made(LOCAL)
    definitions = {json.loads(path.read_text())["metadata"]["name"] for path in CRD_FOLDER.glob("*.json")}
    found = ran.of(":CustomResourceDefinition")
    assert {each.inputs["metadata"]["name"] for each in found.values()} == definitions
    assert all(
        each.inputs["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gitops.fleet" for each in found.values()
    )
    for kind, ending in (("ValidatingAdmissionPolicy", "policy"), ("ValidatingAdmissionPolicyBinding", "binding")):
        files = (CRD_FOLDER.parent / "policies").glob(f"*_{ending}.json")
        names = {json.loads(path.read_text())["metadata"]["name"] for path in files}
        assert len(names) == 5 and {each.inputs["metadata"]["name"] for each in ran.of(f":{kind}").values()} == names
    assert ran.named("hub/Namespace/gitops-fleet").provider == "hub/provider"


def test_a_definition_reaches_the_engine_as_it_is_written(made):
    """No key of a schema is translated on the way, such as those with a dash or a dollar."""
    ran = made(LOCAL)
    for path in CRD_FOLDER.glob("*.json"):
        document = json.loads(path.read_text())
        sent = ran.named(f"hub/CustomResourceDefinition/{document['metadata']['name']}")
        assert sent.inputs["spec"] == document["spec"]


def test_objects_go_with_the_cluster_that_they_are_in(made):
    """Deleting a cluster deletes what is in it: nobody asks an API server that ends, or has died, object by object."""
    for each in objects(made(LOCAL)):
        assert each.deleted_with == each.provider.removesuffix("/provider"), each


def test_objects_in_clusters_of_others_are_deleted_one_by_one(made):
    ran = made(EXISTING)
    assert ran.of(CLUSTER) == {}
    assert {each.deleted_with for each in objects(ran)} == {""}
    assert ran.named("m1/provider").inputs["kubeconfig"] == "/etc/m1"
    assert ran.named("m1/provider").inputs["context"] == "m1-admin"


def test_a_provider_keeps_its_identity_when_a_kubeconfig_is_written_again(made):
    ran = made(LOCAL)
    assert {name: each.inputs["clusterIdentifier"] for name, each in ran.of("providers:kubernetes").items()} == {
        f"{name}/provider": name for name in ("hub", "m1", "m2")
    }


def test_what_is_there_already_is_taken_over_in_clusters_of_ours_alone(made):
    """A run that is killed leaves objects that its state does not know of; in other clusters they may be anybody's."""

    def taken(ran):
        return {each.inputs["upsertExistingObjects"] for each in ran.of("providers:kubernetes").values()}

    assert (taken(made(LOCAL)), taken(made(EXISTING)), taken(made(EXISTING, takeOver=True))) == (
        {"true"},
        {"false"},
        {"true"},
    )


def test_clusters_get_what_was_configured(made):
    inputs = made(LOCAL, **CHANGED).of(CLUSTER)["m2"].inputs
    assert (inputs["name"], inputs["version"], inputs["profile"]) == ("m2", "1.35", "fleet")
    assert inputs["nodes"][0]["pool"] == "general" and inputs["nodes"][0]["count"] == 2
    assert (inputs["root"], inputs["ports"]) == ("/folder/clusters", "22000-22100")


def test_clusters_and_definitions_are_protected_on_request(made):
    """With a definition go all objects of its kind, the records of the fleet among them."""
    for type_ in (CLUSTER, ":CustomResourceDefinition"):
        assert {each.protect for each in made(LOCAL, **CHANGED).of(type_).values()} == {True}
        assert {each.protect for each in made(LOCAL).of(type_).values()} == {False}


def test_a_member_grants_what_the_rights_verb_prints_and_no_more(made):
    ran = made(LOCAL)
    for document in member_documents([]):
        metadata = document["metadata"]
        name = "/".join(filter(None, ("m1", document["kind"], metadata.get("namespace"), metadata["name"])))
        sent = ran.named(name)
        assert sent.provider == "m1/provider"
        assert all(
            sent.inputs[key] == value for key, value in document.items() if key in ("rules", "roleRef", "subjects")
        )
    rules = [rule for each in ran.found if each.name.startswith("m1/") for rule in each.inputs.get("rules", [])]
    assert rules and not any("*" in (*rule["verbs"], *rule.get("resources", [])) for rule in rules)


def test_a_members_namespace_is_there_before_what_is_in_it(made):
    ran = made(LOCAL)
    home = "m1/Namespace/gitops-fleet"
    inside = [each for each in objects(ran) if each.provider == "m1/provider" and each.name != home]
    assert len(inside) == 5 and all(home in each.depends_on for each in inside)


def test_more_kinds_are_granted_on_request(made):
    roles = made(LOCAL, **CHANGED).of(":ClusterRole").values()
    assert len(roles) == 2
    assert all(any("widgets" in rule.get("resources", []) for rule in role.inputs["rules"]) for role in roles)


def test_playbooks_use_the_login_and_never_the_administrator(made):
    """D4-38: and know the member's group and where it is."""
    ran = made(LOCAL)
    login = ran.of(":MemberLogin")["m1/login"]
    assert login.inputs["path"] == "/folder/logins/m1.kubeconfig" and login.inputs["kubeconfig"] == "/made/kubeconfig"
    assert {"m1/ServiceAccount/gitops-fleet/gitops-fleet"} <= login.depends_on
    spec = ran.named("hub/FleetMember/m1").inputs["spec"]
    assert spec["connection"] == {"kubeconfig": "/folder/logins/m1.kubeconfig", "context": "m1"}
    assert (spec["group"], spec["driver"], spec["location"]) == ("canary", "local", "eu-north")
    assert "driver" not in made(EXISTING).named("hub/FleetMember/m1").inputs["spec"]


def test_objects_of_the_fleet_wait_for_their_definitions(made):
    """A component that depends on something is registered when that is there, and its children after it."""
    ran = made(LOCAL)
    definitions = set(ran.of(":CustomResourceDefinition"))
    waiting = [each for each in ran.found if ":environments:" in each.type and each.name != "hub"]
    assert {each.name for each in waiting} == {"m1", "m2", "web", "canary-first"}
    assert all(definitions <= each.depends_on for each in waiting)


def test_applications_and_strategies_are_sent_in_upstreams_words(made):
    ran = made(LOCAL)
    spec = ran.named("hub/ClusterResourcePlacement/web").inputs["spec"]
    assert spec["policy"] == WEB["policy"] and spec["resourceSelectors"][0]["name"] == "web"
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == "50%"
    assert ran.named("hub/UpdateStrategy/canary-first").inputs["spec"] == STAGES


def test_the_output_is_versioned_and_holds_references_only(made):
    value = made(LOCAL).value
    assert (value["schema_version"], value["environment"]) == (1, "test")
    assert value["hub"]["kubeconfig"] == "/made/kubeconfig"
    assert [each["name"] for each in value["members"]] == ["m1", "m2"]
    assert value["members"][0] == {
        "name": "m1",
        "backend": "local",
        "version": "1.36.3",
        "region": "eu-north",
        "group": "canary",
        "labels": {"environment": "canary"},
        "kubeconfig": "/folder/logins/m1.kubeconfig",
        "context": "m1",
    }


def test_a_cluster_that_is_there_joins_with_what_its_cloud_tells_under_what_people_say(made):
    """D4-38. Nobody writes these labels."""
    members = [{**EXISTING["members"][0], "labels": {"team": "ours"}}]
    ran = made(EXISTING, members=members)
    labels = ran.named("hub/MemberCluster/m1").inputs["metadata"]["labels"]
    assert labels == {"fleet.azure.com/location": "westeurope", "team": "ours", ENVIRONMENT: "test"}
    assert [each["version"] for each in (ran.value["hub"], *ran.value["members"])] == ["1.35.4", "1.35.4"]


def test_of_clusters_that_are_there_the_state_gets_paths_alone(made):
    found = made(EXISTING).of(":ExistingCluster")
    assert {name: each.inputs["kubeconfig"] for name, each in found.items()} == {"hub": "/etc/hub", "m1": "/etc/m1"}
    assert not any(each.protect or each.deleted_with for each in found.values())


def test_of_clusters_of_others_the_login_is_told_too(made):
    value = made(EXISTING).value
    assert (value["hub"]["kubeconfig"], value["hub"]["context"]) == ("/etc/hub", "hub-admin")
    (member,) = value["members"]
    assert (member["kubeconfig"], member["context"]) == ("/folder/logins/m1.kubeconfig", "m1")


def test_names_of_resources_are_unique(made):
    names = [(each.type, each.name) for each in made(LOCAL).found]
    assert len(names) == len(set(names))


def test_the_same_settings_register_the_same(run, made):
    def seen(ran):
        return sorted((each.type, each.name, json.dumps(each.inputs, sort_keys=True)) for each in ran.found)

    again = run(lambda: make_fleet(read_settings("test", Path("/folder"), LOCAL)))
    assert seen(again) == seen(made(LOCAL))
