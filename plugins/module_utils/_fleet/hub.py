# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Making an API server a hub: our CRDs and our namespace. Two masters would fight, so foreign ones are left alone."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import FleetError, Problem
from .._core.resources.applyset import MANAGED_BY, MANAGER, NAMESPACE
from .._kube.apply import apply_object
from .._kube.client import KubeClient
from .._kube.errors import ApiError

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD_FOLDER = Path(__file__).resolve().parents[3] / "roles" / "hub" / "files" / "crds"
AGENT_NAMESPACE = "fleet-system"


@dataclass(frozen=True, kw_only=True)
class HubOutcome:
    """Names of CRDs by what happened, or would happen, to them."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.created or self.updated)


def install(client: KubeClient, write: bool) -> HubOutcome:
    """Installs or updates the CRDs; raises ``foreign-crds`` or ``foreign-hub`` where another manager is at home."""
    definitions = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CRD_FOLDER.glob("*.json"))]
    if not definitions:
        raise FleetError("crds-missing", f"no CRD files lie in {CRD_FOLDER}", hint="run make crds")
    live = {name: _live(client, name) for name in (each["metadata"]["name"] for each in definitions)}
    _refuse_foreign(client, live)
    created: list[str] = []
    updated: list[str] = []
    unchanged: list[str] = []
    for definition in definitions:
        name = definition["metadata"]["name"]
        found = live[name]
        if found is not None and _installed(definition["spec"], found["spec"]):
            unchanged.append(name)
            continue
        (updated if found else created).append(name)
        if write:
            apply_object(client, definition, MANAGER, force=True)
    if write and not _exists(client, f"/api/v1/namespaces/{NAMESPACE}"):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": MANAGED_BY}}
        apply_object(client, namespace, MANAGER, force=True)
    return HubOutcome(created=tuple(created), updated=tuple(updated), unchanged=tuple(unchanged))


def established(client: KubeClient, names: t.Iterable[str]) -> tuple[str, ...]:
    """Those of the named CRDs that are not served yet."""
    waiting = []
    for name in names:
        found = _live(client, name)
        conditions = ((found or {}).get("status") or {}).get("conditions") or ()
        if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            waiting.append(name)
    return tuple(waiting)


def _refuse_foreign(client: KubeClient, live: t.Mapping[str, dict[str, t.Any] | None]) -> None:
    problems = [
        Problem(
            "foreign-crds",
            f"CustomResourceDefinition {name} exists and is not ours",
            client.server_name,
            "keep the records in another API server, or import from this one read-only",
        )
        for name, found in live.items()
        if found is not None and not (found["metadata"].get("labels") or {}).items() >= MANAGED_BY.items()
    ]
    if _exists(client, f"/api/v1/namespaces/{AGENT_NAMESPACE}"):
        problems.append(
            Problem(
                "foreign-hub",
                f"namespace {AGENT_NAMESPACE} exists: a fleet hub agent is at home here, and two masters would fight",
                client.server_name,
                "keep the records in another API server",
            )
        )
    if problems:
        raise FleetError.of(problems)


def _live(client: KubeClient, name: str) -> dict[str, t.Any] | None:
    try:
        return client.get(f"{DEFINITIONS}/{name}")
    except ApiError as error:
        if error.code == "not-found":
            return None
        raise


def _exists(client: KubeClient, path: str) -> bool:
    try:
        client.get(path)
    except ApiError as error:
        if error.code == "not-found":
            return False
        raise
    return True


def _installed(wanted: dict[str, t.Any], live: dict[str, t.Any]) -> bool:
    """Whether the definition is there as we have it. A field too many is a difference too: an older definition of ours
    has fields that are gone since, and a field that somebody added would be kept in objects and mean nothing."""
    return _same(wanted, live) and _schemas(wanted) == _schemas(live)


def _schemas(spec: dict[str, t.Any]) -> list[t.Any]:
    return [version.get("schema") for version in spec["versions"]]


def _same(wanted: t.Any, live: t.Any) -> bool:
    """Whether everything that is wanted is there; the server adds defaults of its own."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(key in live and _same(value, live[key]) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and len(wanted) == len(live) and all(map(_same, wanted, live))
    return bool(wanted == live)
