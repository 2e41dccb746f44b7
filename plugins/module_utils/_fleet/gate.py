# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Completing a gate: who did it, when, why, and for which digest of the run."""

from __future__ import annotations

import os
import pwd
import typing as t
from dataclasses import dataclass
from datetime import datetime

from .._core.errors import FleetError
from .._core.objects.schema import write_time
from .._core.updates.run import RunState
from .._core.updates.states import COMPLETED, NOT_STARTED, PENDING, SKIPPED
from .._core.updates.tree import run_of
from .._kube.access import who_am_i
from .._kube.client import KubeClient
from .._store.records import Record, Records
from .update_gates import KIND, Placed, gates_of
from .update_journal import read_run

_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class Which:
    """The gate that is meant: by its id, or by where it stands; what is empty matches every gate."""

    id: str = ""
    stage: str = ""
    group: str = ""
    timing: str = ""
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Approver:
    """``verified`` is whether an API server vouches for the name."""

    name: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Completed:
    """What became of the gate: ``state`` is Completed, or Skipped if it was before."""

    gate: Placed
    state: str
    run: str
    digest: str
    by: str
    changed: bool


def approver(hub: KubeClient | None, environ: t.Mapping[str, str]) -> Approver:
    """The user as the hub sees us; without a hub whoever the environment says, unverified."""
    if hub is not None:
        return Approver(name=who_am_i(hub).name, verified=True)
    return Approver(name=environ.get("USER") or environ.get("LOGNAME") or _account(), verified=False)


def complete(
    records: Records, run: str, which: Which, who: Approver, digest: str, reason: str, now: datetime, write: bool
) -> Completed:
    """Completes the gate for this very run: an approval counts only while the run's digest is the approved one.

    One that was completed before, or skipped with what it guards, is left as it is.

    FleetError: ``no-such-run``, ``no-such-gate``, ``ambiguous-gate``, ``gate-not-open``, ``digest-mismatch``.
    """
    recorded = read_run(records, run)
    found = recorded.status.digest
    if digest and digest != found:
        raise FleetError(
            "digest-mismatch",
            f"approved was {digest}, the run has {found}",
            run,
            "look at the run again: what it will do is not what was approved",
        )
    placed = _find(run_of(recorded), which)
    if placed.gate.state in (COMPLETED, SKIPPED):
        by = placed.gate.by
        return Completed(gate=placed, state=placed.gate.state, run=run, digest=found, by=by, changed=False)
    _refuse_unopened(placed, run)
    for _attempt in range(_ATTEMPTS):
        document = records.get(KIND, placed.gate.id)
        if document is None:
            hint = "conduct the run once more, it makes the gate known"
            raise FleetError("gate-not-open", f"gate {placed.position} is not known yet", run, hint)
        status = document.get("status") or {}
        if status.get("state") == COMPLETED:
            by = (status.get("approval") or {}).get("by", "")
            return Completed(gate=placed, state=COMPLETED, run=run, digest=found, by=by, changed=False)
        if not write or _written(records, document, who, found, reason, now):
            return Completed(gate=placed, state=COMPLETED, run=run, digest=found, by=who.name, changed=True)
    raise FleetError("conflict", "the gate is being written all the time", placed.gate.id, "try again")


def _account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def _find(run: RunState, which: Which) -> Placed:
    gates = list(gates_of(run))
    found = [each for each in gates if _matches(each, which)]
    open_ones = [each for each in found if each.gate.state == PENDING]
    if not found:
        raise FleetError("no-such-gate", "the run has no such gate", run.name, f"it has: {_named(gates)}")
    if len(found) > 1 and len(open_ones) != 1:
        raise FleetError(
            "ambiguous-gate", f"{len(found)} gates are meant: {_named(found)}", run.name, "name one by its id"
        )
    return open_ones[0] if len(found) > 1 else found[0]


def _matches(placed: Placed, which: Which) -> bool:
    asked = (
        (which.id, placed.gate.id),
        (which.stage, placed.stage),
        (which.group, placed.group),
        (which.timing, placed.timing),
        (which.name, placed.gate.name),
    )
    return all(not wanted or wanted == there for wanted, there in asked)


def _named(gates: t.Sequence[Placed]) -> str:
    return "; ".join(f"{each.position} {each.gate.name} {each.gate.id} ({each.gate.state})" for each in gates) or "none"


def _refuse_unopened(placed: Placed, run: str) -> None:
    if placed.gate.state == NOT_STARTED:
        hint = "a gate opens when the run comes to it, and can be approved from then on"
        raise FleetError("gate-not-open", f"gate {placed.position} is not reached yet", run, hint)


def _written(records: Records, document: Record, who: Approver, digest: str, reason: str, now: datetime) -> bool:
    approval: Record = {"by": who.name, "verified": who.verified, "at": write_time(now), "digest": digest}
    if reason:
        approval["reason"] = reason
    status = {**(document.get("status") or {}), "state": COMPLETED, "approval": approval}
    try:
        records.replace({**document, "status": status})
    except FleetError as error:
        if error.code != "conflict":
            raise
        return False
    return True
