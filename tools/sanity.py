# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test sanity without containers, on the Python that runs this."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from steps import CACHE, ROOT, StepFailed, call

# ansible-test fetches a get-pip script from the network, unless it finds one in its cache. Python brings pip along.
GET_PIP = "import ensurepip\n\nensurepip.bootstrap()\n"

IMPORTED = ("module_utils", "plugin_utils")


def run() -> None:
    """All of its tests. Each file is imported in a Python of its own, with all that it imports in turn: so ours are
    imported by the plugins that need them, and not one by one as well."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    home = CACHE / "sanity" / f"home-{version}"
    prepare_home(home)
    target = copy()
    sanity = ("ansible-test", "sanity", "--color", "no", "--python", version)
    call(*sanity, "--skip-test", "import", cwd=target, env={"HOME": str(home)})
    folders = (folder for folder in (target / "plugins").iterdir() if folder.name not in IMPORTED)
    names = sorted(f"{folder.relative_to(target)}/" for folder in folders if folder.is_dir())
    call(*sanity, "--test", "import", *names, cwd=target, env={"HOME": str(home)})


def copy() -> Path:
    """The files that are published, of those under version control or soon to be, in a real folder of the name that
    ansible-test wants. Tests are not among them.

    ansible-test resolves links, so the link that serves everything else does not do.
    """
    target = CACHE / "sanity" / "ansible_collections" / "gitops" / "fleet"
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        raise StepFailed(f"git ls-files: {listed.stderr.strip()}")
    for name in sorted(each for each in set(listed.stdout.split("\0")) if each and not each.startswith("tests/")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    # Without a repository of its own the copy would be a part of ours that git ignores, and nothing would be checked.
    call("git", "init", "--quiet", cwd=target)
    return target


def prepare_home(home: Path) -> None:
    """A home of its own: ansible-test keeps virtual environments below it, and the script above."""
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for name in get_pip_names():
        (cache / name).write_text(GET_PIP)
    settings = Path.home() / ".config" / "pip"
    if settings.is_dir() and not (home / ".config" / "pip").exists():
        (home / ".config").mkdir(exist_ok=True)
        (home / ".config" / "pip").symlink_to(settings, target_is_directory=True)


def get_pip_names() -> list[str]:
    """The names under which this ansible-test looks for the script; they carry the version of pip that it pins."""
    found = importlib.util.find_spec("ansible_test._internal.python_requirements")
    if found is None or found.origin is None:
        raise StepFailed("ansible-test is not installed beside this Python")
    versions = re.findall(r"\bpip='([0-9.]+)'", Path(found.origin).read_text())
    return [f"get_pip_{version.replace('.', '_')}.py" for version in versions]
