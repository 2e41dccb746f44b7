# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Binaries of control planes (etcd, kwok ...): from a given folder, from the user's cache, from release files, or built
from Go modules, in this order; ``missing-binary``, ``build-failed``, ``go-missing``.

``python -m ansible_collections.gitops.fleet.plugins.module_utils._local.binaries`` gets all that are missing.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import FleetError, Problem
from .._core.values.kube_version import KubeVersion
from .._kube.files import user_folder
from .compile_progress import FORMAT, CompileProgress
from .kept_builds import build_fault, write_manifest
from .locks import locked, make_folder, unwritable_as_error
from .private import own_folder
from .progress_note import note_follower, noted
from .recipes import (
    BUILD_ENVIRONMENT,
    BUILD_FLAGS,
    FILES,
    RECIPES,
    Recipe,
    cache_key,
    kubernetes_recipe,
    matches,
    recipe,
)
from .released.offers import ReleaseOffer, install_release, offer, why_not_asked

Say = t.Callable[[str], None]  # tells people a line of what goes on
# Of the compiler and its target: what changes the bytes of a binary.
_GO_FACTS = ("GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT")
_VERSION = re.compile(r"\bv?([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)")
_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


@dataclass(frozen=True)
class Binary:
    """An executable, which may not be there yet, and its version (``1.36.3``)."""

    name: str
    path: Path
    version: str

    @property
    def stages(self) -> tuple[Path, ...]:
        """All ``.yaml`` files below ``stages`` beside it, by path, taken for kwok's Stage files; may be empty."""
        return tuple(sorted((self.path.parent / "stages").rglob("*.yaml")))

    @property
    def crds(self) -> tuple[Path, ...]:
        """All ``.yaml`` files below ``crds`` beside it, by path, taken for Karpenter's CRDs; may be empty."""
        return tuple(sorted((self.path.parent / "crds").rglob("*.yaml")))


def silent(_text: str) -> None:
    """Say nothing."""


def cache_root(environ: t.Mapping[str, str] | None = None) -> Path:
    """The folder of built and downloaded binaries, below ``XDG_CACHE_HOME`` or ``~/.cache``. Nothing is made."""
    environ = os.environ if environ is None else environ
    return Path(user_folder("XDG_CACHE_HOME", "~/.cache", environ), "gitops-fleet", "binaries")


def get_binaries(
    names: t.Iterable[str],
    version: str,
    binaries_dir: Path | None = None,
    cache: Path | None = None,
    say: Say = silent,
    build: bool = True,
    check: bool = False,
) -> dict[str, Binary]:
    """Each of ``names`` (``etcd``, ``kwok`` ...), those of Kubernetes in ``version`` (1.36 or 1.36.3); got if missing.

    With ``binaries_dir`` nothing else is looked at and nothing is got. Without ``build`` nothing is got either: what is
    missing has the path it would get. With ``check`` neither is anything got, nor any mode changed. FleetError:
    ``unknown-version``, ``bad-option``, ``unknown-family``, ``missing-binary``, ``go-missing``, ``go-too-old``,
    ``build-failed``, ``unwritable-folder``, ``unsafe-folder``, ``damaged-binary``. ValueError where one of Kubernetes
    is compared with a ``version`` that is none; other errors as of ``provide`` and ``_given``.
    """
    if binaries_dir is not None:
        return {name: _given(binaries_dir, name, version if name in _KUBERNETES else "") for name in names}
    families: dict[str, tuple[Recipe, list[str]]] = {}
    for name in names:
        one = kubernetes_recipe(version) if name in _KUBERNETES else recipe(name)
        if name not in one.programs:
            raise FleetError("missing-binary", f"the recipe of {one.family} has no {name}")
        families.setdefault(one.family, (one, []))[1].append(name)
    found: dict[str, Binary] = {}
    for one, wanted in families.values():
        folder = provide(one, cache, say, build, wanted, check)
        found |= {name: Binary(name, folder / name, one.version) for name in wanted}
    return found


