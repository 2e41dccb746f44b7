# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files that nobody else may read."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


def write_private(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write through a file beside that nobody else can read at any instant, and rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    temporary.replace(path)
