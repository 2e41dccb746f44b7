# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Our namespace on a member: made when it is first needed, with the label that says that we made it."""

from __future__ import annotations

import typing as t

from .._core.resources.applyset import MANAGED_BY, MANAGER, NAMESPACE
from .._kube.apply import apply_object
from .._kube.client import KubeClient
from .._kube.errors import ApiError

T = t.TypeVar("T")


def at_home(client: KubeClient, work: t.Callable[[], T]) -> T:
    """What ``work`` gives; if something is not found it is done once more, after the namespace was made."""
    try:
        return work()
    except ApiError as error:
        if error.code != "not-found":
            raise
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": MANAGED_BY}}
    apply_object(client, namespace, MANAGER, force=True)
    return work()
