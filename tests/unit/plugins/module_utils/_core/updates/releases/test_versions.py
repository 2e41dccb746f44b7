# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.versions import (
    nothing_to_do,
    step_refused,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import ALREADY_AT_TARGET


@pytest.mark.parametrize(
    ("version", "target", "words"),
    [
        ("v1.28.3", "1.28.3", "already at v1.28.3"),
        ("v1.29.0", "1.28.3", "already ahead: v1.29.0 is newer than 1.28.3"),
        ("v1.28.9", "1.28", "already at v1.28.9"),
        ("v1.29.0", "1.28", "already ahead: v1.29.0 is newer than 1.28"),
        ("v1.28.2", "1.28.3", ""),
        ("v1.27.9", "1.28", ""),
    ],
)
def test_a_member_at_the_target_or_ahead_of_it_is_left_alone_d3_27(version: str, target: str, words: str) -> None:
    found = nothing_to_do(version, target)
    assert (found.message if found else "") == words
    assert found is None or found.reason == ALREADY_AT_TARGET


@pytest.mark.parametrize(
    ("version", "target", "words"),
    [
        ("v1.34.1", "1.35.4", ""),
        ("v1.34.1", "1.34.9", ""),
        ("v1.34.5", "1.36.3", "v1.34.5 -> v1.35 -> 1.36.3"),
        ("v1.33.5", "1.36.3", "v1.33.5 -> v1.34 -> v1.35 -> 1.36.3"),
        ("v1.34.1", "2.0.0", "differ in the major version"),
    ],
)
def test_one_minor_at_a_time(version: str, target: str, words: str) -> None:
    found = step_refused(version, target)
    assert bool(found) is bool(words)
    assert found is None or words in found.message
