# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reading kubeconfig files as kubectl reads them (``kubeconfig-missing``, ``kubeconfig-invalid``), and their YAML as
JSON; where they are: several may be given, and the first that has a name wins."""

from __future__ import annotations

import codecs
import functools
import os
import re
import threading
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._core.values.canonical import joined_pairs
from ..files import read_file, with_home

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

MAX_BYTES = 20_000_000  # of one file; a thousand clusters with their keys take six
MAX_DEPTH = 200  # levels, as of answers and manifests
MAX_UNFOLDED = 4 * MAX_BYTES  # characters, with what aliases stand for written out
_MAX_MERGED = 100_000  # keys that << merges in
_MERGE = "tag:yaml.org,2002:merge"
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_PLACES = (
    *("HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"),
    *(
        "CI_PROJECT_DIR",
        "GITHUB_WORKSPACE",
        "RUNNER_TEMP",
        "BUILD_SOURCESDIRECTORY",
        "AGENT_TEMPDIRECTORY",
        "WORKSPACE",
    ),
)
# What a line goes down many levels by, with the zeros that UTF-16 has between.
_INDENTED = re.compile(r"[ \t?:\0-]{200}")
_LISTS = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(frozen=True)
class Entry:
    """One named cluster, user or context. ``base`` is the folder that relative paths in it start from."""

    value: t.Mapping[str, t.Any] = field(repr=False)
    base: Path


@dataclass(frozen=True)
class Kubeconfig:
    """Entries by name. ``where`` is its path or place, for messages; ``current`` its current-context, or empty."""

    where: str
    current: str
    clusters: t.Mapping[str, Entry] = field(repr=False)
    users: t.Mapping[str, Entry] = field(repr=False)
    contexts: t.Mapping[str, Entry] = field(repr=False)


def local_path(text: str, environ: t.Mapping[str, str]) -> str:
    """The path with its ``~`` expanded, and the variables that say where things are (``HOME``, ``GITHUB_WORKSPACE`` and
    the like), if they are set. All others stay: who may write paths does not read the runner's secrets out of them."""

    def value(found: re.Match[str]) -> str:
        """What the variable stands for, or as it is written."""
        name = found[1] or found[2]
        return environ.get(name, found[0]) if name in _PLACES else found[0]

    return with_home(_VARIABLE.sub(value, text), environ)


def usual_path(given: str, environ: t.Mapping[str, str]) -> str:
    """What kubectl reads, with each ``~`` expanded: the given path, else KUBECONFIG (one file, or several joined by
    ``:``), else ``~/.kube/config``. An empty one counts as none; nothing has to be there."""
    found = given or environ.get("KUBECONFIG") or "~/.kube/config"
    return os.pathsep.join(with_home(each, environ) for each in found.split(os.pathsep))


def read_kubeconfig(path: str | Path) -> Kubeconfig:
    """One file, or several joined by ``:`` as in KUBECONFIG, of which those that are missing are passed over, and the
    first that has a name wins. FleetError ``kubeconfig-missing`` if there is none or one cannot be read,
    ``kubeconfig-invalid``, ``missing-library``."""
    text = with_home(str(path), os.environ)
    names = [text] if os.path.exists(text) else [part for part in text.split(os.pathsep) if part]
    files = [with_home(name, os.environ) for name in names]
    found = [file for file in files if _is_there(file)]
    if not found:
        raise FleetError("kubeconfig-missing", f"there is no kubeconfig file {path}", str(path), "see KUBECONFIG")
    return _merged(str(path), [_file(file) for file in found])


def _is_there(path: str) -> bool:
    """False only where it is known that there is no such file. FleetError ``kubeconfig-missing`` for what cannot be
    looked at."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from None
    except ValueError:
        raise _unreadable(path, "no file can have this name") from None
    return True


def _unreadable(path: str, why: str) -> FleetError:
    """The FleetError ``kubeconfig-missing``, given back."""
    return FleetError("kubeconfig-missing", f"the kubeconfig cannot be read: {why}", path)


def kubeconfig_from_document(document: t.Any, where: str, base: Path = Path()) -> Kubeconfig:
    """A kubeconfig given as the mapping that its YAML holds; paths in it begin at ``base``. FleetError
    ``kubeconfig-invalid`` with all that is wrong with its form."""
    if not isinstance(document, dict):
        raise FleetError("kubeconfig-invalid", "a kubeconfig is a mapping with clusters, users and contexts", where)
    problems: list[Problem] = []
    tables = {name: _table(document, name, where, base, problems) for name in _LISTS}
    current = document.get("current-context")
    if not isinstance(current, (str, type(None))):
        problems.append(Problem("kubeconfig-invalid", "is not a text", f"{where} current-context"))
    if problems:
        raise FleetError.of(problems)
    return Kubeconfig(where, current or "", **tables)


def parse_yaml(text: str | bytes, where: str) -> t.Any:
    """The one document, None for an empty text. FleetError ``kubeconfig-invalid``, also for several documents, with the
    line, if PyYAML tells it, and nothing of the text; ``missing-library``. What aliases stand for is in it again and
    again, within ``MAX_UNFOLDED`` characters."""
    if yaml is None:
        raise FleetError("missing-library", "the Python library PyYAML is not installed", where, "pip install PyYAML")
    try:
        readable, loader = _readable(text), _loader()
        _refuse_deep(readable, loader)
        document = yaml.load(readable, Loader=loader)
        too_large = _unfolded(document, {}) > MAX_UNFOLDED
    # Beside its own errors PyYAML lets through those of numbers, days and tags that Python does not have.
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        raise FleetError("kubeconfig-invalid", "the kubeconfig is not YAML", place) from None
    if too_large:
        raise FleetError("kubeconfig-invalid", "the aliases of the kubeconfig unfold to too much", where)
    return document


def _refuse_deep(text: str | bytes, loader: t.Any) -> None:
    """ValueError for more than ``MAX_DEPTH`` levels: PyYAML goes down them in C, where too many end the process. Errors
    of PyYAML."""
    shown = text if isinstance(text, str) else text.decode("latin-1")
    if shown.count("[") + shown.count("{") <= MAX_DEPTH and not _INDENTED.search(shown):
        return
    depth = 0
    for each in yaml.parse(text, Loader=loader):
        depth += isinstance(each, yaml.CollectionStartEvent) - isinstance(each, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")


def _readable(text: str | bytes) -> str | bytes:
    """The text as it is; of JSON in UTF-8 without a byte order mark and with each escaped surrogate pair as its
    character, which PyYAML does not read. ValueError for what begins as such and is no UTF-8."""
    begin = text.removeprefix("\ufeff") if isinstance(text, str) else text.removeprefix(codecs.BOM_UTF8)
    if begin.lstrip()[:1] not in ("{", b"{"):
        return text
    return joined_pairs(begin if isinstance(begin, str) else begin.decode())


def as_json(value: t.Any) -> t.Any:
    """A value of such a document as JSON has it: keys are texts, what JSON does not have (days, bytes) is what ``str``
    makes of it, sets and tuples are lists. Infinite numbers and NaN stay."""
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [as_json(each) for each in value]
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def _loader() -> t.Any:
    """A class of YAML loaders that make plain values only, and count what ``<<`` merges."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return type("_Loader", (base,), {"flatten_mapping": _flatten_mapping, "merged": 0})


