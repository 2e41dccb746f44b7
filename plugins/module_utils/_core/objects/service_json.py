# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure's own JSON read as manifests of ours: what ``az fleet ... show``, ``list`` and ``az aks
maintenanceconfiguration`` print, REST bodies and lists, ARM templates."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from .api_groups import FLEET_API

_TYPE = re.compile(r"microsoft\.containerservice/(?P<of>fleets|managedclusters)/(?P<kind>[a-z]+)", re.IGNORECASE)
_ID = re.compile(
    r"/providers/(?P<namespace>microsoft\.containerservice)/(?P<of>fleets|managedclusters)/(?P<owner>[^/]+)"
    r"/(?P<kind>[a-z]+)/(?P<name>[^/]+)/?",
    re.IGNORECASE,
)
MAINTENANCE, MEMBER, GATE = "FleetMaintenance", "FleetMember", "Gate"
KINDS: t.Mapping[tuple[str, str], str] = {
    ("fleets", "updatestrategies"): "UpdateStrategy",
    ("fleets", "updateruns"): "UpdateRun",
    ("fleets", "autoupgradeprofiles"): "AutoUpgradeProfile",
    ("fleets", "gates"): GATE,
    ("fleets", "members"): MEMBER,
    ("managedclusters", "maintenanceconfigurations"): MAINTENANCE,
}
# Bodies of requests have no type: what only one of them has.
_TELLING = {
    "managedClusterUpdate": "UpdateRun",
    "gateType": GATE,
    "clusterResourceId": MEMBER,
    "maintenanceWindow": MAINTENANCE,
    "timeInWeek": MAINTENANCE,
}
# What the service adds, and what surrounds a resource in a template.
_AROUND = frozenset(
    (
        *("id", "name", "type", "eTag", "etag", "systemData", "resourceGroup", "provisioningState", "status"),
        *("autoUpgradeProfileStatus", "apiVersion", "dependsOn", "condition", "comments", "copy", "scope", "location"),
        *("tags", "metadata", "properties"),
    )
)
_ELSEWHERE: t.Mapping[str, frozenset[str]] = {
    GATE: frozenset({"state"}),
    MEMBER: frozenset({"clusterResourceId", "labels"}),
}
# What a template computes is not known here.
EXPRESSION = re.compile(r"\[.*\]", re.DOTALL)
_SOME_NAME, _SOME_ID = "some-name", "00000000-0000-0000-0000-000000000000"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_WINDOW = "spec.windows[0]"


@dataclass(frozen=True)
class ServiceResource:
    """One resource in Azure's JSON. ``path`` is its place in the document, ``kind`` the kind of ours that has its
    fields, ``value`` the resource as it is written."""

    path: str
    kind: str
    value: Mapping[str, t.Any]

    @property
    def nested(self) -> bool:
        """Whether its fields are in ``properties``, and not flat, as ``az`` shows them."""
        return isinstance(self.value.get("properties"), Mapping)

    @property
    def body(self) -> Mapping[str, t.Any]:
        """Its fields: ``properties``, or the resource itself where they are not nested."""
        return self.value["properties"] if self.nested else self.value

    @property
    def name(self) -> str:
        """The last part of its name; empty where it is not given, no text, or computed by a template."""
        name = self.value.get("name")
        return name.rpartition("/")[2] if isinstance(name, str) and not EXPRESSION.fullmatch(name) else ""

    @property
    def _id(self) -> re.Match[str] | None:
        """The parts of its id; None where that is not given, or of another form."""
        return _ID.search(str(self.value.get("id") or ""))

    @property
    def owner(self) -> str:
        """The name of the fleet or the cluster that it belongs to, by its id, or else what stands before the last slash
        of its name; empty where that is not told, or computed by a template."""
        found = self._id
        name = str(self.value.get("name") or "")
        if found:
            return found["owner"]
        return "" if EXPRESSION.fullmatch(name) else name.rpartition("/")[0]

    @property
    def owner_id(self) -> str:
        """Which of all fleets and clusters ``owner`` is, in lower case: the id up to its name, or else its name alone;
        empty where neither is told."""
        found = self._id
        return (found.string[: found.end("owner")] if found else self.owner).lower()

    @property
    def named(self) -> bool:
        """Whether its manifest has a name that is not made up: its own, or for maintenance that of its cluster."""
        return bool(_name_of(self.owner) if self.kind == MAINTENANCE else self.name)

    def manifest(self) -> dict[str, t.Any]:
        """A manifest of our kind with the same fields, without what the service or a template adds; nothing is judged,
        and values are shared with the document. A name that is not known is made up, and so is the connection of a
        member. A maintenance configuration is one window of a FleetMaintenance with the name of its cluster; a window
        without a name has that in its id, or else AKS' usual one."""
        apart = _AROUND | _ELSEWHERE.get(self.kind, frozenset())
        spec = {key: each for key, each in self.body.items() if key not in apart}
        metadata: dict[str, t.Any] = {"name": self.name or (_SOME_ID if self.kind == GATE else _SOME_NAME)}
        if self.kind == MAINTENANCE:
            usual = "default" if spec.get("timeInWeek") else "aksManagedAutoUpgradeSchedule"
            found = self._id
            metadata = {"name": _name_of(self.owner) or _SOME_NAME}
            spec = {"windows": [{"name": self.name or (found["name"] if found else usual), **spec}]}
        if self.kind == MEMBER:
            metadata |= {"labels": self.body["labels"]} if self.body.get("labels") else {}
            spec["connection"] = {"kubeconfig": _SOME_NAME}
        return {"apiVersion": FLEET_API, "kind": self.kind, "metadata": metadata, "spec": spec}

    def place(self, path: str) -> str:
        """Where in the document a path of ``manifest()`` stands; what is made up or comes from the id has the place
        where it would be written."""
        fields = "properties" if self.nested else ""
        if path in ("metadata.name", f"{_WINDOW}.name"):
            return _joined(self.path, "name")
        for outer in (_WINDOW, "spec", "metadata"):
            if path == outer or path.startswith((f"{outer}.", f"{outer}[")):
                return _joined(self.path, fields, path.removeprefix(outer).lstrip("."))
        return _joined(self.path, path)


