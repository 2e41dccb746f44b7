# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends the process of a dynamic resource when its engine is gone: a killed engine ends nobody, and it would stay."""

from __future__ import annotations

import functools
import os
import socket
import sys
import threading
import time

_SECONDS = 2.0


@functools.cache
def end_with_engine() -> None:
    """Watches the engine from a thread, and ends this process within seconds after it is gone. Once for a process;
    without an engine, as in tests, nothing is done. What was begun is finished by the next run, as if this process had
    been killed with its engine."""
    if not sys.argv[0].endswith(os.path.join("pulumi", "dynamic", "__main__.py")) or len(sys.argv) < 2:
        return
    host, _colon, port = sys.argv[1].rpartition(":")
    if port.isdigit():
        threading.Thread(target=_watch, args=(host, int(port)), daemon=True).start()


def _watch(host: str, port: int) -> None:
    while True:
        time.sleep(_SECONDS)
        try:
            socket.create_connection((host, port), timeout=60).close()
        except ConnectionRefusedError:
            os._exit(1)
        except OSError:
            continue
