# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The simulated members of the benchmarks answer as a real API server does: the same requests go to both."""

from __future__ import annotations

import base64
import difflib
import json
import re
import sys
import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from member_fleet import Members, members

Document = dict[str, t.Any]
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
WHICH = ("real", "simulated")
ANY = range(200, 600)
NOBODY = "00000000-0000-4000-8000-000000000000"
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
# The whole object, whose keys have another order.
PATCHED = re.compile(r'"\{.*\}": strict')
SEEN_VERSION = re.compile(r"(?<=ResourceVersion in record \()\d+")


@dataclass
class Names:
    """Gives what differs from server to server a name by the order in which it is first seen."""

    seen: dict[str, str] = field(default_factory=dict)

    def of(self, found: str) -> str:
        return self.seen.setdefault(found, f"<{len(self.seen)}>")

    def told(self, text: str) -> str:
        text = PATCHED.sub('"<patched>": strict', text)
        text = SEEN_VERSION.sub(lambda match: self.of(f"version {match[0]}"), text)
        return ADDRESS.sub("<address>", TIME.sub("<time>", UID.sub(lambda match: self.of(match[0]), text)))

    def plain(self, value: t.Any, key: str = "") -> t.Any:
        if isinstance(value, dict):
            if str(value.get("kind", "")).endswith("List"):
                value = {**value, "metadata": self._list_metadata(value["metadata"])}
            return {name: self.plain(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.plain(each) for each in value]
        if key == "resourceVersion" and value:
            return self.of(f"version {value}")
        return self.told(value) if isinstance(value, str) else value

    def _list_metadata(self, metadata: Document) -> Document:
        """A list has the version of the whole server, which writes for itself too."""
        told = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "continue")}
        token = metadata.get("continue")
        if token:
            decoded = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            told["start"] = decoded["start"]
        return told


@dataclass
class Both:
    """A real API server and a simulated member that get the same requests."""

    clients: dict[str, KubeClient]
    namespace: str
    names: dict[str, Names] = field(default_factory=lambda: {each: Names() for each in WHICH})
    last: dict[str, Document] = field(default_factory=dict)

    def send(
        self,
        method: str,
        path: str,
        body: t.Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        **query: str,
    ) -> Document:
        """Sends to both, compares, and gives the real answer. ``{uid}`` and ``{version}`` in a body stand for those of
        the last object answered; ``{token}`` for its continue token."""
        told: dict[str, t.Any] = {}
        for which, client in self.clients.items():
            told[which] = self._ask(which, client, method, path, body, content_type, accept, query)
        real, simulated = (json.dumps(told[which], indent=1, sort_keys=True).splitlines() for which in WHICH)
        difference = "\n".join(difflib.unified_diff(real, simulated, *WHICH, n=2, lineterm=""))
        assert not difference, f"{method} {path}\n{difference}"
        return t.cast(Document, told["real"])

    def _ask(
        self,
        which: str,
        client: KubeClient,
        method: str,
        path: str,
        body: t.Any,
        content_type: str,
        accept: str,
        query: dict[str, str],
    ) -> Document:
        filled = None if body is None else json.loads(self._filled(which, json.dumps(body)))
        query = {name: self._filled(which, value) for name, value in query.items()}
        answer = client.send(method, path, filled, query, content_type, accept, expect=ANY)
        names = self.names[which]
        told: Document = {"status": answer.status, "type": answer.content_type}
        if "json" not in answer.content_type:
            return told | {"text": answer.data.decode()}
        found = json.loads(answer.data)
        if found.get("kind") != "Status":
            self.last[which] = found
        return told | {"body": names.plain(found)}

    def _filled(self, which: str, text: str) -> str:
        metadata = self.last.get(which, {}).get("metadata", {})
        wanted = {"{uid}": "uid", "{version}": "resourceVersion", "{token}": "continue"}
        for placeholder, key in wanted.items():
            text = text.replace(placeholder, str(metadata.get(key, "")))
        return text

    def path(self, plural: str, name: str = "", group: str = "api/v1") -> str:
        return "/".join(["", group, "namespaces", self.namespace, plural, *([name] if name else [])])

    def apply(self, path: str, manifest: Document, manager: str = "gitops-fleet", **query: str) -> Document:
        query = {"fieldManager": manager, "force": "false", "fieldValidation": "Strict", **query}
        return self.send("PATCH", path, manifest, APPLY, **query)

    def configmap(self, name: str, data: t.Any, **metadata: t.Any) -> Document:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


