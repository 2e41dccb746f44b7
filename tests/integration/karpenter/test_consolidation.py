# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Our plan of what Karpenter does next with a cluster, beside what it then does.

A few random clusters each time; ``KARPENTER_CLUSTERS=20`` tries as many, and prints each with what both of us say.
"""

from __future__ import annotations

import dataclasses
import os
import random
import re
import typing as t
from dataclasses import dataclass

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.commands import Command
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import pass_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.pool_stop import merged
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish, read_all
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import find
from karpenter_cluster import POOLS, Karpenter, holds
from kwok_catalogue import catalogue
from small_fleet import Document, Fleet

CLUSTERS = int(os.environ.get("KARPENTER_CLUSTERS", "1"))
SIZES = [f"{family}-{cpu}x-amd64-linux" for cpu in (1, 2, 4, 8) for family in "csm"]
ELIGIBLE = "karpenter_voluntary_disruption_eligible_nodes"
FREE: Document = {"spec": {"disruption": {"budgets": []}}}
_MORE = re.compile(r" and \d+ other\(s\)$")


@dataclass(frozen=True)
class Deed:
    """One command: how many nodes go, which, of what types, and of what types their replacement may be."""

    nodes: frozenset[str] = frozenset()
    types: tuple[str, ...] = ()
    replacements: tuple[frozenset[str], ...] = ()

    @property
    def shape(self) -> t.Any:
        """The same but for which of several equal nodes go, which Karpenter leaves to chance."""
        return self.types, self.replacements


NOTHING = Deed()


def ours(command: Command, types: t.Mapping[str, str]) -> Deed:
    """Of the types of a replacement the first five, which are all that Karpenter's log names."""
    names = [frozenset(each.instance_types[:5]) for each in command.replacements]
    return Deed(frozenset(command.nodes), tuple(sorted(types[each] for each in command.nodes)), tuple(names))


def karpenters(line: Document) -> Deed:
    gone = line["disrupted-nodes"]
    found = [_MORE.sub("", each.get("instance-types", "")) for each in line["replacement-nodes"] or ()]
    return Deed(
        frozenset(each["Node"]["name"] for each in gone),
        tuple(sorted(each["instance-type"] for each in gone)),
        tuple(frozenset(filter(None, each.split(", "))) for each in found),
    )


def fill(karpenter: Karpenter, pool: str, chance: random.Random) -> None:
    """A pool with Deployments of all sizes, of which some have shrunk since; Karpenter may not act yet."""
    karpenter.pool(pool, [{"nodes": "0"}])
    capacity = chance.choice([["on-demand"], ["spot", "on-demand"]])
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": capacity},
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": SIZES},
    ]
    karpenter.patch(f"{POOLS}/{pool}", {"spec": {"template": {"spec": {"requirements": requirements}}}})
    shrunk: dict[str, int] = {}
    for number in range(chance.randint(2, 4)):
        name, replicas = f"{pool}-{number}", chance.randint(2, 4)
        karpenter.run(name, pool, replicas, chance.random() < 0.5, f"{chance.randint(2, 25)}00m")
        shrunk[name] = chance.randint(0, replicas)
    karpenter.until(lambda: karpenter.all_run(pool), f"the pods of {pool} did not all run")
    for name, replicas in shrunk.items():
        karpenter.scale(name, replicas)
    karpenter.until(lambda: karpenter.all_run(pool), f"{pool} did not shrink")
    karpenter.until(lambda: _eligible(karpenter, pool), f"Karpenter did not take all nodes of {pool} for candidates")


def _eligible(karpenter: Karpenter, pool: str) -> bool:
    """Karpenter itself would look at every node: none waits for a pod that it was made for any more."""
    claims = karpenter.claims(pool).values()
    if not all(holds(each, "Consolidatable") for each in claims):
        return False
    found = karpenter.metrics(ELIGIBLE)
    return found.get(("empty",), 0) + found.get(("underutilized",), 0) == len(claims)


def state_of(fleet: Fleet) -> ClusterState:
    """The member as our verbs read it, with the catalogue of the provider and the pools' budgets lifted."""
    types = catalogue(find(["karpenter"], "")["karpenter"].path)
    (member,) = read_all(fleet.session(), ReadingWish()).members
    pools = {
        name: dataclasses.replace(each, pool=decode_node_pool(merged(each.pool.manifest, FREE)), instance_types=types)
        for name, each in member.state.pools.items()
    }
    return dataclasses.replace(member.state, pools=pools)


def free(karpenter: Karpenter, pool: str) -> int:
    """Lets Karpenter act; how long its log was before."""
    start = len(karpenter.log())
    karpenter.patch(f"{POOLS}/{pool}", FREE)
    return start


@pytest.mark.parametrize("seed", range(1, CLUSTERS + 1))
def test_the_next_command_is_the_one_that_we_foresee(karpenter: Karpenter, karpenter_fleet: Fleet, seed: int) -> None:
    """D0-23, D0-24, D0-28: which nodes go together, and what comes in their place."""
    pool = f"random-{seed}"
    try:
        fill(karpenter, pool, random.Random(seed))
        state = state_of(karpenter_fleet)
        start = free(karpenter, pool)
        planned = pass_of(MethodInput(state, karpenter_fleet.now)).commands
        kinds = {each.name: each.labels["node.kubernetes.io/instance-type"] for each in state.nodes}
        foreseen = [ours(each, kinds) for each in planned] or [NOTHING]
        if planned:
            karpenter.until(lambda: bool(karpenter.told("disrupting node(s)", start)), "Karpenter did nothing")
        else:
            karpenter.passes(3)
        done = [karpenters(each) for each in karpenter.told("disrupting node(s)", start)][: len(foreseen)] or [NOTHING]
        print(f"\ncluster {seed}: {len(state.nodes)} nodes; ours {foreseen}; Karpenter {done}")
        assert [each.shape for each in done] == [each.shape for each in foreseen]
    finally:
        karpenter.end_of(pool)