def _flatten_mapping(self: t.Any, node: t.Any) -> None:
    """Counts what is merged, level by level, before PyYAML writes it out; ValueError if it is more than ``_MAX_MERGED``
    keys."""
    for key, value in node.value:
        if key.tag == _MERGE:
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(source, yaml.MappingNode):
                    self.flatten_mapping(source)
                    self.merged += len(source.value)
                if self.merged > _MAX_MERGED:
                    raise ValueError("too much is merged")
    super(type(self), self).flatten_mapping(node)


def _unfolded(value: t.Any, known: dict[int, int]) -> int:
    """Characters of the value when each alias is written out; beyond all limits for one that is within itself.
    ``known`` has what was counted, by ``id``. RecursionError for what is too deep."""
    if isinstance(value, (str, bytes)):
        return len(value) + 1
    if not isinstance(value, (dict, list, tuple, set)):
        return len(str(value))
    if id(value) not in known:
        known[id(value)] = MAX_UNFOLDED + 1
        parts = [*value, *(value.values() if isinstance(value, dict) else ())]
        known[id(value)] = 1 + sum(_unfolded(each, known) for each in parts)
    return known[id(value)]


def _file(path: str) -> Kubeconfig:
    """The kubeconfig in the file, parsed again only when that has changed. FleetError ``kubeconfig-missing`` if it
    cannot be read, and as of ``parse_yaml`` and ``kubeconfig_from_document``."""
    try:
        state = os.stat(path)
        with _PARSING:
            return _parsed(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from None


# A fleet of a thousand contexts in one file is parsed once, not a thousand times. The cache alone would not do: threads
# that ask while the first still parses would all parse.
_PARSING = threading.Lock()


@functools.lru_cache(maxsize=64)
def _parsed(path: str, _mtime_ns: int, _size: int, _inode: int) -> Kubeconfig:
    """The kubeconfig in the file, kept as long as it has this time, size and inode. OSError of ``read_file``,
    FleetError as of ``_file``."""
    document = parse_yaml(read_file(path, MAX_BYTES), path)
    return kubeconfig_from_document(document, path, Path(path).absolute().parent)


def _merged(where: str, parts: t.Sequence[Kubeconfig]) -> Kubeconfig:
    """One kubeconfig of several: the first that has a name wins, and the first current-context."""
    if len(parts) == 1:
        return parts[0]

    def first(tables: t.Iterable[t.Mapping[str, Entry]]) -> dict[str, Entry]:
        """The tables as one; of a name that is in several, the entry of the first."""
        merged: dict[str, Entry] = {}
        for table in tables:
            merged = {**table, **merged}
        return merged

    current = next((part.current for part in parts if part.current), "")
    return Kubeconfig(
        where,
        current,
        first(p.clusters for p in parts),
        first(p.users for p in parts),
        first(p.contexts for p in parts),
    )


def _table(
    document: t.Mapping[str, t.Any], name: str, where: str, base: Path, problems: list[Problem]
) -> dict[str, Entry]:
    """The entries of one list (``clusters``, ``users``, ``contexts``) by name; what is wrong is added to
    ``problems``."""
    rows, inner = document.get(name) or [], _LISTS[name]
    if not isinstance(rows, list):
        problems.append(Problem("kubeconfig-invalid", f"{name} is not a list", f"{where} {name}"))
        return {}
    table: dict[str, Entry] = {}
    for index, row in enumerate(rows):
        place = f"{where} {name}[{index}]"
        if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not row["name"]:
            problems.append(Problem("kubeconfig-invalid", "an entry needs a name", place))
        elif not isinstance(row.get(inner) or {}, dict):
            problems.append(Problem("kubeconfig-invalid", f"{inner} of {row['name']!r} is not a mapping", place))
        elif row["name"] in table:
            problems.append(Problem("kubeconfig-invalid", f"the name {row['name']!r} is there twice", place))
        else:
            table[row["name"]] = Entry(row.get(inner) or {}, base)
    return table