@pytest.fixture(scope="module")
def simulated() -> Iterator[Members]:
    with members(count=1, nodes=0, pods=0, controllers=False) as found:
        yield found


@pytest.fixture
def both(hub: LocalOutcome, simulated: Members, request: pytest.FixtureRequest) -> Iterator[Both]:
    real = KubeClient(connection_from_kubeconfig(hub.kubeconfig))
    connection = Connection(simulated.url("m0001"), ca=simulated.authority.encode(), token="secret")
    namespace = request.node.name.replace("_", "-")[:60].strip("-")
    pair = Both({"real": real, "simulated": KubeClient(connection)}, namespace)
    pair.apply(f"/api/v1/namespaces/{namespace}", _namespace(namespace))
    yield pair
    for client in pair.clients.values():
        client.close()


def _namespace(name: str, **labels: str) -> Document:
    metadata: Document = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


DEPLOYMENT: Document = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "registry.example/web:v1",
                        "ports": [{"containerPort": 8080}],
                        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                        "readinessProbe": {"httpGet": {"port": 8080}},
                        "env": [{"name": "A", "value": "<1 & 2>"}],
                    },
                    {"name": "side", "image": "registry.example:5000/side"},
                ],
                "volumes": [{"name": "settings", "configMap": {"name": "settings"}}],
            },
        },
    },
}
SERVICE: Document = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]},
}
LEASE: Document = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "lock"},
    "spec": {
        "holderIdentity": "me",
        "leaseDurationSeconds": 30,
        "leaseTransitions": 1,
        "acquireTime": "2026-01-15T12:00:00.000000Z",
        "renewTime": "2026-01-15T12:00:00.000000Z",
    },
}


def test_apply_creates_changes_and_leaves_alone(both: Both) -> None:
    path = both.path("configmaps", "a")
    both.apply(path, both.configmap("a", {"k": "v", "l": "<w>"}, labels={"x": "1"}))
    both.apply(path, both.configmap("a", {"k": "v", "l": "<w>"}, labels={"x": "1"}))
    both.send("GET", path)
    both.apply(path, both.configmap("a", {"k": "changed"}, labels={"x": "1"}))
    both.send("GET", path)
    both.send("GET", path, accept=METADATA.format(""))


def test_another_manager_conflicts_until_it_uses_force(both: Both) -> None:
    path = both.path("configmaps", "a")
    both.apply(path, both.configmap("a", {"k": "v", "l": "w"}))
    both.apply(path, both.configmap("a", {"k": "theirs", "l": "theirs"}), manager="other")
    both.apply(path, both.configmap("a", {"k": "v"}), manager="other")
    both.apply(path, both.configmap("a", {"k": "theirs"}), manager="other", force="true")
    both.apply(path, both.configmap("a", {"l": "w"}))
    both.send("GET", path)


def test_a_merge_patch_is_an_update_that_apply_conflicts_with(both: Both) -> None:
    path = both.path("configmaps", "a")
    both.apply(path, both.configmap("a", {"k": "v"}, labels={"x": "1"}))
    both.send("PATCH", path, {"data": {"k": "edited", "n": "1"}}, MERGE, fieldManager="kubectl-edit")
    both.apply(path, both.configmap("a", {"k": "v"}, labels={"x": "1"}))
    both.send("PATCH", path, {"metadata": {"labels": {"x": None}}}, MERGE, fieldManager="gitops-fleet")
    both.send("PATCH", path, {"metadata": {"resourceVersion": "1"}}, MERGE, fieldManager="gitops-fleet")
    both.send("PATCH", path, {"foo": 1}, MERGE, fieldManager="gitops-fleet", fieldValidation="Strict")
    both.send("PATCH", both.path("configmaps", "none"), {"data": None}, MERGE, fieldManager="gitops-fleet")


def test_apply_with_the_version_that_was_seen(both: Both) -> None:
    path = both.path("configmaps", "a")
    both.apply(path, both.configmap("a", {"k": "v"}))
    both.apply(path, both.configmap("a", {"k": "w"}, resourceVersion="{version}"))
    both.apply(path, both.configmap("a", {"k": "x"}, resourceVersion="1"))
    both.apply(path, both.configmap("a", {"k": "x"}, uid=NOBODY))
    both.apply(both.path("configmaps", "b"), both.configmap("b", {"k": "v"}, resourceVersion="1"))
    both.apply(both.path("configmaps", "c"), both.configmap("c", {"k": "v"}, uid=NOBODY))


