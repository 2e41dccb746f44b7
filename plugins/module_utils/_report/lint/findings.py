# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Findings of the linter as text, with the mended form as YAML, in a sentence, as data, and counted by level."""

from __future__ import annotations

import json
import re
import typing as t

from ..._core.disruption.budgets.lint import ERROR, NOTE, WARNING
from ..._core.lint.remark import LONGEST, LintProblem
from ..text import folded
from ..widths import columns, columns_of

# Texts that YAML reads as themselves without quotes.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
MOST_LINES = 40


def findings_text(
    remarks: t.Sequence[LintProblem], documents: int, checked: int, passed_over: int = 0, silenced: int = 0
) -> list[str]:
    """Each finding with its place, its text and the mended form, in lines that fit the terminal; then
    ``findings_summary``, which the numbers are for."""
    lines = [line for each in remarks for line in _lines(each)]
    return [*lines, *folded(findings_summary(remarks, documents, checked, passed_over, silenced), further="")]


def findings_data(
    remarks: t.Sequence[LintProblem], documents: int, checked: int, passed_over: int = 0, silenced: int = 0
) -> dict[str, t.Any]:
    """The findings as one document: each with its place, in the order given, counts by level, how many documents were
    read and checked, files ``passed_over``, findings ``silenced``. Mended values are as they were read, which need not
    be plain JSON."""
    return {
        "findings": [each.as_dict() for each in remarks],
        "counts": level_counts(remarks),
        "documents": documents,
        "checked": checked,
        "passed_over": passed_over,
        "silenced": silenced,
    }


def level_counts(remarks: t.Sequence[LintProblem]) -> dict[str, int]:
    """How many remarks there are of each level: error, warning, note."""
    return {level: sum(1 for each in remarks if each.level == level) for level in (ERROR, WARNING, NOTE)}


def findings_summary(
    remarks: t.Sequence[LintProblem], documents: int, checked: int, passed_over: int = 0, silenced: int = 0
) -> str:
    """One sentence: findings by level, in how many ``documents``, of which ``checked`` are of kinds that have rules;
    how many findings comments silence (``silenced``), and how many files hold no manifest (``passed_over``)."""
    found = ", ".join(
        f"{number} {level}{'' if number == 1 else 's'}" for level, number in level_counts(remarks).items()
    )
    text = f"{found} in {documents} document{'' if documents == 1 else 's'}, {checked} of them of kinds with rules"
    if silenced:
        text += f"; {silenced} silenced by comments"
    if passed_over:
        text += f"; {passed_over} other file{'' if passed_over == 1 else 's'} passed over"
    return text


def yaml_lines(value: t.Any, indent: str = "") -> list[str]:
    """A value as lines of YAML in block style, behind ``indent``; a text or key that is not plainly a word is quoted as
    in JSON, and what JSON has not, such as a date, is a text."""
    if isinstance(value, dict) and value:
        return [line for key, each in value.items() for line in _entry(f"{indent}{_scalar(key)}:", each, indent)]
    if isinstance(value, (list, tuple)) and value:
        return [line for each in value for line in _item(each, indent)]
    return [f"{indent}{_scalar(value)}"]


def _lines(remark: LintProblem) -> list[str]:
    """The lines of one finding: place, level and code, object, field, message, the mended form, and what has to be
    consented to."""
    head = f"{remark.where}: {remark.level} {remark.code}"
    lines = folded(f"{head}: {remark.object}" if remark.object else head)
    if remark.path:
        lines += _path(remark.path, "  ")
    lines += folded(remark.message, "    ", further="    ")
    if remark.mended:
        lines.append("    mended:")
        shown = [line for path, value in remark.mended.items() for line in _mended(path, value)]
        lines += [_cut(line) for line in shown[:MOST_LINES]] + (["      ..."] if len(shown) > MOST_LINES else [])
    if remark.consent:
        lines += folded(f"careful: {remark.consent}", "    ", further="    ")
    return lines


def _cut(line: str) -> str:
    """The line, or the first ``LONGEST`` characters of a longer one and `` ...``."""
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def _mended(path: str, value: t.Any) -> list[str]:
    """The lines of one field that is mended: its path and the value; None means that it is taken away."""
    if value is None:
        return _path(f"{path} is taken away", "      ")
    if isinstance(value, (dict, list, tuple)) and value:
        return [*_path(f"{path}:", "      "), *yaml_lines(value, "        ")]
    return _path(f"{path}: {_scalar(value)}", "      ")


def _path(text: str, indent: str) -> list[str]:
    """The text behind ``indent``, folded. Field paths are long: a new line begins before a dot, and what follows the
    path stays with its last part."""
    lines = [indent]
    for part in re.findall(r"\.?[^.]+|\.", text):
        if columns_of(lines[-1]) + columns_of(part) > columns() and lines[-1].strip():
            lines.append(f"{indent}    ")
        lines[-1] += part
    parted = ((line.strip(), line[: len(line) - len(line.lstrip())]) for line in lines)
    return [short for part, before in parted for short in folded(part, before, further=indent)]


def _entry(key: str, value: t.Any, indent: str) -> list[str]:
    """The lines of a key with its value, beside it or, for one with content of its own, below it."""
    if isinstance(value, (dict, list, tuple)) and value:
        return [key, *yaml_lines(value, f"{indent}  ")]
    return [f"{key} {_scalar(value)}"]


def _item(value: t.Any, indent: str) -> list[str]:
    """The lines of one item of a list, a dash before the first."""
    first, *more = yaml_lines(value, f"{indent}  ")
    return [f"{indent}- {first[len(indent) + 2 :]}", *more]


def _scalar(value: t.Any) -> str:
    """A text that is plainly a word as it is, anything else as JSON; what JSON has not as its text in quotes."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
