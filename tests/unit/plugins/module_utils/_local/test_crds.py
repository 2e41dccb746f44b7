# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""CustomResourceDefinitions that a component brings along."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._local.crds import apply_definitions, not_served


class Client:
    """Definitions by name, and whether they are established."""

    def __init__(self, **established: bool) -> None:
        self._established = established

    def get(self, path: str) -> dict[str, t.Any]:
        name = path.rpartition("/")[2]
        if name not in self._established:
            raise ApiError("not-found", "it is not there", "c")
        return {"status": {"conditions": [{"type": "Established", "status": str(self._established[name])}]}}


def test_a_component_without_its_definitions_is_not_started() -> None:
    with pytest.raises(FleetError) as refused:
        apply_definitions(t.cast(t.Any, Client()), ())
    assert refused.value.code == "missing-crds" and "crds/" in refused.value.hint


def test_what_is_not_served_yet_is_named() -> None:
    client = t.cast(t.Any, Client(pools=True, claims=False))
    assert not_served(client, ["pools"]) == ""
    assert not_served(client, ["pools", "claims"]) == "claims was not served"
    assert not_served(client, ["claims", "classes"]) == "claims, classes were not served"
