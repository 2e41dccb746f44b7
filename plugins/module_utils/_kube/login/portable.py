# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One context of a kubeconfig as a document for another machine: the content of the files of its certificates, keys and
token is in it, and a login by a plugin as it is written."""

from __future__ import annotations

import base64
import os
import typing as t
from pathlib import Path

from ..._core.errors import FleetError
from ..files import read_file, with_home
from .connection import MAX_TOKEN
from .credentials import MAX_PEM
from .kubeconfig import Entry, Kubeconfig, as_json

_CERTIFICATES = ("certificate-authority", "client-certificate", "client-key")
_TOKEN_FILE = "tokenFile"
Document = dict[str, t.Any]


def portable_kubeconfig(config: Kubeconfig, context: str = "") -> Document:
    """A kubeconfig with that context (else ``current-context``), its cluster and its user, and nothing else; empty ones
    where they are not there, no user where the context names none. A token file is replaced by the token that is in it
    now. A login by a plugin stays what it is: its program has to be where the document is used. FleetError
    ``context-missing``, or ``kubeconfig-missing`` for a file that cannot be read."""
    name = context or config.current
    found = config.contexts.get(name)
    if found is None:
        raise FleetError("context-missing", f"there is no context {name!r}", config.where)
    cluster, user = _name(found, "cluster"), _name(found, "user")
    made: Document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": as_json(found.value)}],
        "clusters": [{"name": cluster, "cluster": _inlined(config.clusters.get(cluster))}],
        "users": [],
    }
    if user:
        made["users"] = [{"name": user, "user": _inlined(config.users.get(user))}]
    return made


def _name(context: Entry, kind: str) -> str:
    """The name that the context has for its cluster or user; empty where it has none, or no text."""
    name = context.value.get(kind)
    return name if isinstance(name, str) else ""


def _inlined(entry: Entry | None) -> Document:
    """The entry with the content of its files: as in kubectl, data that is given stands above a file, and a token's
    file above a token. Empty for no entry. FleetError ``kubeconfig-missing`` for a file that cannot be read."""
    if entry is None:
        return {}
    value: Document = as_json(entry.value)
    for name in _CERTIFICATES:
        path = value.pop(name, None)
        if path and not value.get(f"{name}-data"):
            value[f"{name}-data"] = base64.b64encode(_content(entry.base, path, MAX_PEM)).decode()
    path = value.pop(_TOKEN_FILE, None)
    if path:  # as in kubectl it stands above a token
        value["token"] = _content(entry.base, path, MAX_TOKEN).decode("utf-8", "replace").strip()
    return value


def _content(base: Path, path: t.Any, most: int) -> bytes:
    """The bytes of a file that a kubeconfig in the folder ``base`` names; FleetError ``kubeconfig-missing`` if it
    cannot be read, or has more than ``most``."""
    place = base / with_home(str(path), os.environ)
    try:
        return read_file(place, most)
    except OSError as error:
        raise FleetError("kubeconfig-missing", f"{place} cannot be read: {error.strerror}") from None
