# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""From options to the place where a run works: records and a hub."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass
from datetime import datetime

from .._kube.client import KubeClient
from .._kube.login.credentials import connection_from_kubeconfig
from .._store.open_records import guard_durable, open_records
from .._store.records import Clock, Records
from .leases import holder_name


@dataclass(frozen=True)
class Place:
    """Records, the hub's client if the records are there, and the name under which leases are taken."""

    records: Records
    hub: KubeClient | None
    holder: str

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_error: object) -> None:
        self.records.close()
        if self.hub:
            self.hub.close()


def open_place(
    options: t.Mapping[str, t.Any],
    environ: t.Mapping[str, str],
    now: datetime,
    writes: bool,
    clock: Clock | None = None,
) -> Place:
    """What the options ``records`` and ``holder`` name; verbs that write refuse records that would be lost.

    Verbs that take long give a ``clock``: leases end by it. For others the time stands still at ``now``.
    """
    records_options = {key: value for key, value in (options.get("records") or {}).items() if value is not None}
    kind = records_options.get("type", "sqlite")
    unused = ("kubeconfig", "context") if kind == "sqlite" else ("path", "durable")
    given = {key: value for key, value in records_options.items() if key not in unused}
    if not given.get("durable"):
        given.pop("durable", None)
    records = open_records(given, environ, clock or (lambda: now))
    if writes:
        guard_durable(records, environ)
    holder = options.get("holder") or holder_name(environ)
    return Place(records, hub_client(given, environ) if kind == "hub" else None, holder)


def hub_client(options: t.Mapping[str, t.Any], environ: t.Mapping[str, str]) -> KubeClient:
    """A client of the API server that ``kubeconfig`` and ``context`` name; as kubectl finds it if they are absent."""
    path = options.get("kubeconfig") or environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    return KubeClient(connection_from_kubeconfig(path, options.get("context") or ""))
