# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A feature gate of Karpenter that is gone, in the variable of a container."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.annotations import judge_other_kind

GATES = "spec.template.spec.containers[0].env[0].value"


def karpenter(gates: t.Any) -> dict[str, t.Any]:
    container = {"name": "controller", "env": [{"name": "FEATURE_GATES", "value": gates}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "karpenter"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


@pytest.mark.parametrize(
    ("gates", "kept"),
    [
        ("Drift=true", ""),
        ("SpotToSpotConsolidation=true,Drift=false", "SpotToSpotConsolidation=true"),
        ("NodeDrift=true, Drift=true", "NodeDrift=true"),
    ],
)
def test_the_gate_for_drift_is_taken_out_and_others_stay_d0_38(gates: str, kept: str) -> None:
    (found,) = judge_other_kind(karpenter(gates))
    assert (found.code, found.path, found.mended) == ("feature-gate-gone", GATES, {GATES: kept})


@pytest.mark.parametrize("gates", ["NodeDrift=true", "SpotToSpotConsolidation=true", "", None, 5, ["Drift=true"]])
def test_gates_of_other_names_are_no_matter(gates: t.Any) -> None:
    assert list(judge_other_kind(karpenter(gates))) == []
