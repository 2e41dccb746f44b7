# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged update runs the placements have that are changed by such runs alone (``External``), how far each is
(``Damaged`` if it cannot be read), and which of them fail by new plans (``run-upset``)."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import replace

from ...._core.errors import FleetError, Problem
from ...._core.objects.placements.binding import UNSCHEDULED
from ...._core.objects.placements.key import PlacementKey
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun
from ...._core.plan.document import LOST, PlacementPlan
from ...._core.rollout.content import RolloutBinding
from ...._core.rollout.staged.standing import FAILED, SUCCEEDED, RunStanding, standing_of
from ...._core.rollout.staged.taken_back import no_longer_held_text
from ...._core.values.parts import mapping, text
from ...._store.records import Record, Records
from ..recorded import RecordedPlacement, binding_of
from .typed_records import recorded_run

EXTERNAL = "External"


def staged_standings(
    records: Records, placements: t.Iterable[Record], bindings: t.Iterable[Record] = ()
) -> tuple[RunStanding, ...]:
    """The runs of placements with the strategy ``External``, by placement and name; the message of one that has
    succeeded begins with who no longer holds what it gave, by these ``bindings``. One that cannot be read is
    ``Damaged``, with why. FleetError where runs cannot be listed."""
    waiting = {str(PlacementKey.of_record(each)) for each in placements if _type_of(each) == EXTERNAL}
    documents = [each for kinds in RUN_KINDS if waiting for each in records.list(kinds.run)]
    runs: dict[str, list[ClusterStagedUpdateRun]] = {}
    found: list[RunStanding] = []
    for each in map(_run_or_why, documents):
        if isinstance(each, ClusterStagedUpdateRun):
            runs.setdefault(str(each.placement_key), []).append(each)
        elif each.placement in waiting:
            found.append(each)
    held = _held(bindings) if waiting else {}
    for name in waiting & runs.keys():
        found += [_standing(run, runs[name], held.get(name, ())) for run in runs[name]]
    return tuple(sorted(found, key=lambda one: (one.placement, one.name)))


def _standing(
    run: ClusterStagedUpdateRun, runs: t.Collection[ClusterStagedUpdateRun], bindings: t.Collection[RolloutBinding]
) -> RunStanding:
    """How far the run is, as of ``standing_of``, its message beginning with ``no_longer_held_text``."""
    found = standing_of(run, runs)
    return replace(found, message="; ".join(filter(None, (no_longer_held_text(run, runs, bindings), found.message))))


def _held(bindings: t.Iterable[Record]) -> dict[str, list[RolloutBinding]]:
    """The bindings by name of their placement; damaged ones, which are told where placements are read, are passed
    over."""
    found: dict[str, list[RolloutBinding]] = {}
    for each in bindings:
        with contextlib.suppress(FleetError):
            found.setdefault(str(PlacementKey.of_parent(each)), []).append(RolloutBinding(binding=binding_of(each)))
    return found


def runs_upset(
    records: Records, plans: t.Iterable[PlacementPlan], recorded: t.Mapping[str, RecordedPlacement]
) -> tuple[Problem, ...]:
    """A warning ``run-upset``, by placement and name, for each run that has begun and not ended, and that fails when it
    goes on, since by these plans its placement gets other clusters or another policy, or finds fewer clusters than that
    asks for (KubeFleet's staged runs refuse all three). FleetError where runs cannot be listed."""
    moved = {each.name: each for each in plans if each.is_by_staged_runs and _moves(each, recorded[each.name])}
    found = [
        standing_of(run)
        for kinds in RUN_KINDS
        if moved
        for run in map(_run_or_why, records.list(kinds.run))
        if isinstance(run, ClusterStagedUpdateRun)
    ]
    return tuple(
        Problem(
            "run-upset",
            f"staged run {each.name} has begun, and fails when it goes on: its placement gets other clusters or another"
            " policy by this, or too few clusters for its policy",
            each.placement,
            "let it end first, or make a new run after this",
        )
        for each in sorted(found, key=lambda one: (one.placement, one.name))
        if each.placement in moved and each.stages and each.state not in (SUCCEEDED, FAILED)
    )


def _moves(plan: PlacementPlan, recorded: RecordedPlacement) -> bool:
    """Whether the plan has a new policy snapshot, other clusters than are recorded, or too few of them."""
    picked = {each.cluster for each in plan.clusters if each.change != LOST}
    before = {each.spec.target_cluster for each in recorded.known.bindings if each.spec.state != UNSCHEDULED}
    return plan.policy_snapshot_new or picked != before or not plan.fulfilled


def _run_or_why(document: Record) -> ClusterStagedUpdateRun | RunStanding:
    """The run; ``Damaged`` with why if it cannot be read."""
    metadata = document["metadata"]
    key = RunKey(str(metadata.get("namespace") or ""), str(metadata["name"]))
    try:
        return recorded_run(key, document)
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
