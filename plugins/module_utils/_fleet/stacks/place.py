# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which stack of a Pulumi project is meant (``bad-backend``, ``bad-stack``), where its state, its plugins and its
passphrase are, the project's name, a workspace with its settings (``bad-config``), and the engine's environment,
without the caller's Pulumi variables but for the access token."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import typing as t
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from ..._core.errors import FleetError, Problem
from ..._kube.files import is_impossible_name, read_file, write_file
from ..._local.locks import make_folder
from ..._local.pulumi_engine import Engine
from ..._store.yaml_documents import read_yaml

Options = t.Mapping[str, t.Any]
Config = t.Mapping[str, t.Any]
# Of the caller's Pulumi: how one logs in to a backend that is a service.
ACCESS_TOKEN = "PULUMI_ACCESS_TOKEN"
_MOST = 10_000_000
_STACK = re.compile(r"[A-Za-z0-9_.-]{1,100}")


@dataclass(frozen=True, kw_only=True)
class StackPlace:
    """``project`` is the folder of the program, ``backend`` a URL, in which a password may stand; ``passphrase_file``
    has what encrypts secrets of the stack, None where a service does, or nothing has to; ``home`` is where the engine
    has its plugins; ``python`` has the packages of the program. Paths are absolute."""

    project: Path
    stack: str
    backend: str = field(repr=False)
    home: Path
    passphrase_file: Path | None
    python: Path

    @property
    def folder(self) -> Path | None:
        """The folder of a state in files; None for another backend."""
        parts = urlsplit(self.backend)
        return Path(_decoded(parts.path)).expanduser() if parts.scheme == "file" else None


def place(options: Options) -> StackPlace:
    """The place that the options ``project_dir``, ``stack`` and ``backend_url`` of a verb, which must be there, and
    ``home``, ``python`` and ``passphrase_file`` name, which are ``~/.pulumi``, this Python and None where they are left
    out. Relative paths begin where the play runs. FleetError with all that there are of ``bad-path``, ``no-project``,
    ``no-passphrase``, ``bad-backend``, ``bad-stack``."""
    problems: list[Problem] = []

    def path(option: str, given: str) -> Path:
        """The option's absolute path; one that is not to be used is noted as ``bad-path``."""
        found, wrong = _absolute(given)
        if wrong:
            problems.append(Problem("bad-path", wrong, option))
        return found

    project, passphrase = path("project_dir", str(options["project_dir"])), options.get("passphrase_file")
    home = path("home", str(options.get("home") or "~/.pulumi"))
    python = path("python", str(options.get("python") or sys.executable))
    passphrase_file = path("passphrase_file", str(passphrase)) if passphrase else None
    bad = {each.where for each in problems}
    if "project_dir" not in bad and not os.path.isfile(project / "Pulumi.yaml"):
        text = f"there is no Pulumi.yaml in {project}"
        problems.append(Problem("no-project", text, "project_dir", "name the folder of the program"))
    if passphrase_file is not None and "passphrase_file" not in bad and not os.path.isfile(passphrase_file):
        hint = "make one that you alone can read; it encrypts the secrets in the state, which nobody reads without it"
        problems.append(Problem("no-passphrase", f"there is no file {passphrase}", "passphrase_file", hint))
    backend, wrong = _usable_backend(str(options["backend_url"]))
    if wrong:
        problems.append(Problem("bad-backend", wrong, "backend_url", "for example file:///srv/fleet-state"))
    if not _STACK.fullmatch(str(options["stack"] or "")):
        hint = "letters, digits, - _ and ."
        problems.append(Problem("bad-stack", f"{options['stack']!r:.200} is no name of a stack", "stack", hint))
    if problems:
        raise FleetError.of(problems)
    return StackPlace(
        project=project,
        stack=str(options["stack"]),
        backend=backend,
        home=home,
        passphrase_file=passphrase_file,
        python=python,
    )


def _absolute(text: str) -> tuple[Path, str]:
    """The path, absolute and with ``~`` resolved, and what is wrong with it, empty if nothing is; if something is, the
    path is not to be used. An empty text does not mean the folder where the play runs: a variable has lost its
    content."""
    if not text:
        return Path(), "it names no path"
    if is_impossible_name(text):  # asked first: who looks for a home of such a name ends in another error
        return Path(), f"no file can be called {text!r:.200}"
    found = os.path.expanduser(text)
    return Path(found).absolute(), f"there is no home for {text:.200}" if found.startswith("~") else ""


def _usable_backend(backend: str) -> tuple[str, str]:
    """The URL, and what is wrong with it, empty if nothing is, without showing it, for a password may stand in it. The
    URL of a state in files gets an absolute path, since the engine runs elsewhere, and ``metadata=skip`` unless it says
    something of ``metadata``: the engine else writes a file of attributes beside each file, not in one step, and if
    killed then leaves a state that cannot be read."""
    if is_impossible_name(backend):
        return backend, "there is a character in it that no backend can be called by"
    try:
        parts = urlsplit(backend)
    except ValueError:
        return backend, "it is no URL of a backend"
    if not parts.scheme:
        return backend, "it is no URL of a backend"
    if parts.scheme != "file":
        return backend, ""
    home, wrong = _absolute(_decoded(parts.netloc + parts.path))
    asked = "" if "metadata" in parse_qs(parts.query) else "metadata=skip"
    query = "&".join(filter(None, (parts.query, asked)))
    return f"{files_url(home)}?{query}", wrong


