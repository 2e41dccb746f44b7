# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters in the order of an update strategy (filter ``update_stages``, ``not-a-strategy``), for plays that run over
them without an update run; members put together from rows, FleetMembers and MemberClusters."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..._core.errors import FleetError, Problem
from ..._core.foreign import shown_value
from ..._core.objects.reading import read
from ..._core.objects.updates.strategy import UpdateRunStrategy, UpdateStrategy
from ..._core.objects.updates.strategy_json import strategy_from_json
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.schema.rules import Found
from ..._core.updates.batches import batches
from ..._core.updates.run import StageRow
from ..._core.updates.strategy import Candidate, resolve
from .given import objects

KINDS = ("MemberCluster", "FleetMember")
Row = dict[str, t.Any]


def update_stages(strategy: t.Any, members: t.Any) -> tuple[list[Row], tuple[Found, ...]]:
    """A row for each stage of an UpdateStrategy, an UpdateRun or a service's JSON of one (empty or None: one by one),
    in order, with the keys that the filter ``update_stages`` documents; and the ``warnings`` of ``resolve``.
    ``members`` as for ``candidates_given``. FleetError ``not-a-strategy``, and what is wrong with either."""
    resolved = resolve(_strategy(strategy), candidates_given(members), "")
    return [_row(each) for each in resolved.stages], resolved.warnings


def candidates_given(members: t.Any) -> tuple[Candidate, ...]:
    """Members by name, each once, in the order in which they first come. Rows of ``name``, ``group`` and ``labels``,
    FleetMembers and MemberClusters of one name are put together; what comes later counts. FleetError with the first
    problem of each row: ``bad-argument``, ``missing-field``, ``wrong-type``."""
    found: dict[str, Candidate] = {}
    problems: list[Problem] = []
    for index, row in enumerate(objects(members, "members")):
        try:
            each = _candidate(row, f"members[{index}]")
        except FleetError as error:
            problems.extend(error.problems)
            continue
        before = found.get(each.name, each)
        found[each.name] = Candidate(
            name=each.name, group=each.group or before.group, labels={**(before.labels or {}), **(each.labels or {})}
        )
    if problems:
        raise FleetError.of(problems)
    return tuple(found.values())


def _candidate(row: Mapping[str, t.Any], place: str) -> Candidate:
    """A row, a FleetMember or a MemberCluster as a candidate, the group empty where there is none, labels as texts,
    truth values as ``true`` and ``false``; those without a value are left out. FleetError with the first problem, at
    ``place``: ``bad-argument``, ``missing-field``, ``wrong-type``."""
    kind = row.get("kind")
    if kind is None and "metadata" not in row:
        name, group, labels = row.get("name"), row.get("group"), row.get("labels")
    elif kind in KINDS:
        metadata, spec = _mapping(row.get("metadata")), _mapping(row.get("spec"))
        name, group, labels = metadata.get("name"), spec.get("group"), metadata.get("labels")
    else:
        raise FleetError("bad-argument", f"a {' or a '.join(KINDS)} is wanted, not {shown_value(kind, 60)}", place)
    if not isinstance(name, str) or not name:
        raise FleetError("missing-field", "a member has a name", f"{place}.name")
    if group is not None and not isinstance(group, str):
        raise FleetError("wrong-type", f"text is wanted, not {shown_value(group, 60)}", f"{place}.group")
    if labels is not None and not isinstance(labels, Mapping):
        raise FleetError("wrong-type", f"a mapping is wanted, not {shown_value(labels, 60)}", f"{place}.labels")
    given = {key: each for key, each in (labels or {}).items() if each is not None}
    words = {str(key): str(each).lower() if isinstance(each, bool) else str(each) for key, each in given.items()}
    return Candidate(name=name, group=group or "", labels=words)


def _mapping(value: t.Any) -> Mapping[str, t.Any]:
    """The value, or an empty mapping for anything else."""
    return value if isinstance(value, Mapping) else {}


def _strategy(document: t.Any) -> UpdateRunStrategy | None:
    """The stages of an UpdateStrategy, of an UpdateRun that has its own, or of the JSON of a service; None, which is
    one by one, for an empty document. FleetError ``not-a-strategy``, and as of ``read`` and ``strategy_from_json``."""
    if not document:
        return None
    if isinstance(document, Mapping) and ("apiVersion" in document or "kind" in document):
        found = read(document).object
        if isinstance(found, UpdateStrategy):
            return found.spec.strategy
        if isinstance(found, UpdateRun) and found.spec.strategy is not None:
            return found.spec.strategy
        hint = "give the UpdateStrategy that it names" if isinstance(found, UpdateRun) else ""
        raise FleetError("not-a-strategy", f"the {found.kind} {found.name} has no stages", "input", hint)
    return strategy_from_json(document, "the strategy")


def _row(stage: StageRow) -> Row:
    """The stage as the filter ``update_stages`` gives it; ``wait_seconds`` is 0 where it does not wait."""
    names = batches(stage)
    return {
        "stage": stage.name,
        "clusters": [name for batch in names for name in batch],
        "batches": [list(batch) for batch in names],
        "serial": [len(batch) for batch in names],
        "groups": [
            {
                "group": group.name,
                "clusters": [member.name for member in group.members],
                "max_concurrency": group.max_concurrency,
                "max_allowed_failures": group.max_allowed_failures,
            }
            for group in stage.groups
        ],
        "max_concurrency": stage.max_concurrency,
        "max_allowed_failures": stage.max_allowed_failures,
        "wait_seconds": stage.wait.seconds if stage.wait else 0,
        "gates": {
            "before": [gate.name for gate in stage.before_gates],
            "after": [gate.name for gate in stage.after_gates],
        },
    }
