# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Making an API server a hub: our CRDs, policies and namespace installed, and lines on that; one with CRDs of others
(``foreign-crds``) or a fleet hub agent (``foreign-hub``) is refused, for two masters would fight; CRDs not served yet;
an object, if it is there."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._core.objects.identity import NAMESPACE
from ..._core.resources.applyset import MANAGED_BY, MANAGER
from ..._core.values.listed import number_of
from ..._kube.apply import apply_object, delete_object
from ..._kube.client import KubeClient
from ..._kube.errors import ApiError
from ..._store.hub import hub_client
from ..updates.approval_policy import (
    Policy,
    is_shipped,
    path_of,
    shipped,
)

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD_FOLDER = Path(__file__).resolve().parents[4] / "roles" / "hub" / "files" / "crds"
AGENT_NAMESPACE = "fleet-system"
# Parts of the metadata of a policy that stay when it is made anew.
_KEPT = ("labels", "annotations")
OLDER = (
    "what is older than an updated policy counts as unverified: where proof is wanted, approvals that were given before"
    " are asked for anew"
)
CREATED, UPDATED, UNCHANGED, NOT_SERVED = "created", "updated", "unchanged", "not served"


@dataclass(frozen=True, kw_only=True)
class HubOutcome:
    """Names of CRDs by what happened, or would happen, to them. ``policies`` says that of each by kind and name:
    ``created``, ``updated``, ``unchanged``, or ``not served`` by an API server that is too old for it; ``namespace``
    that of ours: ``created`` or ``unchanged``. ``versions`` are those of our CRDs, by group."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    policies: t.Mapping[str, str] = field(default_factory=dict)
    namespace: str = UNCHANGED
    versions: t.Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def new(self) -> tuple[str, ...]:
        """Names of all that was made, or would be: of CRDs, then of policies and the namespace with their kind
        (``Namespace/...``)."""
        policies = (name for name, what in self.policies.items() if what == CREATED)
        namespace = (f"Namespace/{NAMESPACE}",) if self.namespace == CREATED else ()
        return (*self.created, *policies, *namespace)

    @property
    def changed(self) -> bool:
        """Whether anything was written, or would be."""
        others = (*self.policies.values(), self.namespace)
        return bool(self.created or self.updated) or not {CREATED, UPDATED}.isdisjoint(others)


def outcome_lines(outcome: HubOutcome, check: bool) -> list[str]:
    """Sentences on what was installed (with ``check`` would be), updated, there already and not served: CRDs by group
    with their versions, policies by kind, our namespace. At the end OLDER, if a policy is updated."""
    would = "would be " if check else ""
    rows = (
        (CREATED, f"{would}installed", outcome.created),
        (UPDATED, f"{would}updated", outcome.updated),
        (UNCHANGED, "there already", outcome.unchanged),
        (NOT_SERVED, "not served by this API server, so that nobody vouches for approvals", ()),
    )
    lines = []
    for what, words, definitions in rows:
        groups = Counter(name.partition(".")[2] for name in definitions)
        found = [
            f"{number_of(count, 'definition')} of {group} ({', '.join(outcome.versions.get(group, ()))})"
            for group, count in sorted(groups.items())
        ]
        kinds = Counter(name.partition("/")[0] for name, done in outcome.policies.items() if done == what)
        found += [f"{count} {kind}" for kind, count in sorted(kinds.items())]
        found += [f"namespace {NAMESPACE}"] if outcome.namespace == what else []
        lines += [f"{words}: {', '.join(found)}"] if found else []
    if UPDATED in outcome.policies.values():
        lines.append(OLDER)
    return lines


def install_by_options(options: t.Mapping[str, t.Any], environ: t.Mapping[str, str], write: bool) -> HubOutcome:
    """``install`` on the API server that the options ``kubeconfig`` and ``context`` name, or that kubectl would find.
    FleetError as of ``install`` and ``hub_client``."""
    with hub_client(options, environ) as client:
        return install(client, write)


def install(client: KubeClient, write: bool) -> HubOutcome:
    """Installs or updates our CRDs, makes policies that are missing or differ anew, and makes our namespace; without
    ``write`` it only looks. It does not wait until CRDs are served. FleetError, before anything is written,
    ``crds-missing``, ``foreign-crds``, ``foreign-hub`` where an agent's namespace is; those of requests can leave a
    part done."""
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
    policies = {f"{each['kind']}/{each['metadata']['name']}": _policy(client, each, write) for each in shipped()}
    return HubOutcome(
        created=tuple(created),
        updated=tuple(updated),
        unchanged=tuple(unchanged),
        policies=policies,
        namespace=_namespace(client, write),
        versions=_versions(definitions),
    )


def _versions(definitions: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, tuple[str, ...]]:
    """The names of the versions of these CRDs, by group."""
    found: dict[str, set[str]] = {}
    for each in definitions:
        found.setdefault(each["spec"]["group"], set()).update(one["name"] for one in each["spec"]["versions"])
    return {group: tuple(sorted(names)) for group, names in found.items()}


def _namespace(client: KubeClient, write: bool) -> str:
    """Makes our namespace if it is not there and ``write``; ``created`` also where it would be made, else
    ``unchanged``. FleetError of the requests."""
    if _exists(client, f"/api/v1/namespaces/{NAMESPACE}"):
        return UNCHANGED
    if write:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": MANAGED_BY}}
        apply_object(client, namespace, MANAGER, force=True)
    return CREATED


def not_established(client: KubeClient, names: t.Iterable[str]) -> tuple[str, ...]:
    """Those of the named CRDs that are not there, or not served yet, in the order given. FleetError as of a request."""
    waiting = []
    for name in names:
        found = _live(client, name)
        conditions = ((found or {}).get("status") or {}).get("conditions") or ()
        if not any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions):
            waiting.append(name)
    return tuple(waiting)


def _policy(client: KubeClient, policy: Policy, write: bool) -> str:
    """What was done about it, or would be: ``created``, ``updated``, ``unchanged``, ``not served``. One with another
    spec, which could have let others through, is deleted and made anew, with its labels and annotations besides ours:
    the hub vouches for nothing that is older than its policies. Killed in between, this leaves none, and the hub
    vouches for nothing. FleetError of the requests, ``conflict`` where another installation has made it anew just
    then."""
    path = path_of(policy)
    kind, _slash, _name = path.rpartition("/")
    if not _exists(client, kind):
        return NOT_SERVED
    live = live_object(client, path)
    if is_shipped(policy, live):
        return UNCHANGED
    if write and live is not None:
        delete_object(client, path, live["metadata"].get("uid") or "")
        both = {each: {**(live["metadata"].get(each) or {}), **policy["metadata"].get(each, {})} for each in _KEPT}
        policy = {**policy, "metadata": {**policy["metadata"], **both}}
    if write:
        client.post(kind, policy)
    return CREATED if live is None else UPDATED


def _refuse_foreign(client: KubeClient, live: t.Mapping[str, dict[str, t.Any] | None]) -> None:
    """FleetError with ``foreign-crds`` for each CRD that is there and lacks our labels, and ``foreign-hub`` where the
    agent's namespace is. ``live`` has CRDs by name, None where there is none. ApiError."""
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
    """The CRD of this name; None if there is none. ApiError."""
    return live_object(client, f"{DEFINITIONS}/{name}")


