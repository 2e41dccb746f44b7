# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    cluster,
    fleet,
    picked,
    placement,
    snapshot,
)

COLLECTED = [{"type": "NamespaceCollectionSucceeded", "status": "True"}]


def members(namespaces):
    return fleet(cluster("a", conditions=COLLECTED, namespaces=namespaces))


def outcome(index, kind="ResourcePlacement", upstream=False):
    wanted = placement(kind=kind, metadata={"namespace": "shop"})
    return schedule(wanted, snapshot(), index, (), upstream=upstream)


def test_the_namespace_must_be_known_there():
    assert picked(outcome(members({"shop": "web"}))) == ["a"]
    refused = outcome(members({"other": ""})).left_out[0]
    assert (refused.rule, refused.refusal.code) == ("NamespaceAffinity", "namespace-missing")
    assert outcome(members(None)).left_out[0].refusal.code == "namespaces-unknown"


def test_members_that_do_not_collect_namespaces_pass():
    assert picked(outcome(fleet("a"))) == ["a"]


def test_cluster_scoped_placements_do_not_ask():
    assert picked(outcome(members({}), kind="ClusterResourcePlacement")) == ["a"]


def test_a_list_that_was_cut_does_not_say_that_a_namespace_is_missing():
    full = members({f"n{number}": "" for number in range(200)})
    assert picked(outcome(full)) == ["a"]
    assert picked(outcome(full, upstream=True)) == []


def test_a_namespaced_placement_makes_namespaced_bindings():
    (made,) = outcome(fleet("a")).bindings
    assert (made.kind, made.metadata.namespace) == ("ResourceBinding", "shop")
