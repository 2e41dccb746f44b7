# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Options of local clusters that are no good. What comes of good ones is shown by ``integration/local``."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.local import local_clusters, port_range
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange


def test_a_range_of_ports_is_two_of_them():
    assert port_range("21000-21999") == PortRange(21000, 21999)


@pytest.mark.parametrize(
    "text", ["21000", "21999-21000", "80-90", "21000-99999", "²1000-21999", f"1-{'9' * 5000}", "a-b"]
)
def test_what_is_no_range_of_ports_is_refused(text: str):
    with pytest.raises(FleetError) as refused:
        port_range(text)
    assert refused.value.code == "bad-port-range"


def test_a_cluster_that_is_named_twice_is_refused():
    with pytest.raises(FleetError) as refused:
        local_clusters({"root": None, "clusters": [{"name": "a"}, {"name": "a"}]}, True, lambda _text: None)
    assert refused.value.code == "duplicate-cluster"
