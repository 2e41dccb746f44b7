# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lint of a NodePool, a patch or a fragment, with mended forms and what an edit would disrupt (``consent``): problems,
repairs, ``patch-only``, and hazards of its template (``template-change-drifts``, ``expiry-ignores-budgets``,
``expiry-without-deadline``, ``do-not-disrupt-in-template``)."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..cluster.pod import DO_NOT_DISRUPT
from ..foreign import shown_value
from ..objects.karpenter.node_pool import DRIFTED, REASONS, UNDERUTILIZED
from ..objects.karpenter.node_pool_schema import BUDGETS, GRACE, Policies
from ..objects.karpenter.reading import OLDER_GROUP, PLACE, Examined, examine
from ..schema.finding import Finding
from ..schema.rules import Found
from ..values.duration import NEVER
from ..values.field_path import field
from .budgets.lint import (
    ERROR,
    NOTE,
    WARNING,
    Lint,
    lint_budgets,
)
from .drift_edits import drifts_pool

ANNOTATIONS, CLAIM = "spec.template.metadata.annotations", "spec.template.spec"


def lint_node_pool(
    document: t.Any,
    start: datetime,
    nodes: int | None = None,
    policies: Policies = None,
) -> tuple[Lint, ...]:
    """All findings about a NodePool, a patch or a fragment of one: problems, repairs, hazards of the template, then
    those of its budgets (default ones too), if nothing is wrong with them, in the year after an aware instant.

    ``nodes`` is the pool's size, for ``consent``; ``policies`` are the consolidation policies that the cluster's own
    definition lists; None where they are not known.
    """
    return lint_examined(examine(document, policies=policies), start, nodes)


def lint_examined(examined: Examined, start: datetime, nodes: int | None = None) -> tuple[Lint, ...]:
    """As ``lint_node_pool``, of a manifest that has been examined already. What lacks fields that creation needs, and
    is no fragment, gets the note ``patch-only``."""
    found = [_problem(each, examined) for each in examined.problems]
    if examined.missing and not examined.fragment:
        text = f"this can change a pool of that name, and not create one, without {' and '.join(examined.missing)}"
        found.append(Lint(code="patch-only", level=NOTE, path="spec", message=text))
    meant = {each.path: each.meant for each in examined.problems if each.meant is not None}
    found += [_repair(each, meant.get(each.new_path, each.correct), examined, nodes) for each in examined.findings]
    found += _template(examined, nodes)
    if examined.budgets is not None:
        found += lint_budgets(examined.budgets, start, _possible(examined))
    return tuple(found)


def _possible(examined: Examined) -> tuple[str, ...]:
    """The reasons for which the pool lets nodes be disrupted: only drift, which asks no policy, if ``consolidateAfter``
    is Never; all but ``Underutilized`` if the policy is ``WhenEmpty``."""
    policy, wait = (
        field(examined.stored, f"spec.disruption.{key}") for key in ("consolidationPolicy", "consolidateAfter")
    )
    if wait == NEVER:
        return (DRIFTED,)
    return tuple(each for each in REASONS if each != UNDERUTILIZED or policy != "WhenEmpty")


def _consent(path: str, nodes: int | None) -> str:
    """What a change at the path does to the pool's nodes, in a sentence; empty if it makes none Drifted. ``nodes`` is
    their number, None if not known."""
    if nodes == 0 or not drifts_pool(path):
        return ""
    if nodes == 1:
        return f"changing {path} marks the one existing node of the pool Drifted, and it is replaced within its budgets"
    count = "all existing nodes" if nodes is None else f"all {nodes} existing nodes"
    return f"changing {path} marks {count} of the pool Drifted, and they are replaced within its budgets"


def _problem(found: Found, examined: Examined) -> Lint:
    """A problem as an error, with the value that was meant where that is known and no repair tells it already; in place
    of the ``apiVersion`` of a class reference, its ``group``."""
    message = f"{found.message}; {found.hint}" if found.hint else found.message
    mended: dict[str, t.Any] = {}
    if found.meant is not None and not any(each.new_path == found.path for each in examined.findings):
        mended = {found.path: found.meant}
    if found.path == OLDER_GROUP and isinstance(older := field(examined.written, OLDER_GROUP), str):
        mended = {OLDER_GROUP: None, OLDER_GROUP.replace("apiVersion", "group"): older.partition("/")[0]}
    return Lint(code=found.code, level=ERROR, path=found.path, message=message, mended=mended)


def _repair(finding: Finding, correct: t.Any, examined: Examined, nodes: int | None) -> Lint:
    """A repair as a warning at the old path: ``correct`` at the new path, nothing at the old one, and what that
    disrupts, which is nothing if it stands there already."""
    mended = {finding.old_path: None} | {finding.new_path: correct}
    there = finding.new_path != finding.old_path and field(examined.written, finding.new_path) == correct
    consent = "" if there else _consent(finding.new_path, nodes)
    return Lint(
        code=finding.code, level=WARNING, path=finding.old_path, message=finding.message, mended=mended, consent=consent
    )


def _template(examined: Examined, nodes: int | None) -> t.Iterator[Lint]:
    """Hazards of ``spec.template``, as far as it is written, and in a whole pool with what the server fills in: its
    annotation do-not-disrupt, fields that drift all nodes when a patch changes them, and expiry."""
    if isinstance(notes := field(examined.repaired, ANNOTATIONS), dict) and DO_NOT_DISRUPT in notes:
        yield _annotation(notes[DO_NOT_DISRUPT], nodes)
    # What is left out of a whole pool is what the server fills in.
    source = examined.repaired if examined.missing or examined.fragment else examined.stored
    expiry, grace = (field(source, path) for path in (PLACE, GRACE))
    moved = {each.new_path for each in examined.findings}
    for path, value in ((PLACE, expiry), (GRACE, grace)):
        if value is not None and examined.missing and path not in moved and (text := _consent(path, nodes)):
            yield Lint(code="template-change-drifts", level=WARNING, path=path, message=text, consent=text)
    if isinstance(expiry, str) and expiry != NEVER:
        text = "Karpenter replaces expired nodes at once: no budget, no annotation and no replacement holds it back"
        yield Lint(code="expiry-ignores-budgets", level=NOTE, path=PLACE, message=text)
        if grace is None:
            text = f"a node that has expired and cannot be drained stays, and is paid for, without end; set {GRACE}"
            yield Lint(code="expiry-without-deadline", level=WARNING, path=PLACE, message=text)


def _annotation(value: t.Any, nodes: int | None) -> Lint:
    """The warning about do-not-disrupt in the template: ``do-not-disrupt-in-template`` for ``true``, as a text or not,
    ``do-not-disrupt-unreadable`` for all else."""
    path = f"{ANNOTATIONS}[{DO_NOT_DISRUPT}]"
    consent = _consent(path, nodes)
    consent = consent and f"where the pool has it already, {consent}"
    if value != "true" and value is not True:
        text = f"on nodes only 'true' protects, {shown_value(value)} does nothing"
        mended: dict[str, t.Any] = {path: None}
        return Lint(
            code="do-not-disrupt-unreadable", level=WARNING, path=path, message=text, consent=consent, mended=mended
        )
    text = (
        "the annotation reaches only nodes that are made from now on, and putting it there makes Drifted those that "
        'exist; a budget of "0" stops disruption and touches no node'
    )
    return Lint(
        code="do-not-disrupt-in-template",
        level=WARNING,
        path=path,
        message=text,
        consent=consent,
        mended={path: None, BUDGETS: [{"nodes": "0"}]},
    )
