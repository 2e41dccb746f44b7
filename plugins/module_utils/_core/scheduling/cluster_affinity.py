# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Filter ``ClusterAffinityFilter`` (KubeFleet scheduler): required terms of label and property selectors, what a
cluster lacks of each (``no-term-matches``, ``label-mismatch``, ``property-missing``, ``property-mismatch``), and values
that are no quantity (``malformed-property``, ``malformed-requirement``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import FleetError, Problem
from ..objects.placements.policy import ClusterSelectorTerm, PropertyRequirement
from ..values.listed import listed
from ..values.quantity import Quantity, parse_quantity
from ..values.selector import EXISTS, LabelSelector, LabelSelectorRequirement, selector_problem
from . import bitset
from .index import FleetIndex
from .properties import (
    COMPARISONS,
    PropertyColumn,
    path_of,
    property_name_problem,
)
from .reasons import ClusterBlocker

NAME = "ClusterAffinity"
FIELD = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms"
NAMES_SHOWN = 5


@dataclass(frozen=True)
class Requirement:
    """One property requirement, judged for all clusters: ``bits`` meet it, a bit set by position. ``problem`` says why
    it cannot be judged, ``field`` where in the placement that is; ``column`` is None where the property cannot be
    looked up."""

    wanted: PropertyRequirement
    column: PropertyColumn | None
    bits: int
    problem: str = ""
    field: str = ""


@dataclass(frozen=True)
class Term:
    """One alternative: ``labelled`` match its label selector, ``bits`` match it altogether; bit sets by position."""

    label_selector: LabelSelector | None
    labelled: int
    requirements: tuple[Requirement, ...]
    bits: int


@dataclass(frozen=True)
class ClusterAffinityFilter:
    """The required terms, of which one is enough; without any, every cluster passes. ``passing`` is a bit set by
    position; ``findings`` are what could not be judged."""

    index: FleetIndex
    terms: tuple[Term, ...]
    passing: int
    findings: tuple[Problem, ...] = ()
    name: t.ClassVar[str] = NAME

    @classmethod
    def of(cls, index: FleetIndex, terms: tuple[ClusterSelectorTerm, ...], *, upstream: bool) -> ClusterAffinityFilter:
        """The filter, judged for all clusters. What cannot be judged does not match, and is a finding
        (``malformed-requirement``, ``malformed-property``) if it decides about a cluster that no earlier term matches.
        With ``upstream`` findings are a FleetError, and a label selector that is none is one too."""
        judged = tuple(_judge(index, number, term, upstream) for number, term in enumerate(terms))
        matched, findings = 0, []
        for number, term in enumerate(judged):
            left = index.everyone & ~matched
            wrong = selector_problem(term.label_selector) if upstream and left else ""
            if wrong:
                findings.append(Problem("malformed-requirement", wrong, f"{FIELD}[{number}].labelSelector"))
            alive = left & term.labelled
            for requirement in term.requirements:
                findings += _findings(index, requirement, alive)
                alive &= requirement.bits
            matched |= term.bits
        if upstream and findings:
            raise FleetError.of(findings)
        return cls(index, judged, matched if terms else index.everyone, tuple(dict.fromkeys(findings)))

    def refusal(self, position: int) -> ClusterBlocker | None:
        """The refusal ``no-term-matches``, with what the cluster lacks first of each term as parts; None if it
        passes."""
        if bitset.has(self.passing, position):
            return None
        parts = tuple(next(_mismatches(self.index, *each, position)) for each in enumerate(self.terms, 1))
        return ClusterBlocker(NAME, "no-term-matches", parts=parts)

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """The refusal ``no-term-matches``, with all that the cluster lacks, term by term, as parts; nothing if it
        passes."""
        if bitset.has(self.passing, position):
            return
        parts = (part for each in enumerate(self.terms, 1) for part in _mismatches(self.index, *each, position))
        yield ClusterBlocker(NAME, "no-term-matches", parts=tuple(parts))


def _judge(index: FleetIndex, number: int, term: ClusterSelectorTerm, upstream: bool) -> Term:
    """One term, at ``number`` from 0, judged for all clusters."""
    labelled = bits = index.selected(term.label_selector)
    expressions = term.property_selector.match_expressions if term.property_selector else ()
    requirements = tuple(
        _requirement(index, one, f"{FIELD}[{number}].propertySelector.matchExpressions[{place}]", upstream)
        for place, one in enumerate(expressions)
    )
    for requirement in requirements:
        bits &= requirement.bits
    return Term(term.label_selector, labelled, requirements, bits)


def _requirement(index: FleetIndex, wanted: PropertyRequirement, field: str, upstream: bool) -> Requirement:
    """One property requirement with the clusters that meet it; with a ``problem`` where name, values or operator are no
    good. ``field`` is its path."""
    problem = property_name_problem(wanted.name, upstream=upstream)
    if problem:
        return Requirement(wanted, None, 0, problem, f"{field}.name")
    column = index.column(wanted.name, upstream=upstream)
    if len(wanted.values) != 1:
        return Requirement(
            wanted, column, 0, f"{len(wanted.values)} values are given, one is needed", f"{field}.values"
        )
    number = _quantity(wanted.values[0])
    if number is None:
        return Requirement(wanted, column, 0, f"{wanted.values[0]!r} is not a quantity", f"{field}.values[0]")
    if wanted.operator not in COMPARISONS:
        known = ", ".join(COMPARISONS)
        return Requirement(wanted, column, 0, f"{wanted.operator!r} is not one of {known}", f"{field}.operator")
    return Requirement(wanted, column, column.meeting(wanted.operator, number.nanos))


def _quantity(text: str) -> Quantity | None:
    """The quantity that a text is; None if it is none."""
    try:
        return parse_quantity(text)
    except ValueError:
        return None


def _findings(index: FleetIndex, requirement: Requirement, reached: int) -> list[Problem]:
    """At most one finding: what could not be judged for the clusters that were ``reached``. A missing property is
    none."""
    column = requirement.column
    if requirement.problem:
        met = reached & column.reported if column else reached
        return [Problem("malformed-requirement", requirement.problem, requirement.field)] if met else []
    return malformed_values(index, column, reached) if column else []


def malformed_values(index: FleetIndex, column: PropertyColumn, among: int) -> list[Problem]:
    """At most one finding, ``malformed-property``, about the clusters of ``among`` (a bit set by position) whose value
    is no quantity."""
    bad = bitset.positions(column.malformed & among)
    if not bad:
        return []
    names = listed([index.names[position] for position in bad], NAMES_SHOWN)
    return [
        Problem(
            "malformed-property",
            f"{column.texts[bad[0]]!r} is not a quantity, so {column.name} does not count on {names}",
            f"MemberCluster/{index.names[bad[0]]} {path_of(column.name)}",
            "read the cluster again, or correct what reports the property",
        )
    ]


def _mismatches(index: FleetIndex, number: int, term: Term, position: int) -> t.Iterator[ClusterBlocker]:
    """What the cluster does not meet of a term, at ``number`` from 1, in upstream's order: labels one by one, then
    properties."""
    if term.label_selector and not bitset.has(term.labelled, position):
        yield from _label_mismatches(index, number, term.label_selector, position)
    for one in term.requirements:
        if not bitset.has(one.bits, position):
            yield _property_mismatch(number, one, position)


def _property_mismatch(number: int, failed: Requirement, position: int) -> ClusterBlocker:
    """What a cluster lacks of a requirement that it does not meet: ``property-missing``, ``requirement-malformed``,
    ``property-malformed`` or ``property-mismatch``."""
    details = {
        "term": number,
        "property": failed.wanted.name,
        "operator": failed.wanted.operator,
        "wanted": ", ".join(failed.wanted.values),
    }
    column = failed.column
    if column is not None and not bitset.has(column.reported, position):
        return ClusterBlocker(NAME, "property-missing", details)
    if column is None or failed.problem:
        return ClusterBlocker(NAME, "requirement-malformed", {"term": number, "problem": failed.problem})
    code = "property-malformed" if bitset.has(column.malformed, position) else "property-mismatch"
    return ClusterBlocker(NAME, code, details | {"observed": column.texts[position]})


def _label_mismatches(
    index: FleetIndex, number: int, selector: LabelSelector, position: int
) -> t.Iterator[ClusterBlocker]:
    """A ``label-mismatch`` for each label and each expression of the selector that the cluster does not meet."""
    singles = [(key, f"{key}={value}", LabelSelector({key: value})) for key, value in selector.match_labels.items()]
    singles += [(one.key, _expression(one), LabelSelector({}, (one,))) for one in selector.match_expressions]
    labels = index.clusters[position].metadata.labels
    for key, wanted, single in singles:
        if not bitset.has(index.selected(single), position):
            has = f"{key}={labels[key]}" if key in labels else "no such label"
            yield ClusterBlocker(NAME, "label-mismatch", {"term": number, "wanted": wanted, "observed": has})


def _expression(one: LabelSelectorRequirement) -> str:
    """A label expression in words: ``zone In [a, b]``; the key alone for Exists."""
    if one.values:
        return f"{one.key} {one.operator} [{', '.join(one.values)}]"
    return one.key if one.operator == EXISTS else f"{one.key} {one.operator}"
