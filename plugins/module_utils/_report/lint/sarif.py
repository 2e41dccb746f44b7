# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Findings of the linter as SARIF 2.1.0 (OASIS), the form in which code hosts take the results of static analysis."""

from __future__ import annotations

import os
import typing as t
from urllib.parse import quote

from ..._core.foreign import in_line
from ..._core.lint.codes import text_of
from ..._core.lint.remark import LintProblem

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
TOOL = "gitops.fleet.lint"


def sarif(remarks: t.Sequence[LintProblem]) -> dict[str, t.Any]:
    """A SARIF log with one run, as JSON data; paths that are not absolute are relative to the folder in which the run
    started. Results are in the order of the remarks, each rule with the level of its first remark. A remark without a
    line is at line 1."""
    levels: dict[str, str] = {}
    for each in remarks:
        levels.setdefault(each.code, each.level)
    codes = sorted(levels)
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {"driver": {"name": TOOL, "rules": [_rule(code, levels[code]) for code in codes]}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(each, codes.index(each.code)) for each in remarks],
            }
        ],
    }


def _rule(code: str, level: str) -> dict[str, t.Any]:
    """The rule of a code, with its text and the level that its results have by default."""
    return {"id": code, "shortDescription": {"text": text_of(code)}, "defaultConfiguration": {"level": level}}


def _result(remark: LintProblem, rule: int) -> dict[str, t.Any]:
    """The result of one remark; ``rule`` is the place of its rule in the log. What is mended is in its properties."""
    text = f"{remark.path}: {remark.message}" if remark.path else remark.message
    result: dict[str, t.Any] = {
        "ruleId": remark.code,
        "ruleIndex": rule,
        "level": remark.level,
        "message": {"text": _without_links(f"{text}. {remark.consent}" if remark.consent else text)},
        "locations": [_location(remark)],
    }
    if remark.mended:
        result["properties"] = {"mended": dict(remark.mended)}
    return result


def _location(remark: LintProblem) -> dict[str, t.Any]:
    """Where a remark is: file and line, and the object with the field, if it is about one."""
    place = {"artifactLocation": {"uri": _uri(remark.file)}, "region": {"startLine": max(1, remark.line)}}
    location: dict[str, t.Any] = {"physicalLocation": place}
    if remark.object:
        name = f"{remark.object} {remark.path}".strip()
        location["logicalLocations"] = [{"fullyQualifiedName": in_line(name), "kind": "object"}]
    return location


def _without_links(text: str) -> str:
    """The text on one line, about 2,000 characters of it, with a space in ``](``: SARIF makes links of
    ``[text](target)`` in plain messages too (3.11.6)."""
    return in_line(text).replace("](", "] (")


def _uri(path: str) -> str:
    """A URI reference: relative paths stay so, without ``./``, absolute ones begin with ``file://``. Bytes of a name
    that are no text are quoted as they are."""
    normal = os.path.normpath(path).replace(os.sep, "/")
    quoted = quote(_encoded(normal), safe="/-._~!$&'()*+,;=@")
    return f"file://{quoted}" if normal.startswith("/") else quoted


def _encoded(path: str) -> bytes:
    """The bytes of the path, those that are no text as they were; where no file can have such a name, with escapes."""
    try:
        return path.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # no file has such a name, but it may have been asked for
        return path.encode(errors="backslashreplace")
