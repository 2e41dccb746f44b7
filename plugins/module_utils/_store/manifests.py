# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests from files and folders (and what Azure prints of a fleet, as such), each with the place that it was written
in; their apiVersion, kind, name and namespace judged (``not-a-mapping``, ``missing-field``, ``bad-name``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from .._core.errors import FleetError, Problem
from .._core.objects.service_json import manifests_of
from .documents_in_files import Document, read_documents
from .kinds import is_label, is_name


@dataclass(frozen=True)
class Manifest:
    """One object. ``path`` is its file as it was named, ``where`` that and the line it begins in (``web.yaml:12``)."""

    document: dict[str, t.Any]
    where: str
    path: str
    _place: Document | None = field(repr=False, default=None, compare=False)

    @property
    def of_manifest(self) -> bool:
        """Whether it stands in its file as it is here, and was not made of what Azure prints."""
        return self._place is not None

    def where_of(self, field_path: str) -> str:
        """``file:line`` of a field (``spec.policy.clusterNames[1]``), or of the nearest one around it that is there;
        for what Azure prints the line in which its document begins."""
        return f"{self.path}:{self._place.line_of(field_path)}" if self._place else self.where

    def written(self, field_path: str) -> str | None:
        """The text that is written in a field, where YAML reads a number or a boolean and JSON would write it otherwise
        (``no``, ``010``, ``1e3``); None for any other field, and for what Azure prints."""
        return self._place.written(field_path) if self._place else None


def read_manifests(paths: t.Iterable[str | Path]) -> tuple[Manifest, ...]:
    """The objects of the documents that ``read_documents`` finds, in their order. What Azure prints of a fleet is taken
    as the kinds of ours that have the same fields. That two are the same object is not looked at.

    FleetError with all problems of all files: those of ``read_documents``, ``not-a-mapping``, ``missing-field``,
    ``bad-name``; ``missing-library`` alone.
    """
    problems: list[Problem] = []
    manifests: list[Manifest] = []
    for each in read_documents(paths):
        if isinstance(each, Problem):
            problems.append(each)
        elif of_service := manifests_of(each.value):
            found = [Manifest(one, f"{each.path}:{each.line}", each.path) for one in of_service]
            problems += [problem for one in found for problem in _identity_problems(one)]
            manifests += found
        elif manifest := _manifest(each, problems):
            manifests.append(manifest)
    if problems:
        raise FleetError.of(problems)
    return tuple(manifests)


def _manifest(document: Document, problems: list[Problem]) -> Manifest | None:
    """The document as a manifest; None if it cannot be one, and then what is wrong is added to ``problems``."""
    where = f"{document.path}:{document.line}"
    if not isinstance(document.value, dict):
        problems.append(Problem("not-a-mapping", "a manifest is a mapping, with apiVersion, kind and metadata", where))
        return None
    manifest = Manifest(document.value, where, document.path, document)
    wrong = tuple(_identity_problems(manifest))
    problems.extend(wrong)
    return None if wrong else manifest


def _identity_problems(manifest: Manifest) -> t.Iterator[Problem]:
    """What is wrong with apiVersion, kind, name and namespace."""
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
            hint = _name_hint(manifest, metadata) if "name" in name else ""
            yield Problem("missing-field", f"{name} is missing", manifest.where_of(name), hint)
        elif not isinstance(value, str):
            yield Problem("bad-name", f"{name} is not text", manifest.where_of(name), "quote it")
    if isinstance(values["metadata.name"], str) and values["metadata.name"]:
        yield from _name_problems(manifest, values["metadata.name"], str(values["apiVersion"]))
    namespace = metadata.get("namespace")
    if namespace not in (None, "") and not (isinstance(namespace, str) and is_label(namespace)):
        yield Problem(
            "bad-name",
            "metadata.namespace is not the name of a namespace",
            manifest.where_of("metadata.namespace"),
            "lower-case letters, digits and -, at most 63 characters",
        )


def _name_hint(manifest: Manifest, metadata: t.Mapping[str, t.Any]) -> str:
    """How to mend a name that is missing; empty where there is nothing to say."""
    if not manifest.of_manifest:
        return "keep the id and the name that the service prints: they tell what this is"
    return "generateName makes another object each time: write a name" if "generateName" in metadata else ""


def _name_problems(manifest: Manifest, name: str, api_version: str) -> t.Iterator[Problem]:
    """Why it can be no name: those of roles and their bindings (``system:node``), of trust bundles, which begin with
    their signer, and of requests for certificates are any path segment, all others DNS subdomains."""
    where = manifest.where_of("metadata.name")
    if api_version.startswith(("rbac.authorization.k8s.io/", "certificates.k8s.io/")):
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