def resources(document: t.Any, path: str = "") -> t.Iterator[ServiceResource]:
    """The resources of Azure's service in a document, in its lists and templates too, in order; none in a manifest,
    which has a ``kind``, none inside another resource that is found, and none in an item of a list that has none of
    ``id``, ``type`` and ``properties``. A body of a request, which has no type, is known by a field of its
    ``properties`` that only one kind has; those of update strategies and auto-upgrade profiles have none, and are
    passed over. ``path`` is that of the document, empty for a whole one."""
    if isinstance(document, Mapping):
        if "kind" in document:
            return
        kind = _kind(document)
        if kind:
            yield ServiceResource(path, kind, document)
            return
        for key in ("value", "resources"):
            if isinstance(document.get(key), list):
                yield from resources(document[key], f"{path}.{key}" if path else key)
    elif isinstance(document, list):
        for index, each in enumerate(document):
            if isinstance(each, Mapping) and not each.keys().isdisjoint(("id", "type", "properties")):
                yield from resources(each, f"{path}[{index}]")


def manifests_of(document: t.Any) -> tuple[dict[str, t.Any], ...]:
    """The manifests that a document of the service stands for, in its order, not judged; windows whose cluster is told
    alike are one FleetMaintenance, in the place of the first. Empty where there is no resource of Azure's in it. Where
    the document does not tell the name, or whose windows they are, the manifest has no name; two manifests can have one
    name."""
    found: dict[str | int, dict[str, t.Any]] = {}
    for index, each in enumerate(resources(document)):
        manifest = each.manifest()
        if not each.named:
            manifest["metadata"] = {key: value for key, value in manifest["metadata"].items() if key != "name"}
        known = found.setdefault(each.owner_id if each.named and each.kind == MAINTENANCE else index, manifest)
        if known is not manifest:
            known["spec"]["windows"] += manifest["spec"]["windows"]
    return tuple(found.values())


def _kind(value: Mapping[str, t.Any]) -> str:
    """Our kind for a resource: by its type if it has one, else by its id, or where that tells none by a field of its
    ``properties``; empty if nothing fits."""
    given = value.get("type")
    match = _TYPE.fullmatch(given) if isinstance(given, str) else _ID.search(str(value.get("id") or ""))
    if match:
        return KINDS.get((match["of"].lower(), match["kind"].lower()), "")
    inner = value.get("properties")
    if given is not None or not isinstance(inner, Mapping):
        return ""
    return next((kind for key, kind in _TELLING.items() if inner.get(key) is not None), "")


def _name_of(owner: str) -> str:
    """The owner's name as a name of ours; empty if nothing of it can stand in one."""
    return _NOT_IN_NAMES.sub("-", owner.lower()).strip("-")


def _joined(*parts: str) -> str:
    """The parts that are not empty, with dots between them."""
    return ".".join(filter(None, parts))
