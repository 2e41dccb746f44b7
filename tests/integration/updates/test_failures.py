# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One member of four cannot be upgraded: how far the run goes is said by its threshold, and it never looks green."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._local import state, upgrades
from conducting import Conducting, Plays
from update_fleet import NEW, OLD, UpdateFleet, until
from update_rules import allowing


def test_one_broken_member_of_four(fleet: UpdateFleet, plays: Plays) -> None:
    broken, *others = names = fleet.members("all", "all", "all", "all")
    key = fleet.clusters.root / broken / "pki" / "sa.key"
    kept = key.read_bytes()
    key.unlink()

    fleet.write(allowing(0))
    # The second one cannot end before the first has failed: whoever changes a cluster waits for its lock.
    with state.cluster_lock(fleet.clusters.root, others[0], lambda: None, timeout=300):
        halted = plays.start("gitops.fleet.update", **fleet.variables())
        until(lambda: f": {broken} Failed: " in halted.output or halted.process.poll() is not None)
    halted.code(2)
    _fails(halted, "failed", "run-failed")
    (line,) = [each for each in halted.output.splitlines() if f": {broken} Failed: " in each]
    assert "sa.key: no such file" in line, line
    again, skip = (_next(halted, each) for each in ("to try again what failed", "to leave out what failed"))
    assert again.endswith("-e restart=true") or "-e restart=true -e" in again
    assert f"-e targets=Member:{broken}" in skip
    assert list(fleet.states().values()) == ["Failed", "Completed", "NotStarted", "NotStarted"]
    assert [fleet.version(name) for name in others] == [NEW, OLD, OLD], "what was in flight has ended, no more began"
    assert fleet.recorded().status.status.state == "Failed"

    first, fleet.run_name = fleet.run_name, f"{fleet.run_name}-tolerant"
    fleet.write(allowing(1))
    finished = plays("gitops.fleet.update", **fleet.variables()).code(2)
    _fails(finished, "partial", "not-all-members")
    assert list(fleet.states().values()) == ["Failed", "Skipped", "Completed", "Completed"]
    assert [fleet.version(name) for name in others] == [NEW, NEW, NEW]
    assert fleet.recorded().status.outcome == "CompletedWithFailures"
    assert f"gitops.fleet.retry -e run={fleet.run_name}" in _next(finished, "to make a run that repeats what failed")

    key.write_bytes(kept)
    fleet.run_name = first
    fleet.write(allowing(0))
    still = plays("gitops.fleet.update", **fleet.variables()).code(2)
    _fails(still, "failed", "run-failed")
    mended = plays("gitops.fleet.update", **fleet.variables(restart=True)).code(0)
    assert mended.fleet["outcome"] == "done"
    assert list(fleet.states().values()) == ["Completed", "Completed", "Skipped", "Skipped"]
    assert fleet.row(broken).attempt == 2
    assert fleet.upgrades() == dict.fromkeys(names, 1) and {fleet.version(name) for name in names} == {NEW}


def test_an_upgrade_that_was_given_up_halfway_is_finished_by_the_next_attempt(fleet: UpdateFleet, plays: Plays) -> None:
    """The API server answers as the newer one before the rest of the control plane runs: no node is drained on that."""
    (name,) = fleet.members("all")
    fleet.write(allowing(0))
    drivers = fleet.drivers()
    hasty = {**drivers, "local": {**drivers["local"], "timeout": 1}}
    plays("gitops.fleet.update", **fleet.variables(drivers=hasty)).code(2)
    assert upgrades.pending(fleet.clusters.root / name) is not None and fleet.states() == {name: "Failed"}
    plays("gitops.fleet.update", **fleet.variables(restart=True)).code(0)
    assert fleet.states() == {name: "Completed"} and fleet.row(name).attempt == 2
    assert upgrades.pending(fleet.clusters.root / name) is None and fleet.upgrades() == {name: 1}


def _next(played: Conducting, to: str) -> str:
    """The command that is told of last of all, before Ansible's own lines."""
    (line,) = [each for each in played.output.partition("[ERROR]")[2].splitlines() if each.startswith(to)]
    assert '"status": {' not in played.output, "nor is there a screenful of JSON"
    return line.partition(": ")[2]


def _fails(played: Conducting, outcome: str, code: str) -> None:
    assert f'"outcome": "{outcome}"' in played.output and f'"code": "{code}"' in played.output, played.output
