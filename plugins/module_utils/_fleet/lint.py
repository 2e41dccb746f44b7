# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Linting manifests in files and folders (KubeFleet, Karpenter, Azure Fleet, our own), without records or a cluster:
which files are ours (``passed_over``), what a comment silences, ``more-findings``; the documents in mended form."""

from __future__ import annotations

import collections
import functools
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from .._core.disruption.budgets.lint import ERROR, NOTE, WARNING
from .._core.errors import Problem
from .._core.lint.belonging import belongs, is_template, may_belong, meant_for_us
from .._core.lint.document import Judged, judge_document, mend
from .._core.lint.fleet import is_compared, remarks_across
from .._core.lint.remark import (
    LEVELS,
    LintProblem,
    of_problem,
    shortened,
)
from .._core.lint.stand_ins import with_quotes, without_holes
from .._core.objects.placements.placeholders import HOLES
from .._store.documents_in_files import (
    Document,
    documents_of,
    file_text,
    found_files,
)

MOST_TOLD = 2_000  # remarks of a level
NO_YAML = "bad-yaml"


@dataclass(frozen=True, kw_only=True)
class Mended:
    """A document with the mended forms in it; ``where`` is ``file:line`` of the one that was read."""

    where: str
    object: str
    document: t.Any

    def as_dict(self) -> dict[str, t.Any]:
        """Its fields by name, as results have them."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Linted:
    """Remarks in the order of files and lines, then those on how many more there are. ``checked`` of the ``documents``
    are of kinds that have rules here.

    ``passed_over`` files, which nobody named, seem to hold no manifest; ``silenced`` remarks are so by a comment.
    """

    remarks: tuple[LintProblem, ...]
    mended: tuple[Mended, ...]
    documents: int
    checked: int
    passed_over: int = 0
    silenced: int = 0

    def count(self, level: str) -> int:
        """How many remarks have that level, with the one that says how many more are not told."""
        return sum(1 for each in self.remarks if each.level == level)

    def fails(self, strict: bool) -> bool:
        """Whether there are errors, or, with ``strict``, warnings."""
        return bool(self.count(ERROR) or (strict and self.count(WARNING)))


def lint(
    paths: t.Sequence[str], now: datetime, exclude: t.Sequence[str] = (), *, consent: bool = False, holes: bool = False
) -> Linted:
    """Everything about the documents below ``paths``; budgets are proved over the year after ``now``, an aware instant.
    Repairs that themselves disrupt nodes are in the mended documents only with ``consent``. With ``holes`` a literal
    ``...`` is a note and no error. ``exclude`` are patterns of files and folders in the folders that are given, besides
    those of ``.fleetlintignore``. What is wrong with a file is a remark, and not raised; what a comment silences is
    only counted. MOST_TOLD remarks of a level are told, and at the end how many more there are; more errors than that
    end it."""
    told, order = _ToldRemarks(), dict[str, int]()
    mended: list[Mended] = []
    related: list[tuple[Document, Judged]] = []
    counts: collections.Counter[str] = collections.Counter()
    for each in _of_ours(paths, exclude, counts):
        if told.more(ERROR):
            break
        if isinstance(each, Problem):
            remark = of_problem(each)
            if holes and remark.code in HOLES:
                remark = replace(remark, level=NOTE)
            order.setdefault(remark.file, len(order))
            told.add(remark.level, functools.partial(shortened, remark))
            continue
        order.setdefault(each.path, len(order))
        one = judge_document(each.value, now, holes, each.written)
        counts += {"documents": 1, "checked": int(one.checked)}
        for remark in one.remarks:
            told.add_about(remark, each, one.inside)
        found = mend(one, consent)
        if found is not None:
            mended.append(Mended(where=f"{each.path}:{each.line}", object=one.object, document=found))
        if is_compared(each.value):
            related.append((each, one))
    rows = [(document.value, one.object) for document, one in related]
    for index, remark in remarks_across(rows, tuple(f"{document.path}:{document.line}" for document, _one in related)):
        told.add_about(remark, related[index][0], "")
    remarks = sorted(told.remarks, key=lambda each: (order[each.file], each.line))
    return Linted(
        remarks=(*remarks, *told.rest()),
        mended=tuple(mended),
        documents=counts["documents"],
        checked=counts["checked"],
        passed_over=counts["passed_over"],
        silenced=told.silenced,
    )


def _of_ours(
    paths: t.Sequence[str], exclude: t.Sequence[str], counts: collections.Counter[str]
) -> t.Iterator[Document | Problem]:
    """The documents that are to be judged, and what is wrong with files. Files that nobody named and that are not ours
    are counted as ``passed_over``, unless they are blank."""
    for file in found_files(paths, exclude):
        text = file if isinstance(file, Problem) else file_text(file.path)
        if isinstance(file, Problem) or isinstance(text, Problem):
            yield t.cast(Problem, text)
        elif file.named:
            yield from _documents(text, file.path)
        elif may_belong(text):
            yield from _unless_foreign(text, file.path, counts)
        elif text.strip():
            counts["passed_over"] += 1


