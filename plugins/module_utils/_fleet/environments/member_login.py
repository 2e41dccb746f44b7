# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A kubeconfig file for a service account of a member: making it, for which stack it was made (``login-of-others``),
and why it has to be made again. The token goes from the API server into the file, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ..._core.errors import FleetError
from ..._core.values.instants import parse_time
from ..._core.values.parts import mapping
from ..._core.values.parts import name as text_of
from ..._kube.access import who_am_i
from ..._kube.client import KubeClient
from ..._kube.documents import unusable_answer
from ..._kube.errors import ApiError
from ..._kube.files import read_file
from ..._kube.login.connection import Connection
from ..._kube.login.credentials import connection_from_kubeconfig, proxy_for
from ..._kube.login.expiry import token_ends, token_life
from ..._kube.login.kubeconfig import parse_yaml
from ..._local.locks import make_folder, unwritable_as_error
from ..._local.private import write_private

_REFUSED = ("unauthorized", "credentials-expired")
# Of its life that is left when a token is renewed.
RENEWED_AT = 1 / 3
_MOST = 1_000_000
_EXTENSION = "gitops.fleet"


@dataclass(frozen=True, kw_only=True)
class Account:
    """A service account, and the administrator's kubeconfig (a path, and a context of it) that speaks for it."""

    kubeconfig: str
    context: str
    namespace: str
    name: str

    @property
    def user(self) -> str:
        """The user name by which an API server knows the account."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


def refuse_foreign(path: Path, owners: t.Container[str]) -> None:
    """FleetError ``login-of-others`` if the file says that it was made for another stack than these; one that does not
    tell, or is not there, passes. Who uses a login that was written over would reach another cluster by it."""
    whose = ""
    with contextlib.suppress(OSError, ValueError, FleetError, LookupError, TypeError):
        rows = parse_yaml(read_file(path, _MOST), str(path))["extensions"]
        ours = (each for each in rows if isinstance(each, dict) and each.get("name") == _EXTENSION)
        whose = next((str(each["extension"]["madeFor"]) for each in ours), "")
    if whose and whose not in owners:
        text = f"this login was made for {whose:.300}, whose members are reached by it, and is left alone"
        hint = "give this stack a folder of its own (its setting folder), or remove the file if that stack is gone"
        raise FleetError("login-of-others", text, str(path), hint)


def make_login(account: Account, path: Path, name: str, life: timedelta, owner: str = "", before: str = "") -> datetime:
    """Writes the file (mode 0600, its folder made if need be) with one context called ``name``, over one that is there,
    and gives the instant at which its token ends: the server may grant less than ``life``. ``owner`` is the stack that
    it is for, empty to say none, ``before`` what that was called earlier. FleetError ``unwritable-folder``, as of
    ``refuse_foreign`` and ``connection_from_kubeconfig``, and of the request."""
    refuse_foreign(path, (owner, before))
    admin = connection_from_kubeconfig(account.kubeconfig, account.context)
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": int(life.total_seconds())},
    }
    with KubeClient(admin) as client:
        place = f"/api/v1/namespaces/{account.namespace}/serviceaccounts/{account.name}/token"
        try:
            status = mapping(client.post(place, request), "status")
            token, ends = text_of(status, "token"), parse_time(text_of(status, "expirationTimestamp"))
        except ValueError:
            raise unusable_answer(f"POST {place}", "it holds no token with its end", client) from None
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": _cluster(admin)}],
        "users": [{"name": account.name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": account.name}}],
        "current-context": name,
        **({"extensions": [{"name": _EXTENSION, "extension": {"madeFor": owner}}]} if owner else {}),
    }
    make_folder(path.parent, 0o700)
    with unwritable_as_error(path.parent):
        write_private(path, (json.dumps(document, indent=2) + "\n").encode())
    return ends


def login_problem(account: Account, path: Path, life: timedelta, now: datetime) -> str:
    """Why the file has to be made again, as when less than a third is left of the life that its token says, or else of
    ``life``. Empty if it is good, and where that cannot be told, as when the API server gives no answer of use. It asks
    the API server."""
    try:
        connection = connection_from_kubeconfig(path)
    except FleetError as error:
        return f"it cannot be used: {error.message}"
    ends = token_ends(connection.token)
    if ends is None:
        return "its token does not say when it ends"
    if ends - now < (token_life(connection.token) or life) * RENEWED_AT:
        return f"its token ends at {ends}"
    try:
        admin = connection_from_kubeconfig(account.kubeconfig, account.context)
        if _cluster(admin) != _cluster(connection):
            same = admin.server == connection.server
            return "its API server is reached in another way" if same else "it is for another API server"
        with KubeClient(connection) as client:
            user = who_am_i(client).name
    except ApiError as error:
        return "the API server does not know its token" if error.code in _REFUSED else ""
    except FleetError:
        return ""
    return "" if user == account.user else f"it is {user}'s"


def _cluster(admin: Connection) -> dict[str, t.Any]:
    """How the API server is reached, as a kubeconfig says it: all of it, or who has the file reaches another one, or
    none. A proxy that our environment names is no part of it."""
    found: dict[str, t.Any] = {"server": admin.server}
    if admin.insecure:
        found["insecure-skip-tls-verify"] = True
    elif admin.ca is not None:
        found["certificate-authority-data"] = base64.b64encode(admin.ca).decode()
    if admin.tls_server_name:
        found["tls-server-name"] = admin.tls_server_name
    if admin.proxy and admin.proxy != proxy_for(admin.server, os.environ):
        found["proxy-url"] = admin.proxy
    return found
