# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The Pulumi engine, the program ``pulumi``: the user's on the PATH, if it is new enough and can run Python programs,
or our own build from Go modules; neither (``no-engine``)."""

from __future__ import annotations

import re
import shutil
import subprocess
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import FleetError
from .binaries import Say, provide, silent
from .recipes import recipe

_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?![0-9])")
_HOST = "pulumi-language-python"
_TIMEOUT = 60.0


@dataclass(frozen=True)
class Engine:
    """``folder`` holds ``pulumi`` and what it starts Python programs with; ``version`` is such as ``3.259.0``."""

    folder: Path
    version: str

    @property
    def pulumi(self) -> Path:
        """The program itself."""
        return self.folder / "pulumi"


def get_engine(
    environ: t.Mapping[str, str], cache: Path | None = None, say: Say = silent, build: bool = True
) -> Engine:
    """The first ``pulumi`` on the PATH of ``environ``, if it is of our version or a newer one of the same major and
    finds its host of Python programs; else our own build, made if missing, and ``say`` hears why that one is not used.

    Without ``build`` nothing is compiled: FleetError ``no-engine`` if there is none, or ``go-missing`` where there is
    no Go either. In either case errors as of ``binaries.provide``.
    """
    ours = recipe("pulumi")
    found = shutil.which("pulumi", path=environ.get("PATH", ""))
    if found is not None:
        version = _told_version(Path(found), environ)
        if _fits(version, ours.version) and _has_host(Path(found), environ):
            return Engine(Path(found).parent.absolute(), version)
        say(f"{found} is not used: {_why_not(version, ours.version)}")
    folder = provide(ours, cache, say, build)
    if not build and not (folder / "pulumi").exists():
        raise FleetError(
            "no-engine",
            f"there is no pulumi {ours.version} or newer on the PATH, and none has been built",
            hint="install Pulumi, or run make binaries (needs Go; some minutes, once)",
        )
    return Engine(folder, ours.version)


def _fits(version: str, wanted: str) -> bool:
    """Whether a version that was told will do for one that is ``wanted``: not older, and of the same major, within
    which the protocol between engine and program is kept. What is before a release counts as that."""
    told, least = _VERSION.match(version), _VERSION.match(wanted)
    if told is None or least is None:
        return False
    have, want = tuple(map(int, told.groups())), tuple(map(int, least.groups()))
    return have[0] == want[0] and have >= want


def _has_host(pulumi: Path, environ: t.Mapping[str, str]) -> bool:
    """Whether it can run Python programs: it looks beside its real file, and on the PATH."""
    return (pulumi.resolve().parent / _HOST).exists() or shutil.which(_HOST, path=environ.get("PATH", "")) is not None


def _why_not(version: str, wanted: str) -> str:
    """Why a pulumi that tells this version, or none, is not used, in words."""
    if not version:
        return "it does not tell its version"
    if not _fits(version, wanted):
        return f"it is version {version}, and {wanted} or a newer {wanted.partition('.')[0]}.x is needed"
    return f"{_HOST} is neither beside it nor on the PATH"


def _told_version(pulumi: Path, environ: t.Mapping[str, str]) -> str:
    """The three numbers of the version that it tells, such as ``3.259.0``; empty if it tells none within a minute."""
    environment = {**environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function  # runs on the controller
            [str(pulumi), "version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    told = _VERSION.match(done.stdout.strip())
    return ".".join(told.groups()) if told else ""
