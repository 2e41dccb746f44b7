# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which connections were used that people are told something about, wherever in a run that was."""

from __future__ import annotations

import threading
import typing as t

from .connection import Connection


class Uses:
    """Safe for threads."""

    def __init__(self) -> None:
        self._notes: dict[str, dict[str, None]] = {}
        self._lock = threading.Lock()

    def add(self, connection: Connection) -> None:
        self.note(connection, *connection.notes)

    def note(self, connection: Connection, *texts: str) -> None:
        """What is told of the cluster, each once; empty texts are nothing."""
        found = [text for text in texts if text]
        if found:
            with self._lock:
                self._notes.setdefault(connection.where, {}).update(dict.fromkeys(found))

    def taken(self) -> dict[str, list[str]]:
        """The notes on each cluster by its name, once; nothing is remembered of what was taken."""
        with self._lock:
            found, self._notes = self._notes, {}
        return {name: list(notes) for name, notes in sorted(found.items())}

    def take_over(self, notes: t.Mapping[str, t.Iterable[str]]) -> None:
        """What was taken in another process."""
        with self._lock:
            for name, texts in notes.items():
                self._notes.setdefault(name, {}).update(dict.fromkeys(texts))


USES = Uses()
"""Of this process: a verb runs in one of its own."""
