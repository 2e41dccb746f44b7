# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A kubeconfig file for a service account of a member: its token goes from the API server into the file, and nowhere
else."""

from __future__ import annotations

import base64
import json
import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ..._core.errors import FleetError
from ..._core.values.instants import parse_time
from ..._kube.client import KubeClient
from ..._kube.errors import ApiError
from ..._kube.login.credentials import connection_from_kubeconfig
from ..._kube.login.expiry import token_ends
from ..._local.locks import make_folder
from ..._local.private import write_private

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
# Of its life that is left when a token is renewed.
RENEWED_AT = 1 / 3


@dataclass(frozen=True, kw_only=True)
class Account:
    """A service account, and the administrator's kubeconfig (a path, and a context of it) that speaks for it."""

    kubeconfig: str
    context: str
    namespace: str
    name: str

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


def make_login(account: Account, path: Path, name: str, life: timedelta) -> datetime:
    """Writes the file (mode 0600) with one context called ``name``, and gives the instant at which its token ends: the
    server may grant less than ``life``."""
    admin = connection_from_kubeconfig(account.kubeconfig, account.context)
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": int(life.total_seconds())},
    }
    with KubeClient(admin) as client:
        place = f"/api/v1/namespaces/{account.namespace}/serviceaccounts/{account.name}/token"
        status = client.post(place, request).get("status") or {}
    cluster: dict[str, t.Any] = {"server": admin.server}
    if admin.ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(admin.ca).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": account.name, "user": {"token": status["token"]}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": account.name}}],
        "current-context": name,
    }
    make_folder(path.parent, 0o700)
    write_private(path, (json.dumps(document, indent=2) + "\n").encode())
    return parse_time(status["expirationTimestamp"])


def login_problem(account: Account, path: Path, life: timedelta, now: datetime) -> str:
    """Why the file has to be made again, as when less than a third of ``life`` is left; empty if it is good, or if the
    API server does not answer."""
    try:
        connection = connection_from_kubeconfig(path)
    except FleetError as error:
        return f"it cannot be used: {error.message}"
    ends = token_ends(connection.token)
    if ends is None or ends - now < life * RENEWED_AT:
        return f"its token ends at {ends}"
    try:
        admin = connection_from_kubeconfig(account.kubeconfig, account.context)
        if (admin.server, admin.ca) != (connection.server, connection.ca):
            return "it is for another API server"
        with KubeClient(connection) as client:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            user = client.post(REVIEWS, body)["status"]["userInfo"]["username"]
    except ApiError as error:
        return "the API server does not know its token" if error.code == "unauthorized" else ""
    except FleetError:
        return ""
    return "" if user == account.user else f"it is {user}'s"
