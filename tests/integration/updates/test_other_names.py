# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of the driver for local clusters that have other names than these: one is upgraded, one is no local cluster
and is found before anything begins. A run is forecast before it is recorded."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from conducting import Plays
from update_fleet import NEW, UpdateFleet, sequence


def joined(fleet: UpdateFleet, name: str, kubeconfig: Path, group: str) -> None:
    fields = {"group": group, "driver": "local"}
    wish = MemberSpec(name=name, connection={"kubeconfig": str(kubeconfig)}, labels={}, fields=fields)
    join(fleet.session(), [wish], write=True)


def test_a_member_of_another_name_is_upgraded(fleet: UpdateFleet, plays: Plays) -> None:
    """What would keep the driver from it is said before anybody approves."""
    cluster = f"u{fleet.number}-other"
    made = fleet.clusters(cluster, version="1.35")
    assert isinstance(made, LocalOutcome)
    fleet.made.append(cluster)
    joined(fleet, "dev-eu-1", made.kubeconfig, "eu")
    fleet.write(sequence(("eu",)))
    given = fleet.variables()

    nowhere = {**given, "drivers": {"local": {"root": str(fleet.folder / "elsewhere")}}}
    for playbook, flags in (("preflight", ()), ("update", ("--check",)), ("update", ())):
        refused = plays(f"gitops.fleet.{playbook}", *flags, **nowhere).code(2)
        told = " ".join(refused.output.split())
        assert "[no-such-cluster]" in told and "there are: none" in told, told
        assert playbook != "preflight" or told.count("[no-such-cluster]") == 1, told
    assert not fleet.records.list("UpdateRun")

    nobody = plays("gitops.fleet.forecast", run=fleet.run_name, records=fleet.options).code(2)
    assert "or updates of the playbook" in " ".join(nobody.output.split())
    named = {"run": fleet.run_name, "records": fleet.options, "updates": given["updates"]}
    ahead = plays("gitops.fleet.forecast", **named, days=14).code(0)
    assert "dev-eu-1" in ahead.output and "to start it: ansible-playbook gitops.fleet.update" in ahead.output
    assert not fleet.records.list("UpdateRun")

    fine = plays("gitops.fleet.preflight", **given).code(0)
    assert f"nothing speaks against run {fleet.run_name}" in fine.output
    assert "dev-eu-1 control plane v1.35." in " ".join(fine.output.split()), fine.output
    checked = plays("gitops.fleet.update", "--check", **given).code(0)
    row = next(line for line in checked.output.splitlines() if line.split()[:1] == [fleet.run_name])
    assert "would begin" in row and "Running" not in row, checked.output
    plays("gitops.fleet.update", **given).code(0)
    assert fleet.states() == {"dev-eu-1": "Completed"} and fleet.version(cluster) == NEW
    assert fleet.upgrades() == {cluster: 1}


def test_a_target_that_nobody_has_is_refused_before_anything_begins(fleet: UpdateFleet, plays: Plays) -> None:
    (name,) = fleet.members("eu")
    fleet.write(sequence(("eu",)))
    empty = fleet.folder / "no-binaries"
    empty.mkdir()
    drivers = {"local": {"root": str(fleet.clusters.root), "binaries_dir": str(empty)}}
    for playbook in ("preflight", "update"):
        refused = plays(f"gitops.fleet.{playbook}", **{**fleet.variables(), "drivers": drivers}).code(2)
        assert "missing-binary" in refused.output and name in refused.output, refused.output
    assert not fleet.records.list("UpdateRun") and not fleet.upgrades()


def test_a_failure_is_told_once_in_the_tree(fleet: UpdateFleet, plays: Plays) -> None:
    """Its reason stands at the member, and rows above it name the member."""
    (name,) = fleet.members("eu")
    (fleet.clusters.root / name / "pki" / "sa.key").unlink()
    fleet.write(sequence(("eu",)))
    failed = plays("gitops.fleet.update", **fleet.variables()).code(2)
    assert fleet.states() == {name: "Failed"}
    message = fleet.row(name).message
    tree = failed.output[failed.output.index("WHAT") :].partition("[ERROR]")[0].split("\n\n")[0]
    assert tree.count(f"1 failed: {name}") == 3, tree
    assert f"{name}: {name}:" not in failed.output, failed.output
    assert message and json.dumps(fleet.recorded().status.message).count(f"{name}: ") == 1
