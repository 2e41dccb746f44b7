# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lists of objects in the status of a placement or a binding: ``selectedResources``, and what failed, drifted or
differs on a cluster (``failedPlacements``, ``driftedPlacements``, ``diffedPlacements``)."""

from __future__ import annotations

import json
import typing as t
from datetime import datetime

from ..objects.api_groups import PLACEMENT_API
from ..objects.identity import ObjectId, ObjectKey, group_version
from ..objects.overrides.envelope import Origin
from ..objects.placements.cluster_resource_placement import (
    DiffedPlacement,
    DriftedPlacement,
    EnvelopeIdentifier,
    FailedPlacement,
    PatchDetail,
    PerClusterPlacementStatus,
    ResourceIdentifier,
)
from ..schema.codec import decode
from ..schema.meta import next_condition
from .document import PlacementPlan, Rendered
from .member import DIFFERS, MemberStep
from .outcome import MemberOutcome

DETAILS = 100
Origins = t.Mapping[ObjectId, Origin]


def origins_of(plan: PlacementPlan) -> Origins:
    """By object, the envelope that it came out of; objects without one are left out."""
    return {each.id: each.origin for each in plan.objects if each.origin}


def selected_resources(objects: t.Iterable[Rendered]) -> tuple[ResourceIdentifier, ...]:
    """What the selectors of a placement picked, for its status: an envelope once, for all that came out of it."""
    return tuple(dict.fromkeys(map(_selected, objects)))


def _selected(each: Rendered) -> ResourceIdentifier:
    """The object, or the envelope that it came out of."""
    of = each.origin
    picked = ObjectId(*group_version(PLACEMENT_API), of.type, of.namespace, of.name) if of else each.id
    return ResourceIdentifier(**_parts(picked, {}))


def failed_placements(
    outcome: MemberOutcome, old: PerClusterPlacementStatus | None, origins: Origins, generation: int, now: datetime
) -> tuple[FailedPlacement, ...]:
    """What could not be applied or is not gone, at most ``DETAILS`` objects in the order of the failures;
    ``generation`` is that of the placement or binding. What had failed in ``old`` keeps the transition time of its
    condition."""
    before = {_place(each): each.condition for each in (old.failed_placements if old else ())}
    return tuple(
        FailedPlacement(
            **_parts(each.id, origins),
            condition=next_condition(
                before.get(each.id.key), "Applied", ("False", each.reason, each.message), now, generation
            ),
        )
        for each in outcome.failures[:DETAILS]
    )


def drifted_placements(
    outcome: MemberOutcome, old: PerClusterPlacementStatus | None, origins: Origins, now: datetime
) -> tuple[DriftedPlacement, ...]:
    """Drift that stands after the run, without what was repaired; at most ``DETAILS`` objects, the first in the order
    of the steps, and as many fields of each. The first observation is that in ``old``, else ``now``. An object that is
    only missing is not among them. Empty with an error of ``outcome``."""
    first = {_place(each): each.first_drifted_observed_time for each in (old.drifted_placements if old else ())}
    rows = []
    for step in _standing(outcome):
        if not step.drifts:
            continue
        row = DriftedPlacement(
            **_parts(step.id, origins),
            observation_time=now,
            first_drifted_observed_time=first.get(step.id.key) or now,
            observed_drifts=tuple(
                PatchDetail(path=each.path, value_in_member=_text(each.live), value_in_hub=_text(each.desired))
                for each in step.drifts[:DETAILS]
            ),
        )
        rows.append(row)
    return tuple(rows[:DETAILS])


def diffed_placements(
    outcome: MemberOutcome, old: PerClusterPlacementStatus | None, origins: Origins, now: datetime
) -> tuple[DiffedPlacement, ...]:
    """Differences that a takeover or a report found; at most ``DETAILS`` objects, and as many fields of each. The first
    observation is that in ``old``, else ``now``. A missing object has the single path ``/``. Empty with an error of
    ``outcome``."""
    first = {_place(each): each.first_diffed_observed_time for each in (old.diffed_placements if old else ())}
    rows = []
    for step in outcome.steps:
        whole = step.action == DIFFERS and step.missing
        if not step.diffs and not whole:
            continue
        details = (
            [PatchDetail(path="/", value_in_hub="the whole object is missing")]
            if whole
            else [
                PatchDetail(path=each.path, value_in_member=_text(each.live), value_in_hub=_text(each.desired))
                for each in step.diffs[:DETAILS]
            ]
        )
        row = DiffedPlacement(
            **_parts(step.id, origins),
            observation_time=now,
            first_diffed_observed_time=first.get(step.id.key) or now,
            observed_diffs=tuple(details),
        )
        rows.append(row)
    return tuple(rows[:DETAILS])


def _standing(outcome: MemberOutcome) -> tuple[MemberStep, ...]:
    """The steps whose drift may stand after the run: all where nothing was carried out; else those that failed, and
    those of which the drift is only told."""
    repaired = outcome.done and not outcome.error
    failed = {each.id for each in outcome.failures}
    return tuple(
        each for each in outcome.steps if not repaired or each.id in failed or (each.action == DIFFERS and each.drifts)
    )


def _place(each: ResourceIdentifier) -> ObjectKey:
    """The key of an object that a status names."""
    return (each.group, each.kind, each.namespace, each.name)


def _parts(each: ObjectId, origins: Origins) -> dict[str, t.Any]:
    """The fields that identify an object in a status, with its envelope, None where it came out of none."""
    return {
        "envelope": decode(EnvelopeIdentifier, origins[each].as_dict()) if each in origins else None,
        "group": each.group,
        "version": each.version,
        "kind": each.kind,
        "namespace": each.namespace,
        "name": each.name,
    }


def _text(value: t.Any) -> str:
    """Upstream's fields are texts: a text stays, None becomes an empty one, and any other value its JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, sort_keys=True)
