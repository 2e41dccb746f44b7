# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One thing that the linter says about a document, with level, field and what it is mended by; made of a problem, a
finding or a hazard; long texts of it cut."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..disruption.budgets.lint import (
    ERROR,
    NOTE,
    WARNING,
    Lint,
)
from ..errors import Problem
from ..objects.placements.property_rules import ALIASES
from ..schema.finding import Finding
from ..schema.rules import Found

LONGEST = 1000  # characters of a text
LEVELS = (ERROR, WARNING, NOTE)


@dataclass(frozen=True, kw_only=True)
class LintProblem:
    """One remark of the linter. ``level`` is error, warning or note; ``path`` a field path, in the object where a
    fragment belongs, empty for the document or the file as a whole. ``mended`` maps field paths to what should stand
    there (None: nothing); empty if we cannot tell. ``consent`` says what applying the mended form disrupts. ``object``
    is kind and name, ``line`` counts from 1 (0: not known)."""

    code: str
    level: str
    message: str
    path: str = ""
    mended: t.Mapping[str, t.Any] = field(default_factory=dict)
    consent: str = ""
    object: str = ""
    file: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        """``file:line``, or the file where no line is known; empty without a file."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def as_dict(self) -> dict[str, t.Any]:
        """All fields as plain data, by the names of the attributes."""
        return {**vars(self), "mended": dict(self.mended)}


def shortened(remark: LintProblem) -> LintProblem:
    """The remark with message, path, consent and object each cut to ``LONGEST`` characters and `` ...``, for a name, a
    key or a value may be of megabytes; what is mended stays whole."""
    texts = {name: getattr(remark, name) for name in ("message", "path", "consent", "object")}
    long: dict[str, t.Any] = {name: f"{text[:LONGEST]} ..." for name, text in texts.items() if len(text) > LONGEST}
    return replace(remark, **long) if long else remark


def of_lint(lint: Lint) -> LintProblem:
    """A hazard of a NodePool, its budgets or an annotation ``do-not-disrupt``, as a remark; object, file and line are
    left to the caller."""
    return LintProblem(
        code=lint.code,
        level=lint.level,
        message=lint.message,
        path=lint.path,
        mended=lint.mended,
        consent=lint.consent,
    )


def of_found(found: Found) -> LintProblem:
    """A broken rule as an error, for the document would be refused; mended, at its own path alone, where it is known
    what was meant. Object, file and line are left to the caller."""
    mended = {} if found.meant is None else {found.path: found.meant}
    return LintProblem(
        code=found.code, level=ERROR, message=_with_hint(found.message, found.hint), path=found.path, mended=mended
    )


def of_problem(problem: Problem) -> LintProblem:
    """A problem of a file as an error; its place is ``file:line``, or the file alone."""
    file, colon, number = problem.where.rpartition(":")
    line = int(number) if colon and number.isdecimal() else 0
    message = _with_hint(problem.message, problem.hint)
    return LintProblem(code=problem.code, level=ERROR, message=message, file=file if line else problem.where, line=line)


def of_finding(finding: Finding) -> LintProblem:
    """A repair or warning of a document that is accepted, as a warning, with the form that is meant (``mended_by``) if
    it is read otherwise than it is written."""
    # Where a repair moves something, path and mended form tell so; the message says why.
    message = finding.message if finding.old_path == finding.new_path else finding.reason
    return LintProblem(
        code=finding.code, level=WARNING, message=message, path=finding.old_path, mended=mended_by(finding)
    )


def mended_by(finding: Finding) -> dict[str, t.Any]:
    """What the repair of a finding writes, by field path, to be put in the order in which repairs were found; empty for
    a mere warning, but for ``property-alias`` today's name. Where the two paths are a list and its first item, the item
    became a list, or the list its item."""
    old, new = finding.old_path, finding.new_path
    if finding.code == "property-alias":
        return {old: ALIASES[finding.printed]}
    if old == new:
        return {} if finding.printed == finding.correct else {old: finding.correct}
    if old == f"{new}[0]" or new == f"{old}[0]":
        return {min(old, new): finding.correct}
    return {old: None, new: finding.correct}


def _with_hint(message: str, hint: str) -> str:
    """The message with the hint in parentheses behind it; alone where the hint is empty."""
    return f"{message} ({hint})" if hint else message
