# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    ApplyStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import (
    Deletable,
    MemberStep,
    decide_member,
    with_unplanned_refused,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import (
    PART_OF_LABEL,
    ApplySet,
    InventoryEntry,
)

US, THEM = "applyset-us-v1", "applyset-them-v1"
NAMESPACE = ObjectId("", "v1", "Namespace", "", "test")
CONFIG = ObjectId("", "v1", "ConfigMap", "test", "one")
WORK = ObjectId("apps", "v1", "Deployment", "test", "web")
CRD = ObjectId("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "things.example.com")
Manifest = dict[str, t.Any]


def wanted(each: ObjectId = CONFIG, hash: str = "1", **data: str) -> Rendered:
    metadata = {"name": each.name, "namespace": each.namespace}
    manifest = {"apiVersion": each.api_version, "kind": each.kind, "metadata": metadata, "data": data or {"a": "1"}}
    return Rendered(id=each, hash=hash, manifest=manifest)


def recorded(*held: tuple[ObjectId, str]) -> ApplySet:
    inventory = tuple(InventoryEntry(id=each, hash=hash) for each, hash in held)
    return ApplySet(placement="web", uid="u", inventory=inventory)


def live(part_of: str = US, data: dict[str, str] | None = None, ours: bool = True, **metadata: t.Any) -> Manifest:
    """A live ConfigMap; our fields are owned by us, or by somebody who edited them."""
    fields = {"f:metadata": {"f:labels": {f"f:{PART_OF_LABEL}": {}}}}
    value = {"f:data": {"f:a": {}}}
    owner = {"manager": "gitops-fleet", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    other = {**owner, "manager": "kubectl-edit", "operation": "Update", "fieldsV1": value}
    managed = [{**owner, "fieldsV1": {**fields, **(value if ours else {})}}, *(() if ours else (other,))]
    labels = {PART_OF_LABEL: part_of} if part_of else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": "test", "labels": labels, "managedFields": managed, **metadata},
        "data": data or {"a": "1"},
    }


def step(there: Manifest | None, held: str | None = None, hash: str = "1", **strategy: t.Any) -> MemberStep:
    applyset = recorded((CONFIG, held)) if held is not None else None
    on_member = {CONFIG.key: there} if there else {}
    (found,) = decide_member([wanted(hash=hash)], applyset, on_member, US, ApplyStrategy(**strategy))
    return found


def test_what_is_not_there_is_created_with_our_label() -> None:
    found = step(None)
    assert (found.action, found.missing, found.drifted) == ("create", False, False)
    assert found.manifest is not None and found.manifest["metadata"]["labels"] == {PART_OF_LABEL: US}


def test_what_was_placed_and_is_gone_is_created_again_and_counts_as_drift() -> None:
    found = step(None, held="1")
    assert (found.action, found.missing, found.drifted) == ("create", True, True)


def test_what_is_as_it_was_applied_is_unchanged() -> None:
    assert step(live(), held="1").action == "unchanged"


@pytest.mark.parametrize("held", ["0", "", None], ids=["older", "not finished", "not recorded"])
def test_a_newer_manifest_is_applied_whatever_drifted(held: str | None) -> None:
    assert step(live(ours=False), held=held, when_to_apply="IfNotDrifted").action == "update"


def test_drift_is_repaired() -> None:
    found = step(live(data={"a": "2"}, ours=False), held="1")
    assert found.action == "repair"
    assert [(each.path, each.desired, each.live, each.managers) for each in found.drifts] == [
        (".data.a", "1", "2", ("kubectl-edit",))
    ]


def test_drift_stops_the_apply_where_that_is_asked_for() -> None:
    found = step(live(data={"a": "2"}, ours=False), held="1", when_to_apply="IfNotDrifted")
    assert (found.action, found.reason) == ("refused", "FoundDrifts")
    assert found.drifts


@pytest.mark.parametrize(
    ("there", "strategy", "expected"),
    [
        (live(""), {}, ("adopt", "")),
        (live("", data={"a": "2"}), {}, ("adopt", "")),
        (live(""), {"when_to_take_over": "IfNoDiff"}, ("adopt", "")),
        (live("", data={"a": "2"}), {"when_to_take_over": "IfNoDiff"}, ("refused", "FailedToTakeOver")),
        (live(""), {"when_to_take_over": "Never"}, ("refused", "NotTakenOver")),
        (live(THEM), {"when_to_take_over": "Never"}, ("refused", "NotTakenOver")),
        (live(THEM), {}, ("refused", "FailedToTakeOver")),
        (live(THEM), {"allow_co_ownership": True}, ("refused", "FailedToTakeOver")),
        (live("", ownerReferences=[{"name": "x"}]), {}, ("refused", "FailedToTakeOver")),
        (live("", ownerReferences=[{"name": "x"}]), {"allow_co_ownership": True}, ("adopt", "")),
    ],
)
def test_taking_over_what_is_not_ours(there: Manifest, strategy: Manifest, expected: tuple[str, str]) -> None:
    found = step(there, **strategy)
    assert (found.action, found.reason) == expected
    assert bool(found.message) == (found.action == "refused")


FULL = {"comparison_option": "FullComparison"}


def added_to() -> Manifest:
    """As it was applied, with a key that somebody has added."""
    there = live(data={"a": "1", "extra": "2"})
    value = {"f:data": {"f:extra": {}}}
    there["metadata"]["managedFields"].append({"manager": "kubectl", "operation": "Update", "fieldsV1": value})
    return there


def test_a_full_comparison_tells_what_others_have_added_and_leaves_it() -> None:
    assert step(added_to(), "1").action == "unchanged"
    found = step(added_to(), "1", **FULL)
    assert (found.action, found.drifted) == ("differs", True)
    assert [(each.path, each.live, each.managers) for each in found.drifts] == [(".data.extra", "2", ("kubectl",))]
    refused = step(added_to(), "1", **FULL, when_to_apply="IfNotDrifted")
    assert (refused.action, refused.reason) == ("refused", "FoundDrifts") and refused.drifts == found.drifts
    assert step(added_to(), "1", "2", **FULL).action == "update"
    assert step(live(), "1", **FULL).action == "unchanged"


def test_a_full_comparison_counts_for_takeovers_and_reports_too() -> None:
    there = live(part_of="", data={"a": "1", "extra": "2"})
    assert step(there, when_to_take_over="IfNoDiff").action == "adopt"
    refused = step(there, when_to_take_over="IfNoDiff", **FULL)
    assert refused.reason == "FailedToTakeOver" and [each.path for each in refused.diffs] == [".data.extra"]
    assert step(there, type="ReportDiff").action == "unchanged"
    assert step(there, type="ReportDiff", **FULL).action == "differs"


def test_a_refused_take_over_tells_the_difference() -> None:
    found = step(live("", data={"a": "2"}), when_to_take_over="IfNoDiff")
    assert [(each.path, each.desired, each.live) for each in found.diffs] == [(".data.a", "1", "2")]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (None, ("differs", True, 0)),
        (live(""), ("unchanged", False, 0)),
        (live(THEM, data={"a": "2"}), ("differs", False, 1)),
        (live(data={"a": "2"}, ours=False), ("differs", False, 1)),
    ],
)
def test_reporting_writes_nothing(there: Manifest | None, expected: tuple[str, bool, int]) -> None:
    found = step(there, type="ReportDiff")
    assert (found.action, found.missing, len(found.diffs)) == expected


