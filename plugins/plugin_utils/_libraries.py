# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python packages that a task needs (urllib3, PyYAML, cryptography), asked for before it begins anything, all at once,
with the ``pip`` line that installs what is missing (``missing-library``).

Private to this collection.
"""

from __future__ import annotations

import importlib.util
import sys
import typing as t

from ..module_utils._core.errors import FleetError

# A module that is imported, and the package that brings it.
SERVERS = {"urllib3": "urllib3", "yaml": "PyYAML"}
KEYS = {"cryptography": "cryptography"}


def check_libraries(needed: t.Mapping[str, str]) -> None:
    """FleetError ``missing-library``, if a package is missing, with the line that installs it for this very Python.
    ``needed`` are packages by the modules that they bring."""
    missing = [package for module, package in needed.items() if not _is_there(module)]
    if missing:
        raise FleetError(
            "missing-library",
            f"this task needs {', '.join(missing)} in the Python that runs ansible-playbook",
            hint=f"{sys.executable} -m pip install {' '.join(missing)}",
        )


def _is_there(module: str) -> bool:
    """Whether Python finds the module; the packages above it, if any, are imported for that, and it is False where one
    cannot be."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
