# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``update_run``: a script of events; after each, who was dispatched and the tree of states."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands, run
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.tests.conformance.recorded import first_difference
from ansible_collections.gitops.fleet.tests.conformance.update_run_forms import T0, created, open_gate, step, view

Data = dict[str, t.Any]


def answer(input: Data) -> list[Data]:
    fleet = {each["name"]: each | {"obstacles": list(each.get("obstacles", ()))} for each in input["members"]}
    at = created(input["strategy"], fleet.values())
    steps = [step(-1, at, (), fleet, input["strategy"], T0)]
    for index, event in enumerate(input["events"]):
        now, refused, given = T0 + timedelta(seconds=event["at"]), False, []
        try:
            at, given = _happened(at, event, now, fleet)
        except FleetError:
            refused = True
        seen = run.UpdateSeen(members={name: view(each) for name, each in fleet.items()}, approvals=given)
        made = decide(at, seen, now)
        at = made.state
        begun = tuple(each for each in made.acts if isinstance(each, run.Begin))
        steps.append(step(index, at, begun, fleet, input["strategy"], now) | ({"refused": True} if refused else {}))
    return steps


def same(expected: Data, got: list[Data]) -> str | None:
    """The tree and what else was not recorded is left out."""
    pairs = zip(expected["steps"], got, strict=True)
    return first_difference(expected["steps"], [{k: v for k, v in b.items() if k in {*a, "refused"}} for a, b in pairs])


def _happened(at: run.RunState, event: Data, now: datetime, fleet: dict[str, Data]) -> tuple[run.RunState, list[t.Any]]:
    match event:
        case {"type": "start"}:
            at = commands.start(at, now)
        case {"type": "stop"}:
            at = commands.stop(at)
        case {"type": "skip", "targets": targets}:
            at = commands.skip(at, [commands.SkipTarget(each["type"], each["name"]) for each in targets], now)
        case {"type": "result", "member": name, "result": result}:
            rows = {row.name: row for stage in at.stages for group in stage.groups for row in group.members}
            at = commands.with_attempt_end(at, rows[name].operation, result, now)
        case {"type": "approve"}:
            return at, [run.Approval(gate=open_gate(at, event), by="somebody", at=now)]
        case {"type": "leave", "member": name}:
            del fleet[name]
        case {"type": "obstacle", "member": name, "reason": reason, "present": present}:
            (fleet[name]["obstacles"].append if present else fleet[name]["obstacles"].remove)(reason)
    return at, []
