# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kubeconfig of one FleetMember with its certificates, keys and token in it, to be carried to where work on the
member is done, such as the pod of a Job."""

from __future__ import annotations

import typing as t

from ..._core.objects.clusters.fleet_member import FleetMember
from ..._kube.client import KubeClient
from ..._kube.login.credentials import connection_from_document
from ..._kube.login.kubeconfig import kubeconfig_from_document, local_path, read_kubeconfig
from ..._kube.login.portable import portable_kubeconfig
from .members import connection_of, kubeconfig_in_secret


def carried_kubeconfig(
    member: FleetMember, hub: KubeClient | None, environ: t.Mapping[str, str]
) -> dict[str, t.Any] | None:
    """A kubeconfig of that member alone, as of ``portable_kubeconfig``; None for a member that is reached in its
    cluster. FleetError as of ``connection_of`` and ``portable_kubeconfig``.

    A Secret on the hub is read once: whoever may write it could change it between the check and the use.
    """
    wanted = member.spec.connection
    if wanted.in_cluster:
        return None
    if wanted.secret_ref:
        document, where = kubeconfig_in_secret(member, hub)
        connection_from_document(document, wanted.context, where)
        return portable_kubeconfig(kubeconfig_from_document(document, where), wanted.context)
    connection_of(member, hub, environ)
    return portable_kubeconfig(read_kubeconfig(local_path(wanted.kubeconfig, environ)), wanted.context)
