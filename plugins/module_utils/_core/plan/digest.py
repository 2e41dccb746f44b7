# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Digests of plans, to which approvals are bound: hashes over results alone, so that the same results stay approved; of
one plan, of its JSON in a plan file, of several together, and of what all clusters are to get."""

from __future__ import annotations

import typing as t

from ..objects.identity import ObjectId
from ..values.canonical import digest_of
from .brakes import Brake
from .document import (
    LEAVING,
    LOST,
    ClusterPlan,
    PlacementPlan,
    Rendered,
    Rendering,
    reference,
)


def plan_digest(
    name: str,
    spec_hash: str,
    deleting: bool,
    clusters: t.Sequence[ClusterPlan],
    objects: t.Sequence[Rendered],
    brakes: t.Sequence[Brake],
    renderings: t.Sequence[Rendering] = (),
    *,
    empty_first: bool = False,
) -> str:
    """The digest of one plan: hex SHA-256 over the placement (``name``) and its spec (``spec_hash``, a digest of it),
    whether it ends (``deleting``), clusters gained, kept and lost, every object as each cluster gets it (none if all
    lose it), what is deleted, released or left over on each cluster, the brakes lifted, and ``empty_first``. Objects,
    those of ``renderings`` too, count in their order, all else in any. Not covered: causes and reasons, facts, scores,
    live state, our own version."""
    apart = _rows(renderings)
    return digest_of(
        {
            "placement": name,
            "spec": spec_hash,
            "deleting": deleting,
            "clusters": {each.cluster: each.change for each in clusters},
            "objects": [[_text(each.id), each.hash] for each in objects] if _some_get(clusters) else [],
            **{way: {each.cluster: _texts(each, way) for each in clusters if getattr(each, way)} for way in LEAVING},
            "lifted": sorted(brake.name for brake in brakes if brake.lifted),
            **({"renderings": apart} if apart else {}),
            **({"emptyFirst": True} if empty_first else {}),
        }
    )


def document_digest(plan: t.Mapping[str, t.Any]) -> str:
    """The digest of a placement's plan from what ``PlacementPlan.as_dict`` wrote, equal to its ``plan_digest``.
    KeyError or TypeError for a document of another form, FleetError ``not-json`` for a text that is not Unicode."""
    clusters = plan["clusters"]
    some_get = any(row["change"] != LOST for row in clusters)
    apart = [
        _hashed_rendering(
            row["clusters"], ((_shown(one), one["hash"]) for one in row["objects"]), map(_shown, row["leftOut"])
        )
        for row in plan.get("renderings") or ()
    ]
    return digest_of(
        {
            "placement": plan["placement"],
            "spec": plan["spec"],
            "deleting": plan["deleting"],
            "clusters": {row["cluster"]: row["change"] for row in clusters},
            "objects": [[_shown(row), row["hash"]] for row in plan["objects"]] if some_get else [],
            **{way: {row["cluster"]: sorted(map(_shown, row[way])) for row in clusters if row[way]} for way in LEAVING},
            "lifted": sorted(row["name"] for row in plan["brakes"] if row["lifted"]),
            **({"renderings": sorted(apart)} if apart else {}),
            **({"emptyFirst": True} if plan.get("emptyFirst") else {}),
        }
    )


def plans_digest(digests: t.Mapping[str, str]) -> str:
    """One digest (hex SHA-256) for the plans of several placements, from theirs by name; that of a single one is its
    own."""
    if len(digests) == 1:
        return next(iter(digests.values()))
    return digest_of(dict(digests))


def contents_digest(plan: PlacementPlan, prune_kinds: t.Iterable[str] = (), *, empty_first: bool = False) -> str:
    """The digest (hex SHA-256) of everything that clusters are to get, be it there already, and of the options by which
    more may be deleted (``prune_kinds``, in any order), or sooner (``empty_first``)."""
    kinds = sorted(set(prune_kinds))
    options = {**({"pruneKinds": kinds} if kinds else {}), **({"emptyFirst": True} if empty_first else {})}
    return digest_of([plan.resource_hash, _rows(plan.renderings), *([options] if options else [])])


def _rows(renderings: t.Iterable[Rendering]) -> list[list[t.Any]]:
    """The renderings, each in the form of ``_hashed_rendering``, sorted."""
    rows = (
        _hashed_rendering(each.clusters, ((_text(one.id), one.hash) for one in each.objects), map(_text, each.left_out))
        for each in renderings
    )
    return sorted(rows)


def _hashed_rendering(
    clusters: t.Iterable[str], objects: t.Iterable[tuple[str, str]], left_out: t.Iterable[str]
) -> list[list[t.Any]]:
    """One rendering as it is hashed: its clusters sorted, pairs of object and hash in their order, and what is left
    out, sorted."""
    return [sorted(clusters), [list(each) for each in objects], sorted(left_out)]


def _some_get(clusters: t.Sequence[ClusterPlan]) -> bool:
    """Whether any cluster gains or keeps the placement."""
    return any(each.change != LOST for each in clusters)


def _texts(cluster: ClusterPlan, way: str) -> list[str]:
    """What leaves the cluster by one ``way`` (of ``LEAVING``), each as of ``_text``, sorted."""
    return sorted(_text(each) for each in getattr(cluster, way))


def _text(each: ObjectId) -> str:
    """An object as it is hashed: ``apps/v1 Deployment shop/web``."""
    return _shown(reference(each))


def _shown(row: t.Mapping[str, str]) -> str:
    """An object of a plan file as it is hashed, from its ``reference``: ``apps/v1 Deployment shop/web``."""
    return f"{row['apiVersion']} {row['object']}"
