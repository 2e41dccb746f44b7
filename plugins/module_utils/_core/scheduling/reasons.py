# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why a cluster is picked, is not picked, or keeps the placement unread: a code with its numbers, and the one place
where codes become sentences (``not-enough-score``, ``equal-score``, ``not-needed``, ``not-named``, those of all
filters)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

NOT_ENOUGH_SCORE = "not-enough-score"
EQUAL_SCORE = "equal-score"
NOT_NEEDED = "not-needed"
NOT_NAMED = "not-named"
GONE = "gone"

Details = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class ClusterBlocker:
    """``rule`` is the plugin or policy that refused the cluster; ``details`` hold the values that ``code`` speaks of.
    ``parts`` are several findings of one rule, such as the terms of an affinity, of which none matched."""

    rule: str
    code: str
    details: Details = field(default_factory=dict)
    parts: tuple[ClusterBlocker, ...] = ()

    @property
    def sentence(self) -> str:
        """The reason in words, without a full stop, about a cluster that is called "it". KeyError for a code without a
        sentence in ``SENTENCES``, or without the details that this names."""
        text = SENTENCES[self.code].format(**self.details)
        return text + ": " + "; ".join(part.sentence for part in self.parts) if self.parts else text

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data: ``rule``, ``code`` and the details beside them; ``parts`` as ``terms``, if there are any."""
        out: dict[str, t.Any] = {"rule": self.rule, "code": self.code, **self.details}
        if self.parts:
            out["terms"] = [part.as_dict() for part in self.parts]
        return out


def keeps_unread(why: ClusterBlocker) -> str:
    """What is said after the name of a cluster that keeps the placement unread, and ``why``."""
    return f"keeps the placement under its former policy, as {why.sentence}"


SENTENCES: t.Mapping[str, str] = {
    # ClusterAffinity
    "no-term-matches": "it matches none of the required terms",
    "label-mismatch": "term {term} wants label {wanted}, it has {observed}",
    "property-missing": "term {term} wants {property} {operator} {wanted}, it does not report that property",
    "property-mismatch": "term {term} wants {property} {operator} {wanted}, it reports {observed}",
    "property-malformed": "term {term} wants {property} {operator} {wanted}, it reports {observed!r}, not a quantity",
    "requirement-malformed": "term {term} cannot be judged, because {problem}",
    # ClusterEligibility
    GONE: "it has left the fleet",
    "leaving": "it is leaving the fleet",
    "evacuated": "it is evacuated, until it is readmitted",
    "record-missing": "its MemberCluster is missing, so that its labels and taints are not known",
    "agent-not-online": "its facts are not known",
    "heartbeat-too-old": "its last heartbeat was {minutes:.2f} minutes old, more than {limitMinutes}",
    "heartbeat-missing": "it has never been heard of",
    "agent-not-joined": "it has not joined the fleet",
    "health-unknown": "its health is not known",
    "unhealthy": "it is not healthy",
    "unhealthy-too-long": "it has been unhealthy for {minutes:.2f} minutes, more than {limitMinutes}",
    # NamespaceAffinity
    "namespaces-unknown": "its namespaces are not known, and {namespace} is needed there",
    "namespace-missing": "it has no namespace {namespace}",
    # TaintToleration
    "taint-not-tolerated": "its taint {taint} is not tolerated",
    # TopologySpreadConstraints
    "skew-too-large": (
        "{topologyKey} {domain} holds {count} already where others hold {smallest} to {largest}, "
        "so it would break maxSkew {maxSkew}"
    ),
    # PickFixed
    "not-found": "no cluster of that name is in the fleet",
    NOT_NAMED: "the policy does not name it",
    # ranking
    NOT_ENOUGH_SCORE: "it passes, but its score is not high enough (spread {spread}, affinity {affinity})",
    EQUAL_SCORE: (
        "it passes with the score of {before} (spread {spread}, affinity {affinity}); "
        "of equal ones those that hold the placement come first, then larger names"
    ),
    NOT_NEEDED: "it passes, but enough clusters hold the placement already: {wanted}",
}


PASSES_ALL = "picked, as it passes every filter"
NAMED = "picked, as the policy names it"
BEST = "picked with spread {spread} and affinity {affinity}"
