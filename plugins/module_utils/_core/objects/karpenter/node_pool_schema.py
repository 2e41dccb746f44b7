# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an API server does with a new NodePool: prune, default, validate (CRD of Karpenter v1.14.1).

Judged are ``spec.disruption``, the two durations of ``spec.template.spec``, and whether the parts are there that v1
demands. The patterns are those of the CRD, and weaker than what Karpenter evaluates.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...values.duration import parse_or_never
from .node_pool import (
    DEFAULT_EXPIRY,
    DEFAULT_NODES,
    DEFAULT_POLICY,
    POLICIES,
    REASONS,
)

TYPE_INVALID, INVALID, REQUIRED = "FieldValueTypeInvalid", "FieldValueInvalid", "FieldValueRequired"
NOT_SUPPORTED, TOO_MANY, DUPLICATE = "FieldValueNotSupported", "FieldValueTooMany", "FieldValueDuplicate"
# Rules over several fields (CEL) are not judged where one of these came first.
BLOCKING = {TYPE_INVALID, REQUIRED, NOT_SUPPORTED, TOO_MANY}
MAX_BUDGETS = MAX_REASONS = 50
BUDGETS, _CLAIM = "spec.disruption.budgets", "spec.template.spec"


@dataclass(frozen=True)
class SchemaError:
    """A broken rule: field path, Kubernetes' type of field error, the value, and what is wanted instead."""

    path: str
    type: str
    value: t.Any
    wanted: str


@dataclass(frozen=True)
class Text:
    matches: Callable[[str], object] | None = None
    wanted: str = "text"
    enum: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False


@dataclass(frozen=True)
class Items:
    """A list; ``unique`` makes a set of it."""

    item: t.Any
    max_items: int
    unique: bool = False
    default: tuple[t.Any, ...] | None = None
    required: bool = False
    wanted: str = "a list"


@dataclass(frozen=True)
class Object:
    """An object; where it is ``open``, fields beside those named are kept and not judged."""

    fields: Mapping[str, t.Any]
    open: bool = False
    default: Mapping[str, t.Any] | None = None
    required: bool = False
    wanted: str = "an object"


@dataclass(frozen=True)
class Anything:
    required: bool = False
    default: None = None
    wanted: str = "a value"


Node = Text | Items | Object | Anything  # pylint: disable=unsupported-binary-operation  # Python 3.11 can


def _pattern(text: str) -> Callable[[str], object]:
    return re.compile(text, re.ASCII).search


# Possessive: a text of megabytes takes no memory for ways back that lead nowhere.
_DURATION = _pattern(r"^([0-9]++(s|m|h))++\Z")
_DURATION_OR_NEVER = _pattern(r"^(([0-9]++(s|m|h))++|Never)\Z")
_MACRO = re.compile(r"@(annually|yearly|monthly|weekly|daily|midnight|hourly)")
# Five groups with white space between, at the end of the text. Read backwards, so that long texts cost no time; Go's
# white space has no vertical tab.
_FIVE_BACKWARDS = re.compile(r".+?[\t\n\f\r ].+?[\t\n\f\r ].+?[\t\n\f\r ].+?[\t\n\f\r ].")


def _schedule(text: str) -> object:
    return _MACRO.match(text) or _FIVE_BACKWARDS.match(text[::-1])


_SOME_DURATION = "hours, minutes and seconds such as 1h30m"
BUDGET = Object(
    {
        "duration": Text(
            _pattern(r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)\Z"), "hours and minutes such as 8h, 30m or 10h5m"
        ),
        "nodes": Text(
            _pattern(r"^((100|[0-9]{1,2})%|[0-9]+)\Z"),
            'a number or a percentage in quotes, such as "5" or "10%"',
            default=DEFAULT_NODES,
        ),
        "reasons": Items(Text(enum=REASONS), MAX_REASONS, unique=True),
        "schedule": Text(_schedule, "five cron fields, or @daily, @hourly, @weekly, @monthly, @yearly"),
    }
)
DISRUPTION = Object(
    {
        "budgets": Items(BUDGET, MAX_BUDGETS, default=({},)),
        "consolidateAfter": Text(_DURATION_OR_NEVER, f"{_SOME_DURATION}, or Never", required=True),
        "consolidationPolicy": Text(enum=POLICIES, default=DEFAULT_POLICY),
    },
    default={"consolidateAfter": "0s"},
)
CLAIM = Object(
    {
        "expireAfter": Text(_DURATION_OR_NEVER, f"{_SOME_DURATION}, or Never", default=DEFAULT_EXPIRY),
        "nodeClassRef": Anything(required=True),
        "requirements": Anything(required=True),
        "terminationGracePeriod": Text(_DURATION, _SOME_DURATION),
    },
    open=True,
    required=True,
)
SPEC = Object(
    {"disruption": DISRUPTION, "template": Object({"spec": CLAIM}, open=True, required=True)}, open=True, required=True
)
NODE_POOL = Object({"spec": SPEC}, open=True)


