# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a cluster that is there already, and not ours, tells of itself: its version, labels of its nodes' cloud, its
UID."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.errors import FleetError
from ..._kube.access import version
from ..._kube.client import KubeClient
from ..._kube.login.credentials import connection_from_kubeconfig
from ..members.identity import cluster_words
from ..members.join import told_labels


@dataclass(frozen=True, kw_only=True)
class ExistingTold:
    """``version`` such as ``1.36.3``; ``labels`` as of ``told_labels``; ``uid`` as of ``cluster_words``, empty where
    that may not be asked."""

    version: str
    labels: t.Mapping[str, str]
    uid: str = ""


def ask_existing(kubeconfig: str, context: str) -> ExistingTold:
    """What the cluster behind a kubeconfig (a path) tells of itself. An empty ``context`` is the current one.
    FleetError as of ``connection_from_kubeconfig``, ``version`` and, but for ``forbidden``, ``cluster_words``."""
    with KubeClient(connection_from_kubeconfig(kubeconfig, context)) as client:
        told = version(client).removeprefix("v")
        return ExistingTold(version=told, labels=told_labels(client), uid=_uid(client))


def _uid(client: KubeClient) -> str:
    """Which cluster it is; empty where that may not be asked. ApiError as of ``cluster_words``."""
    try:
        return cluster_words(client)[0]
    except FleetError as error:
        if error.code != "forbidden":
            raise
        return ""