def provide(
    one: Recipe,
    cache: Path | None = None,
    say: Say = silent,
    build: bool = True,
    names: t.Collection[str] | None = None,
    check: bool = False,
) -> Path:
    """The folder with the binaries of a recipe; got into the cache first where needed (and ``build`` allows).

    What was got earlier is used if it is still, byte for byte, what was got: all of it, or the binaries ``names``.
    Release files, unless ``FLEET_RELEASES`` is ``off``, come before a build; one by another Go is used where neither
    can be. Without ``build``, and with ``check``, which writes nothing, it may be a folder that is not there yet.
    FleetError as of ``get_binaries``, but for its names and version; others as of ``places_of``, ``_go``, ``_got``.
    """
    root, names = cache or cache_root(), one.names if names is None else names
    places = places_of(one, root)
    kept = usable_folder(places, names, check=check)
    if kept is not None:
        return kept
    if places.offered is None and places.go is None:
        return any_build(one, root, names, check=check)
    if check or not build:
        return places.usual
    make_folder(root)
    wait = functools.partial(say, f"waiting for another process that builds {one.product} {one.version}")
    note = root / f".{one.product}-{one.version}.said"
    with locked(root / f".{one.product}-{one.version}.lock", wait, meanwhile=note_follower(note, say)):
        return usable_folder(places, names, say) or _got(places, names, noted(note, say))


@dataclass(frozen=True)
class Places:
    """Where a recipe's binaries are or would come: ``built`` by a compiler (``go``), or ``offered``; None without."""

    recipe: Recipe
    root: Path
    go: t.Mapping[str, str] | None
    built: Path | None
    offered: ReleaseOffer | None

    @property
    def usual(self) -> Path:
        """The folder that the binaries get if nothing goes wrong: of a build if there is a compiler, else of a
        download; the cache itself where there is neither."""
        return self.built or (self.offered.folder if self.offered else self.root)


def places_of(one: Recipe, root: Path) -> Places:
    """Where a recipe's binaries are or would come in the cache ``root``. FleetError ``bad-option``, ``go-missing``, and
    errors as of ``own_folder`` for a cache that is there; OSError as of ``cache_key``."""
    if os.path.exists(root):
        own_folder(root)
    go = _go_facts()
    built = None if go is None else root / f"{one.product}-{one.version}-{cache_key(one, go)}"
    return Places(one, root, go, built, offer(one, root, os.environ))


def usable_folder(places: Places, names: t.Collection[str], say: Say = silent, check: bool = False) -> Path | None:
    """The folder in the cache in which nothing is wrong with ``names``, a build before a download; None without one.
    ``say`` hears of those that are there and cannot be used. Modes and FleetError as of ``build_fault``."""
    one = places.recipe
    for folder, go, verb in (
        (places.built, places.go, "built"),
        (places.offered.folder if places.offered else None, None, "downloaded"),
    ):
        why = "" if folder is None else build_fault(one, folder, go, names, check)
        if why is None:
            return folder
        if why:
            say(f"{folder} is {verb} again: {why}")
    return None


def _got(places: Places, names: t.Collection[str], say: Say) -> Path:
    """Downloads, builds, or finds one by another Go; its folder. The lock is held. Errors as of what it calls."""
    if places.offered is not None and install_release(places.offered, say):
        return places.offered.folder
    if places.built is None or places.go is None:
        return any_build(places.recipe, places.root, names, why_not_asked(places.offered) if places.offered else "")
    _build(places.recipe, places.built, places.go, say)
    return places.built


def _build(one: Recipe, folder: Path, go: t.Mapping[str, str], say: Say) -> None:
    """Builds beside and renames: a cache folder is whole or not there. The lock is held. Errors as of ``provide``."""
    making = folder.with_name(f".{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    make_folder(making)
    for part in one.parts:
        for name, package in part.programs.items():
            _compile(part, name, package, making / name, say)
    with unwritable_as_error(folder.parent):
        _copy_shipped(one, making)
        _copy_scripts(one, making)
        write_manifest(one, making, go)
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)


