# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placeholders in manifests, for values that come from elsewhere (``stand-in``): ``$NAME``, ``${NAME}``, ``<name>``,
``{{ name }}``; and lines of ``...``, by which documentation leaves something out."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ..disruption.budgets.lint import ERROR, NOTE, WARNING
from ..values.field_path import value_at
from ..values.selector import label_key_problem
from .remark import LintProblem

_STAND_IN = re.compile(r"\$\{\w[^{}\n]*\}|\$[A-Za-z_]\w*|<[A-Za-z][^<>\n]*>|\{\{.*\}\}", re.ASCII)
# A value that begins so is a mapping to YAML, and was meant as text.
_UNQUOTED = re.compile(r"(?P<before>[ \t]*(?:- +)?[\w./-]+:[ \t]+)(?P<value>\{\{.*)", re.DOTALL)
# At the beginning of a line it ends a document.
_HOLE = re.compile(r"[ \t]+\.\.\.[ \t]*\r?")
# Behind it come the lines of one text; it has two properties at most, a tag and an anchor.
_BLOCK = re.compile(r"(?:^|[:-])[ \t]+(?:[!&]\S*[ \t]+){0,2}[|>][-+0-9]{0,2}[ \t]*(?:[ \t]#.*)?\r?$")
_DASHES = re.compile(r"^ *(?:- +)*")

# What is wrong because a field is there, or in the part of a text that is known.
WHATEVER_IT_IS = frozenset(
    (
        *("unknown-field", "expireAfter-misplaced", "unexpected-namespace", "not-with-replicas", "two-clocks"),
        *("two-sequences", "version-not-wanted", "target-minor-not-wanted", "wait-not-wanted", "context-in-cluster"),
        *("toleration-value-with-exists", "remove-with-value", "unclosed-variable", "unknown-variable"),
        *("restricted-label", "restricted-tag", "restricted-capacity", "feature-gate-gone"),
        "do-not-disrupt-not-on-pods",
    )
)


def is_stand_in(value: t.Any) -> bool:
    """Whether a text of less than 1,000 characters, or a part of it, is to be replaced by its reader: ``<name>``,
    ``$NAME``, ``{{ name }}``."""
    return isinstance(value, str) and len(value) < 1000 and bool(_STAND_IN.search(value))


def with_quotes(text: str) -> str:
    """The text of a file with quotes around values that begin with ``{{`` and have ``}}``, but not around comments
    behind them; lines stay where they are, and those of a text in several lines (``|``, ``>``) as they are."""
    if "{{" not in text:
        return text
    return "\n".join(line if inside else _quoted(line) for line, inside in _lines(text))


def without_holes(text: str) -> tuple[str, tuple[int, ...]]:
    """The text with indented lines that are nothing but ``...`` made empty, and their numbers, from 1. At the beginning
    of a line ``...`` ends a document, and stays; so it does in a text in several lines (``|``, ``>``)."""
    if "..." not in text:
        return text, ()
    lines, numbers = [], []
    for number, (line, inside) in enumerate(_lines(text), 1):
        is_hole = not inside and _HOLE.fullmatch(line) is not None
        lines.append("" if is_hole else line)
        if is_hole:
            numbers.append(number)
    return "\n".join(lines), tuple(numbers)


def _lines(text: str) -> t.Iterator[tuple[str, bool]]:
    """Each line, and whether it is one of a text in several lines (``|``, ``>``), which may look like anything."""
    outer: int | None = None  # the column of the key or the dash of such a text
    for line in text.split("\n"):
        content = line.lstrip(" ")
        inside = outer is not None and (not content.strip() or len(line) - len(content) > outer)
        yield line, inside
        if not inside:
            begins = ("|" in line or ">" in line) and not content.startswith("#") and _BLOCK.search(line)
            outer = _column(line) if begins else None


def _column(line: str) -> int:
    """The column, from 0, of the key in a line behind which a text in several lines begins, else of the last dash, else
    before its first sign."""
    before = line[: len(line) - len(_DASHES.sub("", line, count=1))]
    if line[len(before)] not in "|>!&":
        return len(before)
    return before.rfind("-") if "-" in before else len(before) - 1


def _quoted(line: str) -> str:
    """The line with its value in single quotes, if that begins with ``{{``; as it is where the braces are not closed.
    What follows the first ``}}`` is a comment from a ``#`` behind a blank on."""
    match = _UNQUOTED.fullmatch(line)
    closed = match["value"].find("}}") if match else -1
    if match is None or closed < 0:
        return line
    comments = [at for blank in " \t" if (at := match["value"].find(f"{blank}#", closed)) >= 0]
    value = match["value"][: min(comments, default=None)].rstrip(" \t\r")
    escaped, end = value.replace("'", "''"), match["value"][len(value) :]
    return f"{match['before']}'{escaped}'{end}"


def without_stand_ins(remarks: t.Iterable[LintProblem], document: t.Any, inside: str) -> t.Iterator[LintProblem]:
    """The remarks, of which errors and warnings about a value that is not there yet (``is_stand_in``) become a note
    ``stand-in`` without a mended form, one for each path. What holds whatever the value is stays: ``WHATEVER_IT_IS``,
    and what is wrong with a key. ``inside`` is what paths of remarks begin with and the document lacks."""
    told: set[str] = set()
    moved: dict[str, t.Any] = {}
    remarks = tuple(remarks)
    for each in remarks:
        moved |= each.mended
    for each in remarks:
        value = value_at(document, each.path.removeprefix(inside).lstrip("."))
        stays = each.level not in (ERROR, WARNING) or each.code in WHATEVER_IT_IS or _is_about_key(each)
        if stays or not is_stand_in(moved.get(each.path) if value is None else value):
            yield each
        elif each.path not in told:
            told.add(each.path)
            text = "this stands for a value that comes from elsewhere, and is not judged"
            yield replace(each, code="stand-in", level=NOTE, message=text, mended={}, consent="")


def _is_about_key(remark: LintProblem) -> bool:
    """Whether it says of the key in the last brackets of its path that it is no label key; annotations are compared in
    lower case."""
    key = remark.path.rpartition("[")[2].removesuffix("]")
    problems = filter(None, map(label_key_problem, {key, key.lower()}))
    return any(remark.message.startswith(each) for each in problems)
