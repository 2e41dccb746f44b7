# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The staged update run that gives clusters what an apply has recorded: one that is in the files or recorded and not
over, or the manifest of a new one."""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import dataclass, field

from ...objects.api_groups import PLACEMENT_API
from ...objects.identity import Manifest
from ...objects.placements.key import PlacementKey
from ...objects.staged.key import RunKey
from ...objects.staged.update_run import ClusterStagedUpdateRun
from ...schema.metadata_rules import name_with_ending
from .decide import is_over
from .standing import begun_at

Runs = t.Mapping[str, ClusterStagedUpdateRun]
"""By name, those in a namespace by ``namespace/name``."""


@dataclass(frozen=True, kw_only=True)
class NextRun:
    """The name (``run``) of a staged update run of a placement. ``definition`` is the manifest of a run that there is
    not yet."""

    placement: str
    run: str
    definition: Manifest | None = None


@dataclass(frozen=True, kw_only=True)
class KnownRuns:
    """What is written in the files that were given, ``strategies`` by name as runs are, and what is recorded."""

    written: Runs = field(default_factory=dict)
    recorded: Runs = field(default_factory=dict)
    strategies: t.Collection[str] = ()


def next_run(placement: PlacementKey, index: int, known: KnownRuns) -> NextRun | None:
    """The run that gives the resource snapshot at ``index``, the latest, to the placement's clusters: the one in the
    files, or else the recorded one, that has not ended and does so; without any, a new one by the strategy of the
    placement's run that began last, be there one of that name or not, or else by the only one that the files have in
    its namespace, named ``PLACEMENT-1``, or by the next number that is free. None where there are several, or no
    strategy."""
    there = {name: each for name, each in {**known.written, **known.recorded}.items() if _is_of(each, placement)}
    fit = [name for name, each in there.items() if _gives(each, index)]
    own = [name for name in fit if name in known.written]
    if fit:
        found = own or fit
        return NextRun(placement=str(placement), run=found[0]) if len(found) == 1 else None
    strategy = _strategy(placement, there.values(), known)
    if not strategy:
        return None
    keys = (
        RunKey(placement.namespace, name_with_ending(placement.name, f"-{number}")) for number in itertools.count(1)
    )
    key = next(each for each in keys if str(each) not in known.written and str(each) not in known.recorded)
    spec = {"placementName": placement.name, "stagedRolloutStrategyName": strategy}
    made = {"apiVersion": PLACEMENT_API, "kind": key.kinds.run, "metadata": key.metadata(key.name), "spec": spec}
    return NextRun(placement=str(placement), run=str(key), definition=made)


def _is_of(run: ClusterStagedUpdateRun, placement: PlacementKey) -> bool:
    """Whether it is a run of this placement."""
    return run.placement_key == placement


def _gives(run: ClusterStagedUpdateRun, index: int) -> bool:
    """Whether the run, carried on, gives the latest snapshot, which is that at ``index``."""
    if is_over(run):
        return False
    if begun_at(run) is not None:
        return run.status.resource_snapshot_index_used == str(index)
    return run.spec.resource_snapshot_index in ("", str(index))


def _strategy(placement: PlacementKey, runs: t.Iterable[ClusterStagedUpdateRun], known: KnownRuns) -> str:
    """The name of the strategy by which a new run goes, as of ``next_run``; empty for none."""
    begun = [(at, str(each.key), each) for each in runs if (at := begun_at(each)) is not None]
    if begun:
        return max(begun, key=lambda each: each[:2])[2].spec.staged_rollout_strategy_name
    key = RunKey(placement.namespace, placement.name)
    prefix = key.record("")
    names = [name.removeprefix(prefix) for name in known.strategies if name.startswith(prefix)]
    names = [name for name in names if "/" not in name]
    return names[0] if len(names) == 1 else ""
