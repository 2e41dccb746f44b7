# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where a kubeconfig lies that somebody else names."""

from __future__ import annotations

import os

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.kubeconfig import local_path

ENVIRON = {"HOME": "/home/anna", "CI_PROJECT_DIR": "/builds/fleet", "TOKEN": "canary", "HTTPS_PROXY": "http://a:b@c"}


@pytest.mark.parametrize(
    "written, meant",
    [
        ("$HOME/.kube/config", "/home/anna/.kube/config"),
        ("${CI_PROJECT_DIR}/east", "/builds/fleet/east"),
        ("/etc/$TOKEN", "/etc/$TOKEN"),
        ("/etc/${TOKEN}x", "/etc/${TOKEN}x"),
        ("$HTTPS_PROXY", "$HTTPS_PROXY"),
        ("$WORKSPACE/east", "$WORKSPACE/east"),
        ("~/east", os.path.expanduser("~/east")),
        ("", ""),
    ],
)
def test_variables_that_say_where_things_are(written: str, meant: str) -> None:
    """Whoever may write FleetMembers does not read the runner's secrets out of a path."""
    assert local_path(written, ENVIRON) == meant
