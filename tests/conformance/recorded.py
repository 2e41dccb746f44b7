# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded cases, and what our code answers to them.

A case has ``name``, ``kind``, ``input`` and ``expected``. The adapter of a kind is ``adapters/<kind>.py``: its
``answer(input)`` gives what is compared with ``expected``; ``same(expected, got)``, where there is one, gives None or a
short difference.
"""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import typing as t
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PACKAGE = "ansible_collections.gitops.fleet.tests.conformance.adapters"
Case = dict[str, t.Any]
SHOWN = 160


@dataclass(frozen=True)
class Failure:
    name: str
    difference: str


@dataclass(frozen=True)
class Result:
    """The cases of one kind in one file. ``built`` is False where no adapter exists; then nothing was asked."""

    file: Path
    kind: str
    cases: int
    failures: tuple[Failure, ...] = ()
    built: bool = True

    @property
    def passed(self) -> int:
        return self.cases - len(self.failures) if self.built else 0


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jsonl.gz"))


def cases(file: Path) -> dict[str, list[Case]]:
    """The cases of a file by kind, each kind in the file's order."""
    by_kind: dict[str, list[Case]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            by_kind.setdefault(case["kind"], []).append(case)
    return by_kind


def built(kind: str) -> bool:
    return (HERE / "adapters" / f"{kind}.py").exists()


def compare(file: Path, kind: str, recorded: list[Case]) -> Result:
    if not built(kind):
        return Result(file, kind, len(recorded), built=False)
    try:
        asked = importlib.import_module(f"{PACKAGE}.{kind}")
    except Exception as error:  # noqa: BLE001 (code that cannot be imported answers no case, and other kinds go on)
        reason = f"import failed, {type(error).__name__}: {error}"
        return Result(file, kind, len(recorded), tuple(Failure(case["name"], reason) for case in recorded))
    failures = [Failure(case["name"], text) for case in recorded if (text := difference(asked, case)) is not None]
    return Result(file, kind, len(recorded), tuple(failures))


def difference(asked: ModuleType, case: Case) -> str | None:
    """Why our answer to a case is not the recorded one; None if it is."""
    try:
        got = asked.answer(case["input"])
        text: str | None = getattr(asked, "same", first_difference)(case["expected"], got)
    except Exception as error:  # noqa: BLE001 (one case that breaks our code must not hide the others)
        text = f"raised {type(error).__name__}: {error}"
    return text if text is None or len(text) <= 3 * SHOWN else f"{text[: 3 * SHOWN]} ..."


def first_difference(expected: t.Any, got: t.Any, path: str = "") -> str | None:
    """The first key path at which two JSON values differ, with both values; ``true`` is not 1, but 1.0 is 1."""
    if isinstance(expected, dict) and isinstance(got, dict):
        steps = ((f"{path}.{key}" if path else key, expected, got, key) for key in sorted(expected.keys() | got.keys()))
        found = (_member(where, a, b, key) for where, a, b, key in steps)
        return next((text for text in found if text is not None), None)
    if isinstance(expected, list) and isinstance(got, list):
        pairs = enumerate(itertools.zip_longest(expected, got, fillvalue=MISSING))
        texts = (_element(f"{path}[{index}]", a, b) for index, (a, b) in pairs)
        return next((text for text in texts if text is not None), None)
    if expected == got and isinstance(expected, bool) == isinstance(got, bool):
        return None
    return f"{path or 'answer'}: expected {show(expected)}, got {show(got)}"


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def _member(path: str, expected: Case, got: Case, key: str) -> str | None:
    return _element(path, expected.get(key, MISSING), got.get(key, MISSING))


def _element(path: str, expected: t.Any, got: t.Any) -> str | None:
    if expected is MISSING or got is MISSING:
        return f"{path}: expected {show(expected)}, got {show(got)}"
    return first_difference(expected, got, path)


def show(value: t.Any) -> str:
    text = repr(value) if value is MISSING else json.dumps(value, sort_keys=True, default=repr)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."
