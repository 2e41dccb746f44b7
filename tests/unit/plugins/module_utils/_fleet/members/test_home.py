# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When our namespace on a member goes with the last placement."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.home import empty_home
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Answer, KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection


class Refusing(KubeClient):
    """Every request to it ends with the error."""

    def __init__(self, error: FleetError) -> None:
        super().__init__(Connection(server="https://nowhere", name="east"))
        self.refusal = error

    def send(self, *_request: t.Any, **_options: t.Any) -> Answer:
        raise self.refusal


@pytest.mark.parametrize(
    "error",
    [ApiError("forbidden", "no", "east", status=403), FleetError("credentials-plugin", "aws ended with 255", "east")],
    ids=["forbidden", "logged out"],
)
def test_a_namespace_that_cannot_be_looked_into_stays(error: FleetError) -> None:
    """Nobody knows what is in it; what was done on the member before is done all the same."""
    assert empty_home(Refusing(error), ["web"]) is None
