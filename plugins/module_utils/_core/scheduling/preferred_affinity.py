# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Score ``ClusterAffinity`` (KubeFleet scheduler): the sum of what the preferred terms give a cluster, each term's part
in it (``no-spread``, ``full-weight``), terms that decide nothing (``property-unreported``), or cannot be read
(``malformed-sorter``), and clusters without a price (``price-unknown``)."""

from __future__ import annotations

import operator
import typing as t
from dataclasses import dataclass
from itertools import compress, repeat

from ..cluster.facts.prices import UNITS
from ..errors import FleetError, Problem
from ..objects.placements.policy import PreferredClusterSelector, PropertySorter
from ..values.listed import listed, number_of
from ..values.selector import selector_problem
from . import bitset
from .cluster_affinity import malformed_values
from .index import FleetIndex
from .properties import PropertyColumn, property_name_problem
from .property_sorter import (
    DESCENDING,
    SORT_ORDERS,
    beyond_extremes,
    fraction,
    scores,
)

WITH_PRICES = (
    "read facts with lists that come with the collection, or files of your own:"
    """ ansible-playbook gitops.fleet.facts -e '{"prices":["aws","azure","gce"]}'"""
)
FIELD = "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class PreferredTerm:
    """One preference, numbered from 0, read against the index: clusters in ``labelled``, a bit set by position, match
    its label selector; ``column`` is None without a usable sorter. ``wrong_labels`` says what is wrong with the
    selector, for upstream alone."""

    number: int
    weight: int
    labelled: int
    sorter: PropertySorter | None
    column: PropertyColumn | None
    wrong_labels: str


@dataclass(frozen=True, kw_only=True)
class TermScore:
    """What one term, numbered from 1, gives one cluster; ``fraction`` is its share of the weight, from 0 to 1, None
    where there is a ``code``.

    ``code`` says why the score is not the plain share of the weight: ``label-mismatch``, ``property-missing``,
    ``property-malformed``, ``sorter-malformed``, ``no-spread`` (one value only in the fleet), or ``full-weight``.
    ``observed`` is what the cluster reports, ``minimum`` and ``maximum`` what the fleet does, as of
    ``properties.observed``, or None. ``minimum_cluster`` and ``maximum_cluster`` are the first by name with that value.
    """

    term: int
    weight: int
    score: int
    code: str = ""
    property: str = ""
    sort_order: str = ""
    observed: str | None = None
    minimum: str | None = None
    minimum_cluster: str = ""
    maximum: str | None = None
    maximum_cluster: str = ""
    fraction: float | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data; of a term without a sorter ``term``, ``weight``, ``score`` and ``code`` alone. ``exact`` is the
        score before it is rounded."""
        out: dict[str, t.Any] = {"term": self.term, "weight": self.weight, "score": self.score, "code": self.code}
        if not self.property:
            return out
        return out | {
            "property": self.property,
            "sortOrder": self.sort_order,
            "observed": self.observed,
            "minimum": self.minimum,
            "minimumCluster": self.minimum_cluster,
            "maximum": self.maximum,
            "maximumCluster": self.maximum_cluster,
            "fraction": self.fraction,
            "exact": None if self.fraction is None else self.fraction * self.weight,
        }


