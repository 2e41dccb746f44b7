# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The digest of a plan: a hash over results alone, so that the same results stay approved."""

from __future__ import annotations

import typing as t

from ..resources.canonical import digest_of
from ..resources.identity import ObjectId
from .brakes import Brake
from .document import LOST, ClusterPlan, Rendered


def plan_digest(
    name: str,
    spec_hash: str,
    deleting: bool,
    clusters: t.Sequence[ClusterPlan],
    objects: t.Sequence[Rendered],
    brakes: t.Sequence[Brake],
) -> str:
    """Covers the placement and its spec, clusters gained, kept and lost, every rendered object, the prune lists and
    the brakes lifted. Not covered: facts, scores, live state, our own version.
    """
    return digest_of(
        {
            "placement": name,
            "spec": spec_hash,
            "deleting": deleting,
            "clusters": {each.cluster: each.change for each in clusters},
            "objects": [[_text(each.id), each.hash] for each in objects] if _some_get(clusters) else [],
            "prune": {each.cluster: sorted(_text(gone) for gone in each.prune) for each in clusters if each.prune},
            "lifted": sorted(brake.name for brake in brakes if brake.lifted),
        }
    )


def plans_digest(digests: t.Mapping[str, str]) -> str:
    """One digest for the plans of several placements; that of a single one is its own."""
    if len(digests) == 1:
        return next(iter(digests.values()))
    return digest_of(dict(digests))


def _some_get(clusters: t.Sequence[ClusterPlan]) -> bool:
    return any(each.change != LOST for each in clusters)


def _text(each: ObjectId) -> str:
    """Kinds of one name in two groups are two objects."""
    return f"{each.api_version} {each}"
