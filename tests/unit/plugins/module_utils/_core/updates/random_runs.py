# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs with anything in every field, whether or not a run could come to be so."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
from random import Random

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    ManagedClusterUpdate,
    ManagedClusterUpgradeSpec,
    UpdateRun,
    UpdateRunSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import run as rows
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    ACTIVE,
    NEW,
    STATES,
    SYSTEM,
    TARGET_TYPES,
    USER,
)

NOON = datetime(2026, 8, 21, 12, tzinfo=UTC)
WORDS = ("", "WindowClosed", "no answer", "100 % \N{SNOWMAN}", "a: b\n- c")


def random_run(chance: Random) -> rows.RunState:
    return rows.RunState(
        name="release-7",
        uid="0b9c1d2e-0000-4000-8000-000000000000",
        stages=tuple(_stage(chance, f"s{at}") for at in range(chance.randrange(4))),
        phase=chance.choice((NEW, ACTIVE)),
        stop_requested=_maybe(chance),
        started=_instant(chance),
        completed=_instant(chance),
        unreachable_timeout=timedelta(seconds=chance.choice((0, 1800, 86400))),
    )


def object_of(state: rows.RunState, status: UpdateRunStatus) -> UpdateRun:
    """The object of a run with this status."""
    upgrade = ManagedClusterUpgradeSpec(type="ControlPlaneOnly", kubernetes_version="1.34.2")
    return UpdateRun(
        metadata=ObjectMeta(name=state.name, uid=state.uid),
        spec=UpdateRunSpec(
            managed_cluster_update=ManagedClusterUpdate(upgrade=upgrade),
            unreachable_timeout_seconds=int(state.unreachable_timeout.total_seconds()),
        ),
        status=status,
    )


def _stage(chance: Random, name: str) -> rows.StageRow:
    return rows.StageRow(
        name=name,
        groups=tuple(_group(chance, f"{name}-g{at}") for at in range(chance.randrange(4))),
        wait=_wait(chance) if _maybe(chance) else None,
        next_group=chance.randrange(3),
        **_segment(chance),
    )


def _group(chance: Random, name: str) -> rows.GroupRow:
    members = tuple(_member(chance, f"{name}-m{at}") for at in range(chance.randrange(5)))
    return rows.GroupRow(name=name, members=members, **_segment(chance))


def _segment(chance: Random) -> dict[str, t.Any]:
    return {
        "max_concurrency": chance.randrange(51),
        "max_allowed_failures": chance.randrange(3),
        "before_gates": tuple(_gate(chance) for _at in range(chance.randrange(3))),
        "after_gates": tuple(_gate(chance) for _at in range(chance.randrange(2))),
        "user_skipped": _maybe(chance),
        "breached": _maybe(chance),
        "reached": _maybe(chance),
    }


def _member(chance: Random, name: str) -> rows.MemberRow:
    return rows.MemberRow(
        name=name,
        state=chance.choice(STATES),
        attempt=chance.randrange(4),
        operation=chance.choice(("", f"release-7-0b9c1d2e.{name}.1")),
        reference=chance.choice(WORDS),
        version_before=chance.choice(("", "v1.33.1")),
        version_after=chance.choice(("", "v1.34.2")),
        node_images=chance.choice(((), ("AKSUbuntu-202309.26.0", "Windows-2"))),
        reason=chance.choice(WORDS),
        message=chance.choice(WORDS),
        skipped_by=chance.choice(("", USER, SYSTEM)),
        skipped_via=chance.choice(("", *TARGET_TYPES)),
        started=_instant(chance),
        completed=_instant(chance),
        pending_since=_instant(chance),
    )


def _gate(chance: Random) -> rows.GateRow:
    schedule = rows.Schedule(day="Monday", time="09:30", utc_offset="-03:30")
    return rows.GateRow(
        name=chance.choice(WORDS),
        id=f"3f0a8c52-6a4e-5b0d-9c1e-{chance.randrange(10**12):012}",
        schedule=schedule if _maybe(chance) else None,
        state=chance.choice(STATES),
        opened=_instant(chance),
        due=_instant(chance),
        completed=_instant(chance),
        by=chance.choice(("", "ana")),
    )


def _wait(chance: Random) -> rows.WaitRow:
    return rows.WaitRow(
        seconds=chance.choice((0, 60, 2_592_000)),
        state=chance.choice(STATES),
        reason=chance.choice(WORDS),
        started=_instant(chance),
        ends=_instant(chance),
        completed=_instant(chance),
    )


def _instant(chance: Random) -> datetime | None:
    return NOON + timedelta(microseconds=chance.randrange(10**12)) if _maybe(chance) else None


def _maybe(chance: Random) -> bool:
    return chance.random() < 0.5
