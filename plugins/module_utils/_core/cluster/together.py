# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that do not answer together, by a label that they share: a region that is out of reach is one line (``region
west: 3 of 3 do not answer``), and not one for each cluster."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.clusters.member_cluster import MemberCluster

FEWEST = 2
# Which label is told where several fit the same clusters: the widest failure domain first.
FIRST = ("topology.kubernetes.io/region", "region", "topology.kubernetes.io/zone", "zone")


@dataclass(frozen=True, kw_only=True)
class SilentGroup:
    """All clusters with the label's value, by name, and none of them answers."""

    label: str
    value: str
    clusters: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The group in one line, such as ``region west: 3 of 3 do not answer``."""
        count = len(self.clusters)
        return f"{self.label} {self.value}: {count} of {count} do not answer"

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data: ``label``, ``value``, ``clusters`` and ``sentence``."""
        return {
            "label": self.label,
            "value": self.value,
            "clusters": list(self.clusters),
            "sentence": self.sentence,
        }


def silent_together(silent: t.Collection[str], fleet: t.Iterable[MemberCluster]) -> tuple[SilentGroup, ...]:
    """The groups of at least ``FEWEST`` clusters with one value of a label, of which none answers, the largest first
    (then by ``FIRST``, label and value); one that shares a cluster with a group before it is left out, and so are
    labels that all clusters of the fleet share. ``silent`` are the names of those that do not answer."""
    members = tuple(fleet)
    groups: dict[tuple[str, str], list[str]] = {}
    for each in members:
        for pair in each.metadata.labels.items():
            groups.setdefault(pair, []).append(each.name)
    whole = {
        pair: frozenset(names)
        for pair, names in groups.items()
        if FEWEST <= len(names) < len(members) and all(name in silent for name in names)
    }
    found: list[SilentGroup] = []
    told: set[str] = set()
    for (label, value), names in sorted(whole.items(), key=lambda item: (-len(item[1]), _rank(item[0][0]), item[0])):
        if not names & told:
            told |= names
            found.append(SilentGroup(label=label, value=value, clusters=tuple(sorted(names))))
    return tuple(found)


def _rank(label: str) -> int:
    """Place in ``FIRST``, from 0; other labels come after all of them."""
    return FIRST.index(label) if label in FIRST else len(FIRST)
