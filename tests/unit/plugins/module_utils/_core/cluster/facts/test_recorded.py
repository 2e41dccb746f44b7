# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.recorded import members_to_decide_on
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    FactsSnapshot,
    read_snapshot,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import MARK
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import without_record
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cluster_eligibility import first_fault
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import NOW, cluster

KNOWN = FactsSnapshot(captured_at=NOW, members=(cluster("a", 5), cluster("b", 5)))
PLACE = "/records.db"
RECORDED = {name: cluster(name, 3) for name in ("a", "b")}


def test_facts_of_all_recorded_members_are_taken_as_they_are() -> None:
    assert members_to_decide_on(KNOWN, RECORDED, PLACE) == (KNOWN.members, ())


def test_a_recorded_member_that_they_lack_counts_as_not_read() -> None:
    (first, second), found = members_to_decide_on(replace(KNOWN, members=KNOWN.members[:1]), RECORDED, PLACE)
    assert first == KNOWN.members[0] and second.status.properties == RECORDED["b"].status.properties
    refusal = first_fault(second, NOW)
    assert refusal is not None and refusal.code == "agent-not-online"
    assert [each.code for each in found] == ["not-in-facts"] and "b" in found[0].message


def test_a_cluster_that_is_not_recorded_gets_nothing() -> None:
    members, found = members_to_decide_on(KNOWN, {"a": RECORDED["a"]}, PLACE)
    assert [each.name for each in members] == ["a"]
    assert [each.code for each in found] == ["not-recorded"] and "b" in found[0].message


def test_without_records_the_facts_are_all_there_is() -> None:
    members, found = members_to_decide_on(KNOWN, {}, PLACE)
    assert members == KNOWN.members and [each.code for each in found] == ["no-members-recorded"]
    assert PLACE in found[0].message


def test_labels_and_taints_that_were_changed_since_are_told_with_the_fields() -> None:
    """A renamed key: the policy goes by the one that nobody uses any more, or finds no cluster."""
    facts = (cluster("a", labels={"tier": "gold"}), cluster("b"))
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    recorded = {"a": cluster("a", labels={"class": "gold"}), "b": cluster("b", taints=[taint])}
    members, (told,) = members_to_decide_on(replace(KNOWN, members=facts), recorded, PLACE)
    assert members == facts and told.code == "labels-differ"
    assert "a metadata.labels[tier] 'gold', recorded not there" in told.message
    assert "a metadata.labels[class] not there, recorded 'gold'" in told.message
    assert "b spec.taints none, recorded maintenance" in told.message
    assert "capture" in told.hint


def test_taints_that_differ_in_value_alone_are_told_with_it() -> None:
    old, new = ({"key": "k", "value": value, "effect": "NoSchedule"} for value in ("old", "new"))
    facts = replace(KNOWN, members=(cluster("a", taints=[old]),))
    _members, (told,) = members_to_decide_on(facts, {"a": cluster("a", taints=[new])}, PLACE)
    assert "a spec.taints k=old:NoSchedule, recorded k=new:NoSchedule" in told.message


def test_facts_bring_nothing_back_to_a_member_whose_member_cluster_is_missing() -> None:
    """Captured before it was evacuated, they say that all is well there; what is recorded of that is lost."""
    recorded = {**RECORDED, "b": without_record("b")}
    (first, second), (told,) = members_to_decide_on(KNOWN, recorded, PLACE)
    refusal = first_fault(second, NOW)
    assert first_fault(first, NOW) is None and refusal is not None and refusal.code == "record-missing"
    assert (told.code, told.where) == ("record-missing", "b")
    assert "gitops.fleet.join" in told.hint and "gitops.fleet.leave" in told.hint


def test_facts_alone_say_of_which_member_the_record_was_missing() -> None:
    """A plan without records goes by what the capture found: nothing is known of it, evacuated or not."""
    written = write_snapshot(replace(KNOWN, members=(cluster("a", 5), read_of_b())))
    members, found = members_to_decide_on(read_snapshot(written, "facts.json"), {}, PLACE)
    refusal = first_fault(members[1], NOW)
    assert refusal is not None and refusal.code == "record-missing"
    assert [each.code for each in found] == ["no-members-recorded", "record-missing"]


def test_facts_of_a_member_without_its_record_do_not_know_one_that_has_joined_again() -> None:
    """It may have been evacuated again, and has other labels than none."""
    evacuated = cluster("b", 3, labels={"zone": "x"}, taints=[encode(MARK)])
    facts = replace(KNOWN, members=(cluster("a", 5), read_of_b()))
    (_first, second), found = members_to_decide_on(facts, {**RECORDED, "b": evacuated}, PLACE)
    assert (second.metadata, second.spec) == (evacuated.metadata, evacuated.spec)
    assert "not-in-facts" in [each.code for each in found]


def read_of_b() -> MemberCluster:
    """What a capture makes of a member that answers and has no MemberCluster."""
    return replace(without_record("b"), status=cluster("b", 5).status)
