# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Somebody who looks on: a client and a thread of its own, that never ask the code under test."""

from __future__ import annotations

import threading
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from small_fleet import Document, Server


class Watcher:
    """Lists ``path`` several times a second while entered, and keeps what ``sample`` makes of each list."""

    def __init__(
        self, server: Server, path: str, selector: str, sample: t.Callable[[list[Document]], frozenset[str]]
    ) -> None:
        self._client = KubeClient(connection_from_kubeconfig(server.made.kubeconfig))
        self._path, self._query, self._sample = path, {"labelSelector": selector}, sample
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.samples: list[frozenset[str]] = []

    def __enter__(self) -> t.Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    @property
    def most(self) -> int:
        """How many there were at once, at most."""
        return max(map(len, self.samples), default=0)

    def _watch(self) -> None:
        while not self._stop.is_set():
            self.samples.append(self._sample(self._client.get(self._path, self._query)["items"]))
            self._stop.wait(0.1)
