# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""RBAC manifests of accounts on a member (ClusterRole, Role, bindings): the least permissions to read it, to apply to
it, or to disrupt its nodes; roles with whatever grants are given.

Server-side apply of an object that is not there yet needs ``create`` besides ``patch``.
"""

from __future__ import annotations

import hashlib
import re
import typing as t
from dataclasses import dataclass

from .._core.objects.identity import NAMESPACE
from .paths import BUILT_IN, Resource

_API = "rbac.authorization.k8s.io/v1"
_GROUP = "rbac.authorization.k8s.io"
READ = ("get", "list")
APPLY = ("create", "delete", "get", "list", "patch")
_FACTS = (BUILT_IN["v1", "Node"], BUILT_IN["v1", "Pod"])
_NAMESPACE = BUILT_IN["v1", "Namespace"]
_NODE = BUILT_IN["v1", "Node"]
_NODE_POOL = Resource("karpenter.sh", "v1", "NodePool", "nodepools", False)
_NODE_CLAIM = Resource("karpenter.sh", "v1", "NodeClaim", "nodeclaims", False)
_NODE_CLASSES = (
    Resource("karpenter.azure.com", "v1beta1", "AKSNodeClass", "aksnodeclasses", False),
    Resource("karpenter.k8s.aws", "v1", "EC2NodeClass", "ec2nodeclasses", False),
)
_EVICTION = Resource("", "v1", "Eviction", "pods/eviction", True)
# What says how many nodes and pods may be disrupted, and what DaemonSets take of new nodes. Classes of nodes have a
# kind for each provider: give it in kinds.
_BUDGETS = (BUILT_IN["policy/v1", "PodDisruptionBudget"], BUILT_IN["apps/v1", "DaemonSet"], _NODE_POOL, _NODE_CLAIM)
_PARENT = BUILT_IN["v1", "ConfigMap"]
_LEASE = BUILT_IN["coordination.k8s.io/v1", "Lease"]
HOLD = ("create", "delete", "get", "list", "update")
_PATHS = ("/readyz", "/version")

Manifest = dict[str, t.Any]


@dataclass(frozen=True)
class Subject:
    """Who gets the role: ``kind`` is User, Group or ServiceAccount (the last with its namespace). Nothing is
    checked."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def name_suffix(self) -> str:
        """A part of the names of its roles (``ada-1f3c9a``), so that those for two subjects do not replace each other:
        words of its name, and six digits of a digest of kind, namespace and name."""
        digest = hashlib.sha256("/".join((self.kind, self.namespace, self.name)).encode()).hexdigest()
        return "-".join((*re.findall(r"[a-z0-9]+", self.name.lower()[-40:]), digest[:6]))

    def as_dict(self) -> dict[str, str]:
        """As a binding names it under ``subjects``."""
        if self.kind == "ServiceAccount":
            return {"kind": self.kind, "name": self.name, "namespace": self.namespace}
        return {"kind": self.kind, "name": self.name, "apiGroup": _GROUP}


def read_only_manifests(
    subject: Subject, kinds: t.Iterable[Resource] = (), namespace: str = NAMESPACE
) -> tuple[Manifest, ...]:
    """The namespace, and roles with their bindings for facts, plans and check mode: nodes, pods, what bounds their
    disruption (PodDisruptionBudgets, DaemonSets, NodePools, NodeClaims), namespaces (``kube-system`` tells a cluster
    from all others), ``/readyz``, ``/version`` and the placed ``kinds`` may be read; in ``namespace`` the ApplySet
    parents, ConfigMaps."""
    rules = [*_resource_rules((*_FACTS, *_BUDGETS, _NAMESPACE, *kinds), READ), _path_rule()]
    return (
        _home(namespace),
        *_cluster_role(f"gitops-fleet-read-{subject.name_suffix}", rules, subject),
        *_role(
            f"gitops-fleet-read-applysets-{subject.name_suffix}", namespace, _resource_rules((_PARENT,), READ), subject
        ),
    )


def apply_manifests(subject: Subject, kinds: t.Iterable[Resource], namespace: str = NAMESPACE) -> tuple[Manifest, ...]:
    """The namespace, and roles with their bindings for applying and pruning ``kinds``; nodes, pods, ``/readyz`` and
    ``/version`` are read for it. Namespaces are made, changed and read, but not deleted unless they are among the
    kinds. The ApplySet parents, ConfigMaps, and the Lease on the member are granted in ``namespace``. Without any kinds
    it is what an update run needs: its members are read, and held."""
    kinds = tuple(kinds)
    facts = [kind for kind in _FACTS if kind not in kinds]
    rules = [*_resource_rules(facts, READ), _path_rule(), *_resource_rules(kinds, APPLY)]
    if _NAMESPACE not in kinds:
        rules += _resource_rules((_NAMESPACE,), ("create", "get", "list", "patch"))
    parents = [*_resource_rules((_PARENT,), APPLY), *_resource_rules((_LEASE,), HOLD)]
    return (
        _home(namespace),
        *_cluster_role(f"gitops-fleet-apply-{subject.name_suffix}", rules, subject),
        *_role(f"gitops-fleet-applysets-{subject.name_suffix}", namespace, parents, subject),
    )


