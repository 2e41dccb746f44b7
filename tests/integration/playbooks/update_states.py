# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records with update runs in the states in which bad inputs meet them."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import with_attempt_end
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of, status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView, RunState, UpdateSeen
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import claim
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import GateKeeper
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import run_document
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import (
    skip_targets,
    start_run,
    targets_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from bad_update_inputs import approval, only, run

DRIVERS = {"east": "command", "west": "", "south": "cluster_api", "north": "role"}
RINGS = {
    "apiVersion": "gitops.fleet/v1alpha1",
    "kind": "UpdateStrategy",
    "metadata": {"name": "rings"},
    "spec": {"strategy": only("east")},
}


def make_runs(path: Path, kubeconfig: str) -> None:
    """The fleet and the runs that ``bad_update_inputs`` names."""
    records = open_records({"type": "sqlite", "path": str(path)}, {}, lambda: datetime.now(UTC))
    wishes = [_wish(name, driver, kubeconfig) for name, driver in DRIVERS.items()]
    join(Session(records=records, holder="tests"), wishes[:2], write=True)
    for name in ("south", "north"):  # no cluster is behind these
        for kind, like in (("MemberCluster", "west"), ("FleetMember", "west")):
            found = t.cast(dict[str, t.Any], records.get(kind, like))
            spec = {key: value for key, value in found["spec"].items() if key != "clusterUID"}
            if kind == "FleetMember":
                spec |= {"connection": {"kubeconfig": "/nowhere/kubeconfig"}, "driver": DRIVERS[name]}
            records.create({**found, "metadata": {"name": name, "labels": {"at": name}}, "spec": spec})
    gated = only("east")
    gated["stages"][0] |= {"beforeGates": [approval()], "afterGates": [approval()]}
    _present(records, run("fresh", updateStrategyId="rings"), RINGS)
    _present(records, run("gated", strategy=gated))
    _present(records, run("impatient", strategy=only("east"), onConflict="refuse"))
    for name, strategy in (("waiting", gated), ("flying", only("east")), ("elsewhere", only("east"))):
        _present(records, run(name, strategy=strategy))
        _carry_on(records, name)
    _present(records, run("skipped", strategy=gated))
    skip_targets(Session(records=records, holder="tests"), "skipped", targets_of(["Stage:only-east"], True), write=True)
    _carry_on(records, "skipped")
    _present(records, run("ended", strategy=only("east")))
    _carry_on(
        records, "ended", lambda state: with_attempt_end(state, _operations(state)[0], "Completed", datetime.now(UTC))
    )
    records.acquire("run/elsewhere", "somebody@elsewhere:1", 7200)
    records.close()


def _wish(name: str, driver: str, kubeconfig: str) -> MemberSpec:
    fields = {"group": "prod" if name == "east" else "", "driver": driver}
    connection = {"kubeconfig": kubeconfig, "context": name}
    return MemberSpec(
        name=name, connection=connection, labels={"at": name}, fields={k: v for k, v in fields.items() if v}
    )


def _present(records: Records, *documents: dict[str, t.Any]) -> None:
    define_run(records, documents[0]["metadata"]["name"], update_manifests([], documents, strict=True), write=True)


def _carry_on(records: Records, name: str, meanwhile: t.Callable[[RunState], RunState] = lambda state: state) -> None:
    """Started, and as far as it goes; with ``meanwhile`` between two looks at it."""
    now = datetime.now(UTC).replace(microsecond=0)
    made = define_run(records, name, update_manifests([], [], strict=True), write=False).run
    begun = start_run(Session(records=records, holder="tests", clock=lambda: now), made, {}, write=True).run
    seen = UpdateSeen(members={member: MemberView(name=member) for member in DRIVERS})
    state = decide(meanwhile(decide(run_of(begun), seen, now).state), seen, now).state
    status = replace(status_of(state, derive(state), begun.status), epoch=1)
    records.replace({**run_document(records, name), "status": encode(status)})
    lease = records.acquire(f"run/{name}", "tests", 60)
    GateKeeper(records).publish(replace(begun, status=status), state, lease)
    records.release(lease)
    if name == "flying":
        claim(records, "east", _operations(state)[0], f"run/{name}")


def _operations(state: RunState) -> list[str]:
    return [row.operation for stage in state.stages for group in stage.groups for row in group.members]
