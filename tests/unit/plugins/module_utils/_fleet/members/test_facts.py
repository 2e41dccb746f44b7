# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What nodes say of themselves, without what we log in with."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import facts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection, bearer

TOKEN = "canary-of-a-token"


class Answering(KubeClient):
    """It has shown its token, and lists these nodes."""

    def __init__(self, *nodes: t.Any) -> None:
        super().__init__(Connection("https://m1.example:6443", token=TOKEN, name="m1"))
        self._nodes = nodes
        assert self._credential().authorization == bearer(TOKEN)

    def sized(self, *_arguments: t.Any, **_options: t.Any) -> tuple[dict[str, t.Any], int]:
        return {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": list(self._nodes)}, 1


def node(**changes: str) -> dict[str, t.Any]:
    told = {"name": "n1", "kubelet": "v1.36.0", "image": "Linux", "kind": "large", "amount": "cpu", **changes}
    return {
        "metadata": {"name": told["name"], "labels": {"node.kubernetes.io/instance-type": told["kind"]}},
        "status": {
            "nodeInfo": {"kubeletVersion": told["kubelet"], "osImage": told["image"]},
            "capacity": {told["amount"]: "4"},
            "allocatable": {told["amount"]: "3"},
        },
    }


def test_facts_of_nodes_are_as_they_are_told() -> None:
    (found,) = facts._nodes(Answering(node()))
    assert (found.name, found.version, found.image, found.instance_type) == ("n1", "v1.36.0", "Linux", "large")
    assert (found.capacity, found.allocatable) == ({"cpu": "4"}, {"cpu": "3"})


@pytest.mark.parametrize("part", ["name", "kubelet", "image", "kind", "amount"])
def test_no_part_of_a_node_gives_our_token_away(part: str) -> None:
    plain, found = facts._nodes(Answering(node(name="a"), node(**{"name": "b", part: f"b-{TOKEN}"})))
    assert TOKEN not in repr(found) and "b-(hidden)" in repr(found)
    assert "(hidden)" not in repr(plain)
