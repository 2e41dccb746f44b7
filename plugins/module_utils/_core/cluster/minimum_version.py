# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The oldest version of API servers, of hub and members, that this collection works with, and which is too old
(``server-too-old``)."""

from __future__ import annotations

from ..errors import Problem
from ..values.kube_version import KubeVersion

# CEL rules of CustomResourceDefinitions are stable from here on; SelfSubjectReview is from 1.28 on, server-side apply
# from 1.22 on.
OLDEST_SERVER = KubeVersion(1, 29)


def too_old_problem(version: str, where: str) -> Problem | None:
    """A Problem ``server-too-old`` at ``where`` if a server with that ``gitVersion`` is older than ``OLDEST_SERVER``;
    None if it is not, or its version cannot be read."""
    try:
        found = KubeVersion.parse(version)
    except ValueError:
        return None
    if found >= OLDEST_SERVER:
        return None
    message = f"the API server has version {version}; {OLDEST_SERVER} is the oldest that is supported"
    return Problem("server-too-old", message, where, "upgrade the cluster first")
