# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A pool stopped and released: what it had comes back, also nothing at all."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.pool_stop import (
    BEFORE,
    budgets_edited_since,
    release_patch,
    stop_patch,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.merge_patch import merge_patched


def pool(disruption: t.Any) -> dict[str, t.Any]:
    spec = {"weight": 3} if disruption is None else {"weight": 3, "disruption": disruption}
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize("budgets", [[{"nodes": "10%"}], [], [{"nodes": "0"}], None])
def test_what_was_there_comes_back_d0_97(budgets: t.Any) -> None:
    before = pool({"consolidateAfter": "0s", **({} if budgets is None else {"budgets": budgets})})
    stopped = merge_patched(before, stop_patch(before))
    assert stopped["spec"]["disruption"]["budgets"] == [{"nodes": "0"}] and stop_patch(stopped) is None
    released = merge_patched(stopped, release_patch(stopped))
    assert released["spec"] == before["spec"] and release_patch(released) is None


def test_a_stopped_pool_that_somebody_opened_is_stopped_again_and_keeps_what_it_had() -> None:
    stopped = merge_patched(pool(None), stop_patch(pool(None)))
    stopped["spec"]["disruption"]["budgets"] = [{"nodes": "5"}]
    again = merge_patched(stopped, stop_patch(stopped))
    assert again["metadata"]["annotations"][BEFORE] == "null"
    assert again["spec"]["disruption"]["budgets"] == [{"nodes": "0"}]


def test_budgets_that_others_wrote_into_a_stopped_pool_are_told_before_they_are_lost() -> None:
    before = pool({"budgets": [{"nodes": "10%"}]})
    stopped = merge_patched(before, stop_patch(before))
    assert budgets_edited_since(before) is None and budgets_edited_since(stopped) is None
    stopped["spec"]["disruption"]["budgets"] = [{"nodes": "5"}]
    assert budgets_edited_since(stopped) == '[{"nodes": "5"}]'


@pytest.mark.parametrize("written", ["{", '"5"', "7", "[" * 100_000])
def test_budgets_that_cannot_be_read_are_not_guessed(written: str) -> None:
    with pytest.raises(FleetError) as error:
        release_patch({"metadata": {"name": "p", "annotations": {BEFORE: written}}})
    assert error.value.code == "budgets-unknown"
