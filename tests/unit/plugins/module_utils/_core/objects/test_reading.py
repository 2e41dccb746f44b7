# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people write, by the tables of good and bad manifests; D1-07...D1-47, D4-09...D4-80."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import check_update, judge, read
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import (
    CORE,
    REPAIR,
    RULE_OF,
    WARNING,
)
from ansible_collections.gitops.fleet.tests.data.bad_maintenance_manifests import BAD_MAINTENANCE
from ansible_collections.gitops.fleet.tests.data.bad_manifests import BAD as BAD_PLACEMENTS
from ansible_collections.gitops.fleet.tests.data.bad_rollout_manifests import BAD_ROLLOUTS
from ansible_collections.gitops.fleet.tests.data.bad_staged_manifests import BAD_STAGED
from ansible_collections.gitops.fleet.tests.data.bad_update_manifests import BAD_STATUS, BAD_UPDATES
from ansible_collections.gitops.fleet.tests.data.good_maintenance_manifests import (
    GOOD_MAINTENANCE,
    MAINTENANCE_CHANGES,
    REPAIRED_MAINTENANCE,
)
from ansible_collections.gitops.fleet.tests.data.good_manifests import GOOD as GOOD_PLACEMENTS
from ansible_collections.gitops.fleet.tests.data.good_manifests import REPAIRED as REPAIRED_PLACEMENTS
from ansible_collections.gitops.fleet.tests.data.good_manifests import UPDATES as PLACEMENT_CHANGES
from ansible_collections.gitops.fleet.tests.data.good_rollout_manifests import (
    GOOD_ROLLOUTS,
    REPAIRED_ROLLOUTS,
    ROLLOUT_CHANGES,
)
from ansible_collections.gitops.fleet.tests.data.good_update_manifests import CHANGES, GOOD_UPDATES, REPAIRED_UPDATES
from ansible_collections.gitops.fleet.tests.data.manifest_parts import (
    NAMESPACE,
    PREFERRED,
    REQUIRED,
    Row,
    Update,
    cluster,
    crp,
    member,
    named,
    needs,
    preferred,
    required,
    sorter,
    want,
    wish,
)
from ansible_collections.gitops.fleet.tests.data.member_manifests import BAD_MEMBERS, GOOD_MEMBERS

BAD = (*BAD_PLACEMENTS, *BAD_MEMBERS, *BAD_ROLLOUTS, *BAD_STAGED, *BAD_UPDATES, *BAD_STATUS, *BAD_MAINTENANCE)
GOOD = (*GOOD_PLACEMENTS, *GOOD_MEMBERS, *GOOD_ROLLOUTS, *GOOD_UPDATES, *GOOD_MAINTENANCE)
REPAIRED = (*REPAIRED_PLACEMENTS, *REPAIRED_ROLLOUTS, *REPAIRED_UPDATES, *REPAIRED_MAINTENANCE)
UPDATES = (*PLACEMENT_CHANGES, *ROLLOUT_CHANGES, *CHANGES, *MAINTENANCE_CHANGES)
ROWS: tuple[Row | Update, ...] = (*GOOD, *REPAIRED, *BAD, *UPDATES)
EVERY_CODE = {expected.split(" ", 1)[0] for row in ROWS for expected in row.expected}


def refusal(manifest, **options):
    with pytest.raises(FleetError) as refused:
        read(manifest, **options)
    return refused.value.problems


def told(problems):
    """Problems as the tables have them: code and field path."""
    return tuple(f"{each.code} {each.where.split(' ', 1)[-1]}" for each in problems)


@pytest.mark.parametrize("row", GOOD, ids=lambda row: row.name)
def test_good_manifests_are_taken_as_they_are(row: Row):
    reading = read(row.manifest, strict=True)
    assert tuple(f"{each.code} {each.old_path}" for each in reading.findings) == row.expected
    assert all(RULE_OF[each.code].rule_class == WARNING for each in reading.findings)