def test_dry_runs_write_nothing(both: Both) -> None:
    path = both.path("configmaps", "a")
    both.apply(path, both.configmap("a", {"k": "v"}), dryRun="All")
    both.send("GET", path)
    both.apply(path, both.configmap("a", {"k": "v"}))
    both.apply(path, both.configmap("a", {"k": "w"}), dryRun="All")
    both.apply(path, both.configmap("a", {"k": "w"}), manager="other", dryRun="All")
    both.send("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
    both.send("GET", path)


def test_what_apply_refuses(both: Both) -> None:
    path, good = both.path("configmaps", "a"), both.configmap("a", {"k": "v"})
    both.apply(path, {**good, "foo": 1})
    both.apply(path, {**good, "data": {"k": 1}})
    both.apply(path, {**good, "data": ["k"]})
    both.apply(path, {**good, "kind": "Secret"})
    both.apply(path, {**good, "apiVersion": "v2"})
    both.apply(path, {**good, "metadata": {"name": "b"}})
    both.apply(path, {**good, "metadata": {"name": "a", "namespace": "other"}})
    both.apply(path, {**good, "metadata": {"name": "a", "managedFields": [{"manager": "me"}]}})
    both.apply(path, {**good, "metadata": {"name": "a", "labels": {"-": "no label!"}}})
    both.send("PATCH", path, good, APPLY)
    both.send("PATCH", path, good, "application/foo", fieldManager="x")
    both.apply("/api/v1/namespaces/none/configmaps/a", good)
    both.apply("/api/v1/namespaces/none/pears/a", good)
    both.apply("/apis/pears.example/v1/namespaces/none/pears/a", good)
    upper = both.configmap("Upper", {"k": "v"})
    both.apply(both.path("configmaps", "Upper"), upper)


def test_kinds_get_the_defaults_of_a_real_server(both: Both) -> None:
    deployments = both.path("deployments", "web", "apis/apps/v1")
    both.apply(deployments, DEPLOYMENT)
    both.apply(deployments, DEPLOYMENT)
    changed = json.loads(json.dumps(DEPLOYMENT))
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/web:v2"
    del changed["spec"]["template"]["spec"]["containers"][1]
    both.apply(deployments, changed)
    both.send("GET", deployments)
    both.apply(both.path("services", "web"), SERVICE)
    both.apply(both.path("services", "web"), {**SERVICE, "spec": {"ports": [{"name": "http", "port": 81}]}})
    headless = {**SERVICE, "metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
    both.apply(both.path("services", "headless"), headless)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "dg=="}}
    both.apply(both.path("secrets", "s"), secret)
    both.apply(both.path("secrets", "t"), {**secret, "metadata": {"name": "t"}, "stringData": {"l": "w"}})
    both.apply(f"/api/v1/namespaces/{both.namespace}", _namespace(both.namespace, team="a"))
    both.apply(f"/api/v1/namespaces/{both.namespace}", _namespace(both.namespace, team="b"), manager="other")


def test_other_kinds_are_kept_as_they_were_sent(both: Both) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    both.apply(both.path("serviceaccounts", "robot"), account)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    both.apply(both.path("roles", "reader", "apis/rbac.authorization.k8s.io/v1"), role)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    both.apply(both.path("poddisruptionbudgets", "web", "apis/policy/v1"), budget)


