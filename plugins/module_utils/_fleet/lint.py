# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Every finding about the manifests of files and folders; needs no records and no cluster."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from .._core.disruption.lint import ERROR, WARNING
from .._core.errors import Problem
from .._core.lint.document import Judged, judge_document, mend
from .._core.lint.fleet import across
from .._core.lint.remark import Remark, of_problem
from .._store.documents import Document, read_documents


@dataclass(frozen=True, kw_only=True)
class Mended:
    """A document with the mended forms in it; ``where`` is file and line of the one that was read."""

    where: str
    object: str
    document: t.Any

    def as_dict(self) -> dict[str, t.Any]:
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Linted:
    """Remarks in the order of files and lines. ``checked`` of the ``documents`` are of kinds that have rules here."""

    remarks: tuple[Remark, ...]
    mended: tuple[Mended, ...]
    documents: int
    checked: int

    def count(self, level: str) -> int:
        return sum(1 for each in self.remarks if each.level == level)

    def fails(self, strict: bool) -> bool:
        """Whether the findings are enough to stop a pipeline; ``strict`` counts warnings."""
        return bool(self.count(ERROR) or (strict and self.count(WARNING)))


def lint(paths: t.Sequence[str], now: datetime, consent: bool = False, holes: bool = False) -> Linted:
    """Everything about the documents below ``paths``; budgets are proved over the year after an aware instant.

    Repairs that themselves disrupt nodes are in the mended documents only with ``consent``. With ``holes`` a literal
    ``...`` is worth a note and no error. What is wrong with a file is a remark too: nothing is raised.
    """
    remarks: list[Remark] = []
    judged: list[tuple[Document, Judged]] = []
    order: dict[str, int] = {}
    for each in read_documents(paths):
        if isinstance(each, Problem):
            remarks.append(of_problem(each))
            order.setdefault(remarks[-1].file, len(order))
        else:
            order.setdefault(each.path, len(order))
            one = judge_document(each.value, now, holes)
            judged.append((each, one))
            remarks += [_placed(remark, each, one.inside) for remark in one.remarks]
    rows = [(document.value, one.object) for document, one in judged]
    for index, remark in across(rows, tuple(f"{document.path}:{document.line}" for document, _one in judged)):
        remarks.append(_placed(remark, judged[index][0], ""))
    mended = [
        Mended(where=f"{document.path}:{document.line}", object=one.object, document=found)
        for document, one in judged
        if (found := mend(one, consent)) is not None
    ]
    return Linted(
        remarks=tuple(sorted(remarks, key=lambda each: (order[each.file], each.line))),
        mended=tuple(mended),
        documents=len(judged),
        checked=sum(1 for _document, one in judged if one.checked),
    )


def _placed(remark: Remark, document: Document, inside: str) -> Remark:
    """With file and line; a fragment lacks the beginning of the path."""
    path = remark.path.removeprefix(inside).lstrip(".")
    return replace(remark, file=document.path, line=document.line_of(path))
