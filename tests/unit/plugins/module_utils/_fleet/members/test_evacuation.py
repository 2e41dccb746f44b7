# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who is meant by what is to be evacuated: labels first, then names."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import without_record
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.evacuation import evacuation

LABELS = {"a-1": {"zone": "x"}, "a-2": {"zone": "x", "b-1": "yes"}, "b-1": {"zone": "y"}}
FLEET = tuple(decode(MemberCluster, {"metadata": {"name": name, "labels": labels}, "spec": {}})
              for name, labels in LABELS.items())  # fmt: skip


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("zone=x", {"a-1", "a-2"}),
        ("a-1", {"a-1"}),
        ("a-1, a-2", {"a-1", "a-2"}),
        ("b-1", {"a-2"}),  # a label of one cluster, and the name of another
    ],
)
def test_labels_first_then_names(text: str, names: set[str]) -> None:
    assert evacuation(text, "", FLEET).evacuated == names == evacuation("", text, FLEET).readmitted


@pytest.mark.parametrize("text", ["a-1,c-9", "c-9", "zone=z", "zone=z,a-1"])
def test_one_name_that_nobody_has_selects_nobody(text: str) -> None:
    with pytest.raises(FleetError) as refused:
        evacuation(text, "", FLEET)
    (problem,) = refused.value.problems
    assert problem.code == "nothing-selected" and "names" in problem.hint


def test_a_member_without_the_record_that_would_bear_the_mark_is_refused_with_the_way_out() -> None:
    for evacuate, readmit in (("c-1", ""), ("", "a-1,c-1")):
        with pytest.raises(FleetError) as refused:
            evacuation(evacuate, readmit, (*FLEET, without_record("c-1")))
        (problem,) = refused.value.problems
        assert (problem.code, problem.where) == ("record-missing", "c-1") and "gitops.fleet.join" in problem.hint