def test_create_replace_and_delete(both: Both) -> None:
    folder, path = both.path("configmaps"), both.path("configmaps", "a")
    both.send("POST", folder, both.configmap("a", {"k": "v"}), fieldValidation="Strict")
    both.send("POST", folder, both.configmap("a", {"k": "v"}))
    both.send("POST", folder, {**both.configmap("b", {}), "foo": 1}, fieldValidation="Strict")
    both.send("POST", folder, both.configmap("b", {}, resourceVersion="7"))
    both.send("POST", folder, both.configmap("b", {}, namespace="other"))
    both.send("POST", folder, both.configmap("", {}))
    both.send("POST", folder, both.configmap("A_b", {}))
    both.send("POST", both.path("configmaps").replace(both.namespace, "none"), both.configmap("b", {}))
    both.send("GET", path)
    both.send("PUT", path, both.configmap("a", {"k": "w"}, resourceVersion="{version}"))
    both.send("PUT", path, both.configmap("a", {"k": "w"}, resourceVersion="7"))
    both.send("PUT", path, both.configmap("a", {"k": "x"}))
    both.send("PUT", path, both.configmap("a", {"k": "x"}, uid=NOBODY))
    both.send("PUT", path, both.configmap("b", {"k": "x"}))
    both.send("PUT", both.path("configmaps", "b"), both.configmap("b", {"k": "x"}))
    both.send("PUT", folder, both.configmap("b", {}))
    both.send("DELETE", path, _delete(uid=NOBODY))
    both.send("DELETE", path, _delete(resourceVersion="1"))
    both.send("GET", path)
    both.send("DELETE", path, _delete(uid="{uid}", resourceVersion="{version}"))
    both.send("DELETE", path, _delete())
    both.send("GET", path)


def _delete(propagation: str = "Background", **preconditions: str) -> Document:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
    return {**options, **({"preconditions": preconditions} if preconditions else {})}


def test_an_object_with_finalizers_waits_for_them(both: Both) -> None:
    path = both.path("configmaps", "a")
    both.apply(path, both.configmap("a", {"k": "v"}, finalizers=["example.com/wait"]))
    both.send("DELETE", path, _delete())
    both.send("DELETE", path, _delete())
    both.send("GET", path)
    both.send("PATCH", path, {"metadata": {"finalizers": None}}, MERGE, fieldManager="x")
    both.send("GET", path)
    deployments = both.path("deployments", "web", "apis/apps/v1")
    both.apply(deployments, DEPLOYMENT)
    both.send("DELETE", deployments, _delete("Foreground"))
    both.send("GET", deployments)


def test_leases(both: Both) -> None:
    folder, path = (both.path("leases", name, "apis/coordination.k8s.io/v1") for name in ("", "lock"))
    both.send("GET", path)
    both.send("POST", folder, LEASE)
    both.send("POST", folder, LEASE)
    both.send("GET", path)
    renewed = {**LEASE, "spec": {**LEASE["spec"], "leaseTransitions": 2}}
    both.send("PUT", path, {**renewed, "metadata": {"name": "lock", "resourceVersion": "{version}"}})
    both.send("PUT", path, renewed)
    both.send("PUT", path, {**renewed, "metadata": {"name": "lock", "resourceVersion": "1"}})
    both.send("GET", path)
    both.send("DELETE", path, _delete(uid="{uid}"))


def test_lists_in_pages_and_by_selectors(both: Both) -> None:
    folder = both.path("configmaps")
    for number in range(5):
        name = f"a{number}"
        labels = {"odd": str(number % 2), **({"first": ""} if number == 0 else {})}
        both.apply(both.path("configmaps", name), both.configmap(name, {"k": "v"}, labels=labels))
    both.send("GET", folder)
    both.send("GET", folder, limit="2")
    both.send("GET", folder, limit="2", **{"continue": "{token}"})
    both.send("GET", folder, limit="2", **{"continue": "{token}"})
    both.send("GET", folder, limit="5")
    both.send("GET", folder, limit="1", labelSelector="odd=1")
    both.send("GET", folder, limit="1", labelSelector="odd=1", **{"continue": "{token}"})
    for selector in ("odd", "!first", "odd notin (1)", "odd in (0,2),first", "odd!=1", "none=1"):
        both.send("GET", folder, labelSelector=selector)
        both.send("GET", "/api/v1/configmaps", labelSelector=f"odd,{selector}")
    both.send("GET", folder, fieldSelector="metadata.name=a3")
    both.send("GET", folder, fieldSelector=f"metadata.namespace!={both.namespace}")
    both.send("GET", folder, limit="2", accept=METADATA.format("List"))
    both.send("GET", folder, fieldSelector="spec.none=1")
    both.send("GET", folder, labelSelector="a b c")
    both.send("GET", folder, limit="2", **{"continue": "abc"})
    both.send("GET", "/api/v1/pods", fieldSelector="status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=")
    both.send("GET", "/api/v1/pods", fieldSelector="spec.none=1")
    both.send("GET", "/api/v1/nodes", limit="500")
    both.send("GET", both.path("pears"))