def files_url(folder: str | Path) -> str:
    """The URL of a state in files in the folder, as the engine reads it."""
    return f"file://{quote(os.fsencode(folder))}"


def _decoded(path: str) -> str:
    """The path of a URL as the name of a file, as the engine reads it: ``%20`` is a space."""
    return unquote(path, errors="surrogateescape")


def environment(where: StackPlace, engine: Engine, environ: t.Mapping[str, str]) -> dict[str, str]:
    """The variables of the engine and of all that it starts: those of ``environ``, of ``PULUMI_*`` none but
    ``PULUMI_ACCESS_TOKEN``, and ours over them; the folders of ``python`` and of the engine stand first in ``PATH``.
    The passphrase is named by its file, never by itself."""
    kept = {name: value for name, value in environ.items() if not name.startswith("PULUMI_") or name == ACCESS_TOKEN}
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
    """A folder with the project's file and the stack's settings: those of the project, and over them ``config``, name
    by name. The engine writes into it what it would write into the project; it is gone afterwards. FleetError
    ``bad-config``, ``unreadable-file``, ``no-project``, ``missing-library``, and those of YAML that cannot be parsed;
    OSError if the folder cannot be made or written."""
    with tempfile.TemporaryDirectory(prefix="gitops-fleet-stack-") as folder:
        made = Path(folder)
        project, apart = _project(where)
        write_file(made / "Pulumi.yaml", project, 0o600)
        file = where.project / apart / f"Pulumi.{where.stack}.yaml"
        settings = _document(file)
        known = settings.get("config") or {}
        if not isinstance(known, dict):
            raise FleetError("bad-config", "config is no mapping", str(file))
        # Of one setting under both forms of its name the engine takes either.
        values = {_full(where, name): value for name, value in (*known.items(), *config.items())}
        document = {**settings, **({"config": values} if values else {})}
        write_file(made / file.name, json_bytes(document, f"config and {file}"), 0o600)
        yield made


def _project(where: StackPlace) -> tuple[bytes, str]:
    """The project's file without its folder for settings, and that folder; if it has none, the file as it is and an
    empty text. FleetError ``bad-config``, ``unreadable-file``, and those of YAML."""
    file = where.project / "Pulumi.yaml"
    document = _document(file)
    apart = document.pop("stackConfigDir", None)
    if apart is None:
        return _content(file), ""
    if not isinstance(apart, str):
        raise FleetError("bad-config", "stackConfigDir is no text", str(file))
    return json_bytes(document, str(file)), apart


def json_bytes(value: t.Any, where: str) -> bytes:
    """The value as JSON. FleetError ``bad-config`` at ``where`` for anything that JSON has no form for, such as a date,
    NaN and infinity; it tells nothing of the value."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        words = "only texts, numbers, booleans, lists and mappings can be passed on"
        raise FleetError("bad-config", words, where, "write it in quotes") from None


def project_name(where: StackPlace) -> str:
    """The name of the project, as ``Pulumi.yaml`` says. FleetError ``no-project``, ``unreadable-file``,
    ``missing-library``, and those of YAML that cannot be parsed."""
    name = _document(where.project / "Pulumi.yaml").get("name")
    if not isinstance(name, str) or not name:
        raise FleetError("no-project", "Pulumi.yaml has no name", str(where.project))
    return name


def ready_folder(where: StackPlace) -> None:
    """Makes the folder of a state in files; nothing for another backend. FleetError ``unwritable-folder``."""
    if where.folder is not None:
        make_folder(where.folder, 0o700)


def _full(where: StackPlace, name: str) -> str:
    """The setting's name with its namespace; one without is a setting of the project. FleetError as of
    ``project_name``."""
    return name if ":" in name else f"{project_name(where)}:{name}"


def _document(path: Path) -> dict[str, t.Any]:
    """The first mapping among the documents of a YAML file; empty without one, and without the file. FleetError
    ``unreadable-file``, ``missing-library``, and those of YAML that stand before it."""
    try:
        content = read_file(path, _MOST)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from None
    for found in read_yaml(content.decode(errors="replace"), str(path)):
        if isinstance(found, Problem):
            raise FleetError.of([found])
        if isinstance(found.value, dict):
            return found.value
    return {}


def _content(path: Path) -> bytes:
    """The bytes of the file. FleetError ``unreadable-file``, also above 10 MB."""
    try:
        return read_file(path, _MOST)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> FleetError:
    """The error for a file that cannot be read, given back."""
    return FleetError("unreadable-file", f"the file cannot be read: {os.strerror(error.errno or 0)}", str(path))
