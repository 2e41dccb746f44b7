# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is missing on a cluster that others, or the end, wait for."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import NOT_GONE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import (
    APPLY_FAILED,
    MemberOutcome,
    ObjectFailure,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.waiting import (
    FAILED,
    LEAVING,
    NOT_READY,
    BindingWait,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.rollout_words import lacking, late_lines


@pytest.mark.parametrize(
    ("reason", "message", "words"),
    [
        (APPLY_FAILED, "refused by a webhook", "a: ConfigMap shop/web could not be applied: refused by a webhook"),
        (NOT_GONE, "is being deleted and not gone yet", "a: ConfigMap shop/web: is being deleted and not gone yet"),
    ],
)
def test_what_is_not_gone_is_not_said_to_be_not_applied(reason: str, message: str, words: str) -> None:
    which = ObjectId("", "v1", "ConfigMap", "shop", "web")
    outcome = MemberOutcome(cluster="a", failures=(ObjectFailure(id=which, reason=reason, message=message),))
    assert lacking("a", outcome) == words
    assert lacking("a", None) == lacking("a", MemberOutcome(cluster="a")) == "a"


def test_a_cluster_that_the_placement_leaves_is_not_one_that_is_not_ready() -> None:
    rows = [("a", LEAVING), ("b", NOT_READY), ("c", LEAVING), ("d", FAILED), ("e", NOT_READY)]
    waits = [BindingWait(binding=f"web-{name}", cluster=name, wants="", reason=why, message="") for name, why in rows]
    assert late_lines(waits, {}) == ["not ready: b", "not ready: d", "not ready: e"]
