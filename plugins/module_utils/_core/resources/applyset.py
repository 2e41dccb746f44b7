# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The record on a member of what one placement keeps there, an ApplySet (Kubernetes KEP-3659): its parent ConfigMap
written and read, with the inventory of objects, how many it can list (``too-many-objects``), and the label ``part-of``
on objects.

The parent stands in our own namespace. From its data our records can be rebuilt by the members alone, but for the
content of what is placed, of which it has names and hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import typing as t
from dataclasses import dataclass, replace

from ..errors import Problem
from ..objects.identity import (
    NAMESPACE,
    ObjectId,
    labels_of,
    metadata_of,
)
from ..values.int_or_percent import INT64
from ..values.parts import (
    mapping,
    number,
    text,
    texts,
)
from .snapshots import is_snapshot_of

MANAGER = "gitops-fleet"
ID_LABEL = "applyset.kubernetes.io/id"
PART_OF_LABEL = "applyset.kubernetes.io/part-of"
TOOLING = "applyset.kubernetes.io/tooling"
GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
# Of the 1 MiB that a ConfigMap takes, what is left beside the rest of the parent.
MOST_INVENTORY = 1_000_000
# As many as fit, however long their names are.
_SURELY_FEW = 700
RECORD = ("policySnapshot", "policyHash", "resourceSnapshot", "resourceHash", "decision")
# Groups, versions, kinds and namespaces; hashes.
_WORD, _HASH = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}"), re.compile(r"[A-Za-z0-9]{1,128}")
MANAGED_BY = {"app.kubernetes.io/managed-by": "gitops.fleet"}


@dataclass(frozen=True, kw_only=True, order=True)
class InventoryEntry:
    """One placed object, and the ``hash`` of the manifest that was applied last, empty until an apply has succeeded."""

    id: ObjectId
    hash: str


@dataclass(frozen=True, kw_only=True)
class ApplySet:
    """The parent's content. ``placement`` is named as ``PlacementKey`` writes it; ``uid`` and ``generation`` are its
    own. ``decision`` holds ``affinityScore`` and ``priorityScore`` of the decision that picked the member, None without
    one. ``policy_snapshot`` and ``resource_snapshot`` are names. ``originals``: the objects were selected on this very
    cluster, and are never deleted there."""

    placement: str
    uid: str
    generation: int = 0
    policy_snapshot: str = ""
    policy_hash: str = ""
    resource_snapshot: str = ""
    resource_hash: str = ""
    decision: t.Mapping[str, t.Any] | None = None
    inventory: tuple[InventoryEntry, ...] = ()
    originals: bool = False

    @property
    def id(self) -> str:
        """The value of the label ``applyset.kubernetes.io/id`` on the parent."""
        return applyset_id(self.placement)

    def same_content(self, other: ApplySet | None) -> bool:
        """Whether nothing differs but the generation, which alone is no reason to write; the order of the inventory
        counts. False for None."""
        return other is not None and replace(self, generation=0) == replace(other, generation=0)


def parent_name(placement: str) -> str:
    """Name of the parent of a placement, which is named as ``PlacementKey`` writes it: for a ClusterResourcePlacement
    its name (63 characters at most), for a ResourcePlacement ``<namespace>.<name>.<digest>``, which is always
    longer."""
    if "/" not in placement:
        return placement
    return f"{placement.replace('/', '.')}.{hashlib.sha256(placement.encode()).hexdigest()}"


def applyset_id(placement: str) -> str:
    """The ApplySet ID of a placement's parent, as KEP-3659 computes it from the parent's identity; the placement is
    named as of ``parent_name``."""
    identity = f"{parent_name(placement)}.{NAMESPACE}.ConfigMap."
    digest = hashlib.sha256(identity.encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def parent_manifest(applyset: ApplySet) -> dict[str, t.Any]:
    """The ConfigMap that records the ApplySet on the member; its data are three JSON texts, ``placement``, ``record``
    and ``inventory``, its annotations list the kinds and namespaces of what is in it, but for its own namespace."""
    ids = [held.id for held in applyset.inventory]
    kinds = sorted({f"{each.kind}.{each.group}" if each.group else each.kind for each in ids})
    namespaces = sorted({each.namespace for each in ids if each.namespace} - {NAMESPACE})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": parent_name(applyset.placement),
            "namespace": NAMESPACE,
            "labels": {ID_LABEL: applyset.id, **MANAGED_BY},
            "annotations": {
                TOOLING: "gitops.fleet/v1",
                GROUP_KINDS: ",".join(kinds),
                NAMESPACES: ",".join(namespaces),
            },
        },
        "data": {
            "placement": _dump({"name": applyset.placement, "uid": applyset.uid, "generation": applyset.generation}),
            "record": _dump(
                {
                    "policySnapshot": applyset.policy_snapshot,
                    "policyHash": applyset.policy_hash,
                    "resourceSnapshot": applyset.resource_snapshot,
                    "resourceHash": applyset.resource_hash,
                    "decision": applyset.decision,
                    **({"originals": True} if applyset.originals else {}),
                }
            ),
            "inventory": _dump(
                [
                    [held.id.group, held.id.version, held.id.kind, held.id.namespace, held.id.name, held.hash]
                    for held in applyset.inventory
                ]
            ),
        },
    }


