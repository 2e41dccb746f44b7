# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placements with holes, a literal ``...`` (``placeholder``, ``placeholder-text``) where documentation leaves something
out: what can be decided in spite of them."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ...schema.finding import Finding
from ...schema.rules import Found, indexes_at
from .cluster_resource_placement import ClusterResourcePlacement

HOLES = frozenset(("placeholder", "placeholder-text"))
# Decisions come from the policy alone, and are recorded under the placement's name and namespace.
_DECIDES = re.compile(r"spec|metadata|(spec\.policy|metadata\.name(space)?)(\b.*)?", re.DOTALL)


def blocks_decision(problem: Found) -> bool:
    """Whether a problem of a placement's manifest keeps it from being decided: any but a literal ``...``, and such a
    one in its policy, its name or its namespace, or for its whole spec or metadata."""
    return problem.code not in HOLES or bool(_DECIDES.fullmatch(problem.path))


def without_holes(placement: ClusterResourcePlacement, holes: t.Sequence[Found]) -> ClusterResourcePlacement:
    """The placement without the resource selectors that one of ``holes`` leads into, so that none of them selects more
    than is written; it can be left with none."""
    found = indexes_at((each.path for each in holes), "spec.resourceSelectors")
    kept = tuple(one for index, one in enumerate(placement.spec.resource_selectors) if str(index) not in found)
    return replace(placement, spec=replace(placement.spec, resource_selectors=kept))


def hole_finding(hole: Found) -> Finding:
    """The finding, a warning, on a literal ``...`` that the rest of a document is judged without, with the code of the
    problem."""
    return Finding(hole.code, hole.path, hole.path, "...", "...", f"{hole.message}; the rest is judged without it")
