# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who joins or leaves, and what is recovered, is read before it is done: the same lines in check mode."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import PRUNE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._report.members_text import (
    joined_text,
    left_text,
    recovered_text,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import CONFIG


def test_each_member_with_its_version():
    lines = [line.split() for line in joined_text(["b"], ["c"], ["a"], {"b": "v1.36.3"})]
    assert lines == [
        ["CLUSTER", "MEMBER", "VERSION"],
        ["a", "as", "it", "was", "-"],
        ["b", "joins", "v1.36.3"],
        ["c", "changed", "-"],
    ]
    assert joined_text([], [], [], {}) == []


def test_what_goes_with_a_member_that_leaves():
    steps = (MemberStep(id=CONFIG, action=PRUNE),)
    lines = left_text(
        ["a", "b", "c", "d"], {"a": {"web": MemberOutcome(cluster="a", steps=steps)}}, {"b"}, {"c"}, {"a": ("theirs",)}
    )
    assert lines == [
        "a leaves, and holds web",
        f"  web: prune {CONFIG}",
        "  left alone there, as they are of other records: theirs",
        "b leaves unasked; what lies there stays",
        "c leaves; its cluster stays a member under another name, with all that is placed",
        "d leaves, and holds nothing that was placed",
    ]


def test_in_check_mode_a_member_would_leave():
    lines = left_text(["a", "b"], {"a": {"web": MemberOutcome(cluster="a")}}, {"b"}, set(), {}, written=False)
    assert lines == ["a would leave, and holds web", "b would leave unasked; what lies there stays"]


def test_what_two_placements_share_goes_once():
    both = {name: MemberOutcome(cluster="a", steps=(MemberStep(id=CONFIG, action=PRUNE),)) for name in ("app", "web")}
    lines = left_text(["a"], {"a": both}, set(), set(), {})
    assert lines == ["a leaves, and holds app, web", f"  app: prune {CONFIG}"]


def test_what_no_manifest_describes_is_told_beside_what_is_rebuilt():
    """Who then deletes the old records has to know of it."""
    lines = recovered_text({"web": ("a", "b"), "app": ("a",)}, {"jobs": ("b",)}, True)
    assert [" ".join(line.split()) for line in lines] == [
        "PLACEMENT ITS RECORDS HELD BY",
        "app are rebuilt a",
        "web are rebuilt a, b",
        "jobs no manifest describes it b",
    ]
    many = recovered_text({f"p{number:02}": ("a",) for number in range(50)}, {"jobs": ("b",)}, True)
    assert [" ".join(line.split()) for line in many[-2:]] == ["10 more", "jobs no manifest describes it b"]
    (_head, row) = recovered_text({"web": ("a",)}, {}, False)
    assert row.split() == ["web", "would", "be", "rebuilt", "a"]
    assert recovered_text({}, {}, True) == ["no member holds a placement of which records are lost"]
