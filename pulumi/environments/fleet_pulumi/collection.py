# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the collection that this folder belongs to importable, wherever it lies: this program needs no installation."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NAME = "ansible_collections.gitops.fleet"


def make_importable() -> None:
    """``import ansible_collections.gitops.fleet...`` finds this checkout, unless it was found elsewhere before."""
    if NAME in sys.modules:
        return
    with contextlib.suppress(ModuleNotFoundError):
        if importlib.util.find_spec(NAME) is not None:
            return
    names = NAME.split(".")
    for count in range(1, len(names) + 1):
        name = ".".join(names[:count])
        module = sys.modules.setdefault(name, types.ModuleType(name))
        if not hasattr(module, "__path__"):
            module.__path__ = [str(ROOT)] if count == len(names) else []
        if count > 1:
            setattr(sys.modules[".".join(names[: count - 1])], names[count - 1], module)


def quiet_server() -> None:
    """Silences the log of the gRPC server that runs dynamic resources: what goes wrong in one is told by the engine in
    one sentence, and that log would add a traceback."""
    logging.getLogger("grpc._server").setLevel(logging.CRITICAL)
