# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The NodeClaim of a node, found without reading all others."""

from __future__ import annotations

import sys
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import (
    NodeRotation,
    NodeRotationSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.draining import NodeWork
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.replacing import (
    CLAIMS,
    NodeReplacer,
    ReplacementWish,
    _delete_claim,
    driver_problems,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import a_claim, a_node

Document = dict[str, t.Any]
WORK = NodeWork(member="m", node="a", uid="u-a", operation="by-hand/a")


class Server:
    """One Node with its ``owners``, and NodeClaims by name with the node that each is of."""

    server_name = "m"

    def __init__(self, owners: list[str], **claims: str) -> None:
        self.owners, self.claims = owners, claims
        self.lists: list[t.Any] = []
        self.deleted: list[tuple[str, t.Any]] = []

    def get(self, path: str, _query: t.Any = None) -> Document:
        name = path.rpartition("/")[2]
        if path.startswith(CLAIMS):
            if name not in self.claims:
                raise ApiError("not-found", "it is not there")
            return self._claim(name)
        owners = [{"kind": "NodeClaim", "name": each} for each in self.owners]
        return {"kind": "Node", "metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "1",
                                             "ownerReferences": owners}}  # fmt: skip

    def sized(self, _verb: str, path: str, query: Document, **_more: t.Any) -> tuple[Document, int]:
        """Pages of one."""
        self.lists.append(query.get("limit"))
        at = int(query.get("continue") or 0)
        names = list(self.claims)
        more = {"continue": str(at + 1)} if at + 1 < len(names) else {}
        return {"kind": "NodeClaimList", "metadata": more, "items": [self._claim(names[at])] if names else []}, 1

    def delete(self, path: str, body: Document) -> None:
        self.deleted.append((path, body["preconditions"]["uid"]))

    def _claim(self, name: str) -> Document:
        metadata = {"name": name, "uid": f"u-{name}", "resourceVersion": "1"}
        return {"kind": "NodeClaim", "metadata": metadata, "status": {"nodeName": self.claims[name]}}


def deleted(server: Server) -> list[tuple[str, t.Any]]:
    _delete_claim(t.cast(t.Any, server), WORK)
    return server.deleted


def test_the_owner_of_a_node_is_asked_for_by_its_name() -> None:
    server = Server(["mine"], other="b", mine="a")
    assert deleted(server) == [(f"{CLAIMS}/mine", "u-mine")] and server.lists == []


@pytest.mark.parametrize("owners", [[], ["gone"], ["other"]])
def test_without_an_owner_that_is_of_the_node_all_are_looked_through_page_by_page(owners: list[str]) -> None:
    server = Server(owners, other="b", mine="a", further="c")
    assert deleted(server) == [(f"{CLAIMS}/mine", "u-mine")] and server.lists == [500, 500]


def test_a_node_without_a_node_claim_is_told() -> None:
    with pytest.raises(FleetError) as error:
        deleted(Server([], other="b"))
    assert error.value.code == "no-node-claim"


def test_a_node_that_is_not_registered_is_judged_by_its_own_name() -> None:
    """Its NodeClaim speaks for it, under another name."""
    fresh = a_node("b", labels={"karpenter.sh/initialized": "false"})
    here = MemberNodes(name="m", nodes=(fresh, Node(name="x")), claims=(a_claim(fresh),))
    rotation = NodeRotation(metadata=ObjectMeta(name="r"), spec=NodeRotationSpec())
    found = driver_problems([here], {"m/b", "m/x"}, rotation, ReplacementWish(driver="local"))
    assert [(each.code, each.where) for each in found] == [("not-simulated", "m/b"), ("not-simulated", "m/x")]


def test_of_what_a_failed_command_has_said_a_record_gets_no_more_than_it_can_hold() -> None:
    class Hands:
        pause = staticmethod(lambda _seconds: None)

    rotation = NodeRotation(metadata=ObjectMeta(name="r"), spec=NodeRotationSpec())
    script = "print('first'); print(*['x' * 5000] * 4, sep='\\n'); print('last'); raise SystemExit(3)"
    replacer = NodeReplacer(rotation=rotation, wish=ReplacementWish(command=(sys.executable, "-c", script)))
    with pytest.raises(FleetError) as error:
        replacer._run(WORK, t.cast(t.Any, Hands()), "")
    assert error.value.code == "command-failed" and "ended with 3: xxx" in error.value.message
    assert 2000 < len(error.value.message) < 2300 and "more characters)" in error.value.message


def test_a_real_node_is_not_replaced_by_a_simulated_one() -> None:
    """Whoever begins it may have named another driver than whoever carries it on."""
    server = Server([])

    class Hands:
        client = staticmethod(lambda: server)
        pause = staticmethod(lambda _seconds: None)

    rotation = NodeRotation(metadata=ObjectMeta(name="r"), spec=NodeRotationSpec())
    replacer = NodeReplacer(rotation=rotation, wish=ReplacementWish(driver="local"))
    for act in (replacer.replace, replacer.add):
        with pytest.raises(FleetError) as error:
            act(WORK, t.cast(t.Any, Hands()))
        assert error.value.code == "not-simulated"
    assert not server.deleted
