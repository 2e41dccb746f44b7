# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields that others own once an object is there: the annotation ``gitops.fleet/ignore`` names them.

An object is made with all that its manifest says. From then on such a field is neither compared nor changed: it is left
out of what is applied, and as long as nobody else owns it, it is applied as it is found, for a server removes what its
only owner leaves out. So an autoscaler can take ``.spec.replicas`` over at any time, before or after it is ignored.
"""

from __future__ import annotations

import json
import re
import typing as t

from ...errors import Problem
from ...objects.identity import Manifest, ObjectId, annotations_of, labels_of, metadata_of
from ..applyset import PART_OF_LABEL
from .fields import ABSENT, Absent, same_json
from .managed_fields import SET, Node, has_children, item_with, keys_of, match_items, owners, set_values
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


def ignored(manifest: Manifest) -> tuple[Path, ...]:
    """The paths that the manifest's annotation ``gitops.fleet/ignore`` names; an empty path is the whole object.
    ValueError if that cannot be read, or may not be ignored."""
    text = annotations_of(manifest).get(IGNORE)
    if text is None:
        return ()
    if not isinstance(text, str) or not text.strip(" \t\r\n,"):
        raise ValueError("it names no field")
    if text.strip() == WHOLE:
        return ((),)
    found, position = [], _after(_BETWEEN, text, 0)
    while position < len(text):
        path, end = _path(text, position)
        found.append(path)
        position = _after(_BETWEEN, text, end)
    return tuple(found)


def bad_ignores(chosen: t.Iterable[tuple[ObjectId, Manifest]]) -> t.Iterator[Problem]:
    """A Problem ``bad-ignore`` for each object whose annotation ``ignored`` refuses."""
    for each, manifest in chosen:
        try:
            ignored(manifest)
        except ValueError as error:
            yield Problem("bad-ignore", f"annotation {IGNORE} of {each}: {error}", str(each), IGNORE_FORM)


def left_alone(manifest: Manifest, live: Manifest | None, manager: str) -> Manifest:
    """The manifest without what ``gitops.fleet/ignore`` leaves to others, as ``manager`` applies it over ``live``, and
    as drift is judged; as it is, where nothing is live. ValueError as of ``ignored``."""
    paths = ignored(manifest) if live is not None else ()
    if live is None or not paths:
        return manifest
    ours, others = owners(live, manager)
    if () in paths:
        return _as_held(manifest, live, ours or {})
    nodes = (*(() if ours is None else (ours,)), *(each.fields for each in others))
    for path in paths:
        manifest = _kept(manifest, live, path, ours, nodes)
    return manifest


def as_live(manifest: Manifest, live: Manifest, paths: t.Iterable[Path]) -> Manifest:
    """The manifest with what the ``paths`` name taken from ``live``, so that no difference is left there."""
    for path in paths:
        manifest = _kept(manifest, live, path, {}, ({},)) if path else live
    return manifest


def compared(manifest: Manifest, live: Manifest) -> Manifest:
    """The manifest as it is compared with an object that is not ours: what is ignored is taken from ``live``, and the
    annotation itself is left out. ValueError as of ``ignored``."""
    paths = ignored(manifest)
    if not paths:
        return manifest
    annotations = {key: value for key, value in annotations_of(manifest).items() if key != IGNORE}
    metadata = {key: value for key, value in metadata_of(manifest).items() if key != "annotations"}
    metadata |= {"annotations": annotations} if annotations else {}
    return as_live({**manifest, "metadata": metadata}, live, paths)


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def _path(text: str, start: int) -> tuple[Path, int]:
    """The path that begins at ``start``, and where it ends; the first dot may be left out."""
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
    return path if path[0] in ".[" else f".{path}"


def _value(text: str) -> t.Any:
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return text


def _check(path: Path, text: str) -> None:
    first = path[0]
    if first == "metadata":
        part, key = path[1] if len(path) > 1 else "", path[2] if len(path) > 2 else ""
        if part in ("labels", "annotations") and key and key not in (PART_OF_LABEL, IGNORE) or part == "finalizers":
            return
        raise ValueError(f"{text} cannot be ignored; of metadata, single labels, annotations and the finalizers can")
    if first in UNOWNABLE or not isinstance(first, str):
        raise ValueError(f"{text} cannot be ignored: it says which object this is, or is never compared")


def _kept(desired: t.Any, live: t.Any, path: Path, ours: Node | None, nodes: tuple[Node, ...]) -> t.Any:
    """``desired`` with what stands at ``path`` as ``ours`` has it in ``live``, or without it.

    ``nodes`` are what all owners own from here down. One without children is a map or list that is only ever replaced
    as a whole: there the live value stays whoever owns it.
    """
    if not path:
        return ABSENT if ours is None or isinstance(live, Absent) else _held(live, ours)
    step, rest = path[0], path[1:]
    atomic = any(not node for node in nodes)

    def below(name: str, inner: t.Any, there: t.Any) -> t.Any:
        if atomic:
            return _kept(inner, there, rest, {}, ({},))
        own = None if ours is None else ours.get(name)
        return _kept(inner, there, rest, own, tuple(node[name] for node in nodes if name in node))

    if isinstance(step, str):
        return _kept_in_map(desired, live, step, below)
    return _kept_in_list(desired, live, dict(step), nodes, below)


_Below = t.Callable[[str, t.Any, t.Any], t.Any]


def _kept_in_map(desired: t.Any, live: t.Any, key: str, below: _Below) -> t.Any:
    if not isinstance(live, t.Mapping) or not isinstance(desired, (t.Mapping, Absent)):
        return desired
    before = {} if isinstance(desired, Absent) else desired
    after = below(f"f:{key}", before.get(key, ABSENT), live.get(key, ABSENT))
    if isinstance(after, Absent):
        return {name: each for name, each in before.items() if name != key} if key in before else desired
    return {**before, key: after}


def _kept_in_list(desired: t.Any, live: t.Any, keys: Node, nodes: tuple[Node, ...], below: _Below) -> t.Any:
    if not isinstance(desired, list) or not isinstance(live, list):
        return desired
    kept = list(desired)
    for position, (name, found) in enumerate(match_items(desired, keys_of(nodes))):
        item = desired[position]
        if isinstance(item, t.Mapping) and all(same_json(item.get(key), value) for key, value in keys.items()):
            there = item_with(live, found or keys)
            if not isinstance(there, Absent):
                kept[position] = below(name, item, there)
    return [each for each in kept if not isinstance(each, Absent)]


def _held(live: t.Any, node: Node) -> t.Any:
    """What an owner of ``node`` owns of the live value."""
    if not has_children(node):
        return live
    if isinstance(live, t.Mapping):
        return {key: _held(value, node[f"f:{key}"]) for key, value in live.items() if f"f:{key}" in node}
    items = [
        {**keys, **_held(item, node[name])}
        for name, keys in keys_of((node,))
        if not isinstance(item := item_with(live, keys), Absent)
    ]
    owned = set_values({name: {} for name in node if name.startswith(SET)})
    values = [value for value in owned if isinstance(live, list) and any(same_json(value, each) for each in live)]
    return items or values or live


def _as_held(manifest: Manifest, live: Manifest, ours: Node) -> Manifest:
    """The object as we hold it already, and with our label."""
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
