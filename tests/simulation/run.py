# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""`make simulate [RUNS=10000] [SEED=0]`: so many update runs on a virtual clock, a third of each type, in random fleets
whose conductors are killed, frozen and cut off. In the end nothing was upgraded twice, and each run came to its end. A
process for each processor.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import typing as t
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.tests.simulation.random_worlds import KINDS, simulated
from ansible_collections.gitops.fleet.tests.simulation.world import World, rows

MEMORY = Path("/dev/shm")
SHOWN = 20


def counted(folder: str, number: int) -> tuple[Counter[str], str]:
    """What happened in the simulation of this number, and what is wrong with it, if anything."""
    kind = KINDS[number % len(KINDS)]
    path = Path(folder, f"{number}.db")
    try:
        return happened(simulated(path, kind, number), kind), ""
    except AssertionError as error:
        return Counter(), str(error)
    finally:
        for left in Path(folder).glob(f"{number}.db*"):
            left.unlink()


def happened(world: World, kind: str) -> Counter[str]:
    upgrades = [each for member in world.members.values() for each in member.upgrades]
    changes = [each for member in world.members.values() for each in member.pool_changes]
    found = Counter({f"runs {kind}": 1, "processes": world.processes})
    found["control planes upgraded"] = sum(each.well for each in upgrades)
    found["nodes replaced"] = sum(len(each.nodes) for each in changes if each.well)
    found["upgrades that failed"] = [*(each.well for each in upgrades), *(each.well for each in changes)].count(False)
    return found + Counter(f"members {row.state}" for row in rows(world.state()))


def simulations(runs: int, seed: int) -> tuple[Counter[str], list[str]]:
    """The sum over all, and what was wrong."""
    total: Counter[str] = Counter()
    wrong: list[str] = []
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    # Each simulation leaves threads of killed processes behind, which end with the worker.
    pool = multiprocessing.get_context("fork").Pool(maxtasksperchild=50)
    with pool, tempfile.TemporaryDirectory(prefix="simulated-", dir=place) as folder:
        for found, why in pool.imap_unordered(partial(counted, folder), range(seed, seed + runs)):
            total += found
            wrong += [why] if why else []
    pool.join()
    return total, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="make simulate")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    total, wrong = simulations(given.runs, given.seed)
    for name, count in sorted(total.items()):
        print(f"{count:8} {name}")
    for each in wrong[:SHOWN]:
        print(each, file=sys.stderr)
    used: t.Any = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{given.runs} runs, {len(wrong)} broke a rule; {used.ru_utime + used.ru_stime:.0f} s of CPU")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
