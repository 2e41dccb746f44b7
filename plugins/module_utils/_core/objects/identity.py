# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which Kubernetes object a manifest describes: group, version, kind, namespace and name (else ``unnamed-object``), as
text too (``namespace/name``); its metadata, labels and annotations; why one with ``generateName`` cannot be placed; the
names of placements and staged runs, with the ``metadata`` of their records; our own namespaces."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..errors import FleetError

Manifest = t.Mapping[str, t.Any]

ObjectKey = tuple[str, str, str, str]
"""Group, kind, namespace and name."""
# Ours, on the hub and on every member.
NAMESPACE = "gitops-fleet"
# Where upgrades run as Jobs, unless another one is named.
JOBS_NAMESPACE = "gitops-fleet-jobs"
# Fields of ObjectMeta that a server, or what stands in for it, sets alone; and all others.
SET_BY_SERVERS = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
GIVEN = ("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences")


@dataclass(frozen=True, order=True)
class ObjectId:
    """A Kubernetes object in one version of its API. ``group`` is empty for the core group, ``namespace`` for an object
    that names none. Ordered by its fields, as texts."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str

    @property
    def api_version(self) -> str:
        """Group and version as in a manifest: ``apps/v1``; the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> ObjectKey:
        """Group, kind, namespace and name: the object over all versions of its API."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        """``Kind namespace/name``, or ``Kind name`` without a namespace; group and version are left out."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, order=True)
class ScopedName:
    """The name of a placement, a staged update run or another record; ``namespace`` is empty for what lies in none.
    Ordered by namespace, then name. As text it is ``namespace/name`` or the name alone."""

    namespace: str
    name: str

    @classmethod
    def of(cls, text: str) -> t.Self:
        """What a text names: ``namespace/name``, or the name of what lies in no namespace. Nothing is checked; the last
        slash parts."""
        namespace, _slash, name = text.rpartition("/")
        return cls(namespace, name)

    def metadata(self, name: str) -> dict[str, t.Any]:
        """``metadata`` of a record that belongs to it, in a new dict: the ``name`` of that record, and the namespace of
        this one if it has one."""
        return {"name": name, **({"namespace": self.namespace} if self.namespace else {})}

    def record(self, name: str) -> str:
        """The name by which ``Records`` know a record of that ``name`` that belongs to it: ``namespace/name``, or the
        name alone."""
        return str(replace(self, name=name))

    def __str__(self) -> str:
        """``namespace/name``, or the name alone of what lies in no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def group_version(api_version: str) -> tuple[str, str]:
    """Group and version of an ``apiVersion``, parted at its last slash: ``apps/v1`` is (``apps``, ``v1``); ``v1`` is
    (empty, ``v1``)."""
    group, _slash, version = api_version.rpartition("/")
    return group, version


def metadata_of(manifest: Manifest) -> Manifest:
    """The metadata of a manifest; an empty map where there are none, or something else stands in their place."""
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, t.Mapping) else {}


def labels_of(manifest: Manifest) -> Manifest:
    """The labels of a manifest, keys and values as they are written, texts or not; an empty map where there are none or
    something else stands in their place."""
    return _map_in(metadata_of(manifest), "labels")


def annotations_of(manifest: Manifest) -> Manifest:
    """The annotations of a manifest, keys and values as they are written, texts or not; an empty map where there are
    none or something else stands in their place."""
    return _map_in(metadata_of(manifest), "annotations")


def _map_in(metadata: Manifest, key: str) -> Manifest:
    """The map under a key of metadata; an empty one where there is none or something else."""
    value = metadata.get(key)
    return value if isinstance(value, t.Mapping) else {}


def generate_name_hint(manifest: Manifest) -> str:
    """For a manifest without a name: why it cannot be placed, if it has ``generateName``, which leaves the name to the
    server; empty without."""
    generated = metadata_of(manifest).get("generateName")
    return "an object made from generateName is a new one each time" if generated else ""


def identify(manifest: Manifest) -> ObjectId:
    """The object that a manifest describes. FleetError ``unnamed-object`` if its API version, kind or name is missing,
    empty or no text; a namespace that is no text counts as none, and that of a cluster-scoped kind stays."""
    metadata = metadata_of(manifest)
    parts = (manifest.get("apiVersion"), manifest.get("kind"), metadata.get("name"), metadata.get("namespace") or "")
    api_version, kind, name, namespace = (part if isinstance(part, str) else "" for part in parts)
    missing = [
        path for path, part in (("apiVersion", api_version), ("kind", kind), ("metadata.name", name)) if not part
    ]
    if missing:
        where = " ".join(part for part in (kind, name) if part)
        message = f"the manifest has no {', '.join(missing)}"
        raise FleetError("unnamed-object", message, where, generate_name_hint(manifest))
    group, version = group_version(api_version)
    return ObjectId(group, version, kind, namespace, name)
