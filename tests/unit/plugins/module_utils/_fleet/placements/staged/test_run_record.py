# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run as it is wanted, beside others who write its record."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import wanted_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import StagedManifests

RUN = {
    "metadata": {"name": "r", "generation": 1},
    "spec": {"placementName": "web", "stagedRolloutStrategyName": "rings"},
}


class Appearing:
    """Records of a run that somebody else makes once it was looked for so many times; never for None."""

    place = "records.db"

    def __init__(self, looks: int | None) -> None:
        self.looks = looks

    def get(self, _kind: str, _name: str) -> t.Any:
        if self.looks is None:
            return None
        self.looks -= 1
        return RUN if self.looks < 0 else None

    def names(self, _kind: str) -> list[str]:
        return []


@pytest.mark.parametrize("looks", [0, 1])
def test_a_run_that_others_make_meanwhile_is_told_to_run(looks: int) -> None:
    found = wanted_run(Appearing(looks), "r", StagedManifests(), "Run")
    assert found.run.spec.state == "Run" and found.changed and not found.is_new


def test_one_that_nobody_makes_is_refused() -> None:
    with pytest.raises(FleetError) as found:
        wanted_run(Appearing(None), "r", StagedManifests(), "Run")
    assert found.value.code == "no-such-run"
