# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What roles grant, one by one, and what of it an account lacks, as the API server itself says."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import Manifest


@dataclass(frozen=True, order=True)
class AccessRule:
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


def rules_of(manifests: t.Iterable[Manifest]) -> tuple[AccessRule, ...]:
    """What these roles grant, one by one, names of objects left out."""
    found = []
    for manifest in manifests:
        namespace = manifest["metadata"].get("namespace", "")
        for rule in manifest.get("rules", ()):
            for verb in rule["verbs"]:
                found += [AccessRule(verb, path=path) for path in rule.get("nonResourceURLs", ())]
                found += [
                    AccessRule(verb, resource, group, namespace)
                    for group in rule.get("apiGroups", ())
                    for resource in rule.get("resources", ())
                ]
    return tuple(dict.fromkeys(found))


def missing(client: KubeClient, rules: t.Iterable[AccessRule]) -> tuple[AccessRule, ...]:
    """Those rules that the account lacks, in the order given, each once; by SelfSubjectAccessReview. ApiError if one
    of them cannot be asked for."""
    asked = tuple(dict.fromkeys(rules))
    answers = in_parallel({str(number): _ask(client, rule) for number, rule in enumerate(asked)}, threads=8)
    for answer in answers.values():
        if isinstance(answer, FleetError):
            raise answer
    return tuple(rule for number, rule in enumerate(asked) if not answers[str(number)])


def _ask(client: KubeClient, rule: AccessRule) -> t.Callable[[], bool]:
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
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return client.post(path, review)["status"].get("allowed") is True

    return ask