def node_manifests(subject: Subject, namespace: str = NAMESPACE) -> tuple[Manifest, ...]:
    """The namespace, and roles with their bindings for disrupting nodes: what is read for it; nodes cordoned and
    deleted, pods evicted and deleted, NodeClaims deleted, NodePools changed and deleted, the node classes of Azure and
    AWS read and changed; and in ``namespace`` the Lease on the member. Nodes are not made by it."""
    rules = [
        *_resource_rules((*_FACTS, *_BUDGETS, _NAMESPACE), READ),
        _path_rule(),
        *_resource_rules((_NODE,), ("delete", "patch")),
        *_resource_rules((BUILT_IN["v1", "Pod"], _NODE_CLAIM), ("delete",)),
        *_resource_rules((_EVICTION,), ("create",)),
        *_resource_rules((_NODE_POOL,), ("delete", "patch")),
        *_resource_rules(_NODE_CLASSES, (*READ, "patch")),
    ]
    return (
        _home(namespace),
        *_cluster_role(f"gitops-fleet-nodes-{subject.name_suffix}", rules, subject),
        *_role(f"gitops-fleet-node-lease-{subject.name_suffix}", namespace, _resource_rules((_LEASE,), HOLD), subject),
    )


@dataclass(frozen=True)
class Grant:
    """Verbs on resources of one API group; with ``names`` on those objects alone."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def as_rule(self) -> Manifest:
        """The grant as a rule of a role."""
        rule: Manifest = {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}
        return rule | ({"resourceNames": list(self.names)} if self.names else {})


def role_manifests(
    name: str, subject: Subject, everywhere: t.Iterable[Grant], inside: t.Mapping[str, t.Iterable[Grant]]
) -> tuple[Manifest, ...]:
    """Roles, named for ``name``, each with its binding: a ClusterRole with the grants ``everywhere``, if there are any,
    and a Role ``inside`` each of these namespaces, also of one without grants. The namespace ``gitops-fleet`` comes
    first where it is among them; the others have to be there."""
    made: list[Manifest] = [_home(NAMESPACE)] if NAMESPACE in inside else []
    rules = [each.as_rule() for each in everywhere]
    made += _cluster_role(f"gitops-fleet-{name}-{subject.name_suffix}", rules, subject) if rules else ()
    for namespace, grants in inside.items():
        rules = [each.as_rule() for each in grants]
        made += _role(f"gitops-fleet-{name}-{subject.name_suffix}", namespace, rules, subject)
    return tuple(made)


def _home(namespace: str) -> Manifest:
    """The namespace of that name, labelled as managed by this collection."""
    labels = {"app.kubernetes.io/managed-by": "gitops.fleet"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}


def _resource_rules(kinds: t.Iterable[Resource], verbs: t.Sequence[str]) -> list[Manifest]:
    """One rule per API group with all the verbs, groups and plurals sorted, so that the same kinds always print the
    same."""
    groups: dict[str, set[str]] = {}
    for kind in kinds:
        groups.setdefault(kind.group, set()).add(kind.plural)
    return [
        {"apiGroups": [group], "resources": sorted(plurals), "verbs": list(verbs)}
        for group, plurals in sorted(groups.items())
    ]


def _path_rule() -> Manifest:
    """The rule by which ``/readyz`` and ``/version`` may be read."""
    return {"nonResourceURLs": list(_PATHS), "verbs": ["get"]}


def _cluster_role(name: str, rules: list[Manifest], subject: Subject) -> tuple[Manifest, Manifest]:
    """The ClusterRole, and the binding that gives it to the subject."""
    role = {"apiVersion": _API, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    return role, _binding("ClusterRole", {"name": name}, subject)


def _role(name: str, namespace: str, rules: list[Manifest], subject: Subject) -> tuple[Manifest, Manifest]:
    """The Role in the namespace, and the binding that gives it to the subject there."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": _API, "kind": "Role", "metadata": metadata, "rules": rules}, _binding(
        "Role", metadata, subject
    )


def _binding(kind: str, metadata: dict[str, str], subject: Subject) -> Manifest:
    """The binding of the role of this ``kind``, with the same ``metadata``, to the subject."""
    return {
        "apiVersion": _API,
        "kind": f"{kind}Binding",
        "metadata": dict(metadata),
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": metadata["name"]},
        "subjects": [subject.as_dict()],
    }
