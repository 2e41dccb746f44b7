# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import Taint
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.tolerations import covers
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import Toleration
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    binding,
    cluster,
    decide,
    fleet,
    picked,
)

GPU = Taint(key="gpu", value="a100", effect="NoSchedule")
TAINTS = [{"key": key, "value": "1", "effect": "NoSchedule"} for key in ("one", "two")]


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        (Toleration(key="gpu", value="a100"), True),
        (Toleration(key="gpu", value="other"), False),
        (Toleration(key="gpu"), False),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(key="gpu", operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", value="a100", operator=""), False),
    ],
)
def test_what_a_toleration_covers_D4_70_D4_72(toleration, covered):
    assert covers(toleration, GPU) is covered


def policy(*keys: str) -> dict:
    return {"placementType": "PickAll", "tolerations": [{"key": key, "operator": "Exists"} for key in keys]}


def test_all_taints_must_be_tolerated_and_the_first_other_is_named_D4_74():
    index = fleet(cluster("a", taints=TAINTS))
    (refused,) = decide(policy("one"), index).left_out
    assert (refused.rule, refused.refusal.details) == ("TaintToleration", {"taint": "two=1:NoSchedule"})
    assert picked(decide(policy("one", "two"), index)) == ["a"]


def test_a_later_taint_removes_nothing_but_is_told_D4_76():
    outcome = decide(policy(), fleet(cluster("a", taints=TAINTS)), binding("a"))
    assert (picked(outcome), outcome.changes) == (["a"], ())
    assert outcome.holders_refused_today["a"].code == "taint-not-tolerated"
    edited = decide(policy(), fleet(cluster("a", taints=TAINTS)), binding("a", policy="web-0"))
    assert picked(edited) == []
