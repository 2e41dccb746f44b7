# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Specifications: all problems at once, each with its place; versions go up by one minor at most."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import (
    ClusterSpec,
    NodesSpec,
    TokenUser,
    refuse_bad,
    refuse_bad_step,
)


def problems(spec: ClusterSpec) -> list[tuple[str, str]]:
    with pytest.raises(FleetError) as refused:
        refuse_bad(spec)
    return [(one.code, one.where.removeprefix(f"local cluster {spec.name} ")) for one in refused.value.problems]


def test_a_good_specification_passes():
    pool = NodesSpec(3, "work", "1.35.1", age="30d12h", cpu="500m", labels={"example.com/tier": "a"})
    refuse_bad(ClusterSpec("one", "v1.36.3", "fleet", (pool, NodesSpec(0, "none")), "eu", True, (TokenUser("t", "u"),)))
    refuse_bad(ClusterSpec("one", nodes=(NodesSpec(0),)))


def test_all_problems_at_once():
    bad = NodesSpec(-1, "No", "1", age="soon", cpu="many", memory="", pods=0, zone="a b", labels={"": "x"})
    found = problems(
        ClusterSpec("ONE", "1", "big", (bad, NodesSpec(1, "No")), "no region", tokens=(TokenUser("", ""),))
    )
    assert {code for code, _message in found} == {
        "bad-name",
        "bad-version",
        "bad-profile",
        "bad-label",
        "bad-token",
        "bad-count",
        "bad-duration",
        "bad-quantity",
        "duplicate-pool",
    }
    assert ("bad-duration", "nodes[0].age") in found and ("duplicate-pool", "nodes[1].pool") in found
    assert len(found) == 16


@pytest.mark.parametrize("profile", ["api", "control"])
def test_simulated_nodes_need_the_profile_that_keeps_them_ready(profile):
    assert problems(ClusterSpec("one", profile=profile, nodes=(NodesSpec(1),))) == [("bad-profile", "nodes")]


def test_no_token_is_shown():
    with pytest.raises(FleetError) as refused:
        refuse_bad(ClusterSpec("one", tokens=(TokenUser("hush,hush", "u"),)))
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("current", "wanted", "code"),
    [
        ("1.35.4", "1.35.4", ""),
        ("1.35.4", "1.35.6", ""),
        ("1.35.4", "1.36.3", ""),
        ("1.36.3", "1.35.4", "downgrade-refused"),
        ("1.36.3", "1.36.1", "downgrade-refused"),
        ("1.34.4", "1.36.3", "minor-skipped"),
        ("1.33.0", "1.36.3", "minor-skipped"),
    ],
)
def test_one_minor_up_never_down(current, wanted, code):
    if not code:
        refuse_bad_step("one", current, wanted)
        return
    with pytest.raises(FleetError) as refused:
        refuse_bad_step("one", current, wanted)
    assert refused.value.code == code


def test_a_skipped_minor_is_named():
    with pytest.raises(FleetError) as refused:
        refuse_bad_step("one", "1.33.5", "1.36.3")
    assert "skips 2 minors" in refused.value.message and "1.34" in refused.value.hint
