# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""kubeconfig files of local clusters written: one for each identity, and one with the admin context of every cluster of
a root, merged; whether one is up to date; whether the keys are there."""

from __future__ import annotations

import base64
import contextlib
import json
import typing as t
from pathlib import Path

from .._core.errors import FleetError
from . import state as states
from .certificates import ADMIN, CertificateIdentity, unreadable_keys
from .locks import unwritable_as_error
from .private import write_private


def write_kubeconfig(path: Path, context: str, server: str, pki: Path, identity: CertificateIdentity = ADMIN) -> bool:
    """Write (mode as of ``write_private``) if that changes the content, and tell whether it did. ``context`` is the
    name of the cluster and of its one context, the current one. Keys are embedded: the file can be moved. FleetError
    ``state-unreadable`` for keys in ``pki`` that cannot be read, ``unwritable-folder``."""
    return _write(path, [_entry(context, server, pki, identity)], context)


def is_written(path: Path, context: str, server: str, pki: Path) -> bool:
    """Whether ``write_kubeconfig`` would change nothing, for the admin; reads only. FleetError as of it."""
    return _holds(path, _content([_entry(context, server, pki, ADMIN)], context))


def merge_kubeconfigs(root: Path) -> None:
    """Write ``<root>/kubeconfig``, if that changes anything: the admin context of every cluster, named for it; none is
    current. A cluster is left out whose state or keys cannot be read, or that has not all keys yet. FleetError
    ``busy``, ``unwritable-folder``, ``state-unreadable`` where the root cannot be looked at, or a key cannot be
    read."""
    with states.root_lock(root):
        entries = []
        for name in states.cluster_names(root):
            pki = root / name / "pki"
            with contextlib.suppress(FleetError, OSError):
                state = states.load(root / name)
                if state is not None and has_keys(pki):
                    entries.append((name, state.server, pki))
        write_merged(root / "kubeconfig", entries)


def write_merged(path: Path, clusters: t.Iterable[tuple[str, str, Path]]) -> bool:
    """Write one admin context per cluster, named for it, none of them current, if that changes anything, and tell
    whether it did; ``clusters`` are (name, server, folder of its keys). FleetError as of ``write_kubeconfig``."""
    return _write(path, [_entry(name, server, pki, ADMIN) for name, server, pki in clusters], "")


def has_keys(pki: Path) -> bool:
    """Whether the files that the admin logs in with are there, whatever is in them: a cluster that is being made has
    its keys one by one. Before Python 3.14 OSError where the folder must not be looked into."""
    return all((pki / file).is_file() for file in ("ca.crt", f"{ADMIN.file}.crt", f"{ADMIN.file}.key"))


def _entry(name: str, server: str, pki: Path, identity: CertificateIdentity) -> dict[str, t.Any]:
    """The ``cluster``, ``user`` and ``context`` of one cluster, each as a kubeconfig lists it. FleetError
    ``state-unreadable`` for keys that cannot be read."""
    login = f"{name}-{identity.file}"
    certificate, key = _data(pki / f"{identity.file}.crt"), _data(pki / f"{identity.file}.key")
    return {
        "cluster": {"name": name, "cluster": {"server": server, "certificate-authority-data": _data(pki / "ca.crt")}},
        "user": {"name": login, "user": {"client-certificate-data": certificate, "client-key-data": key}},
        "context": {"name": name, "context": {"cluster": name, "user": login}},
    }


def _write(path: Path, entries: list[dict[str, t.Any]], current: str) -> bool:
    """Writes a kubeconfig of the entries (mode 0600) if that changes anything, and tells whether it did; ``current`` is
    the name of a context, or empty. FleetError ``unwritable-folder``."""
    content = _content(entries, current)
    if _holds(path, content):
        return False
    with unwritable_as_error(path.parent):
        write_private(path, content)
    return True


def _holds(path: Path, content: bytes) -> bool:
    """Whether it is a file with this content. FleetError ``unwritable-folder`` where that cannot be told."""
    with unwritable_as_error(path.parent):
        return path.is_file() and path.read_bytes() == content


def _content(entries: list[dict[str, t.Any]], current: str) -> bytes:
    """A kubeconfig of the entries; ``current`` as of ``_write``. It is JSON, which is YAML as well and needs no
    library."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [entry["cluster"] for entry in entries],
        "users": [entry["user"] for entry in entries],
        "contexts": [entry["context"] for entry in entries],
        "current-context": current,
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _data(path: Path) -> str:
    """The file in base64; FleetError ``state-unreadable`` if it cannot be read."""
    try:
        return base64.b64encode(path.read_bytes()).decode()
    except OSError:
        raise unreadable_keys(path.parent) from None