@dataclass(frozen=True)
class PreferredAffinity:
    """The preferred terms of a policy, read against one fleet."""

    index: FleetIndex
    terms: tuple[PreferredTerm, ...]
    findings: tuple[Problem, ...] = ()

    @classmethod
    def of(
        cls, index: FleetIndex, preferences: tuple[PreferredClusterSelector, ...], *, upstream: bool
    ) -> PreferredAffinity:
        """Read the terms. A sorter whose property cannot be looked up (``malformed-sorter``), and a malformed value
        anywhere in the fleet (``malformed-property``), is a finding; with ``upstream`` findings are a FleetError, and a
        fleet without clusters has none."""
        terms, findings = [], []
        for number, preferred in enumerate(preferences):
            sorter, column = preferred.preference.property_sorter, None
            if sorter:
                # Upstream reads the name when it looks a cluster's value up; of no clusters nothing is looked up.
                judged = index.size or not upstream
                problem = property_name_problem(sorter.name, upstream=upstream) if judged else ""
                if problem:
                    findings.append(Problem("malformed-sorter", problem, f"{_field(number)}.name"))
                else:
                    column = index.column(sorter.name, upstream=upstream)
                    findings += malformed_values(index, column, index.everyone)
            selector = preferred.preference.label_selector
            wrong = selector_problem(selector) if upstream else ""
            labelled = index.selected(selector)
            terms.append(PreferredTerm(number, preferred.weight, labelled, sorter, column, wrong))
        if upstream and findings:
            raise FleetError.of(findings)
        return cls(index, tuple(terms), tuple(dict.fromkeys(findings)))

    def deciding_nothing(self, candidates: int) -> tuple[Problem, ...]:
        """Sorters (``property-unreported``) that give all ``candidates``, a bit set by position, 0, as none of them
        reports the property, or none of those that match the term's labels, if any do. A term without weight, or whose
        property cannot be looked up, is passed over."""
        found = []
        for term in self.terms:
            asked = candidates & term.labelled or candidates
            if asked and term.weight and term.sorter and term.column and not asked & term.column.reported:
                found.append(_unreported(term.number, term.sorter.name, asked != candidates))
        return tuple(found)

    def prices_unknown(self, candidates: int) -> tuple[Problem, ...]:
        """Sorters by price (``price-unknown``) for which some of the ``candidates`` (a bit set by position) that match
        the term's labels report one and others do not: these get 0, like the worst of the fleet. A term without weight
        is passed over."""
        found = []
        for term in self.terms:
            if not (term.weight and term.sorter and term.column and term.sorter.name in UNITS):
                continue
            asked = candidates & term.labelled
            missing = asked & ~term.column.reported
            if missing and missing != asked:
                names = [self.index.names[position] for position in bitset.positions(missing)]
                found.append(_unpriced(term.number, term.sorter, names, asked.bit_count(), term.column.spread_out))
        return tuple(found)

    def check_scorable(self, candidates: int) -> None:
        """FleetError where upstream refuses to score ``candidates``, a bit set by position: ``malformed-requirement``
        for a label selector that is none, ``sorter-out-of-range`` if spelling puts a value beyond the extremes, or an
        extreme is too large, ``malformed-sorter`` for an unknown sort order."""
        for term in self.terms:
            if term.weight and candidates and term.wrong_labels:
                raise FleetError("malformed-requirement", term.wrong_labels, f"{FIELD}[{term.number}].preference")
            if not (term.weight and term.column and term.sorter):
                continue
            scored = candidates & term.labelled & term.column.valued
            wrong = f"{term.sorter.sort_order!r} is not one of {', '.join(SORT_ORDERS)}"
            if scored and term.column.spread_out and term.sorter.sort_order not in SORT_ORDERS:
                raise FleetError("malformed-sorter", wrong, f"{_field(term.number)}.sortOrder")
            for position in beyond_extremes(term.column):
                if bitset.has(scored, position):
                    text = f"{term.column.texts[position]} cannot be placed between the fleet's extremes as spelled"
                    raise FleetError("sorter-out-of-range", text, f"MemberCluster/{self.index.names[position]}")

    def totals(self, flags: bytes, count: int) -> list[int]:
        """The summed score of each of the ``count`` candidates in ``flags`` (see ``bitset.flags``), in order of
        position."""
        totals = [0] * count
        for term in self.terms:
            if not term.weight or (term.sorter and not term.column):
                continue
            values: t.Iterable[int] = repeat(term.weight, count)
            if term.sorter and term.column:
                values = compress(scores(term.column, term.sorter, term.weight), flags)
            if term.labelled != self.index.everyone:
                values = map(operator.mul, values, compress(bitset.flags(term.labelled, self.index.size), flags))
            totals = list(map(operator.add, totals, values))
        return totals

    def explained(self, position: int) -> tuple[TermScore, ...]:
        """Each term's part in the score of the cluster at a position, in the order of the terms."""
        return tuple(self._explained(term, position) for term in self.terms)

    def _explained(self, term: PreferredTerm, position: int) -> TermScore:
        """One term's part in the score of the cluster at a position."""
        number, weight, column, sorter = term.number + 1, term.weight, term.column, term.sorter
        matched = bitset.has(term.labelled, position)
        if sorter is None:
            score, code = (weight, "full-weight") if matched else (0, "label-mismatch")
            return TermScore(term=number, weight=weight, score=score, code=code)
        if column is None:
            return TermScore(
                term=number,
                weight=weight,
                score=0,
                code="sorter-malformed",
                property=sorter.name,
                sort_order=sorter.sort_order,
            )
        code, share = _code(column, position, matched), None
        if not code:
            share = fraction(column, position, sorter.sort_order)
        names = self.index.names
        return TermScore(
            term=number,
            weight=weight,
            score=0 if share is None else scores(column, sorter, weight)[position],
            code=code,
            property=sorter.name,
            sort_order=sorter.sort_order,
            observed=column.texts[position],
            minimum=column.texts[column.lowest] if column.nanos else None,
            minimum_cluster=names[column.lowest] if column.nanos else "",
            maximum=column.texts[column.highest] if column.nanos else None,
            maximum_cluster=names[column.highest] if column.nanos else "",
            fraction=share,
        )


def _code(column: PropertyColumn, position: int, matched: bool) -> str:
    """Why the share of a sorter's term is 0, as of ``TermScore.code``; empty where it is worked out."""
    if not matched:
        return "label-mismatch"
    if not bitset.has(column.reported, position):
        return "property-missing"
    if bitset.has(column.malformed, position):
        return "property-malformed"
    return "" if column.spread_out else "no-spread"


def _field(number: int) -> str:
    """The path of the sorter in the preference at ``number``, from 0."""
    return f"{FIELD}[{number}].preference.propertySorter"


def _unpriced(
    number: int, sorter: PropertySorter, names: t.Sequence[str], candidates: int, spread_out: bool
) -> Problem:
    """The finding ``price-unknown`` about the named clusters, some of the ``candidates``."""
    worst = "cheapest" if sorter.sort_order == DESCENDING else "dearest"
    follows = f"this preference gives them 0, as it gives the {worst}"
    if not spread_out:
        follows = "it decides nothing, as there are not two different prices in the fleet"
    verb = "reports" if len(names) == 1 else "report"
    return Problem(
        "price-unknown",
        f"{len(names):,} of {number_of(candidates, 'eligible cluster')} {verb} no {sorter.name}, and {follows}:"
        f" {listed(names)}",
        _field(number),
        WITH_PRICES,
    )


def _unreported(number: int, name: str, of_some: bool) -> Problem:
    """The finding ``property-unreported``, of clusters with the term's labels alone if ``of_some``."""
    whom = "eligible cluster with its labels" if of_some else "eligible cluster"
    return Problem(
        "property-unreported",
        f"no {whom} reports {name}, so this preference decides nothing",
        _field(number),
        WITH_PRICES if name in UNITS else "read facts again, or correct the name of the property",
    )
