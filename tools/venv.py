# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command in a virtual environment of this repository, made on first use.

``python tools/venv.py run|dev|docs COMMAND...``: ``run`` holds requirements.txt, ``dev`` requirements-dev.txt, ``docs``
requirements-docs.txt; whatever is installed has the hash that is listed there. One environment per interpreter and
content of the first two files lies in ``.cache/venvs/``, and another one for ``docs``; a second start finds it and
begins at once. Nothing is written outside the repository, except what pip keeps in the user's cache folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
FILES = {"run": "requirements.txt", "dev": "requirements-dev.txt"}
# In an environment of its own, so that what is made anew for one is not made anew for the other.
APART = {"docs": "requirements-docs.txt"}


def folder(kind: str) -> Path:
    """The environment of this interpreter and these requirements."""
    files = [APART[kind]] if kind in APART else list(FILES.values())
    parts = [str(Path(sys.executable).resolve()), sys.version, *((ROOT / name).read_text() for name in files)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    return CACHE / "venvs" / f"py{sys.version_info[0]}.{sys.version_info[1]}-{digest}"


def link_collection() -> Path:
    """A plain checkout becomes ``ansible_collections/gitops/fleet`` by a link; gives the folder for the search path."""
    tree = CACHE / "collections"
    link = tree / "ansible_collections" / "gitops" / "fleet"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink() or link.resolve() != ROOT:
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT, target_is_directory=True)
    return tree


def ensure(kind: str) -> Path:
    """Makes or completes the environment; gives its ``bin`` folder."""
    place, file = folder(kind), {**FILES, **APART}[kind]
    stamps = {each: place / f"complete.{each}" for each in (*FILES, *APART)}
    if stamps[kind].exists() or (kind == "run" and stamps["dev"].exists()):
        return place / "bin"
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamps[kind].exists():
            begun = time.monotonic()
            say(f"Python {platform.python_version()}: installing {file} into {place.name} (once) ...")
            if not (place / "bin" / "pip").exists():
                subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
            pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            # No source archive: what it needs to be built is in no list, and would be installed without a hash.
            only = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(ROOT / file)]
            subprocess.run([*pip, *only], check=True)
            stamps[kind].touch()
            say(f"... ready after {time.monotonic() - begun:.0f} s")
    return place / "bin"


def environment(scripts: Path) -> dict[str, str]:
    """The caller's environment, with this environment first and Ansible's files inside ``.cache/``."""
    settings = CACHE / "ansible.cfg"
    settings.touch()
    without = ("PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return go_modules(kept) | {
        "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "VIRTUAL_ENV": str(scripts.parent),
        "PYTHONUNBUFFERED": "1",
        # What is compiled is kept, but not beside the code.
        "PYTHONPYCACHEPREFIX": str(CACHE / "bytecode"),
        # An empty file, so that the user's own ansible.cfg does not change what is shown and tested here.
        "ANSIBLE_CONFIG": str(settings),
        "ANSIBLE_HOME": str(CACHE / "ansible"),
        # Local control planes that are started from here live and end here.
        "XDG_STATE_HOME": str(CACHE / "state"),
        "ANSIBLE_COLLECTIONS_PATH": str(link_collection()),
        # Ansible refuses to start without a UTF-8 locale, and CI runners often set none.
        "LC_ALL": os.environ.get("LC_ALL") or "C.UTF-8",
    }


def go_modules(env: dict[str, str]) -> dict[str, str]:
    """Go keeps modules below ``~/go``. Where that is not in use yet, they go to the user's cache folder instead."""
    home = Path(env.get("HOME") or Path.home())
    if env.keys() & {"GOMODCACHE", "GOPATH"} or (home / "go" / "pkg" / "mod").exists():
        return env
    named = Path(env.get("XDG_CACHE_HOME", ""))
    cache = named if named.is_absolute() else home / ".cache"  # XDG: relative paths are invalid, and are ignored
    return env | {"GOMODCACHE": str(cache / "gitops-fleet" / "go-modules")}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> t.NoReturn:
    kind, command = sys.argv[1], sys.argv[2:]
    try:
        scripts = ensure(kind)
    except subprocess.CalledProcessError as error:
        say(f"Could not make the virtual environment: {' '.join(error.cmd)} ended with {error.returncode} (see above).")
        sys.exit(2)
    env = environment(scripts)
    os.chdir(ROOT)
    os.execvpe(command[0], command, env)


if __name__ == "__main__":
    main()
