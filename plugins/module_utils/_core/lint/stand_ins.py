# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What stands for a value that comes from elsewhere (``stand-in``): ``$NAME``, ``${NAME}``, ``<name>``, ``{{ name }}``;
and lines of ``...``, by which documentation leaves something out."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ..disruption.budgets.lint import ERROR, NOTE, WARNING
from ..values.field_path import value_at
from .remark import LintProblem

_STAND_IN = re.compile(r"\$\{\w[^{}\n]*\}|\$[A-Za-z_]\w*|<[A-Za-z][^<>\n]*>|\{\{.*\}\}", re.ASCII)
# A value that begins so is a mapping to YAML, and was meant as text.
_UNQUOTED = re.compile(r"(?m)^(?P<before>[ \t]*(?:- +)?[\w./-]+:[ \t]+)(?P<value>\{\{[^\n]*)$")
# At the beginning of a line it ends a document.
_HOLE = re.compile(r"(?m)^[ \t]+(?P<dots>\.\.\.)[ \t]*\r?$")


def is_stand_in(value: t.Any) -> bool:
    """Whether a text, or a part of it, is to be replaced by its reader, such as ``<name>`` in documentation. Texts of
    1,000 characters and more are not."""
    return isinstance(value, str) and len(value) < 1000 and bool(_STAND_IN.search(value))


def with_quotes(text: str) -> str:
    """The text of a file with quotes around values that begin with ``{{`` and have ``}}``; lines stay where they
    are."""
    if "{{" not in text:
        return text

    def quoted(match: re.Match[str]) -> str:
        """The line with its value in single quotes; as it is where the braces are not closed."""
        value = match["value"].rstrip(" \t\r")
        if "}}" not in value:
            return match[0]
        escaped, end = value.replace("'", "''"), match["value"][len(value) :]
        return f"{match['before']}'{escaped}'{end}"

    return _UNQUOTED.sub(quoted, text)


def without_holes(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without indented lines that are nothing but ``...``, which stay empty, and their numbers, from 1. At the
    beginning of a line ``...`` ends a document, and stays."""
    numbers: list[int] = []
    line = 1
    before = 0
    for match in _HOLE.finditer(text):
        line += text.count("\n", before, match.start())
        before = match.start()
        numbers.append(line)
    return _HOLE.sub("", text), tuple(numbers)


def without_stand_ins(remarks: t.Iterable[LintProblem], document: t.Any, inside: str) -> t.Iterator[LintProblem]:
    """The remarks, of which errors and warnings about a value that is not there yet (``is_stand_in``) become a note
    ``stand-in`` without a mended form, one for each path. ``inside`` is what paths of remarks begin with and the
    document lacks."""
    told: set[str] = set()
    for each in remarks:
        if each.level not in (ERROR, WARNING) or not is_stand_in(
            value_at(document, each.path.removeprefix(inside).lstrip("."))
        ):
            yield each
        elif each.path not in told:
            told.add(each.path)
            text = "this stands for a value that comes from elsewhere, and is not judged"
            yield replace(each, code="stand-in", level=NOTE, message=text, mended={}, consent="")
