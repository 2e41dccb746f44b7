# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What ``gitops.fleet.nodes`` plans for a cluster, beside what Karpenter then does with it.

A random cluster each time; ``KARPENTER_CLUSTERS=20`` tries as many, and prints each with what both of us say.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import typing as t
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import get_binaries

sys.path.insert(0, str(Path(__file__).parents[1] / "playbooks"))

from karpenter_cluster import NODES, PODS, POOLS, Karpenter, holds
from kwok_catalogue import CAPACITY_TYPE, ZONE, write_catalogue
from playing import Player
from small_fleet import Document, Fleet

CLUSTERS = int(os.environ.get("KARPENTER_CLUSTERS", "1"))
SIZES = [f"{family}-{cpu}x-amd64-linux" for cpu in (1, 2, 4, 8) for family in "csm"]
ELIGIBLE = "karpenter_voluntary_disruption_eligible_nodes"
FREE: Document = {"spec": {"disruption": {"budgets": []}}}
CLOSED: Document = {"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
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


def ours(command: Document, types: t.Mapping[str, str]) -> Deed:
    """Of the types of a replacement the first five, which are all that Karpenter's log names."""
    names = [frozenset(each["instanceTypes"][:5]) for each in command["replacements"]]
    return Deed(frozenset(command["nodes"]), tuple(sorted(types[each] for each in command["nodes"])), tuple(names))


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


def planned(fleet: Fleet) -> Document:
    """What a user is told who asks for the plan of the member, with the provider's types in a file."""
    catalogue = write_catalogue(get_binaries(["karpenter"], "")["karpenter"].path, fleet.folder / "types.json")
    told = fleet.folder / "told.json"
    asked = {"members": ["k1"], "plan": True, "catalogue": catalogue, "result_file": str(told)}
    Player(fleet.folder)("gitops.fleet.nodes", records=fleet.options, **asked).clean()
    (plan,) = json.loads(told.read_text(encoding="utf-8"))["plans"]
    assert plan["unknown"] == "" and plan["catalogue"] == "given"
    return t.cast(Document, plan)


def worths(karpenter: Karpenter, types: t.Sequence[Document]) -> dict[str, float]:
    """By node what Karpenter sorts by: the price of an hour over the cost of moving its pods, each of which costs 1."""
    prices = {
        (each["name"], offering["zone"], offering["capacityType"]): offering["price"]
        for each in types
        for offering in each["offerings"]
    }
    pods = Counter(each["spec"].get("nodeName") for each in karpenter.listed(PODS))
    nodes = {each["metadata"]["name"]: each["metadata"]["labels"] for each in karpenter.listed(NODES)}
    return {
        name: prices[tuple(labels[key] for key in (INSTANCE_TYPE, ZONE, CAPACITY_TYPE))] / (1 + pods[name])
        for name, labels in nodes.items()
    }


def as_good(deed: Deed, foreseen: Deed, plan: Document, worth: t.Mapping[str, float]) -> bool:
    """Whether chance alone makes the difference: a single node that is worth as much as ours, of which we say, too,
    that this would become of it if it were the one."""
    if (
        len(deed.nodes) != 1
        or len(foreseen.nodes) != 1
        or len({round(worth[each], 9) for each in deed.nodes | foreseen.nodes}) > 1
    ):
        return False
    (row,) = (each for each in plan["nodes"] if each["node"] in deed.nodes)
    replacements = tuple(frozenset(each["instanceTypes"][:5]) for each in row["replacements"])
    return row["decision"] != "keep" and replacements == deed.replacements


@pytest.mark.parametrize("seed", range(1, CLUSTERS + 1))
def test_the_next_command_is_the_one_that_we_foresee(karpenter: Karpenter, karpenter_fleet: Fleet, seed: int) -> None:
    """D0-23, D0-24, D0-28: which nodes go together, and what comes in their place. Karpenter stands still while we are
    asked, so that both look at the same cluster, with the same budgets. Its methods look at budgets one after the
    other: opened in the middle of a pass, they would be missed by those that come first."""
    pool = f"random-{seed}"
    try:
        fill(karpenter, pool, random.Random(seed))
        nodes = {each["metadata"]["name"]: each["metadata"]["labels"] for each in karpenter.listed(NODES)}
        with karpenter.standing_still():
            karpenter.patch(f"{POOLS}/{pool}", FREE)
            plan = planned(karpenter_fleet)
            types = json.loads((karpenter_fleet.folder / "types.json").read_text(encoding="utf-8"))["instanceTypes"]
            worth = worths(karpenter, types)
            karpenter.patch(f"{POOLS}/{pool}", CLOSED)
        karpenter.end_of_pass()
        start = len(karpenter.log())
        karpenter.patch(f"{POOLS}/{pool}", FREE)
        kinds = {name: labels[INSTANCE_TYPE] for name, labels in nodes.items()}
        assert {each["node"] for each in plan["nodes"]} == nodes.keys()
        foreseen = [ours(each, kinds) for each in plan["next"]] or [NOTHING]
        if plan["next"]:
            karpenter.until(lambda: bool(karpenter.told("disrupting node(s)", start)), "Karpenter did nothing")
        else:
            karpenter.passes(3)
        done = [karpenters(each) for each in karpenter.told("disrupting node(s)", start)][: len(foreseen)] or [NOTHING]
        print(f"\ncluster {seed}: {len(nodes)} nodes; ours {foreseen}; Karpenter {done}")
        if len(done) == len(foreseen) == 1 and as_good(done[0], foreseen[0], plan, worth):
            return
        assert [each.shape for each in done] == [each.shape for each in foreseen], worth
    finally:
        karpenter.end_of(pool)
