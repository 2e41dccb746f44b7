# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Changes of objects in words: object, field, old and new value; what a look at a member found, what changes since the
last apply, and differences for ``--diff``. Long values are cut, and many fields counted."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace

from .._core.plan.changes import (
    CHANGED,
    LEFT_OUT,
    NEW,
    UNKNOWN,
    FieldChange,
    ObjectChange,
)
from .._core.plan.document import PlacementPlan
from .._core.plan.member import ADOPT, CREATE, REPAIR, UPDATE, MemberStep
from .._core.plan.outcome import MemberOutcome
from .._core.values.listed import number_of
from .widths import told_data, told_text

FIELDS, OBJECTS, VALUE = 20, 40, 120
_COMING = (CREATE, ADOPT, UPDATE, REPAIR)
NOT_KNOWN = "may change: what was applied is not known to its fields"


def change_lines(objects: t.Sequence[ObjectChange]) -> list[str]:
    """What changes in each object, as lines of any length; those of fields, as of ``field_lines``, begin with two
    spaces. At most ``OBJECTS`` objects."""
    lines = []
    for each in objects[:OBJECTS]:
        if each.action == CHANGED and each.fields:
            lines += [f"changes {each.id}", *(f"  {line}" for line in field_lines(each.fields))]
        else:
            words = {NEW: "new", CHANGED: "changes", LEFT_OUT: "does not get"}
            lines.append(f"{words[each.action]} {each.id}" if each.action in words else f"{each.id} {NOT_KNOWN}")
    if len(objects) > OBJECTS:
        lines.append(number_of(len(objects) - OBJECTS, "more object", "changes", "change"))
    return lines


def override_lines(plan: PlacementPlan, most: int) -> list[tuple[list[str], list[str]]]:
    """Pairs of clusters for which the plan's overrides change the same, and lines as of ``change_lines`` about that; at
    most ``most``."""
    return [(list(each.clusters), change_lines(each.changes)) for each in plan.renderings[:most]]


def field_lines(fields: t.Sequence[FieldChange]) -> list[str]:
    """A line for each field: what it was and what it becomes, or what happens to one that is given up; values are cut
    at ``VALUE`` characters. At most ``FIELDS`` fields."""
    shown = (replace(each, old=told_data(each.old), new=told_data(each.new)) for each in fields[:FIELDS])
    lines = [each.in_words(VALUE) for each in shown]
    return lines + ([number_of(len(fields) - FIELDS, "more field")] if len(fields) > FIELDS else [])


def seen_changes(outcome: MemberOutcome) -> tuple[ObjectChange, ...]:
    """What a look at the member found would change there, in the order of its steps: objects by fields, and beside them
    those that are new, or of which no field is known. Empty where no step has fields."""
    if not any(each.changes for each in outcome.steps):
        return ()
    coming = (each for each in outcome.steps if each.changes or each.action in _COMING)
    return tuple(ObjectChange(id=each.id, action=_action(each), fields=each.changes) for each in coming)


def _action(step: MemberStep) -> str:
    """What the step, which writes an object, makes of it, as ``ObjectChange`` names it."""
    return CHANGED if step.changes else NEW if step.action == CREATE else UNKNOWN


def unseen_change_lines(
    plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]
) -> list[tuple[list[str], list[str]]]:
    """Pairs of clusters and lines as of ``change_lines`` about what the plan changes there since the last apply;
    without clusters of which ``outcomes`` tell by fields what changes, or that nothing does: a look knows better."""
    return [(clusters, change_lines(objects)) for clusters, objects in _unseen(plan, outcomes)]


def plan_diff(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]) -> list[dict[str, str]]:
    """For Ansible's ``--diff``, rows of ``before_header``, ``after_header``, ``before`` and ``after``: the clusters
    before and after, then each object with its fields, clusters with equal changes together. Long lists are cut, and
    nothing tells that."""
    shown = [_diff(plan.name, _clusters(plan, "gained"), _clusters(plan, "lost"))]
    groups: dict[str, tuple[list[str], tuple[ObjectChange, ...]]] = {}
    for name, outcome in sorted(outcomes.items()):
        found = seen_changes(outcome)
        if found:
            groups.setdefault("\n".join(change_lines(found)), ([], found))[0].append(name)
    for clusters, objects in (*groups.values(), *_unseen(plan, outcomes)):
        shown += _object_diffs(plan.name, clusters, objects)
    return shown


def _unseen(
    plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]
) -> t.Iterator[tuple[list[str], tuple[ObjectChange, ...]]]:
    """The clusters and objects of each change since the last apply, without clusters that a look has told of; changes
    of which no cluster is left are left out."""
    for each in plan.changes:
        clusters = [name for name in each.clusters if name not in outcomes or not _looked(outcomes[name])]
        if clusters:
            yield clusters, each.objects


def _object_diffs(
    placement: str, clusters: t.Sequence[str], objects: t.Sequence[ObjectChange]
) -> t.Iterator[dict[str, str]]:
    """A row as of ``plan_diff`` for each of the first ``OBJECTS`` objects, with its first ``FIELDS`` fields before and
    after; ``after`` is the object's id where no fields are known."""
    more = f" and {len(clusters) - 5} more" if len(clusters) > 5 else ""
    for each in objects[:OBJECTS]:
        old = "".join(f"{one.path}: {_value(one.old)}\n" for one in each.fields[:FIELDS] if one.old is not None)
        new = "".join(
            f"{one.path}: {_value(one.new)}\n" if not one.effect else f"{one.path} {one.effect}\n"
            for one in each.fields[:FIELDS]
        )
        if not each.fields:
            new = f"{each.id}\n"
        yield _diff(f"{placement}: {each.id} on {', '.join(clusters[:5])}{more}", old, new)


def _diff(header: str, before: str, after: str) -> dict[str, str]:
    """One row for ``--diff``, with the same header on both sides."""
    return {"before_header": header, "after_header": header, "before": before, "after": after}


def _clusters(plan: PlacementPlan, but: str) -> str:
    """The plan's clusters, a line each, without those whose change is ``but``."""
    return "".join(f"{each.cluster}\n" for each in plan.clusters if each.change != but)


def _looked(outcome: MemberOutcome) -> bool:
    """Whether the member was read, and told what an update changes there by fields, or that it changes nothing."""
    return outcome.error is None and (bool(seen_changes(outcome)) or not outcome.changes)


def _value(value: t.Any) -> str:
    """The value as JSON; of more than ``VALUE`` characters the first, and how many more there are."""
    text = told_text(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= VALUE else f"{text[:VALUE]}... ({number_of(len(text) - VALUE, 'more character')})"
