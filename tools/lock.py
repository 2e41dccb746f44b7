# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make lock`: writes requirements*.txt from requirements*.in: all that is needed in turn, with hashes of all files.

One list serves every Python from 3.11 on and every machine: what is for some only has a marker. What is not named in a
requirements*.in stays at the version that the list has, unless ``--upgrade`` is given.
"""

from __future__ import annotations

import sys

from steps import ROOT, StepFailed, call

OLDEST_PYTHON = "3.11"
HEAD = "# Made by `make lock` from {source}: every file that pip may install, with its hash.\n"


def lock(source: str, constraints: list[str], more: list[str]) -> str:
    target = source.removesuffix(".in") + ".txt"
    pinned = [word for name in constraints for word in ("--constraint", name)]
    flags = ["--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--no-header", "--no-annotate"]
    call("uv", "pip", "compile", "--quiet", *flags, *pinned, *more, source, "--output-file", target)
    path = ROOT / target
    path.write_text(HEAD.format(source=source) + path.read_text(encoding="utf-8"), encoding="utf-8")
    return target


def main(more: list[str]) -> int:
    try:
        first = lock("requirements.in", [], more)
        second = lock("pulumi/environments/requirements.in", [first], more)
        lock("requirements-dev.in", [first, second], more)
        lock("requirements-docs.in", [first], more)
    except StepFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
