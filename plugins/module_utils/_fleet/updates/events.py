# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The file of events of a conducted run (``events``): a line of JSON for everything that happens, ``unwritable-file``,
and a disk that is full later on."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from ..._core.errors import FleetError
from ..._kube.files import make_folder_of, open_to_append

# Keeps an event, which JSON can hold; what fails is told elsewhere, and not raised.
Emit = t.Callable[[t.Mapping[str, t.Any]], None]


@contextlib.contextmanager
def events_file(path: str, say: t.Callable[[str], None]) -> t.Iterator[Emit]:
    """Gives, while entered, what appends an event to the file, which is made with its folder and keeps what it has;
    without a path (empty) nothing is kept. FleetError ``unwritable-file`` on entering; what fails later on, such as a
    full disk, is said once and not raised, and no more events are kept."""
    if not path:
        yield lambda _event: None
        return
    try:
        make_folder_of(path)
        file = os.fdopen(open_to_append(path), "a", encoding="utf-8", buffering=1)
    except OSError as error:
        text = f"the file cannot be written: {error.strerror}"
        raise FleetError("unwritable-file", text, path, "give another path") from None
    failed: list[str] = []

    def emit(event: t.Mapping[str, t.Any]) -> None:
        """Appends the event as a line of JSON; nothing after the first that failed."""
        if failed:
            return
        try:
            file.write(json.dumps(event) + "\n")
        except OSError as error:
            failed.append(str(error.strerror))
            say(f"{path}: no more events are written: {error.strerror}")

    try:
        yield emit
    finally:
        with contextlib.suppress(OSError):
            file.close()