def test_applies_go_by_wave_and_removals_come_last_in_reverse() -> None:
    gone = [ObjectId("", "v1", "ConfigMap", "old", "a"), ObjectId("apps", "v1", "Deployment", "old", "b")]
    there = {each.key: live() for each in gone}
    steps = decide_member(
        [wanted(WORK), wanted(CONFIG), wanted(NAMESPACE)],
        recorded(*((each, "1") for each in gone)),
        there,
        US,
        ApplyStrategy(),
    )
    assert [(each.action, each.id.kind) for each in steps] == [
        ("create", "Namespace"),
        ("create", "ConfigMap"),
        ("create", "Deployment"),
        ("prune", "Deployment"),
        ("prune", "ConfigMap"),
    ]


def removal(each: ObjectId, there: Manifest | None, **options: t.Any) -> list[str]:
    on_member = {each.key: there} if there else {}
    steps = decide_member([], recorded((each, "1")), on_member, US, ApplyStrategy(), **options)
    return [step.action for step in steps]


def test_only_what_is_ours_is_removed() -> None:
    assert removal(CONFIG, live()) == ["prune"]
    assert removal(CONFIG, live(THEM)) == []
    assert removal(CONFIG, live("")) == []
    assert removal(CONFIG, None) == []


@pytest.mark.parametrize("each", [NAMESPACE, CRD], ids=lambda each: each.kind)
def test_what_may_hold_more_than_ours_is_released_unless_its_kind_is_named(each: ObjectId) -> None:
    assert removal(each, live()) == ["release"]
    assert removal(each, live(), prune_kinds=(each.kind,)) == ["prune"]


def test_what_has_an_owner_on_the_member_is_left_to_that_owner() -> None:
    """A StatefulSet there that keeps its claims only while it lives owns them, and they hold its data."""
    claim = ObjectId("", "v1", "PersistentVolumeClaim", "shop", "data-db-0")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "there"}
    owned = live()
    owned["metadata"]["ownerReferences"] = [owner]
    assert removal(claim, live()) == ["prune"]
    assert removal(claim, owned) == ["release"]
    assert removal(claim, owned, prune_kinds=("PersistentVolumeClaim",)) == ["release"]
    owned["metadata"]["ownerReferences"] = []
    assert removal(claim, owned) == ["prune"]


