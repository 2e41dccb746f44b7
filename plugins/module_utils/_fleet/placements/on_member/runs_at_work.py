# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that are not ready or do not answer while an update run upgrades them: their errors say so (``is being
upgraded by run``); which members recorded update runs are upgrading."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.cluster.silence import SILENT
from ...._core.errors import FleetError, Problem
from ...._core.plan.outcome import MemberOutcome
from ...._core.values.update_states import RUNNING
from ...._store.kinds import record_name
from ...._store.records import Records
from ..placement import Report
from ..rollout_words import Waiting

RUN = "UpdateRun"
UPSET = ("not-ready", *SILENT)


def with_runs_told(records: Records, report: Report) -> Report:
    """The report, in which the errors of clusters that are not ready or do not answer, its problems of these, and a
    line more for each where the placement ``waits``, say which update run upgrades them, by the records; as it was
    where runs cannot be read."""
    if not any(_is_upset(each) for outcomes in report.outcomes.values() for each in outcomes.values()):
        return report
    try:
        runs = upgrading(records.list(RUN))
    except FleetError:
        return report
    told: dict[str, Problem] = {}
    outcomes = {}
    for placement, by_cluster in report.outcomes.items():
        outcomes[placement] = dict(by_cluster)
        for name, each in by_cluster.items():
            if _is_upset(each) and each.error and name in runs:
                error = replace(each.error, message=f"it is being upgraded by run {runs[name]}; {each.error.message}")
                outcomes[placement][name] = replace(each, error=error)
                told[f"{name} ({placement})"] = error
    waits = {name: _told_of(name, each, outcomes.get(name, {}), runs) for name, each in report.waits.items()}
    problems = tuple(
        replace(each, message=told[each.where].message) if _is_of(each, told) else each for each in report.problems
    )
    return replace(report, outcomes=outcomes, waits=waits, problems=problems)


def upgrading(runs: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, str]:
    """The members that are Running in recorded update runs, each with the name of its run, of several the last given.
    Damaged parts of a record tell of nobody."""
    found: dict[str, str] = {}
    for run in runs:
        for stage in _rows(run.get("status"), "stages"):
            for group in _rows(stage, "groups"):
                for member in _rows(group, "members"):
                    status = member.get("status")
                    if isinstance(status, dict) and status.get("state") == RUNNING:
                        found[str(member.get("name"))] = record_name(run)
    return found


def _told_of(
    placement: str, waiting: Waiting, outcomes: t.Mapping[str, MemberOutcome], runs: t.Mapping[str, str]
) -> Waiting:
    """What waits, with a line for each cluster of the placement that is being upgraded and could not be worked on."""
    upset = [name for name, each in outcomes.items() if name in runs and _is_upset(each)]
    lines = tuple(f"{name} ({placement}) is being upgraded by run {runs[name]}" for name in upset)
    return replace(waiting, lines=(*waiting.lines, *lines))


def _rows(owner: t.Any, name: str) -> list[t.Mapping[str, t.Any]]:
    """The mappings in the list of that name; none where there is no such list."""
    rows = owner.get(name) if isinstance(owner, dict) else None
    return [each for each in rows if isinstance(each, dict)] if isinstance(rows, list) else []


def _is_upset(outcome: MemberOutcome) -> bool:
    """Whether the member was not ready or did not answer."""
    return outcome.error is not None and outcome.error.code in UPSET


def _is_of(problem: Problem, told: t.Mapping[str, Problem]) -> bool:
    """Whether the problem is that of a cluster of which more is told now."""
    return problem.where in told and problem.code == told[problem.where].code
