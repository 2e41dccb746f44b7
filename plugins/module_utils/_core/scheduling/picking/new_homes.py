# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""New homes: which newly picked cluster takes the place of which evacuated one, as a mark on its binding that is put
there, read and taken off."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...objects.clusters.evacuation import EVACUATED
from ...objects.placements.binding import INSTEAD_OF, UNSCHEDULED, ClusterResourceBinding


def with_new_homes(
    before: t.Iterable[ClusterResourceBinding], after: t.Sequence[ClusterResourceBinding], anew: t.Container[str]
) -> tuple[ClusterResourceBinding, ...]:
    """``after``, in its order, with a mark on each binding whose cluster takes the place of an evacuated one that has
    its binding still. A mark stays if the cluster it names was evacuated in ``before``, the bindings as they were, too:
    an older one is of another evacuation.

    ``anew`` has the names of bindings that were picked just now. By name they become new homes of the evacuated
    clusters without one: first of those that were no new home themselves, each group by name. All other marks are taken
    off, as are those on bindings that are Unscheduled or being deleted.
    """
    leaving = {each.spec.target_cluster for each in after if _is_evacuated(each)}
    if not leaving and not any(INSTEAD_OF in each.metadata.annotations for each in after):
        return tuple(after)
    # A mark that is older than the evacuation is of another one.
    since_before = leaving & {each.spec.target_cluster for each in before if _is_evacuated(each)}
    taken = {each.name: at for each in after if _is_live(each) and (at := replaced_cluster_of(each)) in since_before}
    fallen = {
        each.spec.target_cluster for each in after if not _is_live(each) and replaced_cluster_of(each) in since_before
    }
    homeless = sorted(leaving - set(taken.values()), key=lambda name: (name in fallen, name))
    free = sorted(each.name for each in after if each.name in anew and _is_live(each) and each.name not in taken)
    taken |= dict(zip(free, homeless, strict=False))
    return tuple(_marked(each, taken.get(each.name, "")) for each in after)


def without_taken_marks(
    bindings: t.Iterable[ClusterResourceBinding], others: t.Iterable[ClusterResourceBinding]
) -> tuple[ClusterResourceBinding, ...]:
    """The ``bindings`` without the mark of those whose cluster stands in for one for which one of the ``others`` does
    so too: two would be waited for."""
    taken = {replaced_cluster_of(each) for each in others if _is_live(each)}
    return tuple(_marked(each, "") if replaced_cluster_of(each) in taken else each for each in bindings)


def replaced_cluster_of(binding: ClusterResourceBinding) -> str:
    """The cluster in whose place, as it was evacuated, the binding's cluster was picked; empty for none."""
    return binding.metadata.annotations.get(INSTEAD_OF, "")


def _is_evacuated(binding: ClusterResourceBinding) -> bool:
    """Whether the binding is Unscheduled for an evacuation of its cluster."""
    return binding.spec.state == UNSCHEDULED and EVACUATED in binding.metadata.annotations


def _is_live(binding: ClusterResourceBinding) -> bool:
    """Whether the binding is neither Unscheduled nor being deleted."""
    return binding.spec.state != UNSCHEDULED and binding.metadata.deletion_timestamp is None


def _marked(binding: ClusterResourceBinding, instead_of: str) -> ClusterResourceBinding:
    """The binding with the mark that it stands in for that cluster, or with none for an empty text."""
    if replaced_cluster_of(binding) == instead_of:
        return binding
    others = {key: value for key, value in binding.metadata.annotations.items() if key != INSTEAD_OF}
    annotations = {**others, **({INSTEAD_OF: instead_of} if instead_of else {})}
    return replace(binding, metadata=replace(binding.metadata, annotations=annotations))
