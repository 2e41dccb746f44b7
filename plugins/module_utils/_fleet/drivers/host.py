# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where operations run whose processes we hold."""

from __future__ import annotations

import contextlib
import os
import platform

PREFIX = "process:"


def here() -> str:
    """A reference that names this machine only (``process:<host>/<process namespace>``).

    Record it with the intent: whoever takes the operation up then knows whether another machine may have begun it. Two
    containers of one name see different processes, hence the namespace.
    """
    namespace = ""
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return f"{PREFIX}{platform.node()}/{namespace}"
