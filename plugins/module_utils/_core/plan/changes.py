# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The form in which plans tell changes of objects: each field with ``path``, ``old``, ``new`` and ``effect``, for each
set of clusters, as JSON and as one sentence (``.spec.replicas: 2 -> 3``). Old is what was applied last (the record's
resource snapshot), or, where members were looked at, what is there. Values of Secrets are masked."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field

from ..objects.identity import Manifest, ObjectId, ObjectKey
from ..values.listed import number_of

NEW, CHANGED, UNKNOWN, LEFT_OUT = "new", "changed", "may change", "left out"
MOST_TOLD, SHORT_VALUE = 10, 40


@dataclass(frozen=True)
class FieldChange:
    """``path`` is written like ``.spec.replicas``. ``old`` is None where the field was absent (or null); ``new`` where
    it is given up, and then ``effect`` says what the server does with it."""

    path: str
    old: t.Any
    new: t.Any
    effect: str = ""

    def in_words(self, most: int) -> str:
        """``path: old -> new``, ``path: new is new`` where there was nothing, or ``path: old is given up: it`` and the
        effect. Values are JSON, cut after ``most`` characters, of which the rest is counted."""
        if self.effect:
            return f"{self.path}: {_shown(self.old, most)} is given up: it {self.effect}"
        if self.old is None:
            return f"{self.path}: {_shown(self.new, most)} is new"
        return f"{self.path}: {_shown(self.old, most)} -> {_shown(self.new, most)}"

    def as_dict(self) -> dict[str, t.Any]:
        """The change as plans and results have it: ``path``, ``old``, ``new``, and ``effect`` where there is one."""
        row = {"path": self.path, "old": self.old, "new": self.new}
        return row | ({"effect": self.effect} if self.effect else {})


@dataclass(frozen=True, kw_only=True)
class ObjectChange:
    """``action`` is NEW, CHANGED, LEFT_OUT, or UNKNOWN where nobody can tell whether it changes, or in what. ``fields``
    are those of a CHANGED object, empty where only its hash tells that it changes."""

    id: ObjectId
    action: str
    fields: tuple[FieldChange, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """The change as plans have it: ``object`` (``Deployment shop/web``), ``action`` and ``fields``."""
        return {"object": str(self.id), "action": self.action, "fields": [each.as_dict() for each in self.fields]}


@dataclass(frozen=True, kw_only=True)
class ClusterChanges:
    """The same changes on all these ``clusters``, which are by name."""

    clusters: tuple[str, ...]
    objects: tuple[ObjectChange, ...]

    def as_dict(self) -> dict[str, t.Any]:
        """The changes as plans have them: ``clusters`` and ``objects``."""
        return {"clusters": list(self.clusters), "objects": [each.as_dict() for each in self.objects]}


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What a resource snapshot held: ``manifests`` in their sealed form, or only ``hashes`` of these; a manifest counts
    before a hash. Objects in neither were not held."""

    manifests: tuple[Manifest, ...] = field(default=(), repr=False)
    hashes: t.Mapping[ObjectKey, str] = field(default_factory=dict)


def changes_sentence(found: t.Iterable[ClusterChanges], room: int) -> str:
    """The changed objects in the order given, each once with its fields, in at most about ``room`` characters and
    ``MOST_TOLD`` fields. Fields, and objects without any, that find no room are counted at the end; a shorter one
    behind them may be told. What changes alike on several sets of clusters is told once."""
    told: dict[str, list[str]] = {}
    for each in dict.fromkeys(_lines(found)):
        told.setdefault(each[0], []).extend(filter(None, each[1:]))
    words, left, used, fields = list[str](), 0, 0, 0
    for what, lines in told.items():
        taken = list[str]()
        for line in lines:
            if fields < MOST_TOLD and used + len(what) + len(line) < room:
                taken, used, fields = [*taken, line], used + len(line) + 2, fields + 1
        left += len(lines) - len(taken)
        if taken or (not lines and used + len(what) < room):
            words.append(f"{what}: {', '.join(taken)}" if taken else what)
            used += len(what) + 2
        elif not lines:
            left += 1
    return "; ".join([*words, *([f"and {left} more"] if left else [])])


def _lines(found: t.Iterable[ClusterChanges]) -> t.Iterator[tuple[str, str]]:
    """Of each changed object what happens to it (``changes Deployment shop/web``) with an empty text, then the same
    with each of its fields in words."""
    verbs = {NEW: "new", CHANGED: "changes", LEFT_OUT: "left out"}
    for each in found:
        for one in each.objects:
            what = f"{verbs.get(one.action, one.action)} {one.id}"
            yield what, ""
            yield from ((what, change.in_words(SHORT_VALUE)) for change in one.fields)


def _shown(value: t.Any, most: int) -> str:
    """The value as JSON, what JSON does not have as text; beyond ``most`` characters it is cut, and the others are
    counted."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[:most]}... ({number_of(len(text) - most, 'more character')})"
