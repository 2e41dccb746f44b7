# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finished run that left a member behind is repeated for that one alone; its forecast learns from the first."""

from __future__ import annotations

from conducting import Plays
from update_fleet import NEW, UpdateFleet
from update_rules import allowing


def test_only_what_failed_is_repeated(fleet: UpdateFleet, plays: Plays) -> None:
    """D3-81. The target is the first run's; made once, however often it is asked for."""
    broken, other = fleet.members("all", "all")
    key = fleet.clusters.root / broken / "pki" / "sa.key"
    kept = key.read_bytes()
    key.unlink()
    fleet.write(allowing(1))
    first = plays("gitops.fleet.update", **fleet.variables()).code(2)
    assert '"code": "not-all-members"' in first.output
    assert [fleet.version(other), fleet.states()[broken]] == [NEW, "Failed"]
    key.write_bytes(kept)

    name, records = fleet.run_name, {"records": fleet.options}
    assert plays("gitops.fleet.retry", "--check", run=name, **records).code(0).changed == 1
    assert fleet.records.get("UpdateRun", f"{name}-retry") is None
    assert plays("gitops.fleet.retry", run=name, **records).code(0).changed == 1
    assert plays("gitops.fleet.retry", run=name, **records).code(0).changed == 0
    fleet.run_name = f"{name}-retry"
    made = fleet.recorded()
    assert (made.spec.retry_of, made.spec.members, made.target) == (name, (broken,), "1.36.3")
    assert fleet.states() == {broken: "NotStarted"}

    file = fleet.folder / "run.ics"
    ahead = plays("gitops.fleet.forecast", run=fleet.run_name, write_calendar=str(file), **records).code(0)
    assert ahead.changed == 0 and "next change: somebody starts it" in ahead.output
    assert "learned from 1 earlier run" in " ".join(ahead.output.split()), ahead.output
    events = file.read_bytes().decode()
    assert events.startswith("BEGIN:VCALENDAR\r\n") and f"SUMMARY:{fleet.run_name} may begin: {broken}" in events

    done = plays("gitops.fleet.update", **fleet.variables(run=fleet.run_name, updates=[])).code(0)
    assert done.fleet["outcome"] == "done" and fleet.version(broken) == NEW
    assert fleet.upgrades() == {broken: 1, other: 1} and fleet.states() == {broken: "Completed"}
    nobody = plays("gitops.fleet.retry", run=fleet.run_name, **records).code(2)
    assert "nothing-to-retry" in nobody.output and "no member failed or was skipped" in nobody.output
