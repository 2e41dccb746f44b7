# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots of policies and resources: the hashes that tell when a new one is due, their names, indexes and parts by
size, and which ones go by ``revisionHistoryLimit`` (KubeFleet)."""

from __future__ import annotations

import re
import typing as t

from ..objects.identity import Manifest
from ..values.canonical import canonical_json, digest_of

PART_LIMIT = 800 * 1024
_INDEXED = re.compile(r".+-(?P<index>[0-9]{1,9})(-snapshot)?")
DEFAULT_POLICY = {"placementType": "PickAll"}


def policy_hash(policy: t.Mapping[str, t.Any] | None) -> str:
    """The hash that tells whether a policy needs a new snapshot: hex SHA-256 of it as it is in JSON, without
    ``numberOfClusters``: scaling alone makes no new snapshot. None, or an empty one, is PickAll. FleetError as of
    ``canonical_json``."""
    kept = {key: value for key, value in (policy or DEFAULT_POLICY).items() if key != "numberOfClusters"}
    return digest_of(kept)


def resource_hash(object_hashes: t.Iterable[str]) -> str:
    """The hash that tells whether resources need a new snapshot: hex SHA-256 over the hashes of all objects
    (``sealing.object_hash``), in whatever order they are given."""
    return digest_of(sorted(object_hashes))


def in_parts(manifests: t.Iterable[Manifest], limit: int = PART_LIMIT) -> tuple[tuple[Manifest, ...], ...]:
    """The manifests packed in order into parts of at most ``limit`` bytes, the sum over the JSON of each.

    A bigger object gets a part of its own; without manifests there is one empty part. FleetError and RecursionError as
    of ``canonical_json``.
    """
    packed: list[list[Manifest]] = [[]]
    size = 0
    for manifest in manifests:
        length = len(canonical_json(manifest))
        if packed[-1] and size + length > limit:
            packed.append([])
            size = 0
        packed[-1].append(manifest)
        size += length
    return tuple(tuple(part) for part in packed)


def policy_snapshot_name(placement: str, index: int) -> str:
    """Name of the policy snapshot at an index, ``<placement>-<index>``."""
    return f"{placement}-{index}"


def resource_snapshot_name(placement: str, index: int, part: int = 0) -> str:
    """Name of a part of the resource snapshot at an index: the first part is the master,
    ``<placement>-<index>-snapshot``; the next is ``<placement>-<index>-0``."""
    return f"{placement}-{index}-snapshot" if part == 0 else f"{placement}-{index}-{part - 1}"


def snapshot_index(name: str) -> int:
    """The index in the name of a policy snapshot or of a master resource snapshot; -1 where there is none, or one of
    more than nine digits: records and members may say anything. Of a further part it is the number in its name, which
    is not the index."""
    found = _INDEXED.fullmatch(name)
    return int(found["index"]) if found else -1


def is_snapshot_of(placement: str, name: str) -> bool:
    """Whether a policy snapshot or a master resource snapshot of the placement, ``placement`` being its name alone, may
    be called so; further parts of a resource snapshot are none."""
    index = snapshot_index(name)
    return name in (policy_snapshot_name(placement, index), resource_snapshot_name(placement, index)) and index >= 0


def next_index(indices: t.Iterable[int]) -> int:
    """The index of a new snapshot: after the highest one that exists; the first is 0."""
    return max(indices, default=-1) + 1


def indices_to_drop(indices: t.Iterable[int], limit: int) -> tuple[int, ...]:
    """The indices of snapshots that go, oldest first, so that at most ``limit`` (``revisionHistoryLimit``) of those
    given, which include the new one, remain. ValueError for a limit below 1."""
    if limit < 1:
        raise ValueError("at least one snapshot is kept")
    return tuple(sorted(set(indices))[:-limit])
