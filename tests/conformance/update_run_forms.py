# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The recorded form of update runs: members and strategies read, states written as a tree."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import UpdateRunStrategy
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import run
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import (
    GroupStatus,
    StageStatus,
    derive,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.member_order import closed_until
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states

T0 = datetime(2026, 8, 17, tzinfo=UTC)
Data = dict[str, t.Any]
BEGUN = (states.RUNNING, states.COMPLETED, states.FAILED)


def created(strategy: Data | None, members: t.Iterable[Data]) -> run.RunState:
    wanted = None if strategy is None else decode(UpdateRunStrategy, strategy)
    fleet = [
        Candidate(name=each["name"], group=each.get("group", ""), labels=each.get("labels", {})) for each in members
    ]
    return run.RunState(name="recorded", uid="0", stages=resolve(wanted, fleet, "0").stages)


def view(member: Data) -> run.MemberView:
    windows = member.get("windows")
    return run.MemberView(
        name=member["name"],
        windows=windows and tuple((T0 + timedelta(seconds=a), T0 + timedelta(seconds=b)) for a, b in windows),
        obstacles=tuple(run.MemberBlocker(reason=reason) for reason in member["obstacles"]),
        skip=run.MemberBlocker(reason=states.ALREADY_AT_TARGET) if member.get("atTarget") else None,
    )


def open_gate(at: run.RunState, event: Data) -> str:
    """Its id. An object of the gate, which people approve, is there once the gate is open."""
    stage = next(stage for stage in at.stages if stage.name == event["stage"])
    node = next((each for each in stage.groups if each.name == event.get("group")), stage)
    gates = node.before_gates if event["timing"] == states.BEFORE else node.after_gates
    found = next(gate for gate in gates if gate.name == event["gate"])
    if found.state == states.NOT_STARTED:
        raise FleetError("gate-not-open", f"gate {found.name} is not open")
    return found.id


def step(
    index: int, at: run.RunState, begun: t.Sequence[run.Begin], fleet: Data, strategy: Data | None, now: datetime
) -> Data:
    """Dispatches stand by the place of their group."""
    status = derive(at)
    places = {group.name: place for stage in at.stages for place, group in enumerate(stage.groups)}
    given = strategy["stages"] if strategy else [{}]
    stages = [
        _stage(row, one, raw, strategy is None, fleet, now)
        for row, one, raw in zip(at.stages, status.stages, given, strict=True)
    ]
    return {
        "after": index,
        "dispatched": [each.member for each in sorted(begun, key=lambda each: places[each.group])],
        "run": status.state,
        "stages": {one["name"]: one["state"] for one in stages},
        "tree": {"state": status.state, "failureCount": status.failure_count, "stages": stages},
    }


def _stage(row: run.StageRow, one: StageStatus, raw: Data, default: bool, fleet: Data, now: datetime) -> Data:
    implicit = not raw.get("groups")
    groups = [_group(group, each, implicit, fleet, now) for group, each in zip(row.groups, one.groups, strict=True)]
    node = _node(row, one, default) | {"wait": row.wait and row.wait.state, "groups": groups}
    return node if default else node | {"maxConcurrency": row.max_concurrency}


def _group(row: run.GroupRow, one: GroupStatus, implicit: bool, fleet: Data, now: datetime) -> Data:
    node = _node(row, one, implicit) | {"members": [_member(each, fleet, now) for each in row.members]}
    return node | ({"maxConcurrency": row.max_concurrency} if row.members else {})


def _node(row: run.StageRow | run.GroupRow, one: StageStatus | GroupStatus, nameless: bool) -> Data:
    return {
        "name": "*" if nameless else row.name,
        "state": one.state,
        "failureCount": one.failure_count,
        "maxAllowedFailures": row.max_allowed_failures,
        "beforeGates": [{"name": gate.name, "state": gate.state} for gate in row.before_gates],
        "afterGates": [{"name": gate.name, "state": gate.state} for gate in row.after_gates],
    }


def _member(row: run.MemberRow, fleet: Data, now: datetime) -> Data:
    """A reason stands only where exactly one obstacle holds; then it must be ours."""
    node: Data = {"name": row.name, "state": row.state}
    if row.state in BEGUN:
        node["attempt"] = row.attempt
    if row.state == states.PENDING and _obstacles(fleet[row.name], now) == 1:
        node["reason"] = row.reason
    return node


def _obstacles(member: Data, now: datetime) -> int:
    seen = view(member)
    return len(seen.obstacles) + (closed_until(seen, now) is not None)
