# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Documents of files and folders as they stand there, each with the lines of its fields: which files count (links,
``.fleetlintignore``), their text (``no-such-file``, ``too-big``, ``not-utf-8``), Lists taken apart, comments that
silence the linter."""

from __future__ import annotations

import errno
import json
import os
import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from .._core.errors import Problem
from .._core.values.field_path import step
from .._kube.files import read_file, real_path
from .excluded import Excluded
from .yaml_documents import Lines, Texts, YamlDocument, read_yaml

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 10_000_000
# What is as short as a manifest can be is in ten megabytes so many times.
MAX_DOCUMENTS = 200_000
Silent = t.Mapping[int, frozenset[str]]
_COMMENT = re.compile(r"(?:^|\s)#\s*fleetlint:\s*ignore\s(?P<codes>[\w, -]+)")
IGNORE_FILE = ".fleetlintignore"
_ELSEWHERE = "this is a link to a file elsewhere, and such links are not followed"


@dataclass(frozen=True)
class Document:
    """One document. ``path`` is its file as it was named, ``line`` that in which it begins, counted from 1; ``silent``
    are the codes that comments of its file silence, by line."""

    value: t.Any
    path: str
    line: int
    lines: Lines = field(repr=False, default_factory=dict, compare=False)
    silent: Silent = field(repr=False, default_factory=dict, compare=False)
    texts: Texts = field(repr=False, default_factory=dict, compare=False)

    def written(self, field_path: str) -> str | None:
        """The text that is written in a field, where YAML reads a number or a boolean and JSON would write it otherwise
        (``no``, ``010``, ``1e3``); None for any other field, and for one that is not there."""
        value, rest, text = self.value, field_path, None
        while rest and (found := step(value, rest)) is not None:
            key, rest = found
            text = self.texts.get(id(value), {}).get(key)
            value = value[key]
        return None if rest else text

    def line_of(self, field_path: str) -> int:
        """The line, from 1, of a field (``spec.policy.clusterNames[1]``), or of the nearest one around it that is
        there; of the document if none is."""
        value, line, rest = self.value, self.line, field_path
        while rest and (found := step(value, rest) or _otherwise(value, rest)) is not None:
            key, rest = found
            if key is not None:
                line = self.lines.get(id(value), {}).get(key) or line
                value = value[key]
        return line


def _otherwise(value: t.Any, path: str) -> tuple[str | int | None, str] | None:
    """The step of a path that names the place after a repair, as ``step`` gives it: a mapping was made the only item of
    a list, or taken out of one. The key is None where the value stays the same; None for any other path."""
    if isinstance(value, dict) and path.startswith("[0]"):
        return None, path[3:].lstrip(".")
    if isinstance(value, list) and len(value) == 1 and not path.startswith("["):
        return 0, path
    return None


@dataclass(frozen=True)
class File:
    """A file as it is found; ``named`` if it was given itself, and not a folder around it."""

    path: str
    named: bool


def read_documents(paths: t.Iterable[str | Path]) -> t.Iterator[Document | Problem]:
    """The documents in these files and folders, in the order given, and among those of a file what is wrong with it.

    Folders are read with all folders below, but for hidden ones; in them ``*.yaml``, ``*.yml`` and ``*.json`` count
    (hidden files, too), in the order of their paths; links to folders, or out of the folder given, are ``unreadable``.
    Lists are taken apart, empty documents are left out; a file named twice is read once. Problems are those of
    ``read_yaml``, ``no-such-file``, ``unreadable``, ``too-big``, ``not-utf-8``; documents of such a file may lack
    parts. FleetError ``missing-library`` alone is raised.
    """
    for each in found_files(paths):
        text = each if isinstance(each, Problem) else file_text(each.path)
        if isinstance(text, Problem):
            yield text
        elif isinstance(each, File):
            yield from documents_of(text, each.path)


def found_files(paths: t.Iterable[str | Path], exclude: t.Sequence[str] | None = None) -> t.Iterator[File | Problem]:
    """The files that ``read_documents`` reads, in its order; problems of a folder (``unreadable``, and those of
    ``file_text`` for its ignore file) come behind its files. A path that is not there is given as a file.

    With ``exclude``, an empty one too, those are left out that its patterns fit, or those of the file
    ``.fleetlintignore`` in a folder that is given; not a file that is given itself. With None nothing is: a placement
    must not lose what it places by a file that is for the linter.
    """
    seen: set[str] = set()
    for given in paths:
        problems: list[Problem] = []
        named = not os.path.isdir(given)
        for path in [str(given)] if named else _below(str(given), problems, exclude):
            real = real_path(path)
            if real not in seen:
                seen.add(real)
                yield File(path, named)
        yield from problems


def documents_of(text: str, path: str) -> t.Iterator[Document | Problem]:
    """The documents of the text of one file, Lists taken apart, and what is wrong with it: problems of ``read_yaml``,
    and ``too-big`` for more than ``MAX_DOCUMENTS``. ``path`` is the file, for messages. FleetError ``missing-library``
    alone is raised."""
    number = 0
    many = Problem("too-big", f"this file has more than {MAX_DOCUMENTS} documents", path, "split it")
    if text.count("\n---") > MAX_DOCUMENTS:
        yield many
        return
    silent = _silent(text)
    for each in read_yaml(text, path):
        if isinstance(each, Problem):
            yield each
            continue
        for document in _taken_apart(each, path, silent):
            number += 1
            if number > MAX_DOCUMENTS:
                yield many
                return
            yield document


def _silent(text: str) -> Silent:
    """By line, the codes that ``# fleetlint: ignore CODE, CODE`` silences there: behind a field for its line; alone in
    a line, for the next line that is no comment."""
    found: dict[int, frozenset[str]] = {}
    if "fleetlint:" not in text:
        return found
    waiting: frozenset[str] = frozenset()
    for number, line in enumerate(text.splitlines(), 1):
        match = _COMMENT.search(line)
        codes = frozenset(re.findall(r"[\w-]+", match["codes"])) if match else frozenset()
        if line.lstrip().startswith("#"):
            waiting |= codes
        elif codes | waiting:
            found[number], waiting = codes | waiting, frozenset()
    return found


def _taken_apart(document: YamlDocument, path: str, silent: Silent) -> t.Iterator[Document]:
    """The document, or each item of it if it is a List, of Lists in it too; nothing that is empty (null)."""
    value = document.value
    kind, items = (value.get("kind"), value.get("items")) if isinstance(value, dict) else (None, None)
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        lines = document.lines.get(id(items), {})
        for index, item in enumerate(items):
            yield from _taken_apart(
                YamlDocument(item, lines.get(index, document.line), document.lines, document.texts), path, silent
            )
    elif value is not None:
        yield Document(value, path, document.line, document.lines, silent, document.texts)


def is_hidden(folder: str) -> bool:
    """Whether a folder of this name, in one that is read, is not read with it."""
    return folder.startswith(".")


def _below(path: str, problems: list[Problem], exclude: t.Sequence[str] | None) -> list[str]:
    """The files of the folder and of those below it, by their paths; adds what cannot be read, or is a link that is not
    followed, to ``problems``."""
    excluded = Excluded(() if exclude is None else (*exclude, *_ignored(path, problems)))
    found: list[str] = []

    def unreadable(error: OSError) -> None:
        """Adds a folder that cannot be listed to the problems."""
        problems.append(Problem("unreadable", f"this folder cannot be read: {error.strerror}", str(error.filename)))

    for folder, folders, names in os.walk(path, onerror=unreadable):
        here = os.path.relpath(folder, path)
        here = "" if here == "." else f"{here}/"
        folders[:] = [name for name in folders if not is_hidden(name) and not excluded.folder(here + name)]
        problems += [
            _linked(os.path.join(folder, name)) for name in folders if os.path.islink(os.path.join(folder, name))
        ]
        kept = (name for name in names if name.endswith(SUFFIXES) and not excluded.file(here + name))
        for file in (os.path.join(folder, name) for name in kept):
            if _leads_out(file, path):
                problems.append(Problem("unreadable", _ELSEWHERE, file, "name the file"))
            else:
                found.append(file)
    return sorted(found, key=lambda name: Path(name).parts)


def _leads_out(path: str, folder: str) -> bool:
    """Whether that is a link to what does not lie in the folder: who writes manifests is not to show files of the
    runner."""
    real = os.path.realpath(folder)
    return os.path.islink(path) and os.path.commonpath([real, os.path.realpath(path)]) != real


def _linked(path: str) -> Problem:
    """The Problem ``unreadable`` of a link to a folder, which may lead anywhere; passed over, what is behind it would
    look as if it were gone."""
    return Problem("unreadable", "this is a link to a folder, and such links are not followed", path, "name the folder")


def _ignored(folder: str, problems: list[Problem]) -> tuple[str, ...]:
    """The patterns of the folder's own ignore file, one in a line, without comments; none without it, or if it cannot
    be read or is a link that leaves the folder (which files it fits would tell what is in it): that is added to
    ``problems``."""
    path = os.path.join(folder, IGNORE_FILE)
    if not os.path.lexists(path):
        return ()
    if _leads_out(path, folder):
        problems.append(Problem("unreadable", _ELSEWHERE, path, "put the patterns here, or give them as exclude"))
        return ()
    text = file_text(path)
    if isinstance(text, Problem):
        problems.append(text)
        return ()
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def file_text(path: str) -> str | Problem:
    """The text of a file without its byte order mark; or the Problem: ``no-such-file``, ``too-big`` (over
    ``MAX_BYTES``), ``unreadable`` (also for what is no regular file), ``not-utf-8`` with its line."""
    try:
        data = read_file(path, MAX_BYTES)
    except FileNotFoundError:
        several = f"several are a list: {json.dumps(path.split(','))}" if "," in path else ""
        return Problem("no-such-file", "there is no such file or folder", path, several)
    except OSError as error:
        big = error.errno == errno.EFBIG
        text = f"this file cannot be read: {error.strerror}"
        return Problem("too-big" if big else "unreadable", text, path, "split it" if big else "")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem("not-utf-8", "this file is not UTF-8 text", f"{path}:{line}", "save it as UTF-8")
