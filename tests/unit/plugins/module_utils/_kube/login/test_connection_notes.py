# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Connections that are not safe are told of where they are used, and only there."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection_notes import CONNECTION_NOTES


def test_each_is_told_once_when_it_was_used():
    CONNECTION_NOTES.take()
    clients = [
        KubeClient(Connection("https://127.0.0.1:1", name=name, insecure=True, notes=notes))
        for name, notes in (("m2", ("a",)), ("m1", ("a", "b")), ("safe", ()), ("unused", ("a",)))
    ]
    for client in clients[:3] * 2:
        try:
            client.get("/version")
        except ApiError as error:
            assert error.code == "unreachable"
    assert CONNECTION_NOTES.take() == {"m1": ["a", "b"], "m2": ["a"]}
    assert CONNECTION_NOTES.take() == {}