def live_object(client: KubeClient, path: str) -> dict[str, t.Any] | None:
    """The object at this path; None if there is none. FleetError as of a request otherwise."""
    try:
        return client.get(path)
    except ApiError as error:
        if error.code == "not-found":
            return None
        raise


def _exists(client: KubeClient, path: str) -> bool:
    """Whether the API server has something at this path. FleetError as of ``live_object``."""
    return live_object(client, path) is not None


def _installed(wanted: dict[str, t.Any], live: dict[str, t.Any]) -> bool:
    """Whether the definition is there as we have it. In a schema a field too many is a difference too: an older
    definition of ours has fields that are gone since, and a field that somebody added would be kept in objects and mean
    nothing."""
    return _same(wanted, live) and _schemas(wanted) == _schemas(live)


def _schemas(spec: dict[str, t.Any]) -> list[t.Any]:
    """The schema of each version, in their order; None for one without."""
    return [version.get("schema") for version in spec["versions"]]


def _same(wanted: t.Any, live: t.Any) -> bool:
    """Whether everything that is wanted is there, lists item by item and no longer; mappings may have more, for the
    server adds defaults of its own."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(key in live and _same(value, live[key]) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and len(wanted) == len(live) and all(map(_same, wanted, live))
    return bool(wanted == live)
