# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random rotations on a made-up cluster: budgets hold at every step, order never matters, every node ends.

``ROTATIONS`` in the environment is how many worlds of pools, budgets and faults there are, 30 without it.
"""

from __future__ import annotations

import dataclasses
import os
import typing as t
from datetime import datetime
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudgets,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import (
    acts_in_flight,
    begin,
    decide,
    outcome,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import (
    BudgetScope,
    RotationInput,
    RotationNode,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    ENDED,
    RotationSettings,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import NOW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.rotation_made import (
    RotationDecision,
    World,
    a_pool_of,
    run,
    scope,
)

# The two beyond the usual ones have a new node left over that the next node of its pool takes.
SEEDS = (*range(int(os.environ.get("ROTATIONS", "30"))), 8893, 9926)
BUDGETS = (
    Budget("1"),
    Budget("2"),
    Budget("10%"),
    Budget("25%"),
    Budget("50%"),
    Budget("0", "*/10 * * * *", "3m"),
    Budget("1", "0 * * * *", "30m"),
    Budget("0", "* * * * *", "1m", ("Empty",)),
)


def a_world(rng: Random, settings: RotationSettings) -> World:
    pools = [a_pool_of(rng.randrange(1, 9), name) for name in "pqr"[: rng.randrange(1, 4)]]
    nodes = {each.name: each for pool in pools for each in pool}
    names = sorted(nodes)
    apps = {f"app{number}": [rng.choice(names) for _each in range(rng.randrange(1, 5))] for number in range(6)}
    # An app with as many pods as must stay can never be moved: its nodes end blocked.
    least = {app: rng.randrange(len(where) + 1) for app, where in apps.items() if rng.random() < 0.5}
    return World(
        rng,
        nodes,
        apps,
        least,
        scopes=(
            scope(*rng.sample(BUDGETS, rng.randrange(0, 3))),
            *(
                scope(*rng.sample(BUDGETS, rng.randrange(0, 3)), name=each[0].pool, pools=[each[0].pool])
                for each in pools
            ),
        ),
        replacement=settings.replacement,
        shielded=frozenset(rng.sample(names, len(names) // 8)),
        broken=frozenset(rng.sample(names, len(names) // 6)),
    )


def some_settings(rng: Random) -> RotationSettings:
    return RotationSettings(
        replacement=rng.choice(("before", "after", "none")),
        surge=rng.choice((1, 2, "30%")),
        first_wave=rng.choice((1, 2, 5)),
        growth=rng.choice((1, 2, 3)),
        largest_wave=rng.choice((0, 3)),
        soak=rng.choice((0, 120)),
        node_timeout=900,
        attempts=rng.choice((1, 2)),
        retry_after=180,
        max_failures=rng.choice((0, 1, 99)),
        blocked_timeout=3600,
        time_limit=rng.choice((0, 7200)),
    )


def used_and_limit(one: BudgetScope, sight: RotationInput, found: RotationDecision, now: datetime) -> tuple[int, int]:
    """Places that are disrupted, and how many may be: counted anew, place by place, from the names alone."""
    there = {each.name: each for each in sight.nodes}
    records = {each.name: each for each in found.state.nodes if one.covers_any({each.pool})}
    lost = {name for name, each in records.items() if each.in_flight}
    beside = {each.replacement for each in records.values() if each.in_flight and each.name in there}
    awaited = {each.name for each in records.values() if each.in_flight and each.name not in there}
    early = [name for pool in "pqr" for name in _early(found, there, pool) if one.covers_any({pool})]
    places = {name for name, each in there.items() if one.covers_any({each.pool})} - beside - set(early) | awaited
    limit = allowed(one.budgets, now, len(places), "Drifted").limit
    return len(lost), limit


def _early(found: RotationDecision, there: t.Mapping[str, RotationNode], pool: str) -> list[str]:
    """New nodes that nobody has taken, as many as there are nodes of the pool that have not got theirs."""
    known, taken = set(found.state.known), {each.replacement for each in found.state.nodes}
    new = [name for name, each in there.items() if each.pool == pool and name not in known | taken]
    lack = [each for each in found.state.nodes if each.pool == pool and not each.ended and not each.replacement]
    return new[: len([each for each in lack if each.name in there])]


def shuffled(sight: RotationInput, rng: Random) -> RotationInput:
    """The same facts in another order."""

    def mixed(rows: t.Iterable[t.Any]) -> list[t.Any]:
        out = list(rows)
        return rng.sample(out, len(out))

    return dataclasses.replace(
        sight,
        nodes=tuple(mixed(sight.nodes)),
        scopes=tuple(mixed(sight.scopes)),
        pods={name: mixed(pods) for name, pods in mixed(sight.pods.items())},
        limits={name: PodDisruptionBudgets(mixed(each.budgets)) for name, each in sight.limits.items()},
        failed=dict(mixed(sight.failed.items())),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_budget_is_never_exceeded_and_every_node_ends(seed: int) -> None:
    rng = Random(seed)
    settings = some_settings(rng)
    world = a_world(rng, settings)
    state = begin(rng.sample(sorted(world.nodes), rng.randrange(1, len(world.nodes) + 1)), world.sight(), settings, NOW)
    begun: dict[str, int] = {}
    for now, sight, found in run(world, state, 60 * 24 * 2):
        new = [act for act in found.acts if act.kind in ("drain", "add-node") and "is there" not in act.text]
        for one in sight.scopes:
            pools = {each.pool for each in new if one.covers_any({each.pool})}
            used, limit = used_and_limit(one, sight, found, now)
            assert not pools or used <= limit, (one.name, now)
        for act in new:
            begun[act.node] = begun.get(act.node, 0) + 1
        waiting = {each.name for each in found.state.nodes if each.phase == "Waiting"}
        assert {each.name for each in found.waits} == waiting
        assert all(each.blockers for each in found.waits)
        assert outcome(found.state) != "waiting" or found.wake_at is None or found.wake_at > now
        state = found.state
    assert outcome(found.state) == "done"
    assert {each.phase for each in state.nodes} <= set(ENDED)
    assert all(each.code for each in state.nodes)
    assert all(number <= settings.attempts for number in begun.values())
    assert not world.draining, "no node keeps its taint"


@pytest.mark.parametrize("seed", SEEDS[:15])
def test_the_order_of_inputs_never_matters(seed: int) -> None:
    rng = Random(seed)
    settings = some_settings(rng)
    world = a_world(rng, settings)
    names = sorted(world.nodes)
    state = begin(names, world.sight(shuffle=False), settings, NOW)
    for now, sight, found in run(world, state, 40):
        for _time in range(2):
            assert decide(state, shuffled(sight, rng), now) == found
        state = found.state
    names = rng.sample(sorted(world.nodes), len(world.nodes))
    assert begin([*names, *names], world.sight(), settings, NOW) == begin(names, world.sight(), settings, NOW)


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_the_state_survives_printing_and_a_crash_after_each_step(seed: int) -> None:
    rng = Random(seed)
    settings = some_settings(rng)
    world = a_world(rng, settings)
    state = begin(sorted(world.nodes), world.sight(), settings, NOW)
    for _now, _sight, found in run(world, state, 60):
        assert decode(RotationState, encode(found.state)) == found.state
        again = {(each.kind, each.node) for each in acts_in_flight(found.state)}
        assert {(each.kind, each.node) for each in found.acts} <= again


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_a_stop_ends_everything_that_had_not_begun(seed: int) -> None:
    rng = Random(seed)
    settings = some_settings(rng)
    world = a_world(rng, settings)
    state = begin(sorted(world.nodes), world.sight(), settings, NOW)
    *_before, (now, _sight, found) = run(world, state, 10)
    stopped = decide(found.state, world.sight(stop=True), now)
    assert {each.phase for each in stopped.state.nodes} <= {*ENDED, "Surging", "Draining", "Returning"}
    assert not [act for act in stopped.acts if act.kind == "add-node"]
    assert decide(stopped.state, world.sight(), now).waits == ()