def _documents(text: str, path: str) -> t.Iterator[Document | Problem]:
    """The documents of a file, and what is wrong with them; values that begin with ``{{`` are read as texts. If it
    cannot be parsed for lines of ``...``, these are told first, and the rest is read without them."""
    text = with_quotes(text)
    filled, holes = without_holes(text)
    if not holes:
        yield from documents_of(text, path)
        return
    found = list(documents_of(text, path))
    if any(isinstance(each, Problem) and each.code == NO_YAML for each in found):
        said = "'...' stands for lines that were left out"
        yield from (Problem("placeholder", said, f"{path}:{line}", "write them, or take it out") for line in holes)
        found = list(documents_of(filled, path))
    yield from found


def _template(text: str, path: str) -> list[Document | Problem]:
    """The documents of what may be a template, with what is wrong with them; nothing if it is no YAML, or a directive
    in it reads as a key."""
    read: list[Document | Problem] = []
    lines = text.splitlines()
    for each in documents_of(with_quotes(text), path):
        if isinstance(each, Problem) and (each.code == NO_YAML or _of_directive(each, lines)):
            return []
        read.append(each)
    return read


def _of_directive(problem: Problem, lines: t.Sequence[str]) -> bool:
    """Whether a directive alone in its line was read as a key, which YAML does with ``{{ name }}``."""
    return problem.code == "bad-key" and is_template(lines[int(problem.where.rpartition(":")[2]) - 1])


def _unless_foreign(text: str, path: str, counts: collections.Counter[str]) -> t.Iterator[Document | Problem]:
    """The documents of a file that nobody named, with what is wrong in it, if one of them is ours, or, but for
    templates and for JSON that can be read, its text is meant for us; at most MOST_TOLD of what comes before the first
    of ours. Else nothing, and it is counted as ``passed_over``: files that we write hold manifests, too."""
    if is_template(text):
        read = _template(text, path)
        if any(isinstance(each, Document) and belongs(each.value) for each in read):
            yield from read
        else:
            counts["passed_over"] += 1
        return
    aside: list[Document | Problem] = []
    found = _documents(text, path)
    for each in found:
        if isinstance(each, Document) and belongs(each.value):
            break
        if len(aside) < MOST_TOLD:
            aside.append(each)
    else:
        is_data = path.endswith(".json") and not any(isinstance(each, Problem) for each in aside)
        if is_data or not meant_for_us(text):
            counts["passed_over"] += 1
            return
        yield from aside
        return
    yield from aside
    yield each
    yield from found


class _ToldRemarks:
    """The first so many remarks of each level: nobody reads more, and a file can be made of nothing but them."""

    def __init__(self) -> None:
        self.remarks: list[LintProblem] = []
        self.silenced = 0
        self._counts: dict[str, int] = {}

    def add_about(self, remark: LintProblem, document: Document, inside: str) -> None:
        """Adds a remark with its file and line; what a comment there silences is only counted. ``inside`` as in
        ``Judged``."""
        if document.silent and remark.code in document.silent.get(_placed(remark, document, inside).line, ()):
            self.silenced += 1
        else:
            self.add(remark.level, functools.partial(_placed, remark, document, inside))

    def add(self, level: str, remark: t.Callable[[], LintProblem]) -> None:
        """Counts the remark, and keeps it, shortened, if it is one of the first MOST_TOLD of its level; others are not
        even made."""
        self._counts[level] = self._counts.get(level, 0) + 1
        if self._counts[level] <= MOST_TOLD:
            self.remarks.append(shortened(remark()))

    def more(self, level: str) -> int:
        """How many there are that are not told."""
        return max(0, self._counts.get(level, 0) - MOST_TOLD)

    def rest(self) -> t.Iterator[LintProblem]:
        """A remark ``more-findings`` for each level of which some are not told."""
        for level in filter(self.more, LEVELS):
            text = f"{self.more(level)} more of this level are not shown"
            if level == ERROR:
                text = f"there are more than {MOST_TOLD} errors, and what comes behind them was not judged"
            yield LintProblem(code="more-findings", level=level, message=text)


def _placed(remark: LintProblem, document: Document, inside: str) -> LintProblem:
    """The remark with file and line of its path in the document; of a fragment, ``inside`` is cut off the path for
    that."""
    path = remark.path.removeprefix(inside).lstrip(".")
    return replace(remark, file=document.path, line=document.line_of(path))
