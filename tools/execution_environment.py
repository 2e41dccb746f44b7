# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The context from which podman or docker build the execution environment, in build/execution-environment/context."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import yaml
from steps import CACHE, ROOT, StepFailed, call

SOURCE = ROOT / "extensions" / "execution-environment"
PLACE = ROOT / "build" / "execution-environment"
# PyYAML comes with ansible-core, so that ansible-builder leaves it out.
WITH_CORE = {"PyYAML"}


def create(archive: Path) -> None:
    """Lets ansible-builder write the context, and looks whether it finds the collection and what that needs."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(SOURCE, PLACE)
    shutil.copy(archive, PLACE / "gitops-fleet.tar.gz")
    context = PLACE / "context"
    call("ansible-builder", "create", "--context", context, "--output-filename", "Containerfile", cwd=PLACE)
    named = [each["name"] for each in yaml.safe_load((SOURCE / "requirements.yml").read_text())["collections"]]
    lacking = [each for each in named if not (context / "_build" / Path(each).relative_to("/build")).is_file()]
    wanted = {re.split("[<>=]", line)[0] for line in _lines(ROOT / "meta" / "ee-requirements.txt")} - WITH_CORE
    lacking += sorted(wanted - _introspected())
    if lacking or not (context / "Containerfile").is_file():
        raise StepFailed(f"the context lacks {', '.join(lacking) or 'its Containerfile'}")
    print(f"the context of the image is {context}")


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def _introspected() -> set[str]:
    """Names of the packages that ansible-builder reads from the collection's meta/execution-environment.yml."""
    command = ["ansible-builder", "introspect", str(CACHE / "collections")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {re.split("[<>=]", str(each))[0] for each in yaml.safe_load(told)["python"]}
