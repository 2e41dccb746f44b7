# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Of a message that ends with a page of output people are shown the line that tells."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.summary import (
    in_one_line,
    named_failures,
    of_group,
    progress,
    refusal_of,
    versions_in_words,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GateRow,
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)

NOW = datetime(2026, 1, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "message, told",
    [
        ("", ""),
        ("ended by SIGTERM", "ended by SIGTERM"),
        ("ended with exit code 1\nno such flag: --foo", "ended with exit code 1: no such flag: --foo"),
        (
            "ended with exit code 1\nI1 Stopped listening\nE1 command failed: no key\n\nI2 bye\n",
            "ended with exit code 1: E1 command failed: no key",
        ),
        (
            "ended with exit code 2\nfatal: [east]: FAILED! => quota\n\nPLAY RECAP ****\neast : ok=1 failed=1\n",
            "ended with exit code 2: fatal: [east]: FAILED! => quota",
        ),
    ],
)
def test_one_line_of_a_message(message: str, told: str) -> None:
    assert in_one_line(message) == told


def test_a_name_is_not_told_twice() -> None:
    assert in_one_line("east: no answer\nfatal: quota", "east") == "no answer: fatal: quota"
    assert in_one_line("eastern: no answer", "east") == "eastern: no answer"
    assert in_one_line("east: no answer") == "east: no answer"


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"version_before": "1.35.4", "version_after": "1.36.3"}, "1.35.4 -> 1.36.3"),
        (
            {"version_before": "1.36.3", "version_after": "1.36.3", "node_images": ("A-1", "B-2")},
            "1.36.3, images A-1, B-2",
        ),
        ({"version_before": "1.35.4", "state": "Failed"}, "1.35.4 -> ?, Failed"),
        ({"version_after": "1.36.3"}, "? -> 1.36.3"),
        ({"node_images": ("A-1",)}, "images A-1"),
        ({"state": "NotStarted"}, ""),
    ],
)
def test_what_became_of_the_version_of_a_member(known: dict[str, t.Any], told: str) -> None:
    assert versions_in_words(MemberRow(name="east", **{"state": "Completed", **known})) == told


def test_who_failed_is_named() -> None:
    assert named_failures([]) == ""
    assert named_failures(["a"]) == "1 failed: a"
    assert named_failures(list("abcde")) == "5 failed: a, b, c and 2 more"


def test_what_a_member_waits_for_is_one_line() -> None:
    """As where the command that observes it fails with a page of output."""
    message = "east: observe ended with 1\nTraceback:\n  File x\nError: token expired"
    row = MemberRow(name="east", state="Pending", reason="Unreachable", message=message)
    group = GroupRow(name="g", members=(row,), max_concurrency=1, max_allowed_failures=0)
    assert of_group(group, "Pending") == "waits for east: observe ended with 1: Error: token expired"


def test_the_name_of_a_refused_gate_stays_in_its_line() -> None:
    """A gate may be called anything, and the first line alone of a failure is kept in the results of playbooks."""
    gate = GateRow(name="go\n\x1b[2Jrun done", id="g", state="Pending", opened=NOW, refused="ann, unverified: no")
    stage = StageRow(name="s", groups=(), max_concurrency=1, max_allowed_failures=0, before_gates=(gate,))
    run = RunState(name="r", uid="u", stages=(stage,))
    assert refusal_of(run) == "gate go \\x1b[2Jrun done was refused by ann, unverified: no"
    assert refusal_of(RunState(name="r", uid="u", stages=())) == ""


def test_progress_counts_members_done_of_all() -> None:
    states = ("Completed", "Completed", "Skipped", "Failed", "NotStarted")
    group = GroupRow(
        name="g",
        members=tuple(MemberRow(name=each, state=each) for each in states),
        max_concurrency=1,
        max_allowed_failures=0,
    )
    stage = StageRow(name="s", groups=(group,), max_concurrency=1, max_allowed_failures=0)
    assert progress(RunState(name="r", uid="u", stages=(stage,))) == "2/5 completed (1 skipped, 1 failed)"
