# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which stack of a Pulumi project is meant, and where its state, its plugins and its passphrase are: all said, nothing
inherited from the shell of who runs a play."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import typing as t
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from ..._core.errors import FleetError, Problem
from ..._kube.files import read_file, write_file
from ..._local.locks import make_folder
from ..._local.pulumi_engine import Engine
from ..._store.yaml_documents import read_yaml

Options = t.Mapping[str, t.Any]
Config = t.Mapping[str, t.Any]
# Of the caller's Pulumi: how one logs in to a backend that is a service.
_KEPT = ("PULUMI_ACCESS_TOKEN",)
_MOST = 10_000_000


@dataclass(frozen=True, kw_only=True)
class StackPlace:
    """``backend`` is a URL; ``python`` has the packages of the program; paths are absolute."""

    project: Path
    stack: str
    backend: str
    home: Path
    passphrase_file: Path | None
    python: Path

    @property
    def folder(self) -> Path | None:
        """That of a state in files; None for another backend."""
        parts = urlsplit(self.backend)
        return Path(parts.path).expanduser() if parts.scheme == "file" else None


def place(options: Options) -> StackPlace:
    """The place that options of a verb name. FleetError with all of ``no-project``, ``no-passphrase``, ``bad-backend``,
    ``bad-stack``."""
    project = Path(options["project_dir"]).expanduser().absolute()
    passphrase = options.get("passphrase_file")
    problems = []
    if not (project / "Pulumi.yaml").is_file():
        problems.append(
            Problem(
                "no-project", f"there is no Pulumi.yaml in {project}", "project_dir", "name the folder of the program"
            )
        )
    if passphrase and not Path(passphrase).expanduser().is_file():
        problems.append(Problem("no-passphrase", f"there is no file {passphrase}", "passphrase_file"))
    backend = str(options["backend_url"])
    if not urlsplit(backend).scheme:
        hint = "for example file:///srv/fleet-state"
        problems.append(Problem("bad-backend", f"{backend!r} is no URL of a backend", "backend_url", hint))
    if not options["stack"] or any(letter in options["stack"] for letter in "/ "):
        problems.append(Problem("bad-stack", f"{options['stack']!r} is no name of a stack", "stack"))
    if problems:
        raise FleetError.of(problems)
    return StackPlace(
        project=project,
        stack=options["stack"],
        backend=_whole_files(backend),
        home=Path(options.get("home") or "~/.pulumi").expanduser().absolute(),
        passphrase_file=Path(passphrase).expanduser().absolute() if passphrase else None,
        python=Path(options.get("python") or sys.executable).expanduser().absolute(),
    )


def _whole_files(backend: str) -> str:
    """Of a state in files: the engine writes a file of attributes beside each file, not in one step. Killed then, it
    leaves half of it, and the state cannot be read. Nobody needs those files. A relative path begins where the play
    runs; the engine runs elsewhere."""
    parts = urlsplit(backend)
    if parts.scheme != "file":
        return backend
    home = Path(parts.netloc + parts.path).expanduser().absolute()
    asked = "" if "metadata" in parse_qs(parts.query) else "metadata=skip"
    query = "&".join(filter(None, (parts.query, asked)))
    return f"file://{home}?{query}"


def environment(where: StackPlace, engine: Engine, environ: t.Mapping[str, str]) -> dict[str, str]:
    """The variables of the engine and of all that it starts: those of ``environ``, without ``PULUMI_*`` but for a few,
    and ours over them. The passphrase is named by its file, never by itself."""
    kept = {name: value for name, value in environ.items() if not name.startswith("PULUMI_") or name in _KEPT}
    passphrase = str(where.passphrase_file) if where.passphrase_file else ""
    return {
        **kept,
        "PATH": ":".join((str(where.python.parent), str(engine.folder), kept.get("PATH", "/usr/bin:/bin"))),
        "PULUMI_HOME": str(where.home),
        "PULUMI_BACKEND_URL": where.backend,
        "PULUMI_PYTHON_CMD": str(where.python),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DEBUG_COMMANDS": "true",  # or the engine does not know --event-log
        **({"PULUMI_CONFIG_PASSPHRASE_FILE": passphrase} if passphrase else {}),
    }


@contextlib.contextmanager
def workspace(where: StackPlace, config: Config) -> t.Iterator[Path]:
    """A folder with the project's file and the stack's settings: those of the project, and over them ``config``.

    The engine writes into it what it would write into the project, which stays as it is.
    """
    with tempfile.TemporaryDirectory(prefix="gitops-fleet-stack-") as folder:
        made = Path(folder)
        write_file(made / "Pulumi.yaml", _content(where.project / "Pulumi.yaml"), 0o600)
        settings = _document(where.project / f"Pulumi.{where.stack}.yaml")
        values = {**(settings.get("config") or {}), **{_full(where, name): value for name, value in config.items()}}
        document = {**settings, **({"config": values} if values else {})}
        write_file(made / f"Pulumi.{where.stack}.yaml", json.dumps(document).encode(), 0o600)
        yield made


def project_name(where: StackPlace) -> str:
    """As ``Pulumi.yaml`` says; FleetError ``no-project``."""
    name = _document(where.project / "Pulumi.yaml").get("name")
    if not isinstance(name, str) or not name:
        raise FleetError("no-project", "Pulumi.yaml has no name", str(where.project))
    return name


def ready_folder(where: StackPlace) -> None:
    """Makes the folder of a state in files, if it is not there."""
    if where.folder is not None:
        make_folder(where.folder, 0o700)


def _full(where: StackPlace, name: str) -> str:
    """A setting without a namespace is one of the project."""
    return name if ":" in name else f"{project_name(where)}:{name}"


def _document(path: Path) -> dict[str, t.Any]:
    """The first of a YAML file; empty without the file."""
    for found in read_yaml(_content(path).decode(errors="replace"), str(path)) if path.exists() else ():
        if isinstance(found, Problem):
            raise FleetError.of([found])
        if isinstance(found.value, dict):
            return found.value
    return {}


def _content(path: Path) -> bytes:
    try:
        return read_file(path, _MOST)
    except OSError as error:
        raise FleetError(
            "unreadable-file", f"the file cannot be read: {os.strerror(error.errno or 0)}", str(path)
        ) from None
