# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The documented JSON of an update strategy, as ``az fleet updatestrategy`` takes and shows it, read and judged."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...errors import FleetError, Problem
from ...schema.checking import Check, check_object
from ...schema.codec import decode
from ...schema.finding import Finding
from ...schema.rules import Found, apart_from, not_overlapping
from ...values.field_path import below
from .strategy import UpdateRunStrategy
from .strategy_rules import check_sequence, warn_sequence

# What may stand around the stages: a resource's properties, a manifest's spec, and the strategy in either.
_OUTER = ("properties", "spec", "strategy")


def strategy_from_json(document: t.Any, where: str = "") -> UpdateRunStrategy:
    """The sequence of ``{"stages": [...]}``, alone or inside ``strategy`` and ``properties`` or ``spec``.

    What a service adds around it (id, eTag, provisioningState) is passed over, and repairs are made in silence.
    FleetError with all problems, each at ``where`` and its field path; codes as in ``schema.rules.RULES``.
    """
    strategy, problems, _findings = _judged(document)
    if strategy is None:
        raise FleetError.of(_problem(each, where) for each in problems)
    return strategy


def judge_strategy(document: t.Any) -> tuple[tuple[Found, ...], tuple[Finding, ...]]:
    """All problems, and the findings, repairs among them, of a document as ``strategy_from_json`` takes it. Warnings
    at, below or around the path of a problem are left out."""
    _strategy, problems, findings = _judged(document)
    return problems, findings


def _judged(document: t.Any) -> tuple[UpdateRunStrategy | None, tuple[Found, ...], tuple[Finding, ...]]:
    """The sequence, None if there are problems; these; and the findings, of which there are none if the document has no
    object for the sequence."""
    path, given = _inner(document)
    check = Check()
    clean = check_object(check, UpdateRunStrategy, given, path)
    if not isinstance(given, Mapping):
        return None, tuple(check.problems), ()
    strategy = decode(UpdateRunStrategy, clean)
    problems = (*check.problems, *not_overlapping(check.problems, check_sequence(strategy, path)))
    apart = apart_from(problems)
    warned = [each for each in warn_sequence(strategy, path) if apart(each.old_path)]
    return None if problems else strategy, problems, (*check.findings, *warned)


def _inner(document: t.Any) -> tuple[str, t.Any]:
    """Path and value of the object that has ``stages``, inside known frames; of the innermost frame if none has
    them."""
    path = ""
    while isinstance(document, Mapping) and "stages" not in document:
        frame = next((each for each in _OUTER if isinstance(document.get(each), Mapping)), None)
        if frame is None:
            break
        path, document = below(path, frame), document[frame]
    return path, document


def _problem(found: Found, where: str) -> Problem:
    """The problem as callers get it, with ``where`` before its path."""
    return Problem(found.code, found.message, " ".join(filter(None, (where, found.path))), found.hint)
