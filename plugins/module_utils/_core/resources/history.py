# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The resource snapshots of a placement one after another, as rows (``added``, ``removed``, ``changed``,
``ageSeconds``, ``rolledBackTo``, ``whole``): what differs in each from the one before, whether one is whole, where the
content of its Secrets is kept."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..objects.identity import Manifest, ObjectId, identify
from ..values.instants import write_time
from .sealing import has_secrets, object_hash, secret_source
from .snapshots import resource_hash


@dataclass(frozen=True, kw_only=True)
class RolledBack:
    """Content that is that of an earlier snapshot: its ``index``, and the Git ``revision`` that it came from, empty
    where that is not known."""

    index: int
    revision: str = ""


@dataclass(frozen=True, kw_only=True)
class KeptSnapshot:
    """A resource snapshot with all its parts; ``manifests`` are as recorded, Secrets sealed. ``hash`` is the recorded
    one, ``rolled_back`` says that a roll back made it; ``created`` is None, and the Git ``revision`` empty, where that
    is not known."""

    name: str
    index: int
    hash: str
    manifests: tuple[Manifest, ...]
    created: datetime | None = None
    revision: str = ""
    rolled_back: RolledBack | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the content is what its hash says: not so where it was rebuilt from members, which know names only,
        or was altered. FleetError as of ``object_hash``."""
        return resource_hash(map(object_hash, self.manifests)) == self.hash

    @property
    def secret_sources(self) -> dict[ObjectId, str]:
        """The Secrets, and envelopes with Secrets, whose content is kept elsewhere, and where, of an envelope the first
        source; by their notes alone, whoever wrote these. FleetError as of ``identify``."""
        found = ((identify(each), _source(each)) for each in self.manifests)
        return {each: source for each, source in found if source}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One snapshot, and the objects that differ from the one before; the oldest that is kept is compared to none."""

    snapshot: KeptSnapshot
    added: tuple[ObjectId, ...] = ()
    removed: tuple[ObjectId, ...] = ()
    changed: tuple[ObjectId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SnapshotRow:
    """One snapshot of one placement as it is told. ``latest``: it is the newest of its placement. ``clusters`` hold it;
    ``age`` is in seconds, None where nobody knows it."""

    placement: str
    step: Step
    latest: bool
    clusters: tuple[str, ...]
    age: float | None

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data: ``objects`` is their number, what was added, removed and changed are names; ``created`` is empty
        and ``ageSeconds`` None where nobody knows, ``rolledBackTo`` an index or None. FleetError as of ``is_whole``."""
        kept = self.step.snapshot
        return {
            "placement": self.placement,
            "index": kept.index,
            "name": kept.name,
            "latest": self.latest,
            "created": write_time(kept.created) if kept.created else "",
            "ageSeconds": None if self.age is None else int(self.age),
            "revision": kept.revision,
            "rolledBackTo": kept.rolled_back.index if kept.rolled_back else None,
            "whole": kept.is_whole,
            "hash": kept.hash,
            "objects": len(kept.manifests),
            "clusters": list(self.clusters),
            "added": [str(each) for each in self.step.added],
            "removed": [str(each) for each in self.step.removed],
            "changed": [str(each) for each in self.step.changed],
        }


def history(snapshots: t.Sequence[KeptSnapshot]) -> tuple[Step, ...]:
    """What each resource snapshot changed: a step for each of ``snapshots``, which come in ascending order of index. An
    object in another version of its API is the same one; one of which one of two neighbours knows the name alone counts
    as changed. FleetError as of ``identify`` and ``object_hash``."""
    steps: list[Step] = []
    before: dict[t.Any, tuple[ObjectId, str]] | None = None
    for each in snapshots:
        now = {(found := identify(manifest)).key: (found, object_hash(manifest)) for manifest in each.manifests}
        step = Step(snapshot=each)
        if before is not None:
            step = replace(
                step,
                added=tuple(found for key, (found, _hash) in now.items() if key not in before),
                removed=tuple(found for key, (found, _hash) in before.items() if key not in now),
                changed=tuple(
                    found for key, (found, digest) in now.items() if key in before and before[key][1] != digest
                ),
            )
        steps.append(step)
        before = now
    return tuple(steps)


def _source(manifest: Manifest) -> str:
    """Where the content of a sealed Secret is, or of the first one in an envelope; empty for others, whatever
    annotation they have."""
    inner = manifest.get("data")
    inside = (each for each in inner.values() if isinstance(each, t.Mapping)) if isinstance(inner, t.Mapping) else ()
    sources = (secret_source(each) for each in (manifest, *inside) if has_secrets(each))
    return next(filter(None, sources), "")
