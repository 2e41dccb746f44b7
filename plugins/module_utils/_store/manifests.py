# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests from files and folders, each with the place that it was written in."""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from .._core.errors import FleetError, Problem
from .kinds import is_name
from .yaml_documents import Lines, YamlDocument, read_yaml

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 10_000_000
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_STEP = re.compile(r"\[(?P<index>\d+)\]|\[(?P<quote>['\"]?)(?P<key>[^\]]*?)(?P=quote)\]")


@dataclass(frozen=True)
class Manifest:
    """One object. ``path`` is its file as it was named, ``where`` that and the line it begins in (``web.yaml:12``)."""

    document: dict[str, t.Any]
    where: str
    path: str
    _lines: Lines = field(repr=False, default_factory=dict, compare=False)

    def where_of(self, field_path: str) -> str:
        """``file:line`` of a field (``spec.policy.clusterNames[1]``), or of the nearest one around it that is there."""
        value: t.Any = self.document
        where, rest = self.where, field_path
        while rest and (found := _step(value, rest)) is not None:
            key, rest = found
            line = self._lines.get(id(value), {}).get(key)
            where = f"{self.path}:{line}" if line else where
            value = value[key]
        return where


def read_manifests(paths: t.Iterable[str | Path]) -> tuple[Manifest, ...]:
    """The objects in these files and folders, in the order given; a folder's files in the order of their paths.

    Folders are read with all folders below, but for hidden ones; in them ``*.yaml``, ``*.yml`` and ``*.json`` count. A
    file may hold several documents, and Lists, which are taken apart; a file named twice is read once. A byte order
    mark and CRLF are fine. FleetError with all problems of all files: those of ``read_yaml``, ``no-such-file``,
    ``unreadable``, ``too-big`` (10 MB), ``not-utf-8``, ``not-a-mapping``, ``missing-field``, ``bad-name``.
    """
    problems: list[Problem] = []
    manifests: list[Manifest] = []
    for path in _files(paths, problems):
        text = _text(path, problems)
        if text is None:
            continue
        documents, wrong = read_yaml(text, path)
        problems.extend(wrong)
        for document in documents:
            manifests.extend(_objects(document, path, problems))
    if problems:
        raise FleetError.of(problems)
    return tuple(manifests)


def _files(paths: t.Iterable[str | Path], problems: list[Problem]) -> t.Iterator[str]:
    seen: set[str] = set()
    for given in paths:
        for path in _below(str(given), problems):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path


def _below(path: str, problems: list[Problem]) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found: list[str] = []

    def unreadable(error: OSError) -> None:
        problems.append(Problem("unreadable", f"this folder cannot be read: {error.strerror}", str(error.filename)))

    for folder, folders, files in os.walk(path, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(folder, name) for name in files if name.endswith(SUFFIXES)]
    return sorted(found, key=lambda name: Path(name).parts)


def _text(path: str, problems: list[Problem]) -> str | None:
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            problems.append(Problem("unreadable", "this is neither a file nor a folder", path))
            return None
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        problems.append(Problem("no-such-file", "there is no such file or folder", path))
        return None
    except OSError as error:
        problems.append(Problem("unreadable", f"this file cannot be read: {error.strerror}", path))
        return None
    if len(data) > MAX_BYTES:
        problems.append(Problem("too-big", f"this file has more than {MAX_BYTES // 1_000_000} MB", path, "split it"))
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(Problem("not-utf-8", "this file is not UTF-8 text", f"{path}:{line}", "save it as UTF-8"))
        return None


def _objects(document: YamlDocument, path: str, problems: list[Problem]) -> t.Iterator[Manifest]:
    value, where = document.value, f"{path}:{document.line}"
    if value is None:
        return
    if not isinstance(value, dict):
        problems.append(Problem("not-a-mapping", "a manifest is a mapping, with apiVersion, kind and metadata", where))
    elif _is_list(value):
        lines = document.lines.get(id(value["items"]), {})
        for index, item in enumerate(value["items"]):
            yield from _objects(YamlDocument(item, lines.get(index, document.line), document.lines), path, problems)
    else:
        manifest = Manifest(value, where, path, document.lines)
        wrong = tuple(_identity_problems(manifest))
        problems.extend(wrong)
        if not wrong:
            yield manifest


def _is_list(value: t.Mapping[str, t.Any]) -> bool:
    return str(value.get("kind", "")).endswith("List") and isinstance(value.get("items"), list)


def _identity_problems(manifest: Manifest) -> t.Iterator[Problem]:
    document = manifest.document
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        yield Problem("not-a-mapping", "metadata is not a mapping", manifest.where_of("metadata"))
        return
    metadata = metadata or {}
    values = {
        "apiVersion": document.get("apiVersion"),
        "kind": document.get("kind"),
        "metadata.name": metadata.get("name"),
    }
    for name, value in values.items():
        if value in (None, ""):
            hint = "generateName makes another object each time: write a name" if "generateName" in metadata else ""
            yield Problem(
                "missing-field", f"{name} is missing", manifest.where_of(name), hint if "name" in name else ""
            )
        elif not isinstance(value, str):
            yield Problem("bad-name", f"{name} is not text", manifest.where_of(name), "quote it")
    if isinstance(values["metadata.name"], str) and values["metadata.name"]:
        yield from _name_problems(manifest, values["metadata.name"], str(values["apiVersion"]))
    namespace = metadata.get("namespace")
    if namespace not in (None, "") and not (
        isinstance(namespace, str) and len(namespace) <= 63 and _LABEL.fullmatch(namespace)
    ):
        yield Problem(
            "bad-name",
            "metadata.namespace is not the name of a namespace",
            manifest.where_of("metadata.namespace"),
            "lower-case letters, digits and -, at most 63 characters",
        )


def _name_problems(manifest: Manifest, name: str, api_version: str) -> t.Iterator[Problem]:
    """Names of roles and their bindings are any path segment (``system:node``); all others DNS subdomains."""
    where = manifest.where_of("metadata.name")
    if api_version.startswith("rbac.authorization.k8s.io/"):
        if name in (".", "..") or "/" in name or "%" in name or len(name) > 253:
            yield Problem(
                "bad-name", "metadata.name cannot be part of a path", where, "no / and no %, at most 253 characters"
            )
    elif len(name) > 253:
        yield Problem("bad-name", f"metadata.name has {len(name)} characters", where, "at most 253 characters")
    elif not is_name(name):
        yield Problem(
            "bad-name",
            f"metadata.name {name!r} is not a DNS subdomain (RFC 1123)",
            where,
            "lower-case letters, digits, - and ., begun and ended by a letter or digit",
        )


def _step(value: t.Any, path: str) -> tuple[str | int, str] | None:
    """The key or index that ``path`` goes through first, and the rest. Keys may hold dots: the longest one wins."""
    bracket = _STEP.match(path)
    if isinstance(value, list):
        index = int(bracket["index"]) if bracket and bracket["index"] else -1
        return (index, path[bracket.end() :].lstrip(".")) if bracket and 0 <= index < len(value) else None
    if not isinstance(value, dict):
        return None
    if bracket and (bracket["key"] or bracket["index"]) in value:
        return bracket["key"] or bracket["index"], path[bracket.end() :].lstrip(".")
    fits = [key for key in value if path.startswith(key) and path[len(key) : len(key) + 1] in ("", ".", "[")]
    if not fits:
        return None
    key = max(fits, key=len)
    return key, path[len(key) :].lstrip(".")