def test_namespaces_end(both: Both) -> None:
    """Without controllers, as here, they go on ending."""
    path = f"/api/v1/namespaces/{both.namespace}"
    both.apply(both.path("configmaps", "a"), both.configmap("a", {"k": "v"}))
    both.send("DELETE", path, _delete())
    both.send("GET", path)
    both.send("GET", both.path("configmaps", "a"))
    both.apply(both.path("configmaps", "b"), both.configmap("b", {"k": "v"}))
    both.apply(both.path("configmaps", "a"), both.configmap("a", {"k": "w"}))
    both.send("DELETE", "/api/v1/namespaces/default")
    both.send("GET", "/api/v1/namespaces", fieldSelector="metadata.name=kube-system", accept=METADATA.format("List"))


def test_paths_without_a_resource(both: Both) -> None:
    for path in (
        "/version",
        "/readyz",
        "/livez",
        "/healthz",
        "/none",
        "/apis/none.example/v1",
        "/apis/none.example/v1/x",
    ):
        both.send("GET", path)
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answers = [
        client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review | {"spec": _rule()})["status"]
        for client in both.clients.values()
    ]
    assert [each["allowed"] for each in answers] == [True, True]
    for client in both.clients.values():
        own = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        found = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", own)
        assert "system:masters" in found["status"]["userInfo"]["groups"]


def _rule() -> Document:
    return {"resourceAttributes": {"verb": "get", "resource": "pods"}}


def test_discovery_names_the_same_resources(both: Both) -> None:
    """Those that a member has are described as a real server describes them; watching is not offered."""
    assert _compared(both, "/api") > 10
    assert _compared(both, "/apis") > 20


def _compared(both: Both, path: str) -> int:
    real, simulated = (_discovered(client, path) for client in both.clients.values())
    for key, row in simulated.items():
        assert row == real.get(key)
    return len(simulated)


def _discovered(client: KubeClient, path: str) -> dict[tuple[str, str, str], Document]:
    document = client.request("GET", path, accept=AGGREGATED)
    found = {}
    for group in document["items"]:
        for version in group["versions"]:
            for row in version["resources"]:
                told = {key: row.get(key) for key in ("responseKind", "scope", "singularResource")}
                told["verbs"] = sorted(set(row["verbs"]) - {"watch"})
                found[group["metadata"].get("name", ""), version["version"], row["resource"]] = told
    return found


def test_custom_resources(both: Both) -> None:
    """Their own fields are kept without a schema; the definition is served once it is there."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pears.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Pear", "listKind": "PearList", "plural": "pears", "singular": "pear"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    path = both.path("pears", "a", "apis/example.com/v1")
    pear = {"apiVersion": "example.com/v1", "kind": "Pear", "metadata": {"name": "a"}, "spec": {"ripe": True, "n": [1]}}
    query = {"fieldManager": "x", "force": "true"}
    for client in both.clients.values():
        client.request("PATCH", f"{DEFINITIONS}/pears.example.com", definition, query, APPLY)
    _wait_until_served(both, path)
    assert _compared(both, "/apis") > 20
    both.apply(path, pear)
    both.apply(path, pear)
    both.apply(path, {**pear, "spec": {"ripe": False, "n": [1, 2]}, "status": {"eaten": True}})
    both.apply(path, {**pear, "spec": {"ripe": True}}, manager="other")
    both.send("PATCH", f"{path}/status", {"status": {"eaten": True}}, MERGE, fieldManager="eater")
    both.send("GET", path)
    both.send("GET", both.path("pears", "", "apis/example.com/v1"))
    both.send("DELETE", path, _delete(uid="{uid}"))


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _wait_until_served(both: Both, path: str) -> None:
    """A server serves a new kind a moment before its list of kinds tells it."""
    end = time.monotonic() + 120
    while any(_unserved(client, path) or not _told(client, path) for client in both.clients.values()):
        assert time.monotonic() < end, "the kind is not served in time"
        time.sleep(0.1)


def _told(client: KubeClient, path: str) -> bool:
    group, resource = path.split("/")[2], path.split("/")[-2]
    return any((key[0], key[2]) == (group, resource) for key in _discovered(client, "/apis"))


def _unserved(client: KubeClient, path: str) -> bool:
    answer = client.send("GET", path, expect=(404,))
    return "json" not in answer.content_type or not json.loads(answer.data).get("details", {}).get("name")
