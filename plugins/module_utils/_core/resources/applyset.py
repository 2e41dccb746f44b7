# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one placement keeps on one member, recorded there as an ApplySet (Kubernetes KEP-3659).

The parent is a ConfigMap in our own namespace; every placed object carries the ``part-of`` label. The parent's data
hold what is needed to rebuild our records from the members alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import typing as t
from dataclasses import dataclass, replace

from .identity import ObjectId, labels_of

NAMESPACE = "gitops-fleet"
MANAGER = "gitops-fleet"
ID_LABEL = "applyset.kubernetes.io/id"
PART_OF_LABEL = "applyset.kubernetes.io/part-of"
TOOLING = "applyset.kubernetes.io/tooling"
GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
MANAGED_BY = {"app.kubernetes.io/managed-by": "gitops.fleet"}


@dataclass(frozen=True, kw_only=True, order=True)
class Held:
    """One placed object and the hash of the manifest that was applied last; empty while its apply is not done."""

    id: ObjectId
    hash: str


@dataclass(frozen=True, kw_only=True)
class ApplySet:
    """The parent's content.

    ``decision`` holds the scores of the decision that picked the member. ``policy_snapshot`` and
    ``resource_snapshot`` are names, the hashes belong to them.
    """

    placement: str
    uid: str
    generation: int = 0
    policy_snapshot: str = ""
    policy_hash: str = ""
    resource_snapshot: str = ""
    resource_hash: str = ""
    decision: t.Mapping[str, t.Any] | None = None
    inventory: tuple[Held, ...] = ()

    @property
    def id(self) -> str:
        return applyset_id(self.placement)

    def same_content(self, other: ApplySet | None) -> bool:
        """Whether nothing differs but the generation, which alone is no reason to write."""
        return other is not None and replace(self, generation=0) == replace(other, generation=0)


def applyset_id(placement: str) -> str:
    """The ApplySet ID of a placement's parent, as KEP-3659 computes it from the parent's identity."""
    identity = f"{placement}.{NAMESPACE}.ConfigMap."
    digest = hashlib.sha256(identity.encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def parent_manifest(applyset: ApplySet) -> dict[str, t.Any]:
    """The ConfigMap to apply on the member."""
    ids = [held.id for held in applyset.inventory]
    kinds = sorted({f"{each.kind}.{each.group}" if each.group else each.kind for each in ids})
    namespaces = sorted({each.namespace for each in ids if each.namespace} - {NAMESPACE})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": applyset.placement,
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


def read_parent(parent: t.Mapping[str, t.Any]) -> ApplySet:
    """The ApplySet that a parent ConfigMap describes; ValueError if it is not one of ours."""
    try:
        data = parent["data"]
        placement, record = json.loads(data["placement"]), json.loads(data["record"])
        inventory = tuple(
            Held(id=ObjectId(group=group, version=version, kind=kind, namespace=namespace, name=name), hash=digest)
            for group, version, kind, namespace, name, digest in json.loads(data["inventory"])
        )
        return ApplySet(
            placement=placement["name"],
            uid=placement["uid"],
            generation=placement["generation"],
            policy_snapshot=record["policySnapshot"],
            policy_hash=record["policyHash"],
            resource_snapshot=record["resourceSnapshot"],
            resource_hash=record["resourceHash"],
            decision=record["decision"],
            inventory=inventory,
        )
    except (KeyError, TypeError, ValueError) as error:
        name = (parent.get("metadata") or {}).get("name", "?")
        raise ValueError(f"ConfigMap {NAMESPACE}/{name} is not an ApplySet of ours: {error}") from error


def part_of(manifest: t.Mapping[str, t.Any], applyset: str) -> dict[str, t.Any]:
    """The manifest with the label that makes it a member of the ApplySet."""
    metadata = dict(manifest.get("metadata") or {})
    metadata["labels"] = {**labels_of(manifest), PART_OF_LABEL: applyset}
    return {**manifest, "metadata": metadata}


def _dump(value: t.Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
