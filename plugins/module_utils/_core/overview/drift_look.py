# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The result file of a look for drift (``drift.json``, ``observed_at``), read and judged as what others wrote
(``drift-invalid``); a note where the look went by other records (``other-records``)."""

from __future__ import annotations

import json
import typing as t
from datetime import datetime

from ..errors import FleetError, Problem
from ..foreign import in_line, shown_value
from ..objects.placements.key import PlacementKey
from ..schema.metadata_rules import name_problem
from ..values.clock_skew import is_ahead
from ..values.instants import parse_time
from ..values.parts import name, rows, text
from .drift import DriftLook, DriftRow, Place

INVALID = "drift-invalid"
HINT = "ansible-playbook gitops.fleet.drift -e result_file=drift.json writes it"
_VALUE = 1_000


def read_look(document: t.Any, where: str, now: datetime) -> DriftLook:
    """What the look has found, of a parsed JSON document; ``where`` is its file, for errors. FleetError
    ``drift-invalid``: no result of a look, as of one that failed before it began; else with all that is wrong at once:
    an apply or a plan, no instant, one from the future (but for clocks that differ a little), names that are none,
    parts of other types. A cluster with an error counts as not looked at, and its steps are not read. Texts are made
    fit for one line."""
    if not isinstance(document, dict) or not isinstance(document.get("members"), dict):
        raise FleetError(INVALID, f"this is no result of a look for drift{_refused(document)}", where, HINT)
    problems: list[Problem] = []

    def wrong(message: str, hint: str = HINT) -> None:
        """Adds a Problem of the document to ``problems``."""
        problems.append(Problem(INVALID, message, where, hint))

    at, place = _instant(document, now, wrong), document.get("place")
    looked: set[Place] = set()
    found: list[DriftRow] = []
    for placement, outcomes in document["members"].items():
        wrong_name = _placement_problem(placement)
        if wrong_name or not isinstance(outcomes, dict):
            wrong(f"members: {wrong_name or f'{placement} has no map of clusters'}")
            continue
        for cluster, outcome in outcomes.items():
            try:
                if told := name_problem(cluster):
                    raise ValueError(told)
                if not isinstance(outcome, dict):
                    raise ValueError("is no map")
                mine = [] if outcome.get("error") else list(_rows(placement, cluster, outcome, at))
            except ValueError as error:
                wrong(f"members of {placement}, {cluster!r:.80}: {error}")
                continue
            found += mine
            if not outcome.get("error"):
                looked.add((placement, cluster))
    if problems or at is None:
        raise FleetError.of(problems)
    told = in_line(place) if isinstance(place, str) else ""
    return DriftLook(at=at, place=told, looked=frozenset(looked), rows=tuple(found))


def other_records_problems(look: DriftLook | None, place: str) -> tuple[Problem, ...]:
    """A Problem ``other-records`` for a look that went by other records than those at ``place``; empty without a look,
    or where it does not say."""
    if look is None or not look.place or look.place == place:
        return ()
    message = f"who looked for drift went by the records {look.place}, and not by {place}"
    return (Problem("other-records", message, "drift", "look again with these records"),)


def _refused(document: t.Any) -> str:
    """What became of a look that failed before it began, to go on after a sentence; empty if that is not told."""
    fleet = document.get("fleet") if isinstance(document, dict) else None
    code = fleet.get("code") if isinstance(fleet, dict) else None
    return f": it failed with {in_line(code, 80)}" if isinstance(code, str) and code else ""


def _instant(document: t.Mapping[str, t.Any], now: datetime, wrong: t.Callable[..., None]) -> datetime | None:
    """When the look began, aware; None if that is not told. ``wrong`` is called with the message, and a hint if there
    is one, of what is not as it should be; one from the future is given nevertheless."""
    told = document.get("observed_at")
    if told == "":
        wrong("this is the result of an apply or of a plan, and of no look for drift")
        return None
    try:
        at = parse_time(told) if isinstance(told, str) else None
    except ValueError:
        at = None
    if at is None:
        wrong(f"observed_at is no instant, but {shown_value(told)}", f"look again: {HINT}")
    elif is_ahead(at, now):
        ahead = int((at - now).total_seconds())
        wrong(f"observed_at is {ahead} s ahead of this machine's clock", "set the clocks right, then look again")
    return at


def _placement_problem(placement: str) -> str:
    """Why this is not the name of a placement, ``name`` or ``namespace/name``; empty if it is one."""
    key = PlacementKey.of(placement)
    return (name_problem(key.namespace) if key.namespace else "") or name_problem(key.name) or ""


def _rows(placement: str, cluster: str, outcome: t.Mapping[str, t.Any], at: datetime | None) -> t.Iterator[DriftRow]:
    """The fields that a cluster's steps tell as drift, then those that differ, step by step, seen ``at``; one row
    without a path for an object that is missing and has none. ValueError for a part of another type."""
    for step in rows(outcome, "steps"):
        of, missing, differs = in_line(name(step, "object")), step.get("missing") is True, _is_differing(step)
        fields = [(each, False) for each in rows(step, "drifts")] + [(each, True) for each in rows(step, "diffs")]
        for each, other in fields or ([({}, differs)] if missing else []):
            yield DriftRow(
                placement=placement,
                cluster=cluster,
                object=of,
                path=in_line(text(each, "path")),
                live=_value(each.get("valueInMember")),
                placed=_value(each.get("valueInHub")),
                differs=other,
                seen=at,
                looked=True,
            )


def _is_differing(step: t.Mapping[str, t.Any]) -> bool:
    """Whether the action of the step is ``differs``: it writes nothing, so that an object which is missing is only
    reported on. ValueError for an action that is no text."""
    return text(step, "action") == "differs"


def _value(value: t.Any) -> str:
    """As in the status of a placement, on one line of about 1000 characters at most: what is no text is written as
    JSON, and nothing is empty. ValueError for what is nested too deep for that."""
    try:
        told = value if isinstance(value, str) else "" if value is None else json.dumps(value, sort_keys=True)
    except RecursionError:
        raise ValueError("a value is nested too deep") from None
    return in_line(told, _VALUE)
