# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cloud_setup import Setup


@pytest.fixture
def cloud(tmp_path: Path) -> t.Iterator[t.Callable[..., Setup]]:
    made: list[Setup] = []

    def make(definition: str, **settings: t.Any) -> Setup:
        made.append(Setup(tmp_path, definition, settings))
        return made[-1]

    yield make
    for each in made:
        each.records.close()
