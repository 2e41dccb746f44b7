# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The browser that reports are tested in: that of the system, or Debian's package where this may install it."""

from __future__ import annotations

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "install it (apt-get install chromium), or name one in the variable CHROMIUM; reports are tested in it"
PACKAGES = ("chromium", "fonts-dejavu-core")
PATIENCE = 900


class NoBrowser(Exception):
    """There is none, and how to get one."""


def found() -> str:
    """Its path; empty if there is none."""
    named = os.environ.get("CHROMIUM", "")
    return shutil.which(named) or "" if named else next(filter(None, map(shutil.which, NAMES)), "")


def provide() -> None:
    """Nothing where there is one. Under CI as root it is installed; anybody else is told how."""
    if found():
        return
    if not (os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get")):
        raise NoBrowser(f"no Chromium is here: {HOW}")
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES]
    for command in (["apt-get", "update"], install):
        print("+", *command, flush=True)
        done = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            raise NoBrowser(f"{' '.join(command)} failed: {done.stdout.decode(errors='replace')[-2000:]}")
