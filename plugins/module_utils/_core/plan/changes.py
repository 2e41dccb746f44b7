# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The form in which plans tell a change of an object: its fields, each with old and new value. Old is what was applied
last (the record's resource snapshot), or, where members were looked at, what is there. Values of Secrets are never
shown."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..objects.identity import Manifest, ObjectId, ObjectKey

NEW, CHANGED, UNKNOWN, LEFT_OUT = "new", "changed", "may change", "left out"


@dataclass(frozen=True)
class FieldChange:
    """``old`` is None where the field was absent; ``new`` where it is given up, and then ``effect`` says what the
    server does with it."""

    path: str
    old: t.Any
    new: t.Any
    effect: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """The change as plans and results have it."""
        row = {"path": self.path, "old": self.old, "new": self.new}
        return row | ({"effect": self.effect} if self.effect else {})


@dataclass(frozen=True, kw_only=True)
class ObjectChange:
    """``action`` is NEW, CHANGED, LEFT_OUT, or UNKNOWN (it may change) where it cannot be compared field by field.
    ``fields`` are those of a CHANGED object, as far as they are known."""

    id: ObjectId
    action: str
    fields: tuple[FieldChange, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """The change as plans have it: ``object``, ``action`` and ``fields``."""
        return {"object": str(self.id), "action": self.action, "fields": [each.as_dict() for each in self.fields]}


@dataclass(frozen=True, kw_only=True)
class ClusterChanges:
    """The same changes on all these clusters."""

    clusters: tuple[str, ...]
    objects: tuple[ObjectChange, ...]

    def as_dict(self) -> dict[str, t.Any]:
        """The same as plans have it: ``clusters`` and ``objects``."""
        return {"clusters": list(self.clusters), "objects": [each.as_dict() for each in self.objects]}


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What a resource snapshot held: ``manifests`` in their sealed form, or only ``hashes`` of these."""

    manifests: tuple[Manifest, ...] = field(default=(), repr=False)
    hashes: t.Mapping[ObjectKey, str] = field(default_factory=dict)