def test_an_abandoned_placement_releases_everything() -> None:
    assert removal(CONFIG, live(), abandon=True) == ["release"]
    assert removal(NAMESPACE, live(), abandon=True, prune_kinds=("Namespace",)) == ["release"]


def test_another_api_version_is_the_same_object() -> None:
    old = ObjectId("apps", "v1beta1", "Deployment", "test", "web")
    steps = decide_member([wanted(WORK)], recorded((old, "1")), {WORK.key: live()}, US, ApplyStrategy())
    assert [each.id.version for each in steps] == ["v1"]


OTHER = ObjectId("", "v1", "ConfigMap", "test", "other")


def planned(named: t.Iterable[ObjectId], held: int = 2, **deletable: t.Any) -> list[tuple[str, str]]:
    """CONFIG and OTHER leave; which of them may be deleted, and what becomes of them."""
    there = {each.key: live() for each in (CONFIG, OTHER)}
    steps = decide_member([], recorded((CONFIG, "1"), (OTHER, "1")), there, US, ApplyStrategy())
    what = Deletable(named=frozenset(each.key for each in named), **deletable)
    return sorted((step.id.name, step.action) for step in with_unplanned_refused(steps, what, held))


def test_what_the_plan_names_is_deleted() -> None:
    assert planned([CONFIG, OTHER]) == [("one", "prune"), ("other", "prune")]


def test_beyond_that_nothing_goes_under_an_approved_plan() -> None:
    assert planned([CONFIG]) == [("one", "prune"), ("other", "refused")]


def test_else_the_brake_counts_all_of_it() -> None:
    assert planned([CONFIG], counted=1, limit="30%") == [("one", "prune"), ("other", "refused")]
    assert planned([CONFIG], counted=1, limit=2) == [("one", "prune"), ("other", "prune")]
    assert planned([CONFIG], counted=0, limit="30%") == [("one", "prune"), ("other", "prune")]
    assert planned([], limit="100%") == [("one", "prune"), ("other", "prune")]


def test_a_refused_deletion_says_what_lifts_it() -> None:
    there = {CONFIG.key: live()}
    steps = decide_member([], recorded((CONFIG, "1")), there, US, ApplyStrategy())
    (found,) = with_unplanned_refused(steps, Deletable(named=frozenset(), counted=4, limit="30%"), 2)
    assert found.reason == "NotPlanned" and "max_object_removals: 5" in found.message
    assert with_unplanned_refused(steps, None, 2) == steps


def test_what_is_being_deleted_is_not_taken_for_placed() -> None:
    found = step(live(deletionTimestamp="2026-01-15T12:00:00Z"), held="1")
    assert (found.action, found.reason) == ("refused", "NotGoneYet")


OURS = ObjectId("", "v1", "Secret", "gitops-fleet", "gitops-fleet-digest-key")
HOME = ObjectId("", "v1", "Namespace", "", "gitops-fleet")
JOBS = ObjectId("", "v1", "ServiceAccount", "gitops-fleet-jobs", "upgrades")


@pytest.mark.parametrize("each", [OURS, HOME, JOBS], ids=lambda each: each.kind)
def test_where_the_fleet_keeps_its_own_nothing_is_placed_and_nothing_deleted(each: ObjectId) -> None:
    """Whatever an older release, or a forged ApplySet, says."""
    (found,) = decide_member([wanted(each)], None, {}, US, ApplyStrategy())
    assert (found.action, found.reason) == ("refused", "NotTakenOver")
    assert removal(each, live(), prune_kinds=("Namespace",)) == ["release"]


@pytest.mark.parametrize("held, asked", [("test", ""), ("", "test")])
def test_the_very_object_that_is_wanted_never_leaves_under_another_name_of_its_place(held: str, asked: str) -> None:
    """A server drops the namespace of a cluster-scoped object: with and without it both lead to one object."""
    role = ObjectId("rbac.authorization.k8s.io", "v1", "ClusterRole", held, "reader")
    wish = wanted(replace(role, namespace=asked))
    there = {role.key: live(uid="u1"), wish.id.key: live(uid="u1")}
    steps = decide_member([wish], recorded((role, "1")), there, US, ApplyStrategy())
    assert [(each.action, each.id) for each in steps] == [("update", wish.id)]
    there[role.key] = live(uid="u2")
    steps = decide_member([wish], recorded((role, "1")), there, US, ApplyStrategy())
    assert [each.action for each in steps] == ["update", "prune"]
