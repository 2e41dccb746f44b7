# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The fields of a manifest, read from the dataclass of its class: shape, name in camelCase, description and default of
each; which values say as little as an absent field.

Reading, writing, checking and the CRDs work from these.
"""

from __future__ import annotations

import dataclasses
import types
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from ..values.selector import LabelSelector, LabelSelectorRequirement
from .prop import REQUIRED, Prop

TEXT, INTEGER, BOOLEAN, TIME = "text", "integer", "boolean", "time"
COUNT_OR_PERCENT, QUANTITY, RAW = "number or percentage", "quantity", "object of any form"
ANY = "any value"
OBJECT, LIST, MAP = "object", "list", "map"
_LEAVES: dict[object, str] = {
    str: TEXT,
    int: INTEGER,
    bool: BOOLEAN,
    datetime: TIME,
    int | str: COUNT_OR_PERCENT,
    t.Any: ANY,
}

# These two live with the values and carry no description of their own.
_UNDESCRIBED: dict[type, dict[str, Prop]] = {
    LabelSelector: {
        "match_labels": Prop(doc="Labels that must have exactly these values."),
        "match_expressions": Prop(doc="Requirements that must all hold."),
    },
    LabelSelectorRequirement: {
        "key": Prop(doc="Label key."),
        "operator": Prop(doc="In, NotIn, Exists or DoesNotExist."),
        "values": Prop(doc="Values, for In and NotIn."),
    },
}


@dataclass(frozen=True)
class Shape:
    """The form of a value in a manifest: ``form`` is one of the constants of this module; an object is of class
    ``cls``, a list (a tuple in the dataclass) or map of ``item``."""

    form: str
    item: Shape | None = None
    cls: type = type(None)

    @property
    def inner(self) -> Shape:
        """The shape of one item of a list or map; TypeError for another form."""
        if self.item is None:
            raise TypeError(f"{self.form} has no items")
        return self.item


@dataclass(frozen=True)
class Field:
    """One field: ``attr`` in Python, ``json`` in manifests. ``default`` may be REQUIRED; ``optional``: its type allows
    None."""

    attr: str
    json: str
    shape: Shape
    prop: Prop
    default: t.Any
    optional: bool

    @property
    def required(self) -> bool:
        """Whether a manifest must have it: there is no default."""
        return self.default is REQUIRED


@cache
def fields_of(cls: type) -> tuple[Field, ...]:
    """The fields of a dataclass as declared, those of its bases first. KeyError for a field without a description,
    TypeError for another class."""
    hints = t.get_type_hints(cls)
    return tuple(_field(cls, each, hints[each.name]) for each in dataclasses.fields(cls))


@cache
def fields_by_name(cls: type) -> Mapping[str, Field]:
    """The fields of a dataclass by their names in manifests, otherwise as of ``fields_of``."""
    return {each.json: each for each in fields_of(cls)}


def camel(name: str) -> str:
    """The name of an attribute as manifests have it: ``max_skew`` is ``maxSkew``. Others (``clusterUID``) are given by
    ``json`` of ``prop``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def is_empty(value: t.Any) -> bool:
    """Whether a value says as little as an absent field: None, an empty text, tuple or mapping; not 0, False or any
    list."""
    return not value and (value is None or value == "" or isinstance(value, (tuple, Mapping)))


def _field(cls: type, declared: dataclasses.Field[t.Any], hint: t.Any) -> Field:
    """The field as declared; KeyError if neither it nor ``_UNDESCRIBED`` has a description."""
    prop = declared.metadata.get("prop") or _UNDESCRIBED[cls][declared.name]
    default = declared.default
    if default is dataclasses.MISSING and declared.default_factory is not dataclasses.MISSING:
        default = declared.default_factory()
    optional, hint = _without_none(hint)
    return Field(declared.name, prop.json or camel(declared.name), _shape(hint, prop), prop, default, optional)


def _without_none(hint: t.Any) -> tuple[bool, t.Any]:
    """Whether a type hint allows None, and the hint without it."""
    if isinstance(hint, types.UnionType) or t.get_origin(hint) is t.Union:
        members = [each for each in t.get_args(hint) if each is not type(None)]  # pylint: disable=unidiomatic-typecheck  # a type
        if len(members) < len(t.get_args(hint)):
            return True, t.Union[tuple(members)]  # noqa: UP007 (the members are known only now)
    return False, hint


def _shape(hint: t.Any, prop: Prop) -> Shape:
    """The shape that a type hint without None stands for: a tuple is a list of its first type, a Mapping a map, of
    quantities or of any form (``raw``) where ``prop`` says so, another type that is no leaf an object."""
    origin = t.get_origin(hint)
    if origin is tuple:
        return Shape(LIST, _shape(t.get_args(hint)[0], prop))
    if origin is Mapping:
        value = t.get_args(hint)[1]
        if prop.raw and value is t.Any:
            return Shape(RAW)
        return Shape(MAP, Shape(QUANTITY) if prop.quantity else _shape(value, prop))
    if hint in _LEAVES:
        return Shape(_LEAVES[hint])
    return Shape(OBJECT, cls=hint)