def _compile(one: Recipe, name: str, package: str, target: Path, say: Say) -> None:
    """Builds one program into ``target``; ``say`` gets lines of progress. Errors as of ``_go``."""
    say(f"building {name} {one.version}")
    began = time.monotonic()
    tags = ["-tags", ",".join(one.tags)] if one.tags else []
    listed = _go(one, ["list", "-deps", *tags, "-f", FORMAT, package])
    progress = CompileProgress(f"{name} {one.version}", listed, say)
    flags = [*BUILD_FLAGS, *tags, "-v", "-ldflags", " ".join(one.ldflags), "-o", str(target)]
    _go(one, ["build", *flags, package], progress.heard)
    say(f"built {name} {one.version} in {time.monotonic() - began:.0f} s")


def _copy_shipped(one: Recipe, making: Path) -> None:
    """Copies ``*.yaml``, ``*.json`` of ``shipped`` folders, but for ``kustomization.yaml``. OSError; FleetError as of
    ``_go`` and ``make_folder``."""
    if not one.shipped:
        return
    module = _module_folder(one, one.module)
    for target, source in one.shipped.items():
        make_folder(making / target)
        for file in (each for suffix in ("yaml", "json") for each in sorted((module / source).glob(f"*.{suffix}"))):
            if file.name != "kustomization.yaml":
                (making / target / file.name).write_bytes(file.read_bytes())


def _copy_scripts(one: Recipe, making: Path) -> None:
    """Copies the scripts out of their modules, with mode 0755. FleetError as of ``_go``; OSError."""
    for name, (module, source) in one.scripts.items():
        (making / name).write_bytes((_module_folder(one, module) / source).read_bytes())
        (making / name).chmod(0o755)


def _module_folder(one: Recipe, module: str) -> Path:
    """Where Go keeps the files of a module that was fetched; KeyError for another, errors as of ``_go``."""
    return Path(json.loads(_go(one, ["list", "-m", "-json", module]))["Dir"])


def any_build(one: Recipe, root: Path, names: t.Collection[str], no_releases: str = "", check: bool = False) -> Path:
    """The first finished build or download of the recipe in which nothing is wrong with ``names``, whatever Go made it.
    FleetError ``damaged-binary`` if none can be used, ``go-missing`` if there is none, and as of ``build_fault``;
    ``no_releases`` is why no release files are had, or empty."""
    hint = "install Go 1.26 or later, or give a folder of ready binaries (binaries_dir)"
    damaged: list[Problem] = []
    for folder in sorted(root.glob(f"{one.product}-{one.version}-*")):
        why = build_fault(one, folder, None, names, check)
        if why is None:
            return folder
        damaged.append(Problem("damaged-binary", f"{folder} must not be used: {why}", hint=hint))
    if damaged:
        raise FleetError.of(damaged)
    because = f" ({no_releases})" if no_releases else ""
    text = f"{one.product} {one.version} has to be built{because}, and the go command is not on the PATH"
    raise FleetError("go-missing", text, hint=hint)


def _go_facts() -> dict[str, str] | None:
    """What ``go env`` tells of ``_GO_FACTS``; None if there is no Go. FleetError ``go-missing`` if it does not work."""
    if shutil.which("go") is None:
        return None
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function  # runs on the controller
            ["go", "env", "-json", *_GO_FACTS],
            capture_output=True,
            text=True,
            errors="replace",
            env=_environment(),
            check=False,
        )
        facts = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError) as error:
        raise FleetError("go-missing", f"the go command does not work: {error}") from None
    if not isinstance(facts, dict):
        raise FleetError("go-missing", f"the go command does not work: {_last_lines(done.stderr, 3)}")
    return {name: str(value) for name, value in facts.items()}


def _environment() -> dict[str, str]:
    """The user's, for proxies and caches, without what would make binaries for another machine; ours above it."""
    kept = {name: value for name, value in os.environ.items() if name not in _GO_FACTS}
    return {**kept, **BUILD_ENVIRONMENT}


