# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The structural schema of a class (OpenAPI v3, in CustomResourceDefinitions), for API servers: properties, defaults,
limits and CEL rules from its fields."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..values.selector import LabelSelector
from .checking import PERCENT
from .codec import default_of
from .fields import (
    ANY,
    BOOLEAN,
    COUNT_OR_PERCENT,
    INTEGER,
    LIST,
    MAP,
    OBJECT,
    QUANTITY,
    RAW,
    TEXT,
    TIME,
    Field,
    Shape,
    fields_of,
)
from .meta import Condition, ObjectMeta
from .prop import MAX_INT32, Prop

Schema = dict[str, t.Any]

_NUMBER_OR_TEXT: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_LEAVES: dict[str, Schema] = {
    TEXT: {"type": "string"},
    INTEGER: {"type": "integer", "format": "int64"},
    BOOLEAN: {"type": "boolean"},
    TIME: {"type": "string", "format": "date-time"},
    COUNT_OR_PERCENT: {**_NUMBER_OR_TEXT, "minimum": 0, "maximum": MAX_INT32, "pattern": f"^{PERCENT.pattern}$"},
    QUANTITY: {**_NUMBER_OR_TEXT, "pattern": _QUANTITY},
    ANY: {"x-kubernetes-preserve-unknown-fields": True},
    RAW: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def schema_of(cls: type) -> Schema:
    """The structural schema (OpenAPI v3) of an object of this dataclass. Limits on the values of a list or a map stand
    with its items; ``metadata`` is only said to be an object. ``matches``, ``unique`` and ``digits`` of ``Prop`` are
    not in it."""
    fields = fields_of(cls)
    out: Schema = {"type": "object", "properties": {each.json: _field_schema(each) for each in fields}}
    required = [each.json for each in fields if each.required]
    if required:
        out["required"] = required
    if cls is LabelSelector:
        out["x-kubernetes-map-type"] = "atomic"
    return out


def _field_schema(field: Field) -> Schema:
    """The schema of a field with its description, CEL rules and default; of ``metadata`` only that it is an object."""
    if field.shape.cls is ObjectMeta:
        return {"type": "object"}  # the API server has its own schema, and forbids any word about it
    out = {"description": field.prop.doc, **_shape_schema(field.shape, field.prop)}
    if field.prop.rules:
        out["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in field.prop.rules]
    default = default_of(field)
    if default is not None:
        out["default"] = default
    return out


def _shape_schema(shape: Shape, prop: Prop) -> Schema:
    """The schema of a value of this shape with the limits of ``prop``, of which objects take none and maps and lists
    only the numbers of items; the others stand with the items."""
    if shape.form == OBJECT:
        return schema_of(shape.cls)
    if shape.form == MAP:
        out: Schema = {"type": "object", "additionalProperties": _shape_schema(shape.inner, _of_items(prop))}
        counts = {"minProperties": prop.min_items, "maxProperties": prop.max_items}
        return {**out, **{key: value for key, value in counts.items() if value is not None}}
    if shape.form == LIST:
        return _list_schema(shape, prop)
    limits: Schema = {
        "enum": list(prop.enum) or None,
        "minimum": prop.minimum,
        "maximum": prop.maximum,
        "minLength": prop.min_length,
        "maxLength": prop.max_length,
        "pattern": prop.pattern or None,
    }
    return {**_LEAVES[shape.form], **{key: value for key, value in limits.items() if value is not None}}


def _of_items(prop: Prop) -> Prop:
    """The description for the items of a list or map: without limits on how many there are."""
    return replace(prop, min_items=None, max_items=None)


def _list_schema(shape: Shape, prop: Prop) -> Schema:
    """The schema of a list with the limits on its length; conditions are merged by ``type``."""
    out: Schema = {"type": "array", "items": _shape_schema(shape.inner, _of_items(prop))}
    limits = {"minItems": prop.min_items, "maxItems": prop.max_items}
    out |= {key: value for key, value in limits.items() if value is not None}
    if shape.inner.cls is Condition:
        out |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return out
