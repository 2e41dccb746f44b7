# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields that others own once an object is there, named by the annotation ``gitops.fleet/ignore``: its paths read and
checked (``bad-ignore``), and the manifest without them, to apply or to compare.

An object is made with all that its manifest says. From then on such a field is neither compared nor changed: it is left
out of what is applied, and as long as nobody else owns it, it is applied as it is found, for a server removes what its
only owner leaves out. So an autoscaler can take ``.spec.replicas`` over at any time, before or after it is ignored.
"""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass

from ...errors import Problem
from ...objects.identity import Manifest, ObjectId, annotations_of, labels_of, metadata_of
from ..applyset import PART_OF_LABEL
from .fields import ABSENT, Absent, is_secret, same_json
from .managed_fields import (
    LiveItems,
    Node,
    has_children,
    json_word,
    json_words,
    keys_of,
    match_items,
    owners,
    set_values,
)
from .ownership import OWNABLE_METADATA, UNOWNABLE

IGNORE = "gitops.fleet/ignore"
WHOLE = "*"
IGNORE_FORM = """give paths as drift shows them, '.spec.replicas, .metadata.labels["team"]', or '*' for the object"""

Step = t.Union[str, tuple[tuple[str, t.Any], ...]]  # noqa: UP007  # pylint takes the other form for an error
"""The name of a field, or the keys of an item of a list."""
Path = tuple[Step, ...]

_SHOWN = 200
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_FIRST = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_NAME = re.compile(rf"\.({_FIRST.pattern})")
_QUOTED = re.compile(r'\.?\[("(?:[^"\\]|\\.)*")\]')
_ONE = r'([A-Za-z_][A-Za-z0-9_-]*)=("(?:[^"\\]|\\.)*"|[^"=,\[\]\s]+)'
_KEY = re.compile(_ONE)
_KEYS = re.compile(rf"\[({_ONE}(?:,{_ONE})*)\]")


def ignored_paths(manifest: Manifest) -> tuple[Path, ...]:
    """The paths that the manifest's annotation ``gitops.fleet/ignore`` names, in its order; an empty path, of ``*``
    alone, is the whole object. In ConfigMaps and Secrets, whose entries have no fields, ``.data.tls.crt`` is the entry
    ``tls.crt``, and ``.stringData`` is ``.data``. ValueError if the annotation names nothing, cannot be read, or names
    what may not be ignored."""
    text = annotations_of(manifest).get(IGNORE)
    if text is None:
        return ()
    if not isinstance(text, str) or not text.strip(" \t\r\n,"):
        raise ValueError("it names no field")
    if text.strip() == WHOLE:
        return ((),)
    found, position = [], _end_of_match(_BETWEEN, text, 0)
    while position < len(text):
        path, end = _path(text, position)
        found.append(_of_entries(path) if _has_entries(manifest) else path)
        position = _end_of_match(_BETWEEN, text, end)
    return tuple(found)


def _has_entries(manifest: Manifest) -> bool:
    """Whether it is a ConfigMap or Secret of the core group."""
    return is_secret(manifest) or (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", "ConfigMap")


def _of_entries(path: Path) -> Path:
    """The path of an entry where the parts of its name were written as fields, in ``data`` for ``stringData``, which is
    folded into it before it is applied; any other path as it is."""
    field, *names = path
    if field not in ("data", "binaryData", "stringData"):
        return path
    texts = [each for each in names if isinstance(each, str)]
    entry = (".".join(texts),) if texts and len(texts) == len(names) else tuple(names)
    return ("data" if field == "stringData" else field, *entry)


def bad_ignores(chosen: t.Iterable[tuple[ObjectId, Manifest]]) -> t.Iterator[Problem]:
    """A Problem ``bad-ignore`` for each of the objects whose annotation ``ignored_paths`` refuses, in their order."""
    for each, manifest in chosen:
        try:
            ignored_paths(manifest)
        except ValueError as error:
            yield Problem("bad-ignore", f"annotation {IGNORE} of {each}: {error}", str(each), IGNORE_FORM)


def without_left_alone(manifest: Manifest, live: Manifest | None, manager: str) -> Manifest:
    """The manifest without what ``gitops.fleet/ignore`` leaves to others, as ``manager`` applies it over ``live``, and
    as drift is judged; as it is, where nothing is live. ValueError as of ``ignored_paths``, if something is live.
    ``live`` has passed ``check_managed_fields``."""
    paths = ignored_paths(manifest) if live is not None else ()
    if live is None or not paths:
        return manifest
    ours, others = owners(live, manager)
    if () in paths:
        return _as_held(manifest, live, ours or {})
    nodes = (*(() if ours is None else (ours,)), *(each.fields for each in others))
    for path in paths:
        manifest = _kept(_At(manifest, live, ours, nodes), path)
    return manifest


def as_live(manifest: Manifest, live: Manifest, paths: t.Iterable[Path]) -> Manifest:
    """The manifest with what the ``paths`` name taken from ``live``, so that no difference is left there; fields and
    whole items of lists are taken over or left out where only one of the two has them. Where a path goes on inside an
    item that only one has, that item stays a difference. An empty path gives ``live``, which has passed
    ``check_managed_fields``."""
    nodes = tuple(each.fields for each in owners(live, "")[1])
    for path in paths:
        manifest = _kept(_At(manifest, live, None, nodes, sends=False), path)
    return manifest


def as_compared(manifest: Manifest, live: Manifest) -> Manifest:
    """The manifest as it is compared with an object that is not ours: what is ignored is taken from ``live``
    (``as_live``), and the annotation itself is left out. ValueError as of ``ignored_paths``. ``live`` has passed
    ``check_managed_fields``."""
    paths = ignored_paths(manifest)
    if not paths:
        return manifest
    annotations = {key: value for key, value in annotations_of(manifest).items() if key != IGNORE}
    metadata = {key: value for key, value in metadata_of(manifest).items() if key != "annotations"}
    metadata |= {"annotations": annotations} if annotations else {}
    return as_live({**manifest, "metadata": metadata}, live, paths)


def _end_of_match(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where the match that begins at a position ends; the position where there is none."""
    found = pattern.match(text, position)
    return found.end() if found else position


