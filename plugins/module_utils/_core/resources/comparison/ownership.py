# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Drift of an applied object (``observedDrifts``), judged by reading its managedFields alone: fields we want and do not
own any more, looked up from map to key and list to item, and the managers that own them now.

Whoever changes a field by an update, or applies it with force, takes it away from its former owners; that is how
Kubernetes' server-side apply records a change. A field that we still own counts as what we applied last.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ...objects.identity import Manifest, metadata_of
from .fields import (
    ABSENT,
    Absent,
    field_path,
    is_masked,
    is_secret,
    item_path,
    shown,
    value_path,
)
from .managed_fields import (
    ATOMIC,
    INDEXED,
    KEYED,
    LiveItems,
    Node,
    Owner,
    has_children,
    json_word,
    json_words,
    keys_of,
    list_style,
    match_items,
    owners,
    set_values,
)

# Never owned by anybody: they say which object it is, or belong to the server or to controllers.
UNOWNABLE = ("apiVersion", "kind", "metadata", "status")
OWNABLE_METADATA = ("labels", "annotations", "finalizers")


@dataclass(frozen=True)
class FieldDrift:
    """One field that was taken over or removed, or that others added. ``managers`` own it now; none means that it was
    removed, or that nobody owns it. ``live`` is None where the field is gone, ``desired`` where it was added; of
    Secrets values and annotations are replaced by their lengths. Both may be equal: then others changed the field and
    changed it back, and it is still theirs."""

    path: str
    desired: t.Any
    live: t.Any
    managers: tuple[str, ...]

    def as_dict(self) -> dict[str, t.Any]:
        """Under the names of KubeFleet's ``observedDrifts``: ``path``, ``valueInHub``, and ``valueInMember`` for
        ``live``; with ``managers``."""
        return {
            "path": self.path,
            "valueInHub": self.desired,
            "valueInMember": self.live,
            "managers": list(self.managers),
        }


@dataclass(frozen=True)
class _Place:
    """One field of the desired manifest beside its live value and the nodes of those who own something here."""

    path: str
    desired: t.Any
    live: t.Any
    ours: Node | None
    others: tuple[Owner, ...]
    masked: bool = False

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The trees of ours, if any, and of the others."""
        return (*(() if self.ours is None else (self.ours,)), *(other.fields for other in self.others))

    def below(self, path: str, name: str, desired: t.Any, live: t.Any) -> _Place:
        """The place one step down, which is called ``name`` in the trees; of the others those who own something
        there."""
        return replace(
            self,
            path=path,
            desired=desired,
            live=live,
            ours=None if self.ours is None else self.ours.get(name),
            others=tuple(Owner(one.name, one.fields[name]) for one in self.others if name in one.fields),
        )

    def field(self, key: str) -> _Place:
        """The place at a key of the manifest; live it may be ABSENT."""
        live = self.live.get(key, ABSENT) if isinstance(self.live, t.Mapping) else ABSENT
        return self.below(field_path(self.path, key), f"f:{key}", self.desired[key], live)

    def drift(self) -> FieldDrift:
        """This place as a drift, with each other manager once."""
        managers = tuple(dict.fromkeys(one.name for one in self.others))
        return FieldDrift(self.path, shown(self.desired, self.masked), shown(self.live, self.masked), managers)


def drift(desired: Manifest, live: Manifest, manager: str) -> tuple[FieldDrift, ...]:
    """The fields of ``desired`` that ``manager`` (operation Apply) does not own on ``live``, in the manifest's order,
    those of metadata last.

    Nulls in ``desired`` count as owned, and so do empty containers, unless somebody else owns the whole and has filled
    it (an empty ``podSelector`` that was narrowed). All other fields of an object that ``manager`` never applied drift.
    ``live`` must carry ``metadata.managedFields`` that have passed ``check_managed_fields``.
    """
    ours, others = owners(live, manager)
    root = _Place("", desired, live, ours, others)
    found: list[FieldDrift] = []
    for key in desired:
        if key not in UNOWNABLE:
            found += _unowned(replace(root.field(key), masked=is_masked(key, desired, live)))
    if metadata_of(desired):
        metadata = root.field("metadata")
        for key in metadata.desired:
            if key in OWNABLE_METADATA:
                found += _unowned(replace(metadata.field(key), masked=is_secret(desired) and key == "annotations"))
    return tuple(found)


def _unowned(at: _Place) -> t.Iterator[FieldDrift]:
    """What has drifted at or below this place, as ``drift`` says."""
    if at.desired is None:
        return
    if at.desired in ({}, []):
        if at.ours is None and at.live and any(not has_children(other.fields) for other in at.others):
            yield at.drift()
    elif at.ours is None and isinstance(at.live, Absent):
        yield at.drift()
    elif isinstance(at.desired, t.Mapping):
        yield from _unowned_in_map(at)
    elif isinstance(at.desired, list):
        yield from _unowned_in_list(at)
    elif at.ours is None:
        yield at.drift()


def _unowned_in_map(at: _Place) -> t.Iterator[FieldDrift]:
    """What has drifted in a map: key by key where owners or the live value tell its keys apart, else the whole, unless
    it is ours."""
    granular = any(map(has_children, at.nodes))
    if not granular and at.ours is None:
        granular = not at.others and isinstance(at.live, t.Mapping)
    if not granular and at.ours is not None:
        # A key of a map of structures keeps its own mark when all that stood below it was removed.
        granular = not isinstance(at.live, t.Mapping) or any(
            at.desired[key] and key not in at.live for key in at.desired
        )
    if granular:
        for key in at.desired:
            yield from _unowned(at.field(key))
    elif at.ours is None:
        yield at.drift()


def _unowned_in_list(at: _Place) -> t.Iterator[FieldDrift]:
    """What has drifted in a list, by the way in which owners tell its items apart; the whole where none does, unless it
    is ours."""
    match list_style(at.nodes):
        case style if style == ATOMIC:
            if at.ours is None:
                yield at.drift()
        case style if style == KEYED:
            yield from _unowned_in_keyed_list(at)
        case style if style == INDEXED:
            yield from _unowned_in_indexed_list(at)
        case _:
            yield from _unowned_in_set(at)


def _unowned_in_keyed_list(at: _Place) -> t.Iterator[FieldDrift]:
    """What has drifted in the wanted items of a list, each found by its keys; by position in the path where it has
    none."""
    there = LiveItems(at.live)
    for position, (name, keys) in enumerate(match_items(at.desired, keys_of(at.nodes))):
        path = item_path(at.path, keys) if keys else f"{at.path}[{position}]"
        yield from _unowned(at.below(path, name, at.desired[position], there.having(keys)))


def _unowned_in_indexed_list(at: _Place) -> t.Iterator[FieldDrift]:
    """What has drifted in the wanted items of a list, by position."""
    for position, item in enumerate(at.desired):
        live = at.live[position] if isinstance(at.live, list) and position < len(at.live) else ABSENT
        yield from _unowned(at.below(f"{at.path}[{position}]", f"i:{position}", item, live))


def _unowned_in_set(at: _Place) -> t.Iterator[FieldDrift]:
    """The wanted elements that we do not own, with those who do."""
    live, ours = json_words(at.live), json_words([] if at.ours is None else set_values(at.ours))
    others = [(one, json_words(set_values(one.fields))) for one in at.others]
    for value in at.desired:
        word = json_word(value)
        if word not in ours:
            holders = tuple(one for one, held in others if word in held)
            present = value if word in live else ABSENT
            yield replace(at, path=value_path(at.path, value), desired=value, live=present, others=holders).drift()
