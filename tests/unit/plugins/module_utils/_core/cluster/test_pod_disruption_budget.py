# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which budgets cover a pod: as the selectors say, whichever pods were asked for before."""

from __future__ import annotations

import itertools
import random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
    PodDisruptionBudgets,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
    matches,
)

WEB = LabelSelector(match_labels={"app": "web"})
NOT_CANARY = LabelSelector(match_expressions=(LabelSelectorRequirement("track", "NotIn", ("canary",)),))
TRACKED = LabelSelector(match_expressions=(LabelSelectorRequirement("track", "Exists"),))
BUDGETS = [
    *(PodDisruptionBudget(name=f"a{place}", selector=each) for place, each in enumerate((WEB, NOT_CANARY, TRACKED))),
    PodDisruptionBudget(name="all", selector=LabelSelector()),
    PodDisruptionBudget(name="none"),
    PodDisruptionBudget(name="elsewhere", namespace="other", selector=WEB),
]


@pytest.mark.parametrize("seed", range(5))
def test_the_budgets_that_cover_a_pod_are_those_whose_selectors_match(seed: int) -> None:
    """A pod that lacks a label is not one with an empty value, and labels that no selector names change nothing."""
    values: list[str | None] = [None, "", "web", "canary"]
    pods = [
        Pod(
            name="p",
            namespace=namespace,
            labels={key: value for key, value in (("app", app), ("track", track), ("hash", more)) if value is not None},
        )
        for namespace, app, track, more in itertools.product(("default", "other", "third"), values, values, ("1", "2"))
    ]
    random.Random(seed).shuffle(pods)
    budgets = PodDisruptionBudgets(BUDGETS)
    for pod in pods:
        wanted = [
            each.name for each in BUDGETS if each.namespace == pod.namespace and matches(each.selector, pod.labels)
        ]
        assert sorted(each.name for each in budgets.covering(pod)) == sorted(wanted), pod


def test_a_selector_that_is_none_covers_nothing() -> None:
    wrong = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Like", ("web",)),))
    budgets = PodDisruptionBudgets([PodDisruptionBudget(name="wrong", selector=wrong)])
    assert budgets.covering(Pod(name="p", labels={"app": "web"})) == ()
