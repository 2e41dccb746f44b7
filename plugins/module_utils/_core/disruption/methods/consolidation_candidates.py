# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why emptiness and consolidation leave candidates out by their own rules (Karpenter, ``ShouldDisrupt``):
``static-pool``, ``never`` and ``waiting`` (``consolidateAfter``), ``policy`` (``WhenEmpty``),
``instance-type-unknown``, ``label-missing``, ``empty``, ``not-empty``, ``not-initialized``, ``not-consolidatable``."""

from __future__ import annotations

from dataclasses import dataclass

from ...cluster.consolidation_wait import consolidation_eligibility
from ...cluster.state_node import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from ...objects.karpenter.node_pool import NodePool
from ...values.duration import parse_or_never
from . import events as words
from .candidates import NodeCandidate
from .commands import RefusedCommand
from .events import NodeEvent
from .method_input import MethodInput

WHEN_EMPTY, BALANCED = "WhenEmpty", "Balanced"


@dataclass(frozen=True)
class Exclusion:
    """Why a candidate is left out, as a code and a sentence. ``event`` is what upstream says of it, empty where it says
    nothing; ``silent``: we do not tell it among refusals either."""

    code: str
    text: str
    event: str = ""
    silent: bool = False


def never_consolidates(pool: NodePool) -> bool:
    """Whether the pool's ``consolidateAfter`` is Never. ValueError for a text that is no duration."""
    return parse_or_never(pool.disruption.consolidate_after) is None


def why_not_emptied(look: MethodInput, one: NodeCandidate) -> Exclusion | None:
    """Why emptiness does not take a candidate, or None; the first of: ``static-pool``, ``never``, ``not-empty``, what
    ``consolidation_eligibility`` says of its ``consolidateAfter`` (``waiting``, ``not-initialized``),
    ``not-consolidatable``. ValueError as of ``never_consolidates``."""
    pool = one.pool
    if pool.static:
        return Exclusion("static-pool", f"pool {pool.name} is static: it keeps its number of replicas", silent=True)
    if never_consolidates(pool.pool):
        return _never(pool.name)
    if not one.empty:
        return Exclusion("not-empty", f"node {one.name} is not empty", silent=True)
    return _waiting(look, one)


def why_not_consolidated(look: MethodInput, one: NodeCandidate) -> Exclusion | None:
    """Why consolidation does not look at a candidate, or None; the first of: ``static-pool``,
    ``instance-type-unknown``, ``label-missing`` (capacity type, then zone), ``never``, ``empty``, ``policy``, what
    ``consolidation_eligibility`` says of its ``consolidateAfter`` (``waiting``, ``not-initialized``),
    ``not-consolidatable``. ValueError as of ``never_consolidates``."""
    pool, labels = one.pool, one.node.labels
    if pool.static:
        return Exclusion("static-pool", f"pool {pool.name} is static: it keeps its number of replicas")
    kind = labels.get(INSTANCE_TYPE, "")
    if pool.instance_types is not None and one.type is None:
        return Exclusion(
            "instance-type-unknown", f"instance type {kind!r} is not known", f'Instance Type "{kind}" not found'
        )
    for label in (CAPACITY_TYPE, ZONE):
        if not labels.get(label):
            text = f"node {one.name} lacks the label {label}"
            return Exclusion("label-missing", text, f'Node does not have label "{label}"')
    if never_consolidates(pool.pool):
        return _never(pool.name)
    if one.empty:
        return Exclusion("empty", f"node {one.name} is empty: emptiness takes it, within its own budget", silent=True)
    if pool.pool.disruption.consolidation_policy == WHEN_EMPTY:
        return Exclusion(
            "policy",
            f"pool {pool.name} consolidates {WHEN_EMPTY}, and the node is not empty",
            f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty',
        )
    return _waiting(look, one)


def sorted_out(
    found: list[tuple[NodeCandidate, Exclusion | None]],
) -> tuple[list[NodeCandidate], list[RefusedCommand], list[NodeEvent]]:
    """The candidates that are looked at, why others are not, but for silent causes, and what upstream says of these;
    all in the order given."""
    kept = [each for each, why in found if why is None]
    refused = [
        RefusedCommand((each.name,), why.code, f"{each.name}: {why.text}")
        for each, why in found
        if why is not None and not why.silent
    ]
    events = [words.unconsolidatable(each.name, why.event) for each, why in found if why is not None and why.event]
    return kept, refused, events


def _never(pool: str) -> Exclusion:
    """The cause ``never``: ``consolidateAfter`` of the pool of that name is Never."""
    return Exclusion(
        "never", f"consolidateAfter of pool {pool} is Never", f'NodePool "{pool}" has consolidation disabled'
    )


def _waiting(look: MethodInput, one: NodeCandidate) -> Exclusion | None:
    """Why a candidate is not Consolidatable now: as of ``consolidation_eligibility``, or ``not-consolidatable`` where
    only its NodeClaim says so; None if it is. ValueError as of ``never_consolidates``."""
    if look.consolidatable(one.node):
        return None
    found = consolidation_eligibility(one.pool.pool, one.node, look.now)
    if found.holds:
        text = f"the NodeClaim of node {one.name} is not Consolidatable, by the pool that it names itself"
        return Exclusion("not-consolidatable", text)
    return Exclusion(found.code, found.text)
