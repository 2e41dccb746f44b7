# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``metadata.managedFields`` of Kubernetes' server-side apply: who owns which field of a live object, and how items of
its lists are told apart and found.

A FieldsV1 tree names map keys ``f:<key>``, items of keyed lists ``k:{<key fields>}``, elements of sets ``v:<value>``
and items by position ``i:<index>``; ``.`` marks the thing itself beside its children. A node without children is one
field: a scalar, an empty map, or a list or map that is only ever replaced as a whole.
"""

from __future__ import annotations

import json
import math
import typing as t
from dataclasses import dataclass, field

from ...objects.identity import Manifest, metadata_of
from ...values.parts import mapping, rows
from .fields import ABSENT

Node = t.Mapping[str, t.Any]
Keys = t.Mapping[str, t.Any]
_Names = frozenset[str]

KEYED, SET, INDEXED, ATOMIC = "k:", "v:", "i:", ""
DEEPEST = 100
# A schema gives a list one set of key fields, and its versions a few. Members could send one for each item.
MOST_FORMS = 16
_MOST_PARTS = 4 * MOST_FORMS
# What Kubernetes fills into key fields of its own kinds, and what it takes there beside it.
_PROTOCOL, _FILLED_IN, _OTHERS = "protocol", "TCP", ("UDP", "SCTP")
_WORDS = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class Owner:
    """One manager and the fields that it owns from here down, as a FieldsV1 tree."""

    name: str
    fields: Node


def check_managed_fields(live: Manifest) -> None:
    """ValueError if ``metadata.managedFields`` are not what an API server writes, or more than ``DEEPEST`` deep; all
    that reads them relies on it."""
    for entry in rows(metadata_of(live), "managedFields"):
        if not _is_tree(mapping(entry, "fieldsV1"), DEEPEST):
            raise ValueError("managedFields hold no tree of fields")


def _is_tree(node: t.Any, depth: int) -> bool:
    """Whether it is a FieldsV1 tree of at most ``depth`` levels."""
    return depth > 0 and isinstance(node, dict) and all(_fits_tree(*pair, depth) for pair in node.items())


def _fits_tree(key: str, below: t.Any, depth: int) -> bool:
    """Whether a key of a tree is well formed, its value in JSON where it has one, and what is below it is a tree."""
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

    The same name by Update is somebody else, called ``<name> (Update)``, for an apply does not give its fields up; so
    is one that applied to a subresource, called ``<name> (Apply)``. ``live`` has passed ``check_managed_fields``.
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
    """How the items of a list are told apart, by what its owners own, of which the first that tells counts: KEYED, SET
    or INDEXED, or ATOMIC where no node tells."""
    for node in nodes:
        for key in node:
            if key[:2] in (KEYED, SET, INDEXED):
                return key[:2]
    return ATOMIC


def keys_of(nodes: t.Iterable[Node]) -> list[tuple[str, Keys]]:
    """All (name in the tree, key fields) of a keyed list, each once; those with other sets of key fields than the first
    MOST_FORMS are left out."""
    found: list[tuple[str, Keys]] = []
    forms: set[_Names] = set()
    for name in dict.fromkeys(key for node in nodes for key in node if key.startswith(KEYED)):
        fields = json.loads(name[2:])
        form = frozenset(fields)
        if form in forms or len(forms) < MOST_FORMS:
            forms.add(form)
            found.append((name, fields))
    return found


def match_items(items: t.Sequence[t.Any], keys: t.Sequence[tuple[str, Keys]]) -> list[tuple[str, Keys]]:
    """For each item of a keyed list its (name in the tree, key fields); where it is in no tree an empty name, with
    those key fields that it has.

    A key field that the item leaves out matches, because the server fills it in; but an item that names all comes
    first, and several that name the same all match. A ``protocol`` that is left out beside protocols of ports is TCP,
    and no UDP or SCTP.
    """
    known = _KnownKeys.of(keys)
    found: dict[int, int] = {}
    for position, item in enumerate(items):
        if exact := [places[-1] for places in known.fitting(item, complete=True)]:
            found[position] = min(exact)
    taken = set(found.values())
    for position, item in enumerate(items):
        fitting = known.fitting(item, complete=False) if position not in found else ()
        if free := [places[-1] for places in fitting if _drop_taken_from_end(taken, places)]:
            found[position] = min(free)
            taken.add(found[position])
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(name for _key, fields in keys for name in fields))}
    filled = {_PROTOCOL: _FILLED_IN} if any(_is_of_port(fields) for _key, fields in keys) else {}
    return [
        keys[found[position]] if position in found else ("", _own_keys(item, ranks, filled))
        for position, item in enumerate(items)
    ]


@dataclass(frozen=True)
class LiveItems:
    """What is live in the place of a list, by key fields once they are asked for, to find many of its items."""

    items: t.Any
    _found: dict[_Names, dict[t.Hashable, t.Any]] = field(default_factory=dict)

    def having(self, keys: Keys) -> t.Any:
        """The first item that has all these key fields with these values; ABSENT if there is none, or no key field is
        given."""
        if not isinstance(self.items, list) or not keys:
            return ABSENT
        names = frozenset(keys)
        if names not in self._found:
            named = (item for item in reversed(self.items) if _named(item, names) == names)
            self._found[names] = {_word(item, names): item for item in named}
        return self._found[names].get(_word(keys, names), ABSENT)


def json_word(value: t.Any) -> t.Hashable:
    """A text that two values have in common if, and only if, ``same_json`` holds; what is no JSON, or NaN, or nested
    too deep to compare, has nothing in common with anything, itself included."""
    try:
        return _WORDS.encode(_plain(value))
    except (TypeError, ValueError, RecursionError):
        return object()


def json_words(values: t.Any) -> set[t.Hashable]:
    """The ``json_word`` of each value in a list; none for what is no list."""
    return set(map(json_word, values)) if isinstance(values, list) else set()


def set_values(node: Node) -> list[t.Any]:
    """The elements that a node owns of a list that is a set, in its order."""
    return [json.loads(key[2:]) for key in node if key.startswith(SET)]


@dataclass(frozen=True)
class _KnownKeys:
    """The keys of a list by their sets of key fields, and their places by what is in some of these fields."""

    keys: t.Sequence[tuple[str, Keys]]
    forms: t.Mapping[_Names, t.Sequence[int]]
    _places: dict[tuple[_Names, _Names], dict[t.Hashable, list[int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, keys: t.Sequence[tuple[str, Keys]]) -> _KnownKeys:
        """The keys with the places of each set of key fields."""
        forms: dict[_Names, list[int]] = {}
        for place, (_name, fields) in enumerate(keys):
            forms.setdefault(frozenset(fields), []).append(place)
        return cls(keys, forms)

    def fitting(self, item: t.Any, *, complete: bool) -> t.Iterator[list[int]]:
        """For each set of key fields the places of those that an item fits, the last one first: it has all these fields
        if ``complete``, else only some, and what it has is the same."""
        for form in self.forms:
            names = _named(item, form)
            wanted = names and complete == (names == form)
            if wanted and (found := self._places_of(form, names).get(_word(item, names))):
                yield found

    def _places_of(self, form: _Names, names: _Names) -> t.Mapping[t.Hashable, list[int]]:
        """The places of the keys of one ``form`` by what they have in ``names``, the last one first, without those of
        another protocol than the one that is filled in. Nothing for more than _MOST_PARTS pairs: a server fills in the
        same few fields, but members could leave out any."""
        if (form, names) not in self._places and len(self._places) < _MOST_PARTS:
            found = self._places[form, names] = {}
            for place in reversed(self.forms[form]):
                if _PROTOCOL in form - names and self.keys[place][1][_PROTOCOL] in _OTHERS:
                    continue
                found.setdefault(_word(self.keys[place][1], names), []).append(place)
        return self._places.get((form, names), {})


def _named(item: t.Any, names: t.Container[str]) -> _Names:
    """Those of the names that the item has; none if it is no map."""
    return frozenset(name for name in item if name in names) if isinstance(item, t.Mapping) else frozenset()


def _word(item: Keys, names: _Names) -> t.Hashable:
    """What stands for the item in these fields: equal, as of ``json_word``, for items that agree in them. KeyError if
    one is missing."""
    return json_word({name: item[name] for name in names})


def _drop_taken_from_end(taken: set[int], places: list[int]) -> list[int]:
    """The places, from whose end those are taken off that are ``taken``."""
    while places and places[-1] in taken:
        places.pop()
    return places


def _own_keys(item: t.Any, ranks: t.Mapping[str, int], filled: Keys) -> Keys:
    """The key fields that an item has, in the order of ``ranks``, and, if it has any, those that are ``filled`` in."""
    if not _named(item, ranks):
        return {}
    item = {**filled, **item}
    return {name: item[name] for name in sorted(_named(item, ranks), key=ranks.__getitem__)}


def _is_of_port(fields: Keys) -> bool:
    """Whether the key fields have a protocol that ports of Kubernetes have."""
    return fields.get(_PROTOCOL) in (_FILLED_IN, *_OTHERS)


def _plain(value: t.Any) -> t.Any:
    """The value with 1 for 1.0. TypeError or ValueError for what equals no JSON."""
    if isinstance(value, t.Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_plain, value)]
    if isinstance(value, float):
        return int(value) if not math.isinf(value) and value == int(value) else value
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError("no JSON")


def _union(one: Node, other: Node) -> Node:
    """The tree of all that either has."""
    both = {key: _union(one[key], other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **both}
