# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F1: a region that is lost is told in one line."""

from __future__ import annotations

from typing import Any

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.together import silent_together
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode


def member(name: str, **labels: str) -> MemberCluster:
    return decode(MemberCluster, {"metadata": {"name": name, "labels": labels}})


FLEET = [
    member("w1", region="west", zone="1", env="prod", team="a"),
    member("w2", region="west", zone="2", env="dev", team="a"),
    member("w3", region="west", zone="1", env="dev", team="a"),
    member("e1", region="east", env="prod", team="a"),
    member("e2", region="east", env="prod", team="a"),
]


def told(*silent: str, fleet: Any = None) -> list[str]:
    return [each.sentence for each in silent_together(silent, fleet or FLEET)]


def test_a_region_of_which_none_answers_is_one_line() -> None:
    assert told("w1", "w2", "w3") == ["region west: 3 of 3 do not answer"]
    assert told("w1", "w2", "w3", "e1") == ["region west: 3 of 3 do not answer"]
    (group,) = silent_together({"w1", "w2", "w3"}, FLEET)
    assert group.as_dict()["clusters"] == ["w1", "w2", "w3"]


def test_what_still_answers_makes_it_another_trouble() -> None:
    assert told() == told("w1") == told("w1", "w2") == told("e1") == []
    assert told("w1", "w3") == ["zone 1: 2 of 2 do not answer"]


def test_each_cluster_is_told_once_by_what_is_lost_most() -> None:
    assert told("w1", "w2", "w3", "e1", "e2") == [
        "region west: 3 of 3 do not answer",
        "region east: 2 of 2 do not answer",
    ]


def test_what_all_share_says_nothing() -> None:
    assert told("a", "b", fleet=[member("a", team="x"), member("b", team="x")]) == []
