# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a look at members, which writes nothing, comes to: clusters where something drifted or is due, who was not
looked at and why; as a sentence, also that nothing has drifted, and with hints."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..errors import Problem
from ..foreign import in_line
from ..values.listed import listed
from .outcome import MemberOutcome

MOST_REASONS = 3
_REASON = 300


@dataclass(frozen=True, kw_only=True)
class Looked:
    """Names of clusters, sorted: ``drifted`` are those where others changed, deleted or added something, or where what
    is only reported on is missing, ``due`` those where an apply would write for another reason. ``unseen`` could not be
    looked at, each with the first reason; ``seen`` is how many could, for one placement at least."""

    seen: int = 0
    drifted: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    unseen: t.Mapping[str, Problem] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Where something drifted, where something is due, and who was not looked at and why, in one line; empty where
        there is nothing to tell. ``MOST_REASONS`` different reasons are told, each cut at about 300 characters, and at
        most 6 clusters named in a place; others are counted."""
        parts = [f"{_clusters(self.drifted)} drifted ({listed(self.drifted)})"] if self.drifted else []
        if self.due:
            parts.append(f"something is due on {_clusters(self.due)} ({listed(self.due)})")
        groups = list(self._alike().items())
        for (code, reason), names in groups[:MOST_REASONS]:
            were = "was" if len(names) == 1 else "were"
            parts.append(f"{listed(names)} {were} not looked at: {reason} [{code}]")
        others = groups[MOST_REASONS:]
        more = [name for _reason, names in others for name in names]
        if more:
            were = "was" if len(more) == 1 else "were"
            reasons = "another reason" if len(others) == 1 else f"{len(others)} other reasons"
            parts.append(f"{_clusters(more)} more {were} not looked at, for {reasons} ({listed(more)})")
        return "; ".join(parts)

    @property
    def all_clear(self) -> str:
        """That nothing has drifted and nothing is due; empty where there is something to tell, or nothing was looked
        at."""
        where = f"{self.seen} cluster{'' if self.seen == 1 else 's'}"
        return "" if self.sentence or not self.seen else f"nothing has drifted, and nothing is due, on {where}"

    @property
    def hints(self) -> list[str]:
        """How those that were not looked at come into reach again: a line for each hint, with the clusters that it is
        for, at most 6 of them named."""
        ways: dict[str, list[str]] = {}
        for name, problem in self.unseen.items():
            if problem.hint:
                ways.setdefault(problem.hint, []).append(name)
        return [f"{listed(names)}: {hint}" for hint, names in ways.items()]

    def message(self, problems: t.Iterable[Problem] = ()) -> str:
        """Lines: the sentence, then the hints, then those of ``problems`` that are not among the reasons in
        ``unseen``."""
        told = {(each.code, each.message) for each in self.unseen.values()}
        others = [str(each) for each in problems if (each.code, each.message) not in told]
        return "\n".join(filter(None, [self.sentence, *self.hints, *others]))

    def _alike(self) -> dict[tuple[str, str], list[str]]:
        """The clusters that could not be looked at, by code and reason, in one line that is cut at about 300
        characters."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, problem in self.unseen.items():
            found.setdefault((problem.code, in_line(problem.message, _REASON)), []).append(name)
        return found


def looked_at(
    outcomes: t.Mapping[str, t.Mapping[str, MemberOutcome]], expected: t.Container[tuple[str, str]] = ()
) -> Looked:
    """What ``outcomes``, by placement and cluster, say. An error of a (placement, cluster) in ``expected`` is left out.
    A cluster that could be looked at for one placement and not for another counts as seen, and is among ``unseen`` too,
    with the first error."""
    drifted: set[str] = set()
    due: set[str] = set()
    unseen: dict[str, Problem] = {}
    seen: set[str] = set()
    for placement, by_cluster in outcomes.items():
        for cluster, outcome in by_cluster.items():
            if outcome.error and (placement, cluster) not in expected:
                unseen.setdefault(cluster, outcome.error)
            if not outcome.error:
                seen.add(cluster)
            if outcome.drifted:
                drifted.add(cluster)
            if any(not each.drifted for each in outcome.changes):
                due.add(cluster)
    return Looked(
        seen=len(seen), drifted=tuple(sorted(drifted)), due=tuple(sorted(due)), unseen=dict(sorted(unseen.items()))
    )


def _clusters(names: t.Sequence[str]) -> str:
    """How many clusters the names are: ``1 cluster``, ``2 clusters``."""
    return f"{len(names)} cluster{'' if len(names) == 1 else 's'}"
