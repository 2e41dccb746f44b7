# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A process that asks a server for one thing, and prints the code of the error, or ``read``. Its memory is measured."""

from __future__ import annotations

import sys

sys.path.insert(0, sys.argv[1])

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import node_facts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import server_readiness
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient, Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import list_objects, read_each, read_list
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection

WORK = {
    "get": lambda client: client.get("/api/v1/namespaces/a/configmaps/b"),
    "ready": server_readiness,
    "list": lambda client: read_list(client, "/api/v1/pods"),
    "sum": lambda client: sum(1 for _pod in list_objects(client, "/api/v1/pods")),
    "nodes": lambda client: read_each(client, "/api/v1/nodes", lambda node: node_facts(node, None), "Node", 20_000),
}

with KubeClient(Connection(server=sys.argv[2]), Timeouts(read=60.0, whole=120.0)) as client:
    client.start_time_budget()
    try:
        WORK[sys.argv[3]](client)
    except ApiError as error:
        print(error.code)
    else:
        print("read")
