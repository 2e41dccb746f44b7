# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``reportBackStrategy: Mirror``: the status that the one member's objects were seen with, written to those on the hub
(``status-not-mirrored``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...._core.errors import FleetError, Problem
from ...._core.foreign import in_data
from ...._core.objects.identity import ObjectId
from ...._core.plan.document import LOST, PlacementPlan
from ...._core.plan.outcome import MemberOutcome
from ...._core.plan.reported.mirror import mirror_obstacle, mirrored_objects, wants_mirror
from ...._kube.client import KubeClient
from ...._kube.discovery import resource_for
from ...._kube.documents import read_object

ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Mirrored:
    """Objects on the hub that have got another status, and what could not be written (``status-not-mirrored``)."""

    written: tuple[ObjectId, ...] = ()
    problems: tuple[Problem, ...] = ()


def mirror_statuses(
    hub: KubeClient | None,
    plan: PlacementPlan,
    outcomes: t.Mapping[str, MemberOutcome],
    from_hub: bool,
    hide: t.Callable[[str], t.Callable[[str], str]],
) -> Mirrored:
    """Copies the status of objects from the member to the hub, where that is asked for and nothing failed on the
    member; nothing without a hub, where nothing differs, or to an object that is gone from the hub or was seen without
    a status. ``from_hub``: the objects were selected there; ``hide`` gives, by cluster, what takes its credentials out
    of a text. What fails is in ``problems``."""
    if hub is None or plan.deleting or not wants_mirror(plan.placement) or mirror_obstacle(plan.placement, from_hub):
        return Mirrored()
    written: list[ObjectId] = []
    problems: list[Problem] = []
    for row in plan.clusters:
        outcome = outcomes.get(row.cluster)
        if row.change == LOST or outcome is None or outcome.error or outcome.failures:
            continue
        for each in mirrored_objects(plan):
            status = outcome.statuses.get(each)
            if not isinstance(status, dict):
                continue
            try:
                if _write_status(hub, each, in_data(status, hide(row.cluster))):
                    written.append(each)
            except FleetError as error:
                text = f"the status of {each} could not be mirrored from {row.cluster}: {error.message}"
                problems.append(Problem("status-not-mirrored", text, plan.name, error.hint))
    return Mirrored(written=tuple(written), problems=tuple(problems))


def _write_status(hub: KubeClient, each: ObjectId, status: dict[str, t.Any]) -> bool:
    """Writes the status, and gives whether the object had another one. One that is gone meanwhile is passed over: the
    next plan tells of it. FleetError of the requests, ``conflict`` after three attempts."""
    resource = resource_for(hub, each.api_version, each.kind)
    path = resource.path(each.namespace, each.name)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            found = read_object(hub, path, each.kind)
        except FleetError as error:
            if error.code == "not-found":
                return False
            raise
        if found.get("status") == status:
            return False
        try:
            hub.put(f"{path}/status", {**found, "status": status})
            return True
        except FleetError as error:
            if error.code != "conflict" or attempt == ATTEMPTS:
                raise
    return False
