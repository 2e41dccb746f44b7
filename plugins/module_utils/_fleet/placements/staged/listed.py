# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged update runs the placements have that are changed by such runs alone, how far each is, and which of them
fail by new plans."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError, Problem
from ...._core.objects.placements.binding import UNSCHEDULED
from ...._core.objects.placements.key import PlacementKey
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.plan.document import LOST, PlacementPlan
from ...._core.rollout.staged.standing import FAILED, SUCCEEDED, RunStanding, standing_of, with_newer
from ...._core.values.parts import mapping, text
from ...._store.records import Record, Records
from ..recorded import RecordedPlacement
from .typed_records import recorded_run

EXTERNAL = "External"


def staged_standings(records: Records, placements: t.Iterable[Record]) -> tuple[RunStanding, ...]:
    """The runs of placements with the strategy ``External``, by placement and name. Nothing is read where there is no
    such placement; a run that cannot be read is ``Damaged``, with why. FleetError where runs cannot be listed."""
    waiting = {str(PlacementKey.of_record(each)) for each in placements if _type_of(each) == EXTERNAL}
    found = [_standing(each) for kinds in RUN_KINDS if waiting for each in records.list(kinds.run)]
    mine = (each for each in found if each.placement in waiting)
    return with_newer(sorted(mine, key=lambda one: (one.placement, one.name)))


def runs_upset(
    records: Records, plans: t.Iterable[PlacementPlan], recorded: t.Mapping[str, RecordedPlacement]
) -> tuple[Problem, ...]:
    """A warning, by placement and name, for each run that has begun and not ended, and that fails when it goes on,
    since by these plans its placement gets other clusters or another policy (KubeFleet's staged runs refuse both).
    Damaged runs are passed over. ``recorded`` has each placement of ``plans``. FleetError where runs cannot be
    listed."""
    moved = {each.name: each for each in plans if each.by_run and _moves(each, recorded[each.name])}
    found = [_standing(each) for kinds in RUN_KINDS if moved for each in records.list(kinds.run)]
    return tuple(
        Problem(
            "run-upset",
            f"staged run {each.name} has begun, and fails when it goes on: its placement gets other clusters or another"
            " policy by this",
            each.placement,
            "let it end first, or make a new run after this",
        )
        for each in sorted(found, key=lambda one: (one.placement, one.name))
        if each.placement in moved and each.stages and each.state not in (SUCCEEDED, FAILED)
    )


def _moves(plan: PlacementPlan, recorded: RecordedPlacement) -> bool:
    """Whether the plan has a new policy snapshot, or other clusters than are recorded."""
    picked = {each.cluster for each in plan.clusters if each.change != LOST}
    before = {each.spec.target_cluster for each in recorded.known.bindings if each.spec.state != UNSCHEDULED}
    return plan.policy_snapshot_new or picked != before


def _standing(document: Record) -> RunStanding:
    """How far the run is; ``Damaged`` with why if it cannot be read."""
    metadata = document["metadata"]
    key = RunKey(str(metadata.get("namespace") or ""), str(metadata["name"]))
    try:
        return standing_of(recorded_run(key, document))
    except FleetError as error:
        spec = document.get("spec")
        name = str(spec.get("placementName") or "") if isinstance(spec, dict) else ""
        return RunStanding(name=str(key), placement=str(key.placement(name)), state="Damaged", message=error.message)


def _type_of(placement: Record) -> str:
    """The type of the placement's rollout strategy; empty for a record that is damaged, which is told where its status
    is read."""
    try:
        return text(mapping(mapping(placement, "spec"), "strategy"), "type")
    except ValueError:
        return ""
