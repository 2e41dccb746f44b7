# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What this process has open, for tests of what must not stay open."""

from __future__ import annotations

import contextlib
import os


def descriptors() -> set[tuple[str, str]]:
    """Those that are open, each with what it leads to; a thread of another test may close its own at any time."""
    found = set()
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.add((each, os.readlink(f"/proc/self/fd/{each}")))
    return found
