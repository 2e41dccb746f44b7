# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure's own JSON of a fleet: what ``az fleet ... show`` and ``list`` print, REST bodies and lists, ARM templates."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..objects.api_groups import FLEET_API
from ..objects.reading import judge
from ..values.field_path import at
from .remark import Remark, of_finding, of_found

_TYPE = re.compile(r"microsoft\.containerservice/fleets/(?P<kind>[a-z]+)", re.IGNORECASE)
KINDS = {"updatestrategies": "UpdateStrategy", "updateruns": "UpdateRun", "autoupgradeprofiles": "AutoUpgradeProfile"}
# What the service adds, and what surrounds a resource in a template.
_AROUND = frozenset(
    (
        *("id", "name", "type", "eTag", "etag", "systemData", "resourceGroup", "provisioningState", "status"),
        *("autoUpgradeProfileStatus", "apiVersion", "dependsOn", "condition", "comments", "copy", "scope", "location"),
        *("tags", "metadata", "properties"),
    )
)
# What a template computes is not known here.
_EXPRESSION = re.compile(r"\[.*\]", re.DOTALL)
_SOME_NAME = "some-name"


@dataclass(frozen=True)
class ServiceResource:
    """``path`` is its place in the document."""

    path: str
    kind: str
    value: Mapping[str, t.Any]


def resources(document: t.Any, path: str = "") -> t.Iterator[ServiceResource]:
    """The strategies, runs and profiles of a document, if it is one of the service."""
    if isinstance(document, Mapping):
        kind = _kind(document)
        if kind:
            yield ServiceResource(path, kind, document)
            return
        for key in ("value", "resources"):
            if isinstance(document.get(key), list):
                yield from resources(document[key], f"{path}.{key}" if path else key)
    elif isinstance(document, list):
        for index, each in enumerate(document):
            if isinstance(each, Mapping) and ("type" in each or "properties" in each):
                yield from resources(each, f"{path}[{index}]")


def _kind(value: Mapping[str, t.Any]) -> str:
    given = value.get("type")
    if isinstance(given, str):
        match = _TYPE.fullmatch(given)
        return KINDS.get(match["kind"].lower(), "") if match else ""
    inner = value.get("properties")
    return "UpdateRun" if isinstance(inner, Mapping) and "managedClusterUpdate" in inner else ""


def judge_resource(resource: ServiceResource) -> t.Iterator[Remark]:
    """Remarks with paths of the document. The service takes the fields that our kind of the same name has."""
    value = resource.value
    nested = isinstance(value.get("properties"), Mapping)
    body = value["properties"] if nested else value
    name = value.get("name")
    known = isinstance(name, str) and not _EXPRESSION.fullmatch(name)
    manifest = {
        "apiVersion": FLEET_API,
        "kind": resource.kind,
        "metadata": {"name": str(name).rpartition("/")[2] if known else _SOME_NAME},
        "spec": {key: each for key, each in body.items() if key not in _AROUND},
    }
    judged = judge(manifest)
    for each in (*map(of_found, judged.problems), *map(of_finding, judged.findings)):
        written = at(manifest, each.path)
        if not (isinstance(written, str) and _EXPRESSION.fullmatch(written)):
            mended = {_moved(path, resource.path, nested): meant for path, meant in each.mended.items()}
            yield replace(each, path=_moved(each.path, resource.path, nested), mended=mended)


def _moved(path: str, outer: str, nested: bool) -> str:
    inner = path.removeprefix("metadata.") if path.startswith("metadata") else path.removeprefix("spec").lstrip(".")
    if nested and path.startswith("spec"):
        inner = f"properties.{inner}".rstrip(".")
    return ".".join(filter(None, (outer, inner)))
