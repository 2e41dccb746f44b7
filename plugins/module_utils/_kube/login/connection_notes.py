# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people are to be told of connections to API servers (unencrypted, unchecked, clocks apart), kept by cluster and
each text once, until it is taken."""

from __future__ import annotations

import threading
import typing as t

from .connection import Connection


class ConnectionNotes:
    """Notes on clusters, by their names. Safe for threads."""

    def __init__(self) -> None:
        self._notes: dict[str, dict[str, None]] = {}
        self._lock = threading.Lock()

    def add(self, connection: Connection) -> None:
        """Adds the notes that the connection itself carries."""
        self.note(connection, *connection.notes)

    def note(self, connection: Connection, *texts: str) -> None:
        """Adds what is told of the cluster; empty texts are passed over."""
        found = [text for text in texts if text]
        if found:
            with self._lock:
                self._notes.setdefault(connection.where, {}).update(dict.fromkeys(found))

    def take(self) -> dict[str, list[str]]:
        """The notes by the clusters' names, in the order of these; those of a cluster as they came. They are forgotten
        here."""
        with self._lock:
            found, self._notes = self._notes, {}
        return {name: list(notes) for name, notes in sorted(found.items())}

    def add_taken(self, notes: t.Mapping[str, t.Iterable[str]]) -> None:
        """Adds the notes that were taken in another process, behind those that are kept here."""
        with self._lock:
            for name, texts in notes.items():
                self._notes.setdefault(name, {}).update(dict.fromkeys(texts))


CONNECTION_NOTES = ConnectionNotes()
"""Of this process: a verb runs in one of its own."""
