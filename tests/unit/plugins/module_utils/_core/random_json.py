# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random JSON for property tests: any value, a good document gone wrong, a document with the fields of a class.

Three strategies for hypothesis, and below them what they are made of; the generator is an argument there.
"""

from __future__ import annotations

import copy
import typing as t
from random import Random

from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import (
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
from hypothesis import strategies as st

RANDOM = st.randoms(use_true_random=False)
WORDS = (
    "",
    "a",
    "web",
    "...",
    "v1",
    "Namespace",
    "spec",
    "25%",
    "1Gi",
    "-1",
    "true",
    "é",
    "a/b",
    "~",
    "${MEMBER-CLUSTER-NAME}",
)
NUMBERS = (0, 1, -1, 2**31, 2**70, 0.5, -2.0, 1e300, float("inf"), float("nan"))
KEYS = (*WORDS, "name", "metadata", "labels", "kind", "apiVersion", "data", "status", "op", "path", "value")


def any_json(depth: int = 3) -> st.SearchStrategy[t.Any]:
    return RANDOM.map(lambda rng: anything(rng, depth))


def gone_wrong(document: t.Any, times: int = 2) -> st.SearchStrategy[t.Any]:
    return RANDOM.map(lambda rng: mutated(rng, document, times))


def documents_of(cls: type) -> st.SearchStrategy[dict[str, t.Any]]:
    return RANDOM.map(lambda rng: written(rng, cls))


def anything(rng: Random, depth: int = 3) -> t.Any:
    """Any JSON value."""
    kind = rng.randrange(6 if depth else 4)
    if kind == 4:
        return [anything(rng, depth - 1) for _each in range(rng.randrange(4))]
    if kind == 5:
        return {rng.choice(KEYS): anything(rng, depth - 1) for _each in range(rng.randrange(4))}
    return (None, rng.random() < 0.5, rng.choice(NUMBERS), rng.choice(WORDS))[kind]


def mutated(rng: Random, document: t.Any, times: int = 2) -> t.Any:
    """A copy in which something else stands in some places."""
    out = copy.deepcopy(document)
    for _time in range(times):
        places = list(_places(out))
        if not places:
            return anything(rng)
        parent, key = rng.choice(places)
        if isinstance(parent, dict) and rng.random() < 0.2:
            parent[rng.choice(KEYS)] = anything(rng)
        elif isinstance(parent, dict) and rng.random() < 0.2:
            del parent[key]
        else:
            parent[key] = anything(rng)
    return out


def written(rng: Random, cls: type, depth: int = 6) -> dict[str, t.Any]:
    """A document with random fields of the class, each of the right type and within its limits."""
    return {
        field.json: _value(rng, field.shape, field, depth)
        for field in fields_of(cls)
        if field.required or rng.random() < 0.6
    }


def _value(rng: Random, shape: Shape, field: Field, depth: int) -> t.Any:
    if shape.form == OBJECT:
        return written(rng, shape.cls, depth - 1)
    if shape.form == LIST:
        least = field.prop.min_items or 0
        return [
            _value(rng, shape.inner, field, depth - 1)
            for _each in range(least if depth < 0 else least + rng.randrange(3))
        ]
    if shape.form == MAP:
        return {rng.choice("abcd"): _value(rng, shape.inner, field, depth - 1) for _each in range(rng.randrange(1, 3))}
    return _leaf(rng, shape.form, field)


def _leaf(rng: Random, form: str, field: Field) -> t.Any:
    prop = field.prop
    if form == TEXT:
        return rng.choice(prop.enum) if prop.enum else rng.choice(("a", "b-c", "web"))
    if form == INTEGER:
        low = prop.minimum or 0
        return rng.randrange(low, min(prop.maximum or 100, low + 100) + 1)
    return {
        BOOLEAN: lambda: rng.random() < 0.5,
        TIME: lambda: f"2026-01-{rng.randrange(1, 29):02}T12:00:00Z",
        COUNT_OR_PERCENT: lambda: rng.choice((prop.minimum or 0, 3, "25%")),
        QUANTITY: lambda: rng.choice(("1", "250m", "1Gi")),
        RAW: lambda: {"kind": "X", "spec": anything(rng, 2)},
    }.get(form, lambda: anything(rng, 2))()


def _places(value: t.Any) -> t.Iterator[tuple[t.Any, t.Any]]:
    if isinstance(value, dict):
        pairs: t.Iterable[tuple[t.Any, t.Any]] = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    else:
        return
    for key, one in list(pairs):
        yield value, key
        yield from _places(one)