@pytest.mark.parametrize("row", REPAIRED, ids=lambda row: row.name)
def test_repairs_are_told_and_refused_when_strict(row: Row):
    given = copy.deepcopy(row.manifest)
    reading = read(row.manifest)
    assert row.manifest == given, "the manifest of the caller is left alone"
    assert tuple(f"{each.code} {each.old_path}" for each in reading.findings) == row.expected
    assert read(encode(reading.object), strict=True).object == reading.object
    repairs = tuple(each for each in row.expected if RULE_OF[each.split(" ", 1)[0]].rule_class == REPAIR)
    problems = refusal(row.manifest, strict=True)
    assert told(problems) == repairs
    assert all(each.hint for each in problems)


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.name)
def test_bad_manifests_are_refused_with_every_problem(row: Row):
    assert told(refusal(row.manifest)) == row.expected


@pytest.mark.parametrize("update", UPDATES, ids=lambda row: row.name)
def test_updates(update: Update):
    problems = check_update(read(update.before).object, read(update.after).object)
    assert told(problems) == update.expected


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("0b1f6471-1bf0-4dda-aec3-cb9272f09590", True),
        ("0B1F6471-1BF0-4DDA-AEC3-CB9272F09590", True),
        ("0b1f64711bf04ddaaec3cb9272f09590", False),
        ("0b1f6471-1bf0-4dda-aec3-cb9272f0959g", False),
        ("", False),
    ],
)
def test_the_id_of_a_subscription_is_a_uuid_d4_40(text: str, good: bool):
    found = read(named(cluster(), labels={"fleet.azure.com/subscription-id": text})).findings
    assert [each.code for each in found] == ([] if good else ["subscription-id-no-uuid"])


def test_every_rule_is_shown_by_a_row_of_the_tables():
    # Others need a form that no manifest in the tables has; they stand below.
    assert set(RULE_OF) - EVERY_CODE == {"not-an-object", "invalid-quantity"}
    assert set(RULE_OF) >= EVERY_CODE


def test_there_are_core_rules_for_what_only_an_admission_webhook_refuses():
    assert (
        len([row for row in BAD if all(RULE_OF[each.split(" ")[0]].rule_class == CORE for each in row.expected)]) > 10
    )


@pytest.mark.parametrize("document", [None, [], "text", 5])
def test_a_document_that_is_no_mapping(document):
    assert told(refusal(document)) == ("not-an-object ",)


def test_the_status_of_an_exported_object_is_no_input():
    """It was judged, and objects that upstream's own controllers had written were refused."""
    cluster = {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": {"name": "a", "uid": "1", "managedFields": [], "creationTimestamp": None},
        "spec": {"identity": {"kind": "User", "name": "a"}},
        "status": {
            "properties": {"a": {"value": "1", "observationTime": "yesterday"}},
            "resourceUsage": {"capacity": {"cpu": 4, "memory": "a lot"}},
            "newer": [1],
        },
    }
    assert read(cluster).object.status == read({**cluster, "status": {}}).object.status
    told_of = refusal({**cluster, "spec": {"taints": [{}]}, "metadata": {"name": "a", "namespace": "b"}})
    assert not any("status" in each.where for each in told_of)
    good = {"conditions": [], "properties": {"a": {"value": "1", "observationTime": "2026-01-01T00:00:00Z"}}}
    assert read({**cluster, "status": good}).object.status.properties["a"].value == "1"


@pytest.mark.parametrize("key", ["statusx", "status-x", "status.x", "status[0]"])
def test_a_field_that_only_begins_like_the_status_is_unknown(key):
    assert told(refusal({**crp(), key: 1, "status": {"newer": 1}})) == (f"unknown-field {key}",)


