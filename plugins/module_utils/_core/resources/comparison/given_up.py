# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields that a server-side apply gives up: ours until now, and not named by the manifest any more; and what the server
does with them (removed, set to its default, kept for another manager)."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, replace

from ...objects.identity import Manifest, ObjectId
from .fields import ABSENT, Absent, field_path, is_masked, is_secret, item_path, shown, value_path
from .managed_fields import (
    SET,
    LiveItems,
    Node,
    Owner,
    has_children,
    json_word,
    json_words,
    keys_of,
    match_items,
    owners,
    set_values,
)
from .ownership import OWNABLE_METADATA, UNOWNABLE

APPS, BATCH = "apps", "batch"
# What API servers of Kubernetes set where a field of their own kinds is absent (API reference, "Defaults to").
DEFAULTS: t.Mapping[tuple[str, str, str], t.Any] = {
    **{(APPS, kind, ".spec.replicas"): 1 for kind in ("Deployment", "StatefulSet", "ReplicaSet")},
    ("", "ReplicationController", ".spec.replicas"): 1,
    **{(APPS, kind, ".spec.revisionHistoryLimit"): 10 for kind in ("Deployment", "StatefulSet", "DaemonSet")},
    (APPS, "Deployment", ".spec.progressDeadlineSeconds"): 600,
    ("autoscaling", "HorizontalPodAutoscaler", ".spec.minReplicas"): 1,
    (BATCH, "Job", ".spec.parallelism"): 1,
    (BATCH, "Job", ".spec.backoffLimit"): 6,
    (BATCH, "CronJob", ".spec.suspend"): False,
    ("", "Service", ".spec.type"): "ClusterIP",
    ("", "Service", ".spec.sessionAffinity"): "None",
}
REMOVED = "is removed, or set to the server's default"


@dataclass(frozen=True)
class GivenUp:
    """One field with its ``live`` value, masked in Secrets; ``managers`` are others who own it, too."""

    path: str
    live: t.Any
    managers: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Field:
    path: str
    desired: t.Any
    live: t.Any
    ours: Node
    others: tuple[Owner, ...]
    masked: bool = False

    def below(self, path: str, name: str, desired: t.Any, live: t.Any) -> _Field:
        """What is one step down, where ``name`` is that of our tree of fields; of the others those who own something
        there."""
        others = tuple(Owner(one.name, one.fields[name]) for one in self.others if name in one.fields)
        return replace(self, path=path, desired=desired, live=live, ours=self.ours[name], others=others)

    def field(self, name: str) -> _Field:
        """What is at a key of a map, whose ``name`` in the tree is ``f:<key>``."""
        key = name.removeprefix("f:")
        return self.below(field_path(self.path, key), name, _at(self.desired, key), _at(self.live, key))


def given_up(desired: Manifest, live: Manifest, manager: str) -> tuple[GivenUp, ...]:
    """Fields of ``live`` that ``manager`` (operation Apply) owns and ``desired`` does not name (or names as null), in
    the order of the manager's fields, those of metadata last. Empty where the manager never applied. ``live`` has
    passed ``check_managed_fields``."""
    ours, others = owners(live, manager)
    if ours is None:
        return ()
    root, secret = _Field("", desired, live, ours, others), is_secret(desired)
    found: list[GivenUp] = []
    for name in ours:
        key = name.removeprefix("f:")
        if name.startswith("f:") and key not in UNOWNABLE:
            found += _gone(replace(root.field(name), masked=is_masked(key, desired, live)))
    metadata = root.field("f:metadata") if "f:metadata" in ours else None
    for key in OWNABLE_METADATA if metadata else ():
        if metadata and f"f:{key}" in metadata.ours:
            found += _gone(replace(metadata.field(f"f:{key}"), masked=secret and key == "annotations"))
    return tuple(found)


def becomes(each: ObjectId, path: str, managers: t.Sequence[str] = ()) -> str:
    """What the server does with a field at ``path`` (as of ``field_path``) that an apply gives up, as the rest of a
    sentence: it stays if ``managers`` own it too, else it goes to the default of Kubernetes (``DEFAULTS``), or is
    removed."""
    if managers:
        return f"stays as it is, since {', '.join(managers)} {'own' if len(managers) > 1 else 'owns'} it too"
    default = DEFAULTS.get((each.group, each.kind, path))
    if default is None:
        return REMOVED
    return f"goes to the server's default, {default if isinstance(default, str) else json.dumps(default)}"


def _gone(at: _Field) -> t.Iterator[GivenUp]:
    """This field if it is live and not wanted (a null counts as that), else what is given up below it; that too where
    others own a part of it, which stays."""
    if isinstance(at.live, Absent):
        return
    unwanted = isinstance(at.desired, Absent) or at.desired is None
    if unwanted and (not at.others or _shared(at)):
        yield GivenUp(at.path, shown(at.live, at.masked), tuple(dict.fromkeys(one.name for one in at.others)))
    elif has_children(at.ours):
        yield from _gone_below(at)


def _shared(at: _Field) -> bool:
    """Whether others own all that is ours there."""
    return _covered(at.ours, [each.fields for each in at.others])


def _covered(ours: Node, others: t.Sequence[Node]) -> bool:
    """Whether all that is ours below a node is also owned by others, who own something there."""
    return bool(others) and all(
        _covered(ours[name], [each[name] for each in others if name in each]) for name in ours if name != "."
    )


def _gone_below(at: _Field) -> t.Iterator[GivenUp]:
    """What is given up in a map or a list: keyed items first, then keys and elements of sets in the order of our tree.
    An item that stays, because it is wanted or others own a part of it, keeps its key fields."""
    wanted = at.desired if isinstance(at.desired, list) else []
    keys, there = keys_of((at.ours,)), LiveItems(at.live)
    items = {name: {**own, **wanted[place]} for place, (name, own) in enumerate(match_items(wanted, keys)) if name}
    for name, fields in keys:
        below = at.below(item_path(at.path, fields), name, items.get(name, ABSENT), there.having(fields))
        if below.others and isinstance(below.desired, Absent) and not _shared(below):
            below = replace(below, desired=fields)
        yield from _gone(below)
    sets = [json_words(each) for each in (wanted, at.live)] if any(name.startswith(SET) for name in at.ours) else []
    for name in at.ours:
        if name.startswith("f:"):
            yield from _gone(at.field(name))
        elif name.startswith(SET):
            (value,) = set_values({name: {}})
            kept, live = (value if json_word(value) in held else ABSENT for held in sets)
            yield from _gone(at.below(value_path(at.path, value), name, kept, live))


def _at(value: t.Any, key: str) -> t.Any:
    """What a map has at the key; ABSENT where it has nothing, or is no map."""
    return value.get(key, ABSENT) if isinstance(value, t.Mapping) else ABSENT
