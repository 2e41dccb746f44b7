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


def test_no_node_has_less_than_nothing():
    """An API server would refuse it, once all else is up."""
    pools = (NodesSpec(1, cpu="-1"), NodesSpec(1, "other", memory="-1Gi"))
    found = [("bad-quantity", "nodes[0].cpu"), ("bad-quantity", "nodes[1].memory")]
    assert problems(ClusterSpec("one", profile="fleet", nodes=pools)) == found


@pytest.mark.parametrize("profile", ["api", "control"])
def test_simulated_nodes_need_the_profile_that_keeps_them_ready(profile):
    assert problems(ClusterSpec("one", profile=profile, nodes=(NodesSpec(1),))) == [("bad-profile", "nodes")]


def test_no_token_is_shown():
    with pytest.raises(FleetError) as refused:
        refuse_bad(ClusterSpec("one", tokens=(TokenUser("hush,hush", "u"),)))
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "user",
    [
        *(TokenUser(token, "u") for token in ('hu"sh', "hu\nsh", "hu\rsh", "hu\0sh", "hu\ud800sh")),
        *(TokenUser("t", name) for name in ('u","x","system:masters', "u\nt2,admin,1,system:masters")),
        *(TokenUser("t", "u", groups) for groups in (('a"',), ("a\n",), ("a,system:masters",), ("",))),
    ],
)
def test_no_user_brings_a_field_or_a_line_of_its_own(user: TokenUser):
    """The API server reads users as lines of fields: groups that nobody gave could be among them."""
    assert problems(ClusterSpec("one", tokens=(user,))) == [("bad-token", "tokens[0]")]


def test_users_and_groups_may_be_called_otherwise_as_kubernetes_calls_them():
    users = (TokenUser("t", "system:serviceaccount:a:b", ("system:masters", "a b")), TokenUser("u", "ann, of east"))
    refuse_bad(ClusterSpec("one", tokens=users))


def test_a_name_of_a_node_is_the_value_of_a_label():
    """Two names of 40 characters pass, each for itself."""
    long = "a" * 40
    refuse_bad(ClusterSpec(long, profile="fleet", nodes=(NodesSpec(10, "b" * 20),)))
    found = problems(ClusterSpec(long, profile="fleet", nodes=(NodesSpec(11, "b" * 20), NodesSpec(1, "c" * 40))))
    assert found == [("bad-name", "nodes[0].pool"), ("bad-name", "nodes[1].pool")] and len(long) == 40


@pytest.mark.parametrize("labels", [{"x": 1}, {"x": None}, {"x": ["a"]}, {5: "a"}, {None: "a"}])
def test_labels_are_texts(labels):
    found = problems(ClusterSpec("ONE", profile="fleet", nodes=(NodesSpec(1, labels=labels),)))
    assert [code for code, _where in found] == ["bad-name", "bad-label"]


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


@pytest.mark.parametrize("version", ["1.036", "1.36.03", "1.00", "1.36.00"])
def test_numbers_of_a_version_have_no_zeros_in_front(version):
    assert problems(ClusterSpec("one", version)) == [("bad-version", "version")]


@pytest.mark.parametrize("version", ["1.0", "1.36.0", "v1.100.10"])
def test_a_number_of_a_version_may_be_zero(version):
    refuse_bad(ClusterSpec("one", version))