@dataclass(frozen=True)
class NodePoolAdmission:
    """What becomes of a manifest: the object after pruning and defaulting, the paths that pruning removed, the errors.

    ``decodes`` tells whether Karpenter's typed client can read what was stored.
    """

    stored: Mapping[str, t.Any]
    errors: tuple[SchemaError, ...] = ()
    unknown_fields: tuple[str, ...] = field(default=())

    @property
    def accepted(self) -> bool:
        return not self.errors

    @property
    def decodes(self) -> bool:
        return all(parses(text) for _path, text in durations(self.stored))


def admit(document: Mapping[str, t.Any], schema: Object = NODE_POOL) -> NodePoolAdmission:
    """The answer of an API server to a new object."""
    unknown: list[str] = []
    stored = _stored(schema, document, "", unknown)
    errors = list(_errors(schema, stored, ""))
    if not BLOCKING & {each.type for each in errors}:
        errors += _rules(stored)
    return NodePoolAdmission(stored, tuple(errors), tuple(unknown))


def _stored(node: Node, value: t.Any, path: str, unknown: list[str]) -> t.Any:
    """Pruned and with defaults; null counts as absent in an object, and as itself in a list."""
    if isinstance(node, Object) and isinstance(value, Mapping):
        out = {}
        for key, each in value.items():
            if key in node.fields:
                if each is not None:
                    out[key] = _stored(node.fields[key], each, _below(path, key), unknown)
            elif node.open:
                out[key] = each
            else:
                unknown.append(_below(path, key))
        for key, child in node.fields.items():
            if key not in out and child.default is not None:
                default = list(child.default) if isinstance(child, Items) else child.default
                out[key] = _stored(child, default, _below(path, key), unknown)
        return out
    if isinstance(node, Items) and isinstance(value, (list, tuple)):
        return [_stored(node.item, each, f"{path}[{index}]", unknown) for index, each in enumerate(value)]
    return value


def _errors(node: Node, value: t.Any, path: str) -> t.Iterator[SchemaError]:
    if isinstance(node, Object):
        yield from _object_errors(node, value, path)
    elif isinstance(node, Items):
        yield from _list_errors(node, value, path)
    elif isinstance(node, Text):
        if not isinstance(value, str):
            yield SchemaError(path, TYPE_INVALID, value, node.wanted)
        elif node.matches is not None and not node.matches(value):
            yield SchemaError(path, INVALID, value, node.wanted)
        if node.enum and value not in node.enum:
            yield SchemaError(path, NOT_SUPPORTED, value, f"one of {', '.join(node.enum)}")


def _object_errors(node: Object, value: t.Any, path: str) -> t.Iterator[SchemaError]:
    if not isinstance(value, Mapping):
        yield SchemaError(path, TYPE_INVALID, value, node.wanted)
        return
    for key, child in node.fields.items():
        if key in value:
            yield from _errors(child, value[key], _below(path, key))
        elif child.required:
            yield SchemaError(_below(path, key), REQUIRED, None, child.wanted)


def _list_errors(node: Items, value: t.Any, path: str) -> t.Iterator[SchemaError]:
    if not isinstance(value, (list, tuple)):
        yield SchemaError(path, TYPE_INVALID, value, node.wanted)
        return
    seen: set[str] = set()
    for index, each in enumerate(value):
        yield from _errors(node.item, each, f"{path}[{index}]")
        # 1 and true are equal in Python, and not in JSON.
        if node.unique and (key := json.dumps(each, sort_keys=True, default=repr)) in seen:
            yield SchemaError(f"{path}[{index}]", DUPLICATE, each, "each value once")
        elif node.unique:
            seen.add(key)
    if len(value) > node.max_items:
        yield SchemaError(path, TOO_MANY, len(value), f"at most {node.max_items} entries")


def _rules(stored: Mapping[str, t.Any]) -> t.Iterator[SchemaError]:
    """The one rule of the CRD over several fields."""
    budgets = stored["spec"]["disruption"]["budgets"] if "spec" in stored else ()
    for each in budgets:
        if ("schedule" in each) != ("duration" in each):
            yield SchemaError(BUDGETS, INVALID, each, "schedule and duration together, or neither")
            return


def durations(stored: Mapping[str, t.Any]) -> t.Iterator[tuple[str, t.Any]]:
    """The values of all duration fields with their paths, whatever stands there."""
    places = ("consolidateAfter", "spec.disruption"), ("expireAfter", _CLAIM), ("terminationGracePeriod", _CLAIM)
    for index, each in enumerate(_at(stored, BUDGETS, list)):
        if isinstance(each, Mapping) and "duration" in each:
            yield f"{BUDGETS}[{index}].duration", each["duration"]
    for key, path in places:
        holder = _at(stored, path, Mapping)
        if key in holder:
            yield f"{path}.{key}", holder[key]


def parses(text: str) -> bool:
    """Whether a duration that fits its pattern can be read."""
    try:
        parse_or_never(text)
    except ValueError:
        return False
    return True


def _at(document: t.Any, path: str, kind: type[t.Any]) -> t.Any:
    """What stands at a path, empty if it is nothing of that kind."""
    for step in path.split("."):
        document = document.get(step) if isinstance(document, Mapping) else None
    return document if isinstance(document, kind) else ()


def _below(path: str, key: t.Any) -> str:
    return f"{path}.{key}" if path else str(key)
