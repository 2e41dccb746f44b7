# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Our answers to the recorded cases of data/, one test for each kind in each file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.tests.conformance import recorded

DATA = recorded.HERE / "data"
# How many cases of a kind whose core is not finished must pass at least, by file. Only ever raised; a kind of which all
# cases pass has no line here.
FLOORS: dict[tuple[str, str], int] = {}

read = cache(recorded.cases)
ALL = [(file, kind) for file in recorded.files(DATA) for kind in sorted(read(file))]
BUILT = [(file, kind) for file, kind in ALL if recorded.built(kind)]


def name(file: Path, kind: str) -> str:
    return f"{file.parent.name}/{file.name.removesuffix('.jsonl.gz')}-{kind}"


@pytest.mark.parametrize(("file", "kind"), BUILT, ids=[name(*one) for one in BUILT])
def test_recorded_answers(file, kind, capsys):
    result = recorded.compare(file, kind, read(file)[kind])
    floor = FLOORS.get((f"{file.parent.name}/{file.name}", kind))
    told = "\n".join(f"  {failure.name}: {failure.difference}" for failure in result.failures[:20])
    if floor is None:
        assert not result.failures, f"{len(result.failures)} of {result.cases} {kind} cases differ:\n{told}"
        return
    with capsys.disabled():
        print(f"\n{name(file, kind)}: {result.passed} of {result.cases} cases pass (at least {floor} must)")
    assert result.passed >= floor, (
        f"{result.passed} of {result.cases} {kind} cases pass, before it was {floor}:\n{told}"
    )
    assert result.failures, f"all {kind} cases pass now: take the line out of FLOORS"


def test_kinds_without_an_adapter_are_named(capsys):
    waiting = sorted({f"{name(file, kind)} ({len(read(file)[kind])})" for file, kind in set(ALL) - set(BUILT)})
    if waiting:
        with capsys.disabled():
            print(f"\nrecorded, not built yet, not compared: {', '.join(waiting)}")
    assert BUILT


def test_floors_name_what_exists():
    assert set(FLOORS) <= {(f"{file.parent.name}/{file.name}", kind) for file, kind in BUILT}