@pytest.mark.parametrize(
    ("kind", "version", "codes", "read_as"),
    [
        ("ClusterResourceOverride", "v1alpha1", ["older-version"], "v1beta1"),
        ("ClusterResourceOverride", "v1", [], "v1"),
        ("ClusterResourcePlacementEviction", "v1alpha1", ["older-version"], "v1beta1"),
        ("ClusterResourcePlacementEviction", "v1", ["version-not-served"], "v1"),
        ("ClusterStagedUpdateRun", "v1alpha1", ["older-version"], "v1beta1"),
        ("ClusterApprovalRequest", "v1alpha1", ["older-version"], "v1beta1"),
        ("ResourceEnvelope", "v1", ["version-not-served"], "v1"),
        ("ClusterResourcePlacement", "v1alpha1", ["unsupported-version"], None),
        ("ClusterResourcePlacementEviction", "v2", ["unsupported-version"], None),
    ],
)
def test_versions_are_those_that_upstream_serves(kind: str, version: str, codes: list[str], read_as: str | None):
    """v1alpha1 was said not to exist, and v1 was offered for kinds that have none."""
    group = "placement.kubernetes-fleet.io"
    judged = judge({"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "a"}, "spec": {}})
    told = [*(each.code for each in judged.problems), *(each.code for each in judged.findings)]
    assert [each for each in told if "version" in each] == codes
    assert all(each.correct == f"{group}/v1beta1" for each in judged.findings if "version" in each.code)
    hints = " ".join(each.hint for each in judged.problems if "version" in each.code)
    assert (f"{group}/v1beta1" in hints) == (read_as is None)
    assert not (kind.endswith("Eviction") and hints.endswith("/v1"))


def test_the_place_of_the_manifest_stands_before_the_path():
    (problem,) = refusal(crp(revisionHistoryLimit=0), where="fleet.yaml:3")
    assert problem.where == "fleet.yaml:3 ClusterResourcePlacement/crp spec.revisionHistoryLimit"
    (finding,) = read(crp(preferred([wish(metricSorter=sorter())])), where="fleet.yaml:3").findings
    place = f"spec.policy.affinity.clusterAffinity.{PREFERRED}[0].preference"
    assert finding.where == f"fleet.yaml:3 ClusterResourcePlacement/crp {place}.metricSorter"
    assert finding.new_path == f"{place}.propertySorter"
    assert "every cluster gets the full weight" in finding.message


def test_d1_03_the_version_that_came_in_goes_out():
    for version in ("v1", "v1beta1"):
        assert encode(read(crp(version=version)).object)["apiVersion"].endswith(f"/{version}")
    assert read(crp(version="v1")).object.spec == read(crp(version="v1beta1")).object.spec


def test_d4_27_the_sample_repaired_is_the_one_corrected_by_hand():
    row = next(row for row in REPAIRED if row.name == "all three in one")
    by_hand = copy.deepcopy(row.manifest)
    affinity = by_hand["spec"]["policy"]["affinity"]["clusterAffinity"]
    affinity[PREFERRED] = [wish(labelSelector={"matchLabels": {"critical-level": "1"}})]
    reading = read(row.manifest)
    assert reading.object == read(by_hand, strict=True).object
    assert len(reading.findings) == 3
    assert reading.findings[2].printed == 1
    assert reading.findings[2].correct == "1"


@pytest.mark.parametrize(
    ("manifest", "hint"),
    [
        (crp({"placementTyp": "PickAll"}), "did you mean placementType?"),
        (crp({"placementType": "PickN", "numberOfClusters": 2, "taints": []}), "spec.taints of MemberCluster"),
        (crp({"placementType": "pickAll"}), "did you mean PickAll?"),
        (crp(required(needs(want("a", "gt", "1")))), "did you mean Gt?"),
        # D1-10, D4-51
        (crp(required(needs(want("resources.kubernetes-fleet.io/total-CPU", "Gt", "1")))), "total-cpu"),
        (crp(required(needs(want("resources.kubernetes-fleet.io/avail-cpu", "Gt", "1")))), "available-cpu"),
        (crp(required(needs(want("kubernetes.azure.com/custo-por-núcleo-de-CPU", "Gt", "1")))), "per-cpu-core-cost"),
        (crp(required({"labelSelector": {"matchLabels": {"a": 1.10}}})), "in quotes"),
        (crp(selectors=["..."]), "fill it in"),
        ({**crp(), "kind": "ClusterResourcePlacment"}, "did you mean ClusterResourcePlacement?"),
        ({**crp(), "apiVersion": "placement.kubefleet.dev/v1alpha1"}, "placement.kubernetes-fleet.io/v1"),
        (member({"inCluster": True}, locaton="here"), "did you mean location?"),
    ],
)
def test_hints_say_what_was_meant(manifest, hint):
    (problem,) = refusal(manifest)
    assert hint in problem.hint


@pytest.mark.parametrize("operator", ["In", "gt", ""])
def test_d1_18_an_unknown_operator_is_told_the_six(operator):
    (problem,) = refusal(crp(required(needs(want("a", operator, "5")))))
    assert problem.code == "unknown-operator"
    assert all(each in problem.message for each in ("Gt", "Ge", "Lt", "Le", "Eq", "Ne"))


FIELDS = {
    "clusterNames": ["a"],
    "numberOfClusters": 1,
    "topologySpreadConstraints": [{"topologyKey": "region"}],
    "affinity": {"clusterAffinity": {REQUIRED: {"clusterSelectorTerms": [{}]}}},
    "affinity, preferred": {"clusterAffinity": {PREFERRED: [wish(labelSelector={"matchLabels": {"a": "b"}})]}},
}
BELONG = {
    "PickFixed": {"clusterNames"},
    "PickAll": {"affinity"},
    "PickN": {"numberOfClusters", "topologySpreadConstraints", "affinity", "affinity, preferred"},
}
NEEDED = {"PickFixed": {"clusterNames": ["a"]}, "PickAll": {}, "PickN": {"numberOfClusters": 1}}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("placement_type", BELONG)
def test_d4_37_which_field_belongs_to_which_type(placement_type, field):
    policy = {"placementType": placement_type, **NEEDED[placement_type], field.split(",")[0]: FIELDS[field]}
    if field in BELONG[placement_type]:
        assert read(crp(policy), strict=True).object.spec.policy.placement_type == placement_type
    else:
        (problem,) = refusal(crp(policy))
        assert f"spec.policy.{field.split(',')[0]}" in problem.where


def test_one_cause_gives_one_problem():
    """A wrong type would make the rules over several fields find a second problem at the same place."""
    assert len(refusal(crp({"placementType": "PickN", "numberOfClusters": "3"}))) == 1
    assert len(refusal(crp(selectors=(NAMESPACE, "Namespace")))) == 1
    assert len(refusal(member("~/.kube/config"))) == 1


def test_items_keep_their_index_when_one_before_them_is_wrong():
    problems = refusal(crp(selectors=("...", {**NAMESPACE, "kind": ""})))
    assert told(problems) == ("placeholder spec.resourceSelectors[0]", "empty-text spec.resourceSelectors[1].kind")


def test_problems_of_every_part_come_at_once():
    manifest = crp({"placementType": "PickFixed"}, selectors=[], strategy={"type": "Later"}, colour="red")
    manifest["metadata"] = {"name": "Web"}
    assert sorted(told(refusal(manifest))) == [
        "cluster-names-missing spec.policy.clusterNames",
        "invalid-name metadata.name",
        "not-one-of spec.strategy.type",
        "too-few-items spec.resourceSelectors",
        "unknown-field spec.colour",
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "told"),
    [
        ("fleet.azure.com/v1", "UpdateRun", "it stands in gitops.fleet: write gitops.fleet/v1alpha1"),
        ("gitops.fleet/v1alpha1", "UpdateRn", "did you mean UpdateRun?"),
        ("v1", "Zebra", "a fleet has in cluster.kubernetes-fleet.io: MemberCluster; in gitops.fleet: FleetMember, "),
    ],
)
def test_the_kinds_of_a_fleet_are_listed_only_where_none_is_meant(api_version, kind, told):
    [problem] = judge({"apiVersion": api_version, "kind": kind}, "x.yml:1").problems
    assert (problem.code, problem.message.endswith("is no kind of a fleet")) == ("unknown-kind", True)
    assert problem.hint.startswith(told)
    assert ("MemberCluster" in str(problem)) == told.startswith("a fleet has")
