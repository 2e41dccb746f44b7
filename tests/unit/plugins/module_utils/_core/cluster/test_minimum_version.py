# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The minimum version of API servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.minimum_version import (
    OLDEST_SERVER,
    too_old_problem,
)

PAGE = Path(__file__).resolve().parents[6] / "docs" / "records.md"


@pytest.mark.parametrize("version", ["v1.29.0", "v1.29.3-gke.100", "v1.36.3", "v2.0.0", "whatever", ""])
def test_servers_that_are_new_enough_or_do_not_tell_d3_96(version: str) -> None:
    assert too_old_problem(version, "member east") is None


@pytest.mark.parametrize("version", ["v1.28.15", "v1.28.15+k3s1", "1.21", "v1.29.0-rc.1"])
def test_servers_that_are_too_old_are_refused_with_the_minimum_d3_96(version: str) -> None:
    problem = too_old_problem(version, "member east")
    assert problem is not None and (problem.code, problem.where) == ("server-too-old", "member east")
    assert version in problem.message and str(OLDEST_SERVER) in problem.message


def test_the_documentation_states_the_minimum_d3_96() -> None:
    wanted = f"Kubernetes {OLDEST_SERVER.major}.{OLDEST_SERVER.minor} or newer"
    assert wanted in " ".join(PAGE.read_text(encoding="utf-8").split())
