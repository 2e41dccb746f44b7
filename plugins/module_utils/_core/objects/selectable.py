# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is never placed, and why (``never-placed``): KubeFleet's ignored kinds and objects, reserved namespaces, our own
records, what owners and clusters make anew; webhooks that could stop a cluster (``stops-cluster``); and malformed
labels and annotations (``malformed-metadata``)."""

from __future__ import annotations

import typing as t

from ..errors import Problem
from ..values.parts import type_words
from .api_groups import CLUSTER_GROUP, FLEET_GROUP, PLACEMENT_GROUP
from .identity import (
    JOBS_NAMESPACE,
    NAMESPACE,
    Manifest,
    ObjectId,
    annotations_of,
    labels_of,
    metadata_of,
)

IGNORED_GROUPS = {
    "events.k8s.io": "events belong to the cluster where they happened",
    "coordination.k8s.io": "leases belong to the cluster where they are held",
    "metrics.k8s.io": "metrics are read, never written",
    CLUSTER_GROUP: "fleet membership is kept on the hub",
    FLEET_GROUP: "fleet records are kept on the hub",
}
IGNORED_KINDS = {
    ("", "Pod"): "pods are made by the workload that owns them; place that",
    ("", "Node"): "nodes belong to their cluster",
    ("", "Event"): "events belong to the cluster where they happened",
    ("networking.fleet.azure.com", "ServiceImport"): "it is made on each member",
    ("networking.fleet.azure.com", "TrafficManagerProfile"): "it is kept on the hub",
    ("networking.fleet.azure.com", "TrafficManagerBackend"): "it is kept on the hub",
}
ENVELOPES = ("ClusterResourceEnvelope", "ResourceEnvelope")
RESERVED_PREFIXES = ("kube-", "fleet-")
OUR_NAMESPACES = (NAMESPACE, JOBS_NAMESPACE)
# Labels of Jobs that upgrade a member, and of the Secrets with its credentials that their pods read.
MANAGED: t.Mapping[str, str] = {"app.kubernetes.io/managed-by": "gitops-fleet"}
MEMBER = "gitops.fleet/member"
TOKEN_SECRET = "kubernetes.io/service-account-token"
SLICE_LABEL = "endpointslice.kubernetes.io/managed-by"
PROVISIONED = "pv.kubernetes.io/provisioned-by"
FLEET_GROUPS = (FLEET_GROUP, "kubernetes-fleet.io", "kubefleet.dev")
MAY_STOP_CLUSTER = "gitops.fleet/may-stop-cluster"
# By which label or annotation, and value, an API server marks what it makes and keeps by itself.
SELF_MADE: t.Mapping[str, tuple[str, tuple[str, ...]]] = {
    "rbac.authorization.k8s.io": ("kubernetes.io/bootstrapping", ("rbac-defaults",)),
    "flowcontrol.apiserver.k8s.io": ("apf.kubernetes.io/autoupdate-spec", ("true",)),
    "apiregistration.k8s.io": ("kube-aggregator.kubernetes.io/automanaged", ("true", "onstart")),
}
# What a webhook keeps from being done to objects, by the operations about which it is asked; CONNECT changes none.
STOPPED: t.Mapping[str, str] = {"CREATE": "created", "UPDATE": "changed", "DELETE": "deleted"}
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")

Secrets = t.Container[tuple[str, str]]
"""Namespace and name of each."""


def is_reserved_namespace(name: str) -> bool:
    """Whether no placement may select the namespace: ``default``, ``kube-*`` and ``fleet-*``, which members have for
    their own ends, and our own ``gitops-fleet`` and ``gitops-fleet-jobs``, where keys and credentials of members may
    lie."""
    return name == "default" or _holds_no_placed(name)


def _holds_no_placed(namespace: str) -> bool:
    """Whether nothing in the namespace is ever placed: ours, ``kube-*`` and ``fleet-*``; in ``default`` objects are."""
    return namespace in OUR_NAMESPACES or namespace.startswith(RESERVED_PREFIXES)


def kind_refusal(group: str, kind: str) -> str | None:
    """Why no object of the kind is ever placed, in words (of KubeFleet's placement API all but envelopes); None where
    single objects decide."""
    if group == PLACEMENT_GROUP and kind not in ENVELOPES:
        return "placement objects are kept on the hub"
    return IGNORED_GROUPS.get(group) or IGNORED_KINDS.get((group, kind))


def never_placed_problem(
    each: ObjectId, manifest: Manifest, services: t.Container[tuple[str, str]] = (), credentials: Secrets = ()
) -> Problem | None:
    """The Problem ``never-placed`` that says why this object is left out of a placement, or None. What lies in reserved
    namespaces is left out, but for ``default``; whether a Namespace itself is reserved is left to
    ``is_reserved_namespace``.

    ``services`` are the (namespace, name) of the Services beside it, ``credentials`` those of the Secrets by which
    members are reached.
    """
    reason = (
        kind_refusal(each.group, each.kind)
        or _own_refusal(each, manifest, credentials)
        or _self_made(each, manifest)
        or _object_refusal(each, manifest, services)
    )
    return Problem("never-placed", f"{each} is left out: {reason}", str(each)) if reason else None


def malformed_metadata(each: ObjectId, manifest: Manifest) -> t.Iterator[Problem]:
    """The problems ``malformed-metadata`` of labels, then annotations, of an object to be placed that no API server
    reads: they map keys to texts, or to null. No value is repeated."""
    for key, found in (("labels", labels_of(manifest)), ("annotations", annotations_of(manifest))):
        where = f"{each} metadata.{key}"
        if not isinstance(metadata_of(manifest).get(key), (t.Mapping, type(None))):
            message = f"{key} map keys to texts, and here they are something else"
            yield Problem("malformed-metadata", message, where)
        for name, value in found.items():
            if not isinstance(name, str) or not (value is None or isinstance(value, str)):
                message = f"{key} map keys to texts, and {name!r:.80} is mapped to {type_words(value)}"
                yield Problem("malformed-metadata", message, where, "write both in quotes")


def _own_refusal(each: ObjectId, manifest: Manifest, credentials: Secrets) -> str | None:
    """Why an object is left out for the fleet's own sake: its namespace, an upgrade that runs by it, a Secret by which
    a member is reached, a definition of fleet kinds; None for others."""
    if _holds_no_placed(each.namespace):
        return f"namespace {each.namespace} is reserved on every member"
    labels = labels_of(manifest)
    if MEMBER in labels and labels.items() >= MANAGED.items():
        return "an upgrade of this fleet runs by it"
    match each.group, each.kind:
        case ("", "Secret") if (each.namespace, each.name) in credentials:
            return "a member is reached by the credentials in it"
        case ("apiextensions.k8s.io", "CustomResourceDefinition") if _of_the_fleet(each.name):
            return "the fleet's own objects are of this kind, and they are kept on the hub"
    return None


def _of_the_fleet(definition: str) -> bool:
    """Whether the name of a CustomResourceDefinition, ``plural.group``, is of a group of the fleet or of one below
    it."""
    group = definition.partition(".")[2]
    return any(group == known or group.endswith(f".{known}") for known in FLEET_GROUPS)


def _self_made(each: ObjectId, manifest: Manifest) -> str | None:
    """Why an object is left out that API servers make by themselves, by its mark or as a ``system-`` PriorityClass;
    None for others."""
    key, values = SELF_MADE.get(each.group, ("", ()))
    marked = labels_of(manifest).get(key) in values or annotations_of(manifest).get(key) in values
    system = (each.group, each.kind) == ("scheduling.k8s.io", "PriorityClass") and each.name.startswith("system-")
    return "every API server makes and keeps it by itself" if marked or system else None


def stopping_webhook_problem(each: ObjectId, manifest: Manifest) -> Problem | None:
    """The Problem ``stops-cluster`` of a webhook configuration of which a webhook is asked about all resources when
    they are created, changed or deleted (one of these is enough), with no selector or condition that narrows it, and
    refuses that while nobody answers (any ``failurePolicy`` but Ignore); None for anything else, and where the
    annotation ``gitops.fleet/may-stop-cluster: "true"`` permits it.

    Such a member may not be able to start the webhook's own pods again, to be mended through its API, or to get rid of
    anything.
    """
    if each.group != "admissionregistration.k8s.io" or each.kind not in WEBHOOKS:
        return None
    if annotations_of(manifest).get(MAY_STOP_CLUSTER) == "true":
        return None
    webhooks = manifest.get("webhooks")
    found: dict[str, list[str]] = {}
    for one in _mappings(webhooks):
        stopped = _stopped_by(one) if one.get("failurePolicy") != "Ignore" else []
        if stopped:
            found.setdefault(" or ".join(stopped), []).append(str(one.get("name", "")))
    if not found:
        return None
    asked = (
        f"webhook {', '.join(names)} is asked before any object is {stopped}, and without its answer that is not "
        "possible on the member any more"
        for stopped, names in found.items()
    )
    return Problem(
        "stops-cluster",
        f"{each}: {'; '.join(asked)}",
        str(each),
        f'narrow its rules, set failurePolicy: Ignore, or permit it by the annotation {MAY_STOP_CLUSTER}: "true"',
    )


def _stopped_by(webhook: Manifest) -> list[str]:
    """What of ``STOPPED`` the webhook is asked about for every object: by its rules for all groups and resources, where
    no selector and no condition keeps anything from it. A rule without operations counts as one for all; versions and
    scope do not count."""
    selectors = webhook.get("namespaceSelector"), webhook.get("objectSelector")
    if webhook.get("matchConditions") or any(map(_narrows, selectors)):
        return []
    asked: set[str] = set()
    for rule in _mappings(webhook.get("rules")):
        if "*" in _texts(rule, "apiGroups") and {"*", "*/*"} & _texts(rule, "resources"):
            asked |= _texts(rule, "operations") or {"*"}
    return [done for operation, done in STOPPED.items() if asked & {operation, "*"}]


def _narrows(selector: t.Any) -> bool:
    """Whether a label selector has any label or expression: one without, as charts write it, selects everything."""
    return isinstance(selector, t.Mapping) and any(selector.values())


def _mappings(value: t.Any) -> list[Manifest]:
    """The mappings in a list; none in anything else."""
    return [one for one in value if isinstance(one, t.Mapping)] if isinstance(value, list) else []


def _texts(rule: Manifest, key: str) -> set[str]:
    """The texts in the list under a key; none where there is no list."""
    values = rule.get(key)
    return {one for one in values if isinstance(one, str)} if isinstance(values, list) else set()


def _object_refusal(each: ObjectId, manifest: Manifest, services: t.Container[tuple[str, str]]) -> str | None:
    """Why one of the objects is left out that a controller, an owner or each cluster makes anew; None for others."""
    metadata = metadata_of(manifest)
    owners = _owner_kinds(metadata)
    if ("v1", "Pod") in owners:
        return "its pod makes it anew on each member"
    match each.group, each.kind:
        case ("apps", "ReplicaSet" | "ControllerRevision") if metadata.get("ownerReferences"):
            return "its owner makes it anew on each member"
        case ("batch", "Job") if ("batch/v1", "CronJob") in owners:
            return "its CronJob makes its own on each member"
        case ("", "PersistentVolumeClaim") if ("apps/v1", "StatefulSet") in owners:
            return "its StatefulSet makes its own on each member, and deletes it here when it is scaled down or deleted"
        case ("", "PersistentVolume") if PROVISIONED in annotations_of(manifest) and _deletes_disk(manifest):
            return "it was made for a claim of its own cluster, and a member would delete the disk of that"
        case ("", "ConfigMap") if each.name == "kube-root-ca.crt":
            return "each cluster publishes its own certificate authority"
        case ("", "ServiceAccount") if each.name == "default":
            return "each namespace gets its own"
        case ("", "Secret") if manifest.get("type") == TOKEN_SECRET:
            return "its token is valid only in the cluster that issued it"
        case ("", "Endpoints") if (each.namespace, each.name) in services:
            return "the Service of the same name makes it"
        case ("discovery.k8s.io", "EndpointSlice") if SLICE_LABEL in labels_of(manifest):
            return "a controller makes it on each member"
    return None


def _owner_kinds(metadata: Manifest) -> set[tuple[str, str]]:
    """API version and kind of the owners that metadata name; empty without any."""
    return {
        (str(owner.get("apiVersion")), str(owner.get("kind"))) for owner in _mappings(metadata.get("ownerReferences"))
    }


def _deletes_disk(volume: Manifest) -> bool:
    """Whether the disk of a PersistentVolume is deleted once its claim is gone."""
    spec = volume.get("spec")
    return isinstance(spec, t.Mapping) and spec.get("persistentVolumeReclaimPolicy") == "Delete"
