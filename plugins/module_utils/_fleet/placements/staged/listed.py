# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged update runs the placements have that are changed by such runs alone, and how far each is."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError
from ...._core.objects.placements.key import PlacementKey
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.rollout.staged.standing import RunStanding, standing_of
from ...._core.values.parts import mapping, text
from ...._store.records import Record, Records
from .typed_records import recorded_run

EXTERNAL = "External"


def staged_standings(records: Records, placements: t.Iterable[Record]) -> tuple[RunStanding, ...]:
    """By placement and name. Nothing is read where no placement waits for such runs; one that cannot be read is named
    with why."""
    waiting = {str(PlacementKey.of_record(each)) for each in placements if _type_of(each) == EXTERNAL}
    found = [_standing(each) for kinds in RUN_KINDS if waiting for each in records.list(kinds.run)]
    return tuple(
        sorted((each for each in found if each.placement in waiting), key=lambda one: (one.placement, one.name))
    )


def _standing(document: Record) -> RunStanding:
    metadata = document["metadata"]
    key = RunKey(str(metadata.get("namespace") or ""), str(metadata["name"]))
    try:
        return standing_of(recorded_run(key, document))
    except FleetError as error:
        spec = document.get("spec")
        name = str(spec.get("placementName") or "") if isinstance(spec, dict) else ""
        return RunStanding(name=str(key), placement=str(key.placement(name)), state="Damaged", message=error.message)


def _type_of(placement: Record) -> str:
    """Empty for a record that is damaged, which is told where its status is read."""
    try:
        return text(mapping(mapping(placement, "spec"), "strategy"), "type")
    except ValueError:
        return ""
