# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    LEFT_OUT,
    ClusterResourceBinding,
    left_out_mark,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

WEB = ObjectId("apps", "v1", "Deployment", "shop", "web")


def binding(annotations: dict[str, str]) -> ClusterResourceBinding:
    return decode(ClusterResourceBinding, {"metadata": {"name": "b", "annotations": annotations}})


def test_what_a_cluster_does_not_get_is_written_and_read() -> None:
    assert binding(left_out_mark([WEB])).left_out == {WEB.key}
    assert left_out_mark([]) == {} and binding({}).left_out == frozenset()


@pytest.mark.parametrize("text", ["", "{", "1", '[["a"]]', "[1]", "[" * 100_000])
def test_a_damaged_mark_says_nothing(text: str) -> None:
    assert binding({LEFT_OUT: text}).left_out == frozenset()
