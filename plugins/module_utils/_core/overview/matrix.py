# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placements over clusters (``cells``: holds, gains, loses, not picked, undecided): who holds what, who gains or loses
it, and why; what failed there, drifted, or is late, by recorded conditions (``standing``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..errors import Problem
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement, PlacementStatus
from ..plan.document import GAINED, KEPT, LOST, PlacementPlan
from ..plan.waves import waves
from ..scheduling.cycle import Scheduled
from ..scheduling.explain import Verdict, verdicts
from ..scheduling.picking.bindings import CREATED, DROPPED, RESTORED
from ..schema.meta import Condition
from ..values.instants import SECONDS, write_time
from ..values.listed import number_of

HOLDS, GAINS, LOSES, NOT_PICKED, UNDECIDED = "holds", "gains", "loses", "not picked", "undecided"
# That these do not hold is no fault: a rollout has not come to the cluster, or something else is left as it is.
_LATER = ("RolloutStarted", "Synchronized")
_NOT_YET = "not available yet: "
OF_PLAN = {KEPT: HOLDS, GAINED: GAINS, LOST: LOSES}


@dataclass(frozen=True, slots=True)
class Cell:
    """One placement on one cluster. ``state`` is holds, gains, loses, not picked or undecided; ``why`` goes on after
    the cluster's name (``is not picked: its taint ...``), or is a cause of the plan with its reason (``policy-changed:
    ...``)."""

    state: str
    why: str


@dataclass(frozen=True, kw_only=True)
class PlacementColumn:
    """A placement on every cluster, in the order of the fleet.

    ``policy`` is the placement type. ``count`` of ``wanted`` clusters are found, and ``fulfilled`` says whether that is
    enough; ``objects`` is how many it selects, None where that is not known; ``digest`` is the plan's, empty without
    one. ``waves`` are the clusters that change, in order, where a plan tells them. ``standing`` as of
    ``standing_by_cluster``. ``stops`` are brakes that would stop an apply, ``findings`` what else is to be told.
    """

    name: str
    policy: str
    wanted: int
    count: int
    fulfilled: bool
    cells: tuple[Cell, ...]
    standing: t.Mapping[str, tuple[str, str]] = field(default_factory=dict)
    objects: int | None = None
    digest: str = ""
    waves: tuple[tuple[str, ...], ...] = ()
    stops: tuple[str, ...] = ()
    findings: tuple[Problem, ...] = ()

    def as_dict(self, reasons: Reasons) -> dict[str, t.Any]:
        """The column as reports have it: ``cells`` is a text with a letter for each cluster, ``why`` a list of the
        places of their reasons in ``reasons``, to which those are added that it lacks; ``notes`` are the findings."""
        return {
            "name": self.name,
            "policy": self.policy,
            "wanted": self.wanted,
            "count": self.count,
            "fulfilled": self.fulfilled,
            "objects": self.objects,
            "digest": self.digest,
            "cells": "".join(LETTERS[each.state] for each in self.cells),
            "why": [reasons.number(each.why) for each in self.cells],
            "standing": {name: list(found) for name, found in sorted(self.standing.items())},
            "waves": [list(each) for each in self.waves],
            "stops": list(self.stops),
            "notes": [str(each) for each in self.findings],
        }


LETTERS = {HOLDS: "h", GAINS: "g", LOSES: "l", NOT_PICKED: "n", UNDECIDED: "u"}


@dataclass(frozen=True)
class Reasons:
    """Every reason once: a fleet of a thousand clusters has few."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The place of the text in ``texts``, from 0; a new one is added at their end."""
        found = self.numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


def decided_column(
    outcome: Scheduled, plan: PlacementPlan | None = None, status: PlacementStatus | None = None
) -> PlacementColumn:
    """What scheduling decides of each cluster of the fleet; where a plan is given and differs, that counts. ``objects``
    is None without plan and status; digest, waves and stops are the plan's alone. FleetError as of ``waves``."""
    placement = outcome.asked.placement
    planned = {each.cluster: each for each in plan.clusters} if plan else {}
    cells = []
    for each in verdicts(outcome):
        row = planned.get(each.cluster)
        state, why = _state(each), each.sentence.removeprefix(f"{each.cluster} ")
        if row is not None and OF_PLAN[row.change] != state:
            state, why = OF_PLAN[row.change], f"{row.cause}: {row.reason}"
        cells.append(Cell(state, why))
    return PlacementColumn(
        name=str(placement.key),
        policy=placement.spec.placement_type,
        wanted=plan.wanted if plan else outcome.wanted,
        count=plan.picked if plan else outcome.count,
        fulfilled=plan.fulfilled if plan else outcome.fulfilled,
        cells=tuple(cells),
        standing=standing_by_cluster(status) if status else {},
        objects=len(plan.objects) if plan else len(status.selected_resources) if status else None,
        digest=plan.digest if plan else "",
        waves=waves(plan) if plan else (),
        stops=tuple(f"{each.name}: {each.message}" for each in plan.brakes if each.stops) if plan else (),
        findings=tuple(dict.fromkeys((*outcome.findings, *(plan.findings if plan else ())))),
    )


def undecided_column(
    placement: ClusterResourcePlacement, clusters: int, problems: t.Sequence[Problem], status: PlacementStatus | None
) -> PlacementColumn:
    """A placement that cannot be decided, on so many ``clusters``; the first of the problems is told in every cell, all
    of them are findings. ``status`` is the recorded one, None without."""
    why = f"is undecided: {problems[0].message}" if problems else "is undecided"
    return PlacementColumn(
        name=str(placement.key),
        policy=placement.spec.placement_type,
        wanted=0,
        count=0,
        fulfilled=False,
        cells=(Cell(UNDECIDED, why),) * clusters,
        standing=standing_by_cluster(status) if status else {},
        findings=tuple(problems),
    )


def standing_by_cluster(status: PlacementStatus) -> dict[str, tuple[str, str]]:
    """By cluster that is not as it should be, the first recorded condition that is not True, but for ``Synchronized``,
    in words and with its message: (``not Applied``, ``2 of 3 objects could not be applied``); ``not known to be ...``
    for one that is Unknown or ``is_late``, for the latter with its time. Without such a condition ``drifted`` with the
    number of objects; differences (``diffedPlacements``) alone are none."""
    found: dict[str, tuple[str, str]] = {}
    for each in status.placement_statuses:
        lacking = next((one for one in each.conditions if one.status != "True" and one.type != "Synchronized"), None)
        drifts = len(each.drifted_placements)
        if not each.cluster_name:
            continue
        if lacking is not None:
            word = "not" if lacking.status == "False" and not is_late(lacking) else "not known to be"
            seen = f", seen{_at(lacking)}" if is_late(lacking) and lacking.last_transition_time else ""
            found[each.cluster_name] = (f"{word} {lacking.type}", f"{lacking.message}{seen}")
        elif drifts:
            words = number_of(drifts, "object", "is not as it was", "are not as they were")
            found[each.cluster_name] = ("drifted", f"{words} placed")
    return found


def failing(status: PlacementStatus) -> dict[str, str]:
    """By cluster, what is recorded to have failed there, such as ``not Applied: 2 of 3 objects could not be applied``,
    by the first condition that is False (but for ``RolloutStarted`` and ``Synchronized``, which only have their turn
    later). Clusters without one, and those where it ``is_late``, are left out."""
    return {
        cluster: ": ".join(filter(None, (f"not {wrong.type}", wrong.message)))
        for cluster, wrong in _wrong(status)
        if not is_late(wrong)
    }


def late(status: PlacementStatus) -> dict[str, str]:
    """By cluster, that something was not available yet when it was last seen, and, where it is known, when its
    condition came to say so: ``was not available yet at 2026-11-25T10:00:00Z: 1 of 3 objects``; it may be by now. Other
    clusters, and those where something failed before, are left out."""
    return {
        cluster: f"was not available yet{_at(wrong)}: {wrong.message.removeprefix(_NOT_YET)}".removesuffix(": ")
        for cluster, wrong in _wrong(status)
        if is_late(wrong)
    }


def is_late(condition: Condition) -> bool:
    """Whether the condition says that something was not available yet (False, of a type that ends with ``Available``):
    who did not wait saw no more."""
    return condition.type.endswith("Available") and condition.status == "False"


def _wrong(status: PlacementStatus) -> t.Iterator[tuple[str, Condition]]:
    """Each cluster with a False condition, and the first such; ``RolloutStarted`` and ``Synchronized`` do not count."""
    for each in status.placement_statuses:
        wrong = next((one for one in each.conditions if one.status == "False" and one.type not in _LATER), None)
        if each.cluster_name and wrong is not None:
            yield each.cluster_name, wrong


def _at(condition: Condition) -> str:
    """`` at 2026-11-25T10:00:00Z``, the time of the condition's last change; empty where that is not known."""
    seen = condition.last_transition_time
    return f" at {write_time(seen, SECONDS)}" if seen else ""


def _state(verdict: Verdict) -> str:
    """HOLDS, GAINS, LOSES or NOT_PICKED."""
    if verdict.picked:
        return GAINS if verdict.change in (CREATED, RESTORED) else HOLDS
    return LOSES if verdict.change == DROPPED else NOT_PICKED
