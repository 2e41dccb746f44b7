# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who we are on a server, what we may do there, and whether it is ready."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .client import KubeClient
from .errors import ApiError
from .parallel import in_parallel


@dataclass(frozen=True)
class User:
    """As the API server sees us."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@dataclass(frozen=True, order=True)
class Rule:
    """One thing to be allowed: a verb on a resource, or on a ``path`` that is no resource (``/readyz``)."""

    verb: str
    resource: str = ""
    group: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        what = self.path or (f"{self.resource}.{self.group}" if self.group else self.resource)
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{'/' + self.name if self.name else ''}{place}"


@dataclass(frozen=True)
class Readiness:
    """``failing`` names the checks of ``/readyz`` that do not hold; empty if ready."""

    ready: bool
    failing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ready


def who_am_i(client: KubeClient) -> User:
    """By SelfSubjectReview, which any authenticated account may ask."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    info = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)["status"]["userInfo"]
    return User(info.get("username", ""), tuple(info.get("groups") or ()), info.get("uid", ""))


def missing(client: KubeClient, rules: t.Iterable[Rule]) -> tuple[Rule, ...]:
    """Those rules that the account lacks, in the order given; by SelfSubjectAccessReview. Nothing is tried out."""
    asked = tuple(dict.fromkeys(rules))
    answers = in_parallel({str(number): _ask(client, rule) for number, rule in enumerate(asked)}, threads=8)
    for answer in answers.values():
        if isinstance(answer, Exception):
            raise answer
    return tuple(rule for number, rule in enumerate(asked) if not answers[str(number)])


def _ask(client: KubeClient, rule: Rule) -> t.Callable[[], bool]:
    if rule.path:
        spec: dict[str, t.Any] = {"nonResourceAttributes": {"verb": rule.verb, "path": rule.path}}
    else:
        resource, _slash, subresource = rule.resource.partition("/")
        attributes = {
            "verb": rule.verb,
            "group": rule.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": rule.namespace,
            "name": rule.name,
        }
        spec = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}

    def ask() -> bool:
        answer = client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        return bool(answer["status"].get("allowed"))

    return ask


def ready(client: KubeClient) -> Readiness:
    """``/readyz``. A server that says it is not ready is an answer; one that cannot be asked is an ApiError."""
    answer = client.send("GET", "/readyz", expect=(500,))
    lines = answer.data.decode("utf-8", "replace").splitlines()
    return Readiness(answer.status < 300, tuple(line[3:].split(" ")[0] for line in lines if line.startswith("[-]")))


def version(client: KubeClient) -> str:
    """``gitVersion`` of ``/version``, such as ``v1.36.3``."""
    found = client.get("/version").get("gitVersion")
    if not isinstance(found, str) or not found:
        raise ApiError("bad-answer", "the server does not tell its version", client.server_name)
    return found
