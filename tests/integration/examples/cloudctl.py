# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A platform to be upgraded through: its clusters are local ones, and its operations go on when the command has ended.

``CLOUDCTL_HOME`` has a folder for each operation, ``CLOUDCTL_CLUSTERS`` is the root of the local clusters.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import version
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster

HOME, CLUSTERS = Path(os.environ["CLOUDCTL_HOME"]), Path(os.environ["CLOUDCTL_CLUSTERS"])


def main() -> str:
    parser = argparse.ArgumentParser(prog="cloudctl")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version").add_argument("name")
    commands.add_parser("operation").add_argument("id")
    for name in ("upgrade", "work"):
        command = commands.add_parser(name)
        command.add_argument("name")
        command.add_argument("target")
        command.add_argument("--request-id", required=True)
    given = parser.parse_args()
    if given.command == "version":
        with KubeClient(connection_from_kubeconfig(CLUSTERS / given.name / "kubeconfig")) as client:
            return version(client)
    if given.command == "operation":
        return (HOME / given.id).read_text()
    if given.command == "upgrade":
        return upgrade(given.name, given.target, given.request_id)
    return work(given.name, given.target, HOME / f"op.{given.request_id}")


def upgrade(name: str, target: str, request: str) -> str:
    """Starts the operation, once for each request."""
    operation = HOME / f"op.{request}"
    with open(HOME / "requests.log", "a") as log:
        log.write(f"{name} {request}\n")
    if not operation.exists():
        operation.write_text("running")
        again = [sys.executable, __file__, "work", name, target, "--request-id", request]
        quiet = subprocess.DEVNULL
        subprocess.Popen(again, start_new_session=True, stdin=quiet, stdout=quiet, stderr=quiet)
    return operation.name


def work(name: str, target: str, operation: Path) -> str:
    try:
        cluster.upgraded(name, target, CLUSTERS)
        operation.write_text("done")
    except FleetError:
        operation.write_text("failed")
    return ""


if __name__ == "__main__":
    print(main())
