# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The documented JSON of an update strategy, as ``az fleet updatestrategy`` takes and shows it."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..errors import FleetError, Problem
from .checking import Check, below, check_object
from .finding import Finding
from .rules import Found, beyond
from .schema import decode
from .strategy_rules import check_sequence, warn_sequence
from .update_strategy import UpdateRunStrategy

# What may stand around the stages: a resource's properties, a manifest's spec, and the strategy in either.
_OUTER = ("properties", "spec", "strategy")


@dataclass(frozen=True)
class StrategyReading:
    """An accepted sequence, and what was repaired or is worth a word."""

    strategy: UpdateRunStrategy
    findings: tuple[Finding, ...] = ()


def strategy_from_json(document: t.Any, where: str = "") -> UpdateRunStrategy:
    """The sequence of ``{"stages": [...]}``, alone or inside ``strategy`` and ``properties`` or ``spec``.

    What a service adds around it (id, eTag, provisioningState) is passed over. FleetError with all problems, each at
    ``where`` and its field path; codes as in ``rules.RULES``.
    """
    return read_strategy(document, where).strategy


def read_strategy(document: t.Any, where: str = "", strict: bool = False) -> StrategyReading:
    """The same with findings; ``strict`` counts repairs among the problems."""
    path, given = _inner(document)
    check = Check(strict)
    clean = check_object(check, UpdateRunStrategy, given, path)
    if not isinstance(given, Mapping):
        raise FleetError.of(_problem(each, where) for each in check.problems)
    strategy = decode(UpdateRunStrategy, clean)
    found = [*check.problems, *beyond(check.problems, check_sequence(strategy, path))]
    if found:
        raise FleetError.of(_problem(each, where) for each in found)
    findings = (*check.findings, *warn_sequence(strategy, path))
    return StrategyReading(strategy, tuple(replace(each, where=_at(where, each.old_path)) for each in findings))


def _inner(document: t.Any) -> tuple[str, t.Any]:
    """The object that has the stages, and its path; the outermost that has no known frame if none has them."""
    path = ""
    while isinstance(document, Mapping) and "stages" not in document:
        frame = next((each for each in _OUTER if isinstance(document.get(each), Mapping)), None)
        if frame is None:
            break
        path, document = below(path, frame), document[frame]
    return path, document


def _problem(found: Found, where: str) -> Problem:
    return Problem(found.code, found.message, _at(where, found.path), found.hint)


def _at(where: str, path: str) -> str:
    return " ".join(filter(None, (where, path)))
