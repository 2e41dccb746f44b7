# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Binaries from the publishers' release files: offered for this machine or not, how many MB, downloaded, checked,
unpacked into the cache; a server that was out of reach is left alone for ten minutes (``REST``)."""

from __future__ import annotations

import os
import platform
import shutil
import tarfile
import time
import typing as t
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ..._core.errors import FleetError
from ..._kube.files import write_file
from ..kept_builds import write_release_manifest
from ..locks import make_folder, unwritable_as_error
from ..recipes import Recipe, cache_key
from .downloads import Say, Server, ask_size, download, fetch_text, server, sha256
from .publishers import ReleaseFile, module_sum, pinned_module_sum, release_files, told_sum

REST = 600.0  # seconds for which a server that was out of reach is left alone
SETTING = "FLEET_RELEASES"


@dataclass(frozen=True)
class ReleaseOffer:
    """The release files of a recipe for this machine, where they are, and the folder they get in the cache."""

    recipe: Recipe
    files: tuple[ReleaseFile, ...]
    server: Server
    folder: Path

    @property
    def root(self) -> Path:
        """The folder of the cache."""
        return self.folder.parent


def offer(one: Recipe, root: Path, environ: t.Mapping[str, str]) -> ReleaseOffer | None:
    """The release files of a recipe for this machine; None where there are none, as anywhere but on Linux, or
    ``FLEET_RELEASES`` is ``off``. Nothing is asked for yet. FleetError ``bad-option``; OSError as of ``cache_key``."""
    files, where = release_files(one, platform.machine()), server(environ.get(SETTING, ""))
    if not files or where is None or platform.system() != "Linux":
        return None
    return ReleaseOffer(one, files, where, root / f"{one.product}-{one.version}-release-{cache_key(one, {})}")


def install_release(offered: ReleaseOffer, say: Say) -> bool:
    """Downloads, checks and unpacks the files into the folder of ``offered``, in the place of one that is there;
    whether it is whole there then. Any FleetError ``release-...`` gives False: nothing there is changed, ``say`` gets a
    line that says why, and a later call goes on with what was downloaded and is not damaged. So does a server that was
    out of reach less than ``REST`` seconds ago, without a line. ``say`` hears of progress, too. The caller holds the
    lock of the recipe. FleetError ``unwritable-folder``, OSError and RuntimeError, as of ``download`` and
    ``fetch_text``, come through."""
    if why_not_asked(offered):
        return False
    one = offered.recipe
    try:
        _take(offered, say)
    except FleetError as error:
        if not error.code.startswith("release-"):
            raise
        if error.code == "release-unreachable":
            _let_rest(offered, error.message)
        say(f"no release files of {one.product} {one.version}: {error.message}")
        return False
    return True


def megabytes(offered: ReleaseOffer) -> int:
    """What has to be downloaded, in MB, as its server tells at each call; a file of which it tells no size counts as
    nothing. Errors as of ``downloads.fetch_text``, FleetError ``unwritable-folder``; a server that is out of reach is
    left alone for ``REST`` seconds from then on."""
    try:
        return round(sum(ask_size(file.place, offered.server) for file in offered.files) / 1e6)
    except FleetError as error:
        if error.code == "release-unreachable":
            _let_rest(offered, error.message)
        raise


def why_not_asked(offered: ReleaseOffer) -> str:
    """Why the server is not asked again yet, as noted in the cache less than ``REST`` seconds ago; empty if it is
    asked."""
    note = _note(offered.root)
    try:
        age = time.time() - note.stat().st_mtime
        where, _newline, why = note.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return ""
    return why if 0 <= age < REST and where == offered.server.base else ""


def _let_rest(offered: ReleaseOffer, why: str) -> None:
    """Notes in the cache, which is made if missing, that the server is out of reach now, and why. FleetError
    ``unwritable-folder``."""
    make_folder(offered.root)
    with unwritable_as_error(offered.root):
        write_file(_note(offered.root), f"{offered.server.base}\n{why}".encode())


def _note(root: Path) -> Path:
    """The file in the cache that says which server was out of reach, and why; its time says when."""
    return root / ".no-releases"


def _take(offered: ReleaseOffer, say: Say) -> None:
    """Downloads, checks and unpacks the files into the folder of ``offered``, whole or not at all. Errors as of
    ``download`` and ``_check``, FleetErrors of ``_unpack``, ``unwritable-folder``."""
    one, began = offered.recipe, time.monotonic()
    checks = [(file, _check(one, file, offered.server)) for file in offered.files]
    parts: list[tuple[ReleaseFile, Path]] = []
    for file, (key, whole) in checks:
        # Another sum is another file: what an earlier attempt left of this one is gone on with.
        part = offered.root / ".downloads" / f"{key}.part"
        download(file.place, part, offered.server, whole, say)
        parts.append((file, part))
    making = offered.folder.with_name(f".{offered.folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    make_folder(making)
    with unwritable_as_error(offered.root):
        for file, part in parts:
            _unpack(one, file, part, making)
        sources = {name: file.place for file in offered.files for name in file.binaries}
        write_release_manifest(one, making, sources)
        shutil.rmtree(offered.folder, ignore_errors=True)
        making.rename(offered.folder)
        for _file, part in parts:
            part.unlink(missing_ok=True)
    say(f"downloaded {one.product} {one.version} in {time.monotonic() - began:.0f} s; every sum is right")


def _check(one: Recipe, file: ReleaseFile, where: Server) -> tuple[str, t.Callable[[Path], bool]]:
    """(A name for the wanted content, a function that tells whether a file has it): of a Go module by the sum in our
    ``go.sum``, else by the SHA-256 that the publisher is asked for. FleetError as of ``fetch_text`` and ``told_sum``;
    OSError as of ``pinned_module_sum``, and of the function."""
    if file.is_module:
        pinned = pinned_module_sum(one)
        return f"{one.product}-{one.version}.zip", lambda part: _is_module(part, pinned)
    wanted = told_sum(file, fetch_text(file.sums, where))
    return wanted, lambda part: sha256(part) == wanted


def _is_module(part: Path, pinned: str) -> bool:
    """Whether it is the archive with that sum; False where none is pinned, or for one that cannot be read."""
    try:
        return bool(pinned) and module_sum(part) == pinned
    except FleetError:
        return False


def _unpack(one: Recipe, file: ReleaseFile, part: Path, making: Path) -> None:
    """Puts what a downloaded file, checked before, holds into the folder ``making``: binaries, with mode 0755, and of a
    module the files that come along. FleetError ``release-damaged``, ``unwritable-folder``; OSError."""
    if file.is_module:
        _unpack_shipped(one, part, making)
    for name, inside in file.binaries.items():
        if inside:
            _unpack_one(part, inside, making / name)
        else:
            shutil.copyfile(part, making / name)
        (making / name).chmod(0o755)


def _unpack_one(archive: Path, inside: str, target: Path) -> None:
    """Copies the file ``inside`` of a tar archive to ``target``. FleetError ``release-damaged`` if it is not in there;
    OSError."""
    try:
        with tarfile.open(archive) as opened:
            found = opened.extractfile(opened.getmember(inside))
            if found is None:
                raise KeyError(inside)
            with found, target.open("wb") as file:
                shutil.copyfileobj(found, file)
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise FleetError("release-damaged", f"there is no {inside} in {archive.name}: {error}") from None


def _unpack_shipped(one: Recipe, archive: Path, making: Path) -> None:
    """The same files that a build copies from the module: YAML and JSON right in the ``shipped`` folders, but for
    ``kustomization.yaml``. FleetError ``unwritable-folder``; OSError."""
    with zipfile.ZipFile(archive) as opened:
        for target, source in one.shipped.items():
            folder = f"{one.module}@v{one.version}/{source}/"
            make_folder(making / target)
            for name in opened.namelist():
                inside, file = os.path.split(name)
                if f"{inside}/" == folder and file.endswith((".yaml", ".json")) and file != "kustomization.yaml":
                    (making / target / file).write_bytes(opened.read(name))
