# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node selectors (``corev1.NodeSelector``) and their requirements (In, NotIn, Exists, DoesNotExist, Gt, Lt) read,
checked, and matched against a node as the scheduler does (k8s.io/component-helpers)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .int_or_percent import int64
from .selector import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    Labels,
    label_key_problem,
    label_value_problem,
)

GT, LT = "Gt", "Lt"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
NAME_FIELD = "metadata.name"


@dataclass(frozen=True)
class NodeSelectorRequirement:
    """One expression; ``operator`` is to be In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeSelectorTerm:
    """All expressions over labels and over fields must hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


@dataclass(frozen=True)
class NodeSelector:
    """Terms are alternatives; without any no node matches."""

    terms: tuple[NodeSelectorTerm, ...] = ()


def node_selector(manifest: t.Mapping[str, t.Any]) -> NodeSelector:
    """The selector of a manifest whose types are right, a missing list or term being empty; ``check_node_selector``
    judges what it says."""
    return NodeSelector(tuple(_term(each or {}) for each in manifest.get("nodeSelectorTerms") or ()))


def requirements(rows: t.Iterable[t.Mapping[str, t.Any]] | None) -> tuple[NodeSelectorRequirement, ...]:
    """The expressions of a node selector in a manifest, such as ``matchExpressions`` or a NodePool's ``requirements``,
    none for None. Types are right; a missing key or operator is an empty text."""
    return tuple(
        NodeSelectorRequirement(each.get("key", ""), each.get("operator", ""), tuple(each.get("values") or ()))
        for each in rows or ()
    )


def check_node_selector(selector: NodeSelector) -> list[tuple[str, str]]:
    """The problems of a node selector as (path below the selector, message), the first of each expression; a selector
    or a term without parts has none."""
    return [
        (f"nodeSelectorTerms[{index}].{path}", message)
        for index, term in enumerate(selector.terms)
        for path, message in _check_term(term)
    ]


def selects(selector: NodeSelector, labels: Labels, name: str) -> bool:
    """Whether any term matches the node of these labels and this ``metadata.name`` (without a name, expressions over
    fields hold); a term without any parts does not. ValueError if no term matches and one is malformed."""
    problems = []
    for term in selector.terms:
        found = _check_term(term)
        problems += found
        if not found and _matches(term, labels, name):
            return True
    if problems:
        raise ValueError("; ".join(f"{path}: {message}" for path, message in problems))
    return False


def requirement_matches(one: NodeSelectorRequirement, labels: Labels) -> bool:
    """Whether a valid expression over labels holds for those of a node. An absent key satisfies NotIn and DoesNotExist
    only; Gt and Lt exclude the bound, and values that are no 64-bit integers."""
    if one.operator in (NOT_IN, DOES_NOT_EXIST) and one.key not in labels:
        return True
    if one.key not in labels or one.operator == DOES_NOT_EXIST:
        return False
    value = labels[one.key]
    if one.operator == EXISTS:
        return True
    if one.operator in (IN, NOT_IN):
        return (value in one.values) == (one.operator == IN)
    number, bound = int64(value), int64(one.values[0])
    if number is None or bound is None:
        return False
    return number > bound if one.operator == GT else number < bound


def _term(manifest: t.Mapping[str, t.Any]) -> NodeSelectorTerm:
    return NodeSelectorTerm(requirements(manifest.get("matchExpressions")), requirements(manifest.get("matchFields")))


def _matches(term: NodeSelectorTerm, labels: Labels, name: str) -> bool:
    """Whether all expressions of a well-formed term hold; False for a term without any. A node without a name has no
    fields either, and is asked for none."""
    if not (term.match_expressions or term.match_fields):
        return False
    fields = term.match_fields if name else ()
    return all(requirement_matches(one, labels) for one in term.match_expressions) and all(
        _field_holds(one, name) for one in fields
    )


def _field_holds(one: NodeSelectorRequirement, name: str) -> bool:
    """Whether a well-formed expression over a field holds. All fields but ``metadata.name`` count as empty texts, which
    is not the same as an absent label."""
    value = name if one.key == NAME_FIELD else ""
    return (value == one.values[0]) == (one.operator == IN)


def _check_term(term: NodeSelectorTerm) -> list[tuple[str, str]]:
    """The problems of a term as (path below it, message): of each expression over labels, then over fields, the first
    one."""
    rows = [
        (f"matchExpressions[{index}]", _expression_problem(one)) for index, one in enumerate(term.match_expressions)
    ]
    rows += [(f"matchFields[{index}]", _field_problem(one)) for index, one in enumerate(term.match_fields)]
    return [(path, message) for path, message in rows if message]


def _expression_problem(one: NodeSelectorRequirement) -> str | None:
    """The first thing that is wrong with an expression over labels (operator, number of values, key, then values), or
    None."""
    if one.operator not in OPERATORS:
        return f"{one.operator!r} is not one of {', '.join(OPERATORS)}"
    if one.operator in (IN, NOT_IN) and not one.values:
        return f"{one.operator} needs at least one value"
    if one.operator in (EXISTS, DOES_NOT_EXIST) and one.values:
        return f"{one.operator} takes no values"
    if one.operator in (GT, LT) and (len(one.values) != 1 or int64(one.values[0]) is None):
        return f"{one.operator} needs exactly one whole number"
    return label_key_problem(one.key) or next(filter(None, map(label_value_problem, one.values)), None)


def _field_problem(one: NodeSelectorRequirement) -> str | None:
    """Why an expression over a field is not In or NotIn with exactly one value, or None. The field's name is not
    judged."""
    if one.operator not in (IN, NOT_IN):
        return f"fields are compared by In and NotIn, not by {one.operator!r}"
    if len(one.values) != 1:
        return "a field is compared with exactly one value"
    return None
