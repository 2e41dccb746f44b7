# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters over placements and facts; pure, no cluster is asked."""

from __future__ import annotations

import json
import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._core.errors import FleetError
from ..module_utils._core.facts.snapshot import read_snapshot
from ..module_utils._core.objects.cluster_resource_placement import ClusterResourcePlacement
from ..module_utils._core.objects.reading import read
from ..module_utils._core.plan.compose import policy_snapshot_of
from ..module_utils._core.scheduling.cycle import Scheduled, schedule
from ..module_utils._core.scheduling.explain import explain_outcome
from ..module_utils._core.scheduling.index import FleetIndex


def placement_decisions(placement: t.Any, facts: t.Any) -> list[dict[str, t.Any]]:
    """One row for every cluster, by name: whether it is picked, its scores, and the rule and reason if not."""
    outcome = _scheduled("placement_decisions", placement, facts)
    rows = [
        {
            "cluster": name,
            "picked": True,
            "affinityScore": binding.spec.cluster_decision.cluster_score.affinity_score
            if binding.spec.cluster_decision.cluster_score
            else None,
            "rule": "",
            "reason": binding.spec.cluster_decision.reason,
        }
        for name, binding in outcome.holders.items()
    ]
    rows += [
        {
            "cluster": each.cluster,
            "picked": False,
            "affinityScore": each.score.affinity_score if each.score else None,
            "rule": each.rule,
            "reason": each.reason,
        }
        for each in outcome.left_out
    ]
    return sorted(rows, key=lambda row: str(row["cluster"]))


def explain_placement(placement: t.Any, facts: t.Any, cluster: str) -> dict[str, t.Any]:
    """One sentence and the data behind it for one cluster."""
    outcome = _scheduled("explain_placement", placement, facts)
    try:
        return explain_outcome(outcome, str(cluster)).as_dict()
    except FleetError as error:
        raise AnsibleFilterError(f"gitops.fleet.explain_placement: {error}") from error


def _scheduled(name: str, placement: t.Any, facts: t.Any) -> Scheduled:
    try:
        found = read(_plain(placement), "the placement").object
        if not isinstance(found, ClusterResourcePlacement):
            raise FleetError("not-a-placement", f"this is a {found.kind}", "the placement")
        snapshot = read_snapshot(_plain(facts), "the facts")
        policy, _new = policy_snapshot_of(found, None)
        return schedule(found, policy, FleetIndex(snapshot.members, snapshot.captured_at), ())
    except FleetError as error:
        raise AnsibleFilterError(f"gitops.fleet.{name}: {error}") from error


def _plain(value: t.Any) -> t.Any:
    return json.loads(json.dumps(value))


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"placement_decisions": placement_decisions, "explain_placement": explain_placement}
