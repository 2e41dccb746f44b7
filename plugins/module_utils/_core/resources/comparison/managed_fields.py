# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``metadata.managedFields`` of Kubernetes' server-side apply: who owns which field of a live object.

A FieldsV1 tree names map keys ``f:<key>``, items of keyed lists ``k:{<key fields>}``, elements of sets ``v:<value>``
and items by position ``i:<index>``; ``.`` marks the thing itself beside its children. A node without children is one
field: a scalar, an empty map, or a list or map that is only ever replaced as a whole.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from ...objects.identity import Manifest, metadata_of
from ...values.parts import mapping, rows
from .fields import ABSENT, same_json

Node = t.Mapping[str, t.Any]
Keys = t.Mapping[str, t.Any]

KEYED, SET, INDEXED, ATOMIC = "k:", "v:", "i:", ""
DEEPEST = 100


@dataclass(frozen=True)
class Owner:
    """One manager and the fields that it owns from here down, as a FieldsV1 tree."""

    name: str
    fields: Node


def check_managed_fields(live: Manifest) -> None:
    """ValueError if ``metadata.managedFields`` are not what an API server writes; everything below relies on it."""
    for entry in rows(metadata_of(live), "managedFields"):
        if not _is_tree(mapping(entry, "fieldsV1"), DEEPEST):
            raise ValueError("managedFields hold no tree of fields")


def _is_tree(node: t.Any, depth: int) -> bool:
    return depth > 0 and isinstance(node, dict) and all(_fits_tree(*pair, depth) for pair in node.items())


def _fits_tree(key: str, below: t.Any, depth: int) -> bool:
    if key.startswith((KEYED, SET)):
        try:
            told = json.loads(key[2:])
        except (ValueError, RecursionError):
            return False
        if key.startswith(KEYED) and not isinstance(told, dict):
            return False
    return _is_tree(below, depth - 1)


def owners(live: Manifest, manager: str) -> tuple[Node | None, tuple[Owner, ...]]:
    """The tree that ``manager`` owns by Apply, several entries united (None without any), and those of everybody else
    in the order of ``managedFields``.

    The same name by Update is somebody else, called ``<name> (Update)``: whoever used it did not apply, and an apply
    does not give it up.
    """
    ours: Node | None = None
    others: list[Owner] = []
    for entry in metadata_of(live).get("managedFields") or ():
        fields = entry.get("fieldsV1") or {}
        name, operation = str(entry.get("manager", "")), entry.get("operation")
        if name == manager and operation == "Apply" and not entry.get("subresource"):
            ours = fields if ours is None else _union(ours, fields)
        else:
            others.append(Owner(f"{name} ({operation})" if name == manager else name, fields))
    return ours, tuple(others)


def has_children(node: Node) -> bool:
    """Whether more is owned below a node than the node itself."""
    return any(key != "." for key in node)


def list_style(nodes: t.Iterable[Node]) -> str:
    """How the items of a list are told apart, judged from what its owners own: KEYED, SET or INDEXED, or ATOMIC where
    no node tells."""
    for node in nodes:
        for key in node:
            if key[:2] in (KEYED, SET, INDEXED):
                return key[:2]
    return ATOMIC


def keys_of(nodes: t.Iterable[Node]) -> list[tuple[str, Keys]]:
    """All (name in the tree, key fields) of a keyed list, each once, in the order of the nodes given."""
    names = {key: None for node in nodes for key in node if key.startswith(KEYED)}
    return [(name, json.loads(name[2:])) for name in names]


def match_items(items: t.Sequence[t.Any], keys: t.Sequence[tuple[str, Keys]]) -> list[tuple[str, Keys]]:
    """For each wanted item of a keyed list its (name in the tree, key fields); an empty name if it is not in any tree.

    A key field that the item leaves out matches, because the server fills it in (``protocol: TCP``); but an item that
    names all key fields comes first.
    """
    found: dict[int, tuple[str, Keys]] = {}
    for position, item in enumerate(items):
        if exact := next((key for key in keys if _fits(item, key[1], complete=True)), None):
            found[position] = exact
    taken = {name for name, _fields in found.values()}
    for position, item in enumerate(items):
        free = (key for key in keys if key[0] not in taken and _fits(item, key[1], complete=False))
        if position not in found and (first := next(free, None)):
            found[position] = first
            taken.add(first[0])
    names = {name: None for _key, fields in keys for name in fields}
    return [found.get(position, ("", _own_keys(item, names))) for position, item in enumerate(items)]


def item_with(items: t.Any, keys: Keys) -> t.Any:
    """The first item of a live list with all these key fields; ABSENT if there is none, or no key field is given."""
    if isinstance(items, list) and keys:
        for item in items:
            if _fits(item, keys, complete=True):
                return item
    return ABSENT


def set_values(node: Node) -> list[t.Any]:
    """The elements that a node owns of a list that is a set."""
    return [json.loads(key[2:]) for key in node if key.startswith(SET)]


def _fits(item: t.Any, keys: Keys, *, complete: bool) -> bool:
    if not isinstance(item, t.Mapping):
        return False
    named = [name for name in keys if name in item]
    if complete and len(named) < len(keys):
        return False
    return bool(named) and all(same_json(item[name], keys[name]) for name in named)


def _own_keys(item: t.Any, names: t.Iterable[str]) -> Keys:
    return {name: item[name] for name in names if name in item} if isinstance(item, t.Mapping) else {}


def _union(one: Node, other: Node) -> Node:
    both = {key: _union(one[key], other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **both}