def _go(one: Recipe, arguments: list[str], heard: t.Callable[[str], bool] = lambda _line: False) -> str:
    """What the go command writes to its standard output. Each line of its errors goes to ``heard`` as it comes, and
    counts unless that knows it. FleetError ``go-too-old``, ``build-failed``; OSError where it cannot run."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
            ["go", *arguments],
            cwd=FILES / one.family,
            env=_environment(),
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            try:
                errors = [line for line in process.stderr or () if not heard(line.rstrip("\n"))]
            except BaseException:
                process.kill()
                raise
        output.seek(0)
        told = output.read()
    if process.returncode == 0:
        return told
    tail = _last_lines("".join(errors) or told, 15)
    if "requires go >=" in tail:
        raise FleetError("go-too-old", f"this Go cannot build {one.family}: {tail}", hint="install a newer Go")
    raise FleetError(
        "build-failed",
        f"go {arguments[0]} of {one.family} {one.version} failed:\n{tail}",
        hint="modules come from the proxy that GOPROXY names; is it reachable, and is the disk full?",
    )


def _last_lines(text: str, count: int) -> str:
    """The last ``count`` lines, without white space around all."""
    return "\n".join(text.strip().splitlines()[-count:])


def _given(folder: Path, name: str, wanted: str) -> Binary:
    """The newest fitting one among ``<folder>/<name>`` and ``<folder>/*/<name>``; of those that tell a version any fits
    an empty ``wanted``. FleetError ``missing-binary``; OSError as of ``_told_version``, ValueError of ``matches``."""
    places = [path for path in (folder / name, *sorted(folder.glob(f"*/{name}"))) if os.access(path, os.X_OK)]
    found: list[Binary] = []
    dumb: list[Problem] = []
    for path in filter(Path.is_file, places):
        try:
            found.append(Binary(name, path.absolute(), _told_version(path)))
        except FleetError as error:
            dumb += error.problems
    fitting = [one for one in found if not wanted or matches(wanted, one.version)]
    if fitting:
        return max(fitting, key=lambda one: KubeVersion.parse(one.version))
    if dumb:
        raise FleetError.of(dumb)
    there = f" (there: {', '.join(sorted(one.version for one in found))})" if found else ""
    text = f"no executable {name}{' ' + wanted if wanted else ''} in {folder} or a folder in it{there}"
    raise FleetError("missing-binary", text, hint="put it there, or leave binaries_dir out to have it built")


def _told_version(path: Path) -> str:
    """As ``_ask_version``, errors included, asked again once the file is another or changed; OSError if it is gone."""
    return _ask_version(path, ((found := path.stat()).st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino))


@functools.lru_cache(maxsize=64)
def _ask_version(path: Path, _state: tuple[int, ...]) -> str:
    """The version that it tells (``1.36.3``) within 30 seconds. FleetError ``missing-binary`` if it tells none."""
    arguments = ["version", "--client"] if path.name == "kubectl" else ["--version"]
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function  # runs on the controller
            [str(path), *arguments], capture_output=True, text=True, errors="replace", timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FleetError("missing-binary", f"{path} does not tell its version: {error}") from None
    told = _VERSION.search(done.stdout)
    version = told[1].rstrip(".+-") if told else ""
    try:
        KubeVersion.parse(version)
    except ValueError:
        hint = "stamp it when it is built: an unstamped one takes itself for v0.0.0"
        raise FleetError("missing-binary", f"{path} does not tell its version", hint=hint) from None
    return version


def main(arguments: list[str] | None = None) -> int:
    # pylint: disable=ansible-bad-function  # a command, which prints
    """Gets the families chosen, or all; prints where they are. Exit status 0, or 1 with the FleetError told; or
    OSError."""
    parser = argparse.ArgumentParser(prog="binaries", description="Get the binaries of local control planes.")
    parser.add_argument("--family", action="append", choices=[one.family for one in RECIPES])
    chosen = parser.parse_args(arguments).family
    try:
        for one in RECIPES:
            if not chosen or one.family in chosen:
                folder = provide(one, say=lambda text: print(text, flush=True))
                print(f"{one.product} {one.version}: {folder}", flush=True)
    except FleetError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())  # pylint: disable=ansible-bad-function  # a command, which has an exit code
