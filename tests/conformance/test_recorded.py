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
read = cache(recorded.cases)
ALL = [(file, kind) for file in recorded.files(DATA) for kind in sorted(read(file))]
BUILT = [(file, kind) for file, kind in ALL if recorded.built(kind)]


def name(file: Path, kind: str) -> str:
    return f"{file.parent.name}/{file.name.removesuffix('.jsonl.gz')}-{kind}"


@pytest.mark.parametrize(("file", "kind"), BUILT, ids=[name(*one) for one in BUILT])
def test_recorded_answers(file, kind):
    result = recorded.compare(file, kind, read(file)[kind])
    told = "\n".join(f"  {failure.name}: {failure.difference}" for failure in result.failures[:20])
    assert not result.failures, f"{len(result.failures)} of {result.cases} {kind} cases differ:\n{told}"


def test_kinds_without_an_adapter_are_named(capsys):
    waiting = sorted({f"{name(file, kind)} ({len(read(file)[kind])})" for file, kind in set(ALL) - set(BUILT)})
    if waiting:
        with capsys.disabled():
            print(f"\nrecorded, not built yet, not compared: {', '.join(waiting)}")
    assert BUILT
