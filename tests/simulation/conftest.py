# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where simulated records lie, and how much is simulated: SIMULATIONS=<factor>, 1 unless told."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.tests.simulation import scenario

MEMORY = Path("/dev/shm")
NewPath = t.Callable[[], Path]


@pytest.fixture
def new_path(tmp_path: Path) -> t.Iterator[NewPath]:
    """Gives paths of files that are not there yet, in memory where the machine has such a place."""
    memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix="simulated-", dir=MEMORY if memory else tmp_path))
    numbers = itertools.count()
    yield lambda: folder / f"{next(numbers)}.db"
    shutil.rmtree(folder)


@pytest.fixture
def many() -> t.Callable[[int], range]:
    """Seeds for that many simulations, times the factor."""
    factor = float(os.environ.get("SIMULATIONS", "1"))
    return lambda usual: range(max(1, round(usual * factor)))


@pytest.fixture(scope="module")
def undisturbed() -> scenario.Ended:
    """What the scenario comes to when nothing goes wrong."""
    with tempfile.TemporaryDirectory() as folder:
        world = scenario.world(Path(folder, "records.db"))
        scenario.driven(world)
        found = scenario.ending(world)
        world.close()
    assert found.broken == []
    return found
