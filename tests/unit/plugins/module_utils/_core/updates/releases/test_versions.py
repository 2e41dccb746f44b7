# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.versions import (
    kubelet_skew_blocker,
    nothing_to_do,
    step_refused,
    view_at_version,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    ALREADY_AT_TARGET,
    MINOR_GAP,
    PRECONDITION_FAILED,
)


@pytest.mark.parametrize(
    ("version", "target", "words"),
    [
        ("v1.28.3", "1.28.3", "already at v1.28.3"),
        ("v1.29.0", "1.28.3", "already ahead: v1.29.0 is newer than 1.28.3"),
        ("v1.28.9", "1.28", "already at v1.28.9"),
        ("v1.29.0", "1.28", "already ahead: v1.29.0 is newer than 1.28"),
        ("v1.28.3-gke.12", "1.28.3", "already at v1.28.3-gke.12"),
        ("v1.28.3-gke.12", "1.28.3-gke.9", "already ahead: v1.28.3-gke.12 is newer than 1.28.3-gke.9"),
        ("v1.28.3-gke.9", "1.28.3-gke.12", ""),
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
        ("v1.34.1", "1.45.0", "v1.43 -> v1.44 -> 1.45.0"),
        ("v1.34.1", "1.46.0", "v1.43 -> v1.44 -> ... -> 1.46.0"),
        ("v1.34.1", "1.999999999.0", "v1.44 -> ... -> 1.999999999.0"),
    ],
)
def test_one_minor_at_a_time(version: str, target: str, words: str) -> None:
    found = step_refused(version, target)
    assert bool(found) is bool(words)
    assert found is None or words in found.message


@pytest.mark.parametrize(
    ("kubelets", "words"),
    [
        ({}, ""),
        ({"np": "v1.33.0"}, ""),
        ({"np": "v1.33.0", "old": "v1.32.9"}, "pool old has kubelets of v1.32.9"),
        ({"": "v1.30.0"}, "nodes have kubelets of v1.30.0"),
        ({"np": "", "other": "{{ template }}"}, ""),
    ],
)
def test_kubelets_that_an_api_server_may_not_have_any_more(kubelets: dict[str, str], words: str) -> None:
    found = kubelet_skew_blocker(kubelets, "1.36.3")
    assert (found is not None) == bool(words)
    assert found is None or (found.message.startswith(words) and found.reason == PRECONDITION_FAILED)


def test_u20_a_chain_makes_the_distance_no_obstacle_but_another_major_is_one() -> None:
    assert step_refused("v1.33.1", "1.36.3", chain=True) is None
    assert step_refused("v1.33.1", "2.0.0", chain=True)
    view = view_at_version(MemberView(name="m"), "v1.33.1", "1.36.3", chain=True)
    assert view == MemberView(name="m")


def test_who_is_too_far_is_skipped_by_runs_of_profiles_alone() -> None:
    view = MemberView(name="m")
    by_hand, automatic = (view_at_version(view, "v1.33.1", "1.36.3", automatic=each) for each in (False, True))
    assert by_hand.fail and by_hand.fail.reason == PRECONDITION_FAILED and not by_hand.skip
    assert automatic.skip and automatic.skip.reason == MINOR_GAP and not automatic.fail
    unread = view_at_version(view, "nothing", "1.36.3", automatic=True)
    assert unread.fail and "'nothing' is not a Kubernetes version" in unread.fail.message
