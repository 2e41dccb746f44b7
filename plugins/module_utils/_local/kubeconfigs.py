# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""kubeconfig files of local clusters: one per identity, and one with the admin context of every cluster of a root."""

from __future__ import annotations

import base64
import contextlib
import json
import typing as t
from pathlib import Path

from .._core.errors import FleetError
from . import state as states
from .certificates import ADMIN, CertificateIdentity, unreadable_keys
from .locks import writing
from .private import write_private


def write_kubeconfig(path: Path, context: str, server: str, pki: Path, identity: CertificateIdentity = ADMIN) -> bool:
    """Write (mode 0600) if that changes anything, and tell whether it did. Keys are embedded: the file can be moved.
    FleetError ``state-unreadable`` for keys that are gone, ``unwritable-folder``."""
    return _write(path, [_entry(context, server, pki, identity)], context)


def merge_kubeconfigs(root: Path) -> None:
    """Write ``<root>/kubeconfig``: the admin context of every cluster, named for it, in order of the names. A cluster
    whose state cannot be read, or that has not all its keys yet, is left out. FleetError ``busy``,
    ``unwritable-folder``, ``state-unreadable`` where the root cannot be looked at, or a key cannot be read."""
    with states.root_lock(root):
        entries = []
        for name in states.cluster_names(root):
            pki = root / name / "pki"
            with contextlib.suppress(FleetError):
                state = states.load(root / name)
                if state is not None and has_keys(pki):
                    entries.append((name, state.server, pki))
        write_merged(root / "kubeconfig", entries)


def write_merged(path: Path, clusters: t.Iterable[tuple[str, str, Path]]) -> bool:
    """Write one context per cluster, named for it, if that changes anything, and tell whether it did; each of
    ``clusters`` is (name, server, folder of its keys). FleetError as of ``write_kubeconfig``."""
    return _write(path, [_entry(name, server, pki, ADMIN) for name, server, pki in clusters], "")


def has_keys(pki: Path) -> bool:
    """Whether the admin can log in with what is there: a cluster that is being made has its keys one by one."""
    return all((pki / file).is_file() for file in ("ca.crt", f"{ADMIN.file}.crt", f"{ADMIN.file}.key"))


def _entry(name: str, server: str, pki: Path, identity: CertificateIdentity) -> dict[str, t.Any]:
    login = f"{name}-{identity.file}"
    certificate, key = _data(pki / f"{identity.file}.crt"), _data(pki / f"{identity.file}.key")
    return {
        "cluster": {"name": name, "cluster": {"server": server, "certificate-authority-data": _data(pki / "ca.crt")}},
        "user": {"name": login, "user": {"client-certificate-data": certificate, "client-key-data": key}},
        "context": {"name": name, "context": {"cluster": name, "user": login}},
    }


def _write(path: Path, entries: list[dict[str, t.Any]], current: str) -> bool:
    """JSON, which is YAML as well and needs no library."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [entry["cluster"] for entry in entries],
        "users": [entry["user"] for entry in entries],
        "contexts": [entry["context"] for entry in entries],
        "current-context": current,
    }
    content = (json.dumps(document, indent=2) + "\n").encode()
    with writing(path.parent):
        if path.is_file() and path.read_bytes() == content:
            return False
        write_private(path, content)
    return True


def _data(path: Path) -> str:
    try:
        return base64.b64encode(path.read_bytes()).decode()
    except OSError:
        raise unreadable_keys(path.parent) from None