def too_many_objects_problem(placement: str, objects: t.Sequence[ObjectId]) -> Problem | None:
    """A Problem ``too-many-objects`` where the parent could not list all ``objects`` of a placement, which would take
    more than ``MOST_INVENTORY`` bytes; None else."""
    if len(objects) <= _SURELY_FEW:
        return None
    entries = tuple(InventoryEntry(id=each, hash="0" * 64) for each in objects)
    size = len(parent_manifest(ApplySet(placement=placement, uid="", inventory=entries))["data"]["inventory"].encode())
    if size <= MOST_INVENTORY:
        return None
    message = (
        f"the list of {len(objects)} objects, which each member keeps in a ConfigMap, has {size} bytes, and at most "
        f"{MOST_INVENTORY} fit"
    )
    return Problem("too-many-objects", message, placement, "share them out to several placements")


def read_parent(parent: t.Mapping[str, t.Any]) -> ApplySet:
    """The ApplySet that a parent ConfigMap describes; ValueError if it is not one of ours, or damaged.

    Whoever may write ConfigMaps on the member may have written it: its form is checked, that it has the name that
    belongs to the placement, and that the snapshots are called as those of the placement; not that it is true.
    """
    called = str(metadata_of(parent).get("name") or "")
    try:
        data = texts(parent, "data")
        placement = _json(data, "placement", "name", "uid", "generation")
        record = _json(data, "record", *RECORD)
        whose = text(placement, "name")
        if not whose or parent_name(whose) != called:
            raise ValueError("placement.name is not that of which the ConfigMap has its name")
        own = whose.rpartition("/")[2]
        for key in ("policySnapshot", "resourceSnapshot"):
            if text(record, key) and not is_snapshot_of(own, text(record, key)):
                raise ValueError(f"record.{key} is no snapshot of that placement")
        return ApplySet(
            placement=whose,
            uid=text(placement, "uid"),
            generation=number(placement, "generation"),
            policy_snapshot=text(record, "policySnapshot"),
            policy_hash=text(record, "policyHash"),
            resource_snapshot=text(record, "resourceSnapshot"),
            resource_hash=text(record, "resourceHash"),
            decision=_scores(mapping(record, "decision")) if record.get("decision") is not None else None,
            inventory=_inventory(data),
            originals=record.get("originals") is True,
        )
    except ValueError as error:
        raise ValueError(f"ConfigMap {NAMESPACE}/{called or '?'} is not an ApplySet of ours: {error}") from None


def _json(data: t.Mapping[str, str], key: str, *wanted: str) -> t.Any:
    """What the JSON text ``data[key]`` holds: a map, with all the keys that are wanted; a list where none are.
    ValueError for anything else."""
    try:
        found = json.loads(data.get(key, ""))
    except (ValueError, RecursionError):
        raise ValueError(f"data.{key} is no JSON") from None
    if not isinstance(found, dict if wanted else list) or not all(each in found for each in wanted):
        raise ValueError(f"data.{key} is not what we write there")
    return found


def _scores(decision: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The scores as they are. ValueError for one that is neither a whole number of 64 bits, as bindings keep it, nor
    null."""
    numbers = [each for each in decision.values() if each is not None]
    if any(isinstance(each, bool) or not isinstance(each, int) or each not in INT64 for each in numbers):
        raise ValueError("record.decision holds something else than whole numbers of 64 bits")
    return dict(decision)


def _inventory(data: t.Mapping[str, str]) -> tuple[InventoryEntry, ...]:
    """The objects that the parent lists, in its order. ValueError for a row that is not what we write, or cannot name
    an object."""
    held = []
    for row in _json(data, "inventory"):
        if not isinstance(row, list) or len(row) != 6 or not all(isinstance(part, str) for part in row):
            raise ValueError("an object of the inventory is not told by six texts")
        group, version, kind, namespace, called, digest = row
        if not all(map(_WORD.fullmatch, (version, kind, group or version, namespace or version))) or not _is_segment(
            called
        ):
            raise ValueError("the inventory names something that cannot be an object")
        if digest and not _HASH.fullmatch(digest):
            raise ValueError("the inventory holds something else than a hash")
        held.append(InventoryEntry(id=ObjectId(group, version, kind, namespace, called), hash=digest))
    return tuple(held)


def _is_segment(called: str) -> bool:
    """Whether an object may be called so: as one part of a path (``IsValidPathSegmentName`` in k8s.io/apimachinery),
    printable, and at most 253 characters."""
    return 0 < len(called) <= 253 and called.isprintable() and called not in (".", "..") and not set(called) & set("/%")


def with_part_of_label(manifest: t.Mapping[str, t.Any], applyset: str) -> dict[str, t.Any]:
    """The manifest with the label ``applyset.kubernetes.io/part-of`` that makes it a member of the ApplySet with that
    ID, in place of another. The given one is not changed."""
    metadata = dict(manifest.get("metadata") or {})
    metadata["labels"] = {**labels_of(manifest), PART_OF_LABEL: applyset}
    return {**manifest, "metadata": metadata}


def _dump(value: t.Any) -> str:
    """JSON with sorted keys and without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
