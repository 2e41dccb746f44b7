# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which clusters a placement that nothing holds yet would pick (filter ``placement_decisions``: ``rule``, ``reason``,
``affinityScore``), and why for one cluster (``explain_placement``), from a manifest and a facts snapshot."""

from __future__ import annotations

import typing as t

from ..._core.cluster.facts.snapshot import read_snapshot
from ..._core.errors import FleetError
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..._core.objects.reading import read
from ..._core.plan.compose import policy_snapshot_of
from ..._core.scheduling.cycle import Scheduled, schedule
from ..._core.scheduling.explain import explain_outcome
from ..._core.scheduling.index import FleetIndex


def decisions(placement: t.Any, facts: t.Any, holes: bool = False) -> list[dict[str, t.Any]]:
    """One row for every cluster, by name, as KubeFleet's scheduler would pick: ``cluster``, ``picked``,
    ``affinityScore`` (None without one; it is higher the better a cluster fits preferences), ``rule`` (empty for one
    that is picked) and ``reason``. ``holes`` lets a literal ``...`` pass outside the policy. FleetError
    ``not-a-placement``, as of ``schedule``, and those of manifests and snapshots that cannot be read."""
    outcome = _scheduled(placement, facts, holes)
    rows = [
        _row(name, binding.spec.cluster_decision.cluster_score, "", binding.spec.cluster_decision.reason, picked=True)
        for name, binding in outcome.holders.items()
    ]
    rows += [_row(each.cluster, each.score, each.rule, each.reason, picked=False) for each in outcome.left_out]
    return sorted(rows, key=lambda row: str(row["cluster"]))


def explanation(placement: t.Any, facts: t.Any, cluster: str) -> dict[str, t.Any]:
    """Why the cluster is picked or not, with the data behind it, as results have it. FleetError ``unknown-cluster`` for
    one that neither the facts nor the placement know, and as of ``decisions``."""
    return explain_outcome(_scheduled(placement, facts), cluster).as_dict()


def _row(cluster: str, score: t.Any, rule: str, reason: str, *, picked: bool) -> dict[str, t.Any]:
    """One row as of ``decisions``; ``affinityScore`` is None where there is no score."""
    affinity = score.affinity_score if score else None
    return {"cluster": cluster, "picked": picked, "affinityScore": affinity, "rule": rule, "reason": reason}


def _scheduled(placement: t.Any, facts: t.Any, holes: bool = False) -> Scheduled:
    """What the scheduler picks for a placement without any bindings yet, at the instant of the snapshot; errors as of
    ``decisions``."""
    found = read(placement, "the placement", holes=bool(holes)).object
    if not isinstance(found, ClusterResourcePlacement):
        raise FleetError("not-a-placement", f"this is a {found.kind}", "the placement")
    snapshot = read_snapshot(facts, "the facts")
    policy, _new = policy_snapshot_of(found, None)
    return schedule(found, policy, FleetIndex(snapshot.members, snapshot.captured_at), ())
