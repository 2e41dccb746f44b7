# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes as tables: which image is where, what holds a node; edits of what nodes come from."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.class_changes import ClassChange
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.node_answers import NodeAnswer
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.changes_text import class_changes_text
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.nodes_text import images_text, nodes_text


def answer(member: str, node: str, pool: str = "work", image: str = "Linux-1.0") -> NodeAnswer:
    return NodeAnswer(
        member=member,
        node=f"{member}-{node}",
        pool=pool,
        causes={},
        graceful=(),
        eventual=(),
        rotation=(),
        expires=None,
        origin="",
        managed=False,
        image=image,
        version="v1.36.3",
    )


def test_which_nodes_have_the_image_is_told_by_cluster_and_pool() -> None:
    answers = [answer(member, f"{number}") for member in ("dev-eu-1", "prod-eu-1") for number in range(3)]
    answers += [answer("prod-eu-1", "batch-0", pool="batch"), answer("prod-us-1", "n", pool="", image="Linux-1.1")]
    assert images_text(answers) == [
        "  IMAGE      KUBELET  NODES  WHERE",
        "  Linux-1.0  v1.36.3  7      2 clusters: dev-eu-1 work 3, prod-eu-1 batch 1,",
        "                             prod-eu-1 work 3",
        "  Linux-1.1  v1.36.3  1      1 cluster: prod-us-1 1",
    ]
    assert images_text(()) == [] and nodes_text(()) == ["no member has a node"]


def test_the_images_of_many_clusters_fit_80_columns() -> None:
    answers = [answer(f"production-europe-{number}", "0", image="") for number in range(60)]
    lines = images_text(answers)
    assert max(map(len, lines)) <= 80 and "60 clusters" in lines[1] and lines[-1].endswith("and 40 more")
    assert lines[1].split()[0] == "unknown"


def test_nothing_that_holds_a_node_is_told_without_the_word_that_budgets_are_not_meant() -> None:
    lines = nodes_text([replace(answer("m", "0"), causes={"Empty": "no pod"})])
    assert lines[1].endswith("HELD BY, BUDGETS APART") and lines[2].endswith("nothing")


def test_an_edit_that_changes_nothing_is_not_told_as_one() -> None:
    same = ClassChange(member="m", kind="NodePool", name="p", count=2, changed=(), drifted={}, unsure={})
    assert class_changes_text([same]) == ["m: NodePool p, 2 nodes: no change of what nodes are judged by"]