def _path(text: str, start: int) -> tuple[Path, int]:
    """The path that begins at ``start``, and where it ends; the first dot may be left out. ValueError where it cannot
    be read, or may not be ignored."""
    first = _FIRST.match(text, start)
    steps: list[Step] = [first[0]] if first else []
    position = first.end() if first else start
    while position < len(text) and text[position] not in ", \t\r\n":
        if found := _NAME.match(text, position):
            steps.append(found[1])
        elif found := _QUOTED.match(text, position):
            steps.append(json.loads(found[1], strict=False))
        elif found := _KEYS.match(text, position):
            steps.append(tuple((key, _value(value)) for key, value in _KEY.findall(found[1])))
        else:
            shown = _dotted(re.split(r"[ \t\r\n]", text[start : start + _SHOWN], maxsplit=1)[0])
            raise ValueError(f"{shown} is no path as drift shows it (an item of a list is named by its keys)")
        position = found.end()
    path = tuple(steps)
    _check(path, _dotted(text[start:position]))
    return path, position


def _dotted(path: str) -> str:
    """The path, which is not empty, with its first dot, which may have been left out."""
    return path if path[0] in ".[" else f".{path}"


def _value(text: str) -> t.Any:
    """What a text says as JSON; the text itself where it is none."""
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return text


def _check(path: Path, text: str) -> None:
    """ValueError for a path that says which object it is, that is never compared, or that is of ``metadata`` and none
    of the finalizers or of single labels and annotations, our two apart; ``text`` is how it is written."""
    first = path[0]
    if first == "metadata":
        part, key = path[1] if len(path) > 1 else "", path[2] if len(path) > 2 else ""
        if part in ("labels", "annotations") and key and key not in (PART_OF_LABEL, IGNORE) or part == "finalizers":
            return
        raise ValueError(f"{text} cannot be ignored; of metadata, single labels, annotations and the finalizers can")
    if first in UNOWNABLE or not isinstance(first, str):
        raise ValueError(f"{text} cannot be ignored: it says which object this is, or is never compared")


@dataclass(frozen=True)
class _At:
    """One place in a manifest beside its live value. ``ours`` and ``nodes`` are what we and all owners own from here
    down, ``sends`` tells a manifest that is applied from one that is only compared.

    A node without children is a map or list that is only ever replaced as a whole: there the live value stays whoever
    owns it.
    """

    desired: t.Any
    live: t.Any
    ours: Node | None
    nodes: tuple[Node, ...]
    sends: bool = True

    @property
    def whole(self) -> bool:
        """Whether this is one field, as any owner has it; one that applied an empty map has it so, too, beside others
        who own keys of it."""
        return any(not node for node in self.nodes) and not any(map(has_children, self.nodes))

    @property
    def unnamed(self) -> bool:
        """Whether the manifest says nothing here; the null of one that is applied is a value."""
        return isinstance(self.desired, Absent) or (self.desired is None and not self.sends)

    @property
    def lacking(self) -> bool:
        """Whether nothing is live here, or null."""
        return self.live is None or isinstance(self.live, Absent)

    def below(self, name: str, desired: t.Any, live: t.Any) -> _At:
        """The place one step down, called ``name`` in the trees of owners; of what is applied, all below what is only
        replaced as a whole counts as ours."""
        if self.sends and self.whole:
            return _At(desired, live, {}, ({},))
        ours = None if self.ours is None else self.ours.get(name)
        return _At(desired, live, ours, tuple(node[name] for node in self.nodes if name in node), self.sends)


