# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make soak [KILLS=200] [SEED=1]`: applies, updates, leaves and recovers on real clusters, each killed at a random
instant by SIGKILL and run again; then what was wanted is there, what is foreign is untouched, nothing was begun twice,
and once more changes nothing. Half of the kills with records in a file, half with records on a hub.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import typing as t
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration" / "updates"))

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec
from conducting import Plays
from small_fleet import Server
from world import HERE, World

MEMBERS = ("m1", "m2", "m3")
WHOM = ("all", "all", "parent", "worker")
LEAVE, JOIN = str(HERE / "leave.yml"), str(HERE / "join.yml")
APPLY, UPDATE, RECOVER = "gitops.fleet.apply", "gitops.fleet.update", "gitops.fleet.recover"


class Soak:
    """Chooses what is done and when it is killed, from one seed."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.kills: Counter[str] = Counter()
        self.working: dict[str, float] = {}

    def begin(self) -> None:
        self.world.done(JOIN, self.world.joining(*self.world.servers))
        self.world.write({f"item-{number}": "0" for number in range(8)})
        self.world.done(APPLY, self.world.variables())
        self.world.check_content()

    def step(self) -> None:
        action: t.Callable[[], None] = self.chance.choice(
            (self.apply, self.apply, self.update, self.leave, self.recover)
        )
        action()

    def apply(self) -> None:
        """Other values; now and then an object more or less."""
        count = self.chance.randint(5, 10)
        self.world.write({f"item-{number}": str(self.chance.random()) for number in range(count)})
        self._killed_and_done(APPLY, self.world.variables())
        self.world.check_content()
        self.world.check_idempotent()

    def update(self) -> None:
        self.world.write_run()
        self._killed_and_done(UPDATE, self.world.variables())
        self.world.check_begun()

    def leave(self) -> None:
        name, removed = self.chance.choice(MEMBERS), self.chance.random() < 0.5
        told = self.world.variables(member=name, placed="remove" if removed else "keep")
        self._killed_and_done(LEAVE, told)
        self.world.check_left(name, removed)
        self.world.done(JOIN, self.world.joining(name))
        self.world.done(APPLY, self.world.variables())
        self.world.check_content()

    def recover(self) -> None:
        self.world.forget_records()
        self.world.done(JOIN, self.world.joining(*self.world.servers))
        self._killed_and_done(RECOVER, self.world.variables())
        played = self.world.done(APPLY, self.world.variables())
        assert played.changed == 0, played.output
        self.world.check_content()

    def _killed_and_done(self, playbook: str, variables: dict[str, t.Any]) -> None:
        whom = self.chance.choice(WHOM)
        usual = self.working.get(playbook, 2.0)
        if self.world.killed(playbook, variables, self.chance.random(), whom, usual):
            verb = playbook.removesuffix(".yml").rpartition("." if playbook.startswith("gitops.") else "/")[2]
            self.kills[f"{verb} ({whom})"] += 1
        began = time.monotonic()
        self.world.done(playbook, variables)
        self.working[playbook] = min(max(time.monotonic() - began, 0.5), 6.0)


def soak(kills: int, seed: int) -> Counter[str]:
    """The kills that were done, by verb and process. AssertionError where something does not hold."""
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="fleet-soak-") as folder:
        root = Path(folder, "clusters")
        ports = PortRange(33000, 33199)
        try:
            made = {
                name: Server(cluster.present(ClusterSpec(name, audit=True), root, ports=ports))
                for name in (*MEMBERS, "hub")
            }
            hub = made.pop("hub")
            install(hub.client, write=True)
            for number, store in enumerate(("sqlite", "hub")):
                place = Path(folder, store)
                options = {"type": "sqlite", "path": str(place / "records.db")}
                if store == "hub":
                    options = {"type": "hub", "kubeconfig": str(hub.made.kubeconfig)}
                place.mkdir()
                world = World(place, options, made, Plays(place), hub if store == "hub" else None)
                turn = Soak(world, random.Random(f"{seed} {store}"))
                turn.begin()
                while turn.kills.total() < kills // 2:
                    turn.step()
                    print(f"{store}: {turn.kills.total()} of {kills // 2} kills", flush=True)
                total += turn.kills
                for name in MEMBERS if number == 0 else ():
                    told = world.variables(member=name, placed="remove", max_removals="100%")
                    world.done(LEAVE, told)
        finally:
            for name in (*MEMBERS, "hub"):
                cluster.absent(name, root)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    total = soak(given.kills, given.seed)
    for name, count in sorted(total.items()):
        print(f"{count:5} {name}")
    print(f"{total.total()} kills, seed {given.seed}, {(time.monotonic() - began) / 60:.0f} min: everything holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
