# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members several minors behind, in a run with ``chain: true`` (U20): records on a hub, real processes, and members
that are files, for there are no binaries of so many minors."""

from __future__ import annotations

import json
import signal
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from conducting import Plays
from update_fleet import API, NEW, UpdateFleet, sequence, until

CONDUCT = str(Path(__file__).with_name("conduct.yml"))
FAR = "v1.33.1"
OFFERED = ("1.34.7", "1.35.3", "1.35.4", "1.36.3")
PATH = ["1.34.7", "1.35.4", "1.36.3"]
# To 1.35 it goes only when a test lets it (``let_go``), to its end, or to a failure.
BEGIN = """echo "$2=$3" >> "$1/begun.log"
case "$3" in 1.35*) until [ -e "$1/go" ]; do sleep 0.1; done; [ ! -e "$1/broken" ] || exit 1;; esac
echo "v$3" > "$1/$2"
"""


def write(fleet: UpdateFleet) -> dict[str, t.Any]:
    """What the members' platform offers, and the run; for playbooks, whose variables it gives."""
    run = fleet.run(sequence(("all",)))
    run["spec"]["managedClusterUpdate"]["upgrade"]["chain"] = True
    there = [{"name": "*", "versions": [{"version": each} for each in OFFERED]}]
    catalogue = {
        "apiVersion": API,
        "kind": "ReleaseCatalog",
        "metadata": {"name": "all"},
        "spec": {"locations": there},
    }
    for name, document in (("run", run), ("catalogue", catalogue)):
        (fleet.folder / "updates" / f"{name}.json").write_text(json.dumps(document))
    return fleet.variables(drivers={"command": fleet.file_driver(begin=BEGIN)})


def operations(fleet: UpdateFleet) -> list[str]:
    """What follows the member in the names of operations."""
    return [each.name.partition(".a.")[2] for each in fleet.folders()]


def test_u20_f5_killed_between_two_minors_it_goes_on_with_the_one_in_flight(fleet: UpdateFleet, plays: Plays) -> None:
    fleet.file_members(a=FAR)
    given = write(fleet)
    first = plays.start(CONDUCT, **given)
    until(lambda: fleet.file_upgrades() == [f"a={each}" for each in PATH[:2]])
    first.kill(signal.SIGKILL, first.worker, first.pid)
    first.ended()
    row = fleet.row("a")
    assert (row.status.state, row.attempt, row.version_before) == ("Running", 1, FAR)

    second = plays.start(CONDUCT, **given)
    until(lambda: fleet.recorded().status.epoch > 1)
    fleet.let_go()
    assert second.ended().code(0).fleet["outcome"] == "done", second.output
    row = fleet.row("a")
    assert (row.status.state, row.attempt, row.version_before, row.version_after) == ("Completed", 1, FAR, NEW)
    assert fleet.file_upgrades() == [f"a={each}" for each in PATH], "each minor once"
    assert operations(fleet) == ["1", "1.v1-34", "1.v1-35"] and fleet.leftovers() == []


def test_u20_after_a_failure_a_retry_goes_on_from_the_minor_it_has_reached(fleet: UpdateFleet, plays: Plays) -> None:
    fleet.file_members(a=FAR)
    given = write(fleet)
    broken = fleet.folder / "files" / "broken"
    broken.touch()
    fleet.let_go()
    assert plays(CONDUCT, **given).code(2).fleet["code"] == "run-failed"
    row = fleet.row("a")
    assert (row.status.state, row.version_before, row.version_after) == ("Failed", FAR, f"v{PATH[0]}")
    broken.unlink()
    done = plays("gitops.fleet.update", **given, run=fleet.run_name, restart=True).code(0)
    assert done.fleet["outcome"] == "done"
    row = fleet.row("a")
    assert (row.status.state, row.attempt, row.version_before, row.version_after) == (
        "Completed", 2, f"v{PATH[0]}", NEW,
    )  # fmt: skip
    assert fleet.file_upgrades() == [f"a={each}" for each in (*PATH[:2], *PATH[1:])]
    assert operations(fleet) == ["1.v1-34", "1.v1-35", "2", "2.v1-35"]


def test_u20_the_hub_refuses_a_chain_where_there_is_nothing_to_go_through(fleet: UpdateFleet) -> None:
    run = fleet.run(kind="NodeImageOnly", target="")
    run["spec"]["managedClusterUpdate"]["upgrade"]["chain"] = True
    with pytest.raises(ApiError, match="chain stands with Full and ControlPlaneOnly only"):
        fleet.client.post(f"/apis/{API}/updateruns", run)
    run = fleet.run(autoUpgradeProfileId="stable")
    run["spec"]["managedClusterUpdate"]["upgrade"]["chain"] = True
    with pytest.raises(ApiError, match="runs of a profile have no chain"):
        fleet.client.post(f"/apis/{API}/updateruns", run)
