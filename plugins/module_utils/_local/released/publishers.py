# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which files the publishers of Kubernetes, etcd and kwok offer ready for this machine, at which addresses, and how
each is checked: the SHA-256 that a publisher tells, the sum of a Go module (``go.sum``).

Kubernetes and etcd publish a SHA-256 beside every file; for kwok GitHub tells the digest of each file of a release. The
Stage files that kwok needs are in its Go module alone, whose sum our own ``go.sum`` pins.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
import typing as t
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError
from ..recipes import FILES, Recipe

# What Python calls a processor, and what Go and the publishers call it.
_MACHINES: t.Mapping[str, str] = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_SUM = re.compile(r"[0-9a-f]{64}")
# What ``zipfile`` raises for a damaged or an encrypted archive, beside what unpacking it does.
_UNREADABLE = (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class ReleaseFile:
    """``place`` is its address without the scheme, ``sums`` that of the text which tells its SHA-256, which a Go module
    (``is_module``) has not. ``binaries`` maps what it holds to the path inside an archive, empty where the file is the
    program."""

    place: str
    sums: str = ""
    binaries: t.Mapping[str, str] = field(default_factory=dict)
    is_module: bool = False

    @property
    def name(self) -> str:
        """Its last part, by which lists of sums name it."""
        return self.place.rsplit("/", 1)[-1]


def release_files(one: Recipe, machine: str) -> tuple[ReleaseFile, ...]:
    """The release files of a recipe for Linux on a ``machine`` (``x86_64``, ``aarch64``), maybe of several publishers;
    none for any other machine, or where it has to be built in any case."""
    arch = _MACHINES.get(machine.lower(), "")
    if not arch:
        return ()
    if one.product == "kubernetes":
        folder = f"dl.k8s.io/release/v{one.version}/bin/linux/{arch}"
        return tuple(ReleaseFile(f"{folder}/{name}", f"{folder}/{name}.sha256", {name: ""}) for name in one.names)
    if one.product == "etcd":
        folder = f"github.com/etcd-io/etcd/releases/download/v{one.version}"
        inside = f"etcd-v{one.version}-linux-{arch}"
        archive = f"{folder}/{inside}.tar.gz"
        return (ReleaseFile(archive, f"{folder}/SHA256SUMS", {name: f"{inside}/{name}" for name in one.names}),)
    if one.product == "kwok":
        tag = f"kubernetes-sigs/kwok/releases/download/v{one.version}/kwok-linux-{arch}"
        listed = f"api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v{one.version}"
        module = f"proxy.golang.org/{one.module}/@v/v{one.version}.zip"
        return (ReleaseFile(f"github.com/{tag}", listed, {"kwok": ""}), ReleaseFile(module, is_module=True))
    return ()


def told_sum(file: ReleaseFile, text: str) -> str:
    """The SHA-256 of a file in hexadecimal, of its publisher's ``text``: the sum alone, lines of ``sha256sum``, or what
    GitHub tells of a release. FleetError ``release-damaged`` if the first that is found is no SHA-256, or there is
    none."""
    found = ""
    if text.lstrip().startswith("{"):
        found = _github_digest(file.name, text)
    for words in (line.split() for line in text.splitlines()):
        if len(words) == 1 or (len(words) == 2 and words[1].lstrip("*") == file.name):
            found = found or words[0].lower()
    if not _SUM.fullmatch(found):
        raise FleetError("release-damaged", f"no SHA-256 of {file.name} is told at {file.sums}")
    return found


def _github_digest(name: str, text: str) -> str:
    """What GitHub tells of a release as the digest of the file of that name, without ``sha256:``; no digest where it
    does not."""
    try:
        told = {each["name"]: str(each.get("digest")) for each in json.loads(text)["assets"]}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""
    return str(told.get(name, "")).removeprefix("sha256:")


def module_sum(archive: Path) -> str:
    """``h1:...`` of a module's archive, as ``go.sum`` has it: of the SHA-256 of every file in it, by name.

    FleetError ``release-damaged`` if it cannot be read as an archive; for a name with a line break too, as Go has it:
    it would pass for the lines of several files.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            names = sorted(opened.namelist())
            if any("\n" in name for name in names):
                raise ValueError("the name of a file has a line break")
            lines = [f"{_digest(opened, name)}  {name}\n" for name in names]
    except (*_UNREADABLE, zlib.error, lzma.LZMAError) as error:
        raise FleetError("release-damaged", f"{archive.name} is no archive: {error}") from None
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    """The SHA-256, in hexadecimal, of a file in the archive; errors as of reading it by ``zipfile``."""
    found = hashlib.sha256()
    with archive.open(name) as file:
        while chunk := file.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()


def pinned_module_sum(one: Recipe) -> str:
    """What the recipe's ``go.sum`` says of its module (``h1:...``); empty if nothing. OSError if there is none to
    read."""
    wanted = f"{one.module} v{one.version} "
    lines = (FILES / one.family / "go.sum").read_text(encoding="utf-8").splitlines()
    return next((line.removeprefix(wanted) for line in lines if line.startswith(wanted)), "")
