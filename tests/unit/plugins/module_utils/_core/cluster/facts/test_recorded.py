# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.recorded import beside
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cluster_eligibility import judge
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import NOW, cluster

KNOWN = FactsSnapshot(captured_at=NOW, members=(cluster("a", 5), cluster("b", 5)))
PLACE = "/records.db"
RECORDED = {name: cluster(name, 3) for name in ("a", "b")}


def test_facts_of_all_recorded_members_are_taken_as_they_are() -> None:
    assert beside(KNOWN, RECORDED, PLACE) == (KNOWN.members, ())


def test_a_recorded_member_that_they_lack_counts_as_not_read() -> None:
    (first, second), found = beside(replace(KNOWN, members=KNOWN.members[:1]), RECORDED, PLACE)
    assert first == KNOWN.members[0] and second.status.properties == RECORDED["b"].status.properties
    refusal = judge(second, NOW)
    assert refusal is not None and refusal.code == "agent-not-online"
    assert [each.code for each in found] == ["not-in-facts"] and "b" in found[0].message


def test_a_cluster_that_is_not_recorded_gets_nothing() -> None:
    members, found = beside(KNOWN, {"a": RECORDED["a"]}, PLACE)
    assert [each.name for each in members] == ["a"]
    assert [each.code for each in found] == ["not-recorded"] and "b" in found[0].message


def test_without_records_the_facts_are_all_there_is() -> None:
    members, found = beside(KNOWN, {}, PLACE)
    assert members == KNOWN.members and [each.code for each in found] == ["no-members-recorded"]
    assert PLACE in found[0].message


def test_labels_and_taints_that_were_changed_since_are_told_with_the_fields() -> None:
    """A renamed key: the policy goes by the one that nobody uses any more, or finds no cluster."""
    facts = (cluster("a", labels={"tier": "gold"}), cluster("b"))
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    recorded = {"a": cluster("a", labels={"class": "gold"}), "b": cluster("b", taints=[taint])}
    members, (told,) = beside(replace(KNOWN, members=facts), recorded, PLACE)
    assert members == facts and told.code == "labels-differ"
    assert "a metadata.labels[tier] 'gold', recorded not there" in told.message
    assert "a metadata.labels[class] not there, recorded 'gold'" in told.message
    assert "b spec.taints none, recorded maintenance" in told.message
    assert "capture" in told.hint


def test_taints_that_differ_in_value_alone_are_told_with_it() -> None:
    old, new = ({"key": "k", "value": value, "effect": "NoSchedule"} for value in ("old", "new"))
    facts = replace(KNOWN, members=(cluster("a", taints=[old]),))
    _members, (told,) = beside(facts, {"a": cluster("a", taints=[new])}, PLACE)
    assert "a spec.taints k=old:NoSchedule, recorded k=new:NoSchedule" in told.message