def _kept(at: _At, path: Path) -> t.Any:
    """What is desired, with what stands at ``path`` as it is live, of what is applied only what is ours, and that is
    nothing of a list or map that was applied empty and that others have filled; ABSENT if nothing is left."""
    if path:
        step, rest = path[0], path[1:]
        return _kept_in_map(at, step, rest) if isinstance(step, str) else _kept_in_list(at, dict(step), rest)
    if not at.sends:
        return at.live
    if at.ours is None or isinstance(at.live, Absent):
        return ABSENT
    if any(map(has_children, at.nodes)) and not has_children(at.ours):
        return [] if isinstance(at.live, list) else {}
    return _held(at.live, at.ours)


def _kept_in_map(at: _At, key: str, rest: Path) -> t.Any:
    """What is desired, with what is at ``rest`` below the ``key`` kept as of ``_kept``; as it is where it, or what is
    live, is something else than a map. Where no map is live around a field that others set, it is applied with what is
    beside it, or, with nothing beside it, not at all: ABSENT."""
    if not (at.lacking or isinstance(at.live, t.Mapping)) or not (at.unnamed or isinstance(at.desired, t.Mapping)):
        return at.desired
    before, there = {} if at.unnamed else at.desired, {} if at.lacking else at.live
    after = _kept(at.below(f"f:{key}", before.get(key, ABSENT), there.get(key, ABSENT)), rest)
    if not isinstance(after, Absent):
        return {**before, key: after}
    if key not in before:
        return at.desired
    left = {name: each for name, each in before.items() if name != key}
    if at.lacking and not left:
        return ABSENT
    return at.desired if at.lacking and at.sends else left


def _kept_in_list(at: _At, keys: Node, rest: Path) -> t.Any:
    """The list that is desired, with what is at ``rest`` below each item that has these ``keys`` kept as of ``_kept``,
    and, where the path ends at the item, such items that only are live; as it is where it, or what is live, is no list.
    ABSENT where nothing is left that has to be sent."""
    if not (at.lacking or isinstance(at.live, list)) or not (at.unnamed or isinstance(at.desired, list)):
        return at.desired
    before, there = [] if at.unnamed else at.desired, [] if at.lacking else at.live
    known, live = keys_of(at.nodes), LiveItems(there)
    kept, matched = list(before), set()
    for position, (name, found) in enumerate(match_items(before, known)):
        item = before[position]
        if isinstance(item, t.Mapping) and _is_named({**found, **item}, keys):
            one = live.having(found or keys)
            matched.add(id(one))
            kept[position] = _kept(at.below(name, item, one), rest)
    kept = [each for each in kept if not isinstance(each, Absent)]
    for position, (name, found) in enumerate(() if rest else match_items(there, known)):
        item = there[position]
        if _is_named(item, keys) and id(item) not in matched:
            after = _kept(at.below(name, ABSENT, item), rest)
            if not isinstance(after, Absent):
                kept.insert(position, {**found, **after})
    if kept or not before:
        return kept or at.desired
    return ABSENT if at.lacking or (at.sends and not at.whole) else []


def _is_named(item: t.Any, keys: Node) -> bool:
    """Whether the item has all these keys."""
    return isinstance(item, t.Mapping) and all(same_json(item.get(key), value) for key, value in keys.items())


def _held(live: t.Any, node: Node) -> t.Any:
    """What an owner of ``node`` owns of the live value; all of it where nothing below it is told apart, and a list of
    which none is found."""
    if not has_children(node):
        return live
    if isinstance(live, t.Mapping):
        return {key: _held(value, node[f"f:{key}"]) for key, value in live.items() if f"f:{key}" in node}
    there = LiveItems(live)
    items = [
        {**keys, **_held(item, node[name])}
        for name, keys in keys_of((node,))
        if not isinstance(item := there.having(keys), Absent)
    ]
    if items:
        return items
    words = json_words(live)
    return [value for value in set_values(node) if json_word(value) in words] or live


def _as_held(manifest: Manifest, live: Manifest, ours: Node) -> Manifest:
    """The object as we hold it already: its identity, what we own of the ``live`` one, and the manifest's ``part-of``
    label."""
    metadata = {key: metadata_of(manifest)[key] for key in ("name", "namespace") if key in metadata_of(manifest)}
    below = ours.get("f:metadata", {})
    for key in OWNABLE_METADATA:
        if f"f:{key}" in below and key in metadata_of(live):
            metadata[key] = _held(metadata_of(live)[key], below[f"f:{key}"])
    if PART_OF_LABEL in labels_of(manifest):
        metadata["labels"] = {**metadata.get("labels", {}), PART_OF_LABEL: labels_of(manifest)[PART_OF_LABEL]}
    rest = {
        key: _held(value, ours[f"f:{key}"])
        for key, value in live.items()
        if key not in UNOWNABLE and f"f:{key}" in ours
    }
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata, **rest}
