# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests without what one cluster has added to them: status, metadata of servers, ``clusterIP``, ``nodePort``, bonds
of volumes, labels of Jobs, rules of aggregated ClusterRoles; ``stringData`` becomes ``data`` (KubeFleet's cleaning
before a resource is stored).

Beyond upstream: ``Secret.stringData`` is folded into ``data``, and empty labels and annotations go. So does what every
control plane fills in by itself, in a Namespace and in an aggregated ClusterRole: with it a manifest from a file would
differ from one from the hub, and an apply would fight the control plane.
"""

from __future__ import annotations

import base64
import json
import typing as t

from ..objects.identity import SET_BY_SERVERS, Manifest, group_version
from ..values.canonical import is_unicode
from .applyset import PART_OF_LABEL

SERVER_METADATA = (*SET_BY_SERVERS, "ownerReferences")
SERVER_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
)
JOB_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
# Who has chosen the other one of a claim and its volume; and what a cluster notes at a claim that it binds.
BOUND_BY_CLUSTER = "pv.kubernetes.io/bound-by-controller"
BOUND = (
    BOUND_BY_CLUSTER,
    "pv.kubernetes.io/bind-completed",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)

_Object = dict[str, t.Any]


def cleaned(manifest: Manifest) -> dict[str, t.Any]:
    """A deep copy as it is stored, hashed and applied: without status, what servers write into metadata, owners, and
    what one cluster has allotted, such as the labels by which a Job finds its pods (unless it selects them itself).
    Other labels and finalizers stay, but for those that every server sets itself and the ``part-of`` label of an
    ApplySet; empty labels and annotations go, and the rules of an aggregated ClusterRole. ``stringData`` goes into
    ``data``, keys become texts. What is of a wrong shape stays, for the server to refuse."""
    out: _Object = _copied(manifest)
    out.pop("status", None)
    _clean_metadata(_child(out, "metadata"))
    spec = _child(out, "spec")
    _clean_template(_child(spec, "template"))
    match group_version(str(out.get("apiVersion", "")))[0], out.get("kind"):
        case "", "Namespace":
            _clean_namespace(out)
        case "", "Service":
            _clean_service(spec)
        case "", "Secret":
            _fold_string_data(out)
        case "", "PersistentVolumeClaim" | "PersistentVolume":
            _unbind(out)
        case "batch", "Job":
            _clean_job(spec)
        case "rbac.authorization.k8s.io", "ClusterRole" if out.get("aggregationRule"):
            out.pop("rules", None)
    return out


def _copied(value: t.Any) -> t.Any:
    """A deep copy with keys as JSON writes them, and lists for tuples: YAML reads ``8080: x`` and ``on: x`` with keys
    that are no text."""
    if isinstance(value, t.Mapping):
        return {
            key if isinstance(key, str) else json.dumps(key, default=str): _copied(one) for key, one in value.items()
        }
    return [_copied(one) for one in value] if isinstance(value, (list, tuple)) else value


def _child(parent: _Object, key: str) -> _Object:
    """The mapping at ``key``, or an empty one of no effect; a manifest of a wrong shape is left to the server."""
    child = parent.get(key)
    return child if isinstance(child, dict) else {}


def _drop_if_empty(parent: _Object, key: str) -> None:
    """Deletes the key if what it holds is empty, null or zero."""
    if key in parent and not parent[key]:
        del parent[key]


def _clean_metadata(metadata: _Object) -> None:
    """Takes out what servers write, annotations of theirs, the label of an ApplySet, and labels and annotations that
    are empty then."""
    for key in SERVER_METADATA:
        metadata.pop(key, None)
    # Who holds it on its cluster; on a hub that is a member it is there by our own doing.
    _child(metadata, "labels").pop(PART_OF_LABEL, None)
    annotations = _child(metadata, "annotations")
    for key in SERVER_ANNOTATIONS:
        annotations.pop(key, None)
    for key in ("annotations", "labels"):
        _drop_if_empty(metadata, key)


def _clean_template(template: _Object) -> None:
    """Takes out the creationTimestamp, which servers print empty into every pod template."""
    _child(template, "metadata").pop("creationTimestamp", None)


def _clean_namespace(out: _Object) -> None:
    """Takes out the label and the finalizer that every API server sets itself, if they are as it sets them, and labels
    and spec if they are empty then."""
    metadata = _child(out, "metadata")
    labels = _child(metadata, "labels")
    if labels.get(NAMESPACE_LABEL) == metadata.get("name"):
        labels.pop(NAMESPACE_LABEL, None)
        _drop_if_empty(metadata, "labels")
    spec = _child(out, "spec")
    if spec.get("finalizers") == ["kubernetes"]:
        del spec["finalizers"]
    _drop_if_empty(out, "spec")


def _clean_service(spec: _Object) -> None:
    """Takes out addresses and ports that were allotted; ``None`` as an address stays, the author's choice of a headless
    Service."""
    if spec.get("clusterIP") != "None":
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    spec.pop("healthCheckNodePort", None)
    ports = spec.get("ports")
    for port in ports if isinstance(ports, list) else ():
        if isinstance(port, dict):
            port.pop("nodePort", None)


def _unbind(out: _Object) -> None:
    """Takes a claim or a volume out of the bond that its cluster has made: what was chosen there goes, with its notes;
    what the author has chosen stays, but for the uid of the claim. Elsewhere a claim would count as Lost, and a volume
    as given back, for which its disk is deleted."""
    spec, metadata = _child(out, "spec"), _child(out, "metadata")
    annotations = _child(metadata, "annotations")
    chosen = ("volumeName", "claimRef") if BOUND_BY_CLUSTER in annotations else ()
    for key in chosen:
        spec.pop(key, None)
    for key in ("uid", "resourceVersion"):
        _child(spec, "claimRef").pop(key, None)
    for key in BOUND:
        annotations.pop(key, None)
    _drop_if_empty(metadata, "annotations")


def _clean_job(spec: _Object) -> None:
    """Takes out the labels by which a controller tells the Job's pods, from its selector, which goes if it is empty
    then, and its template; not with ``manualSelector``."""
    if spec.get("manualSelector"):
        return
    match_labels = _child(_child(spec, "selector"), "matchLabels")
    labels = _child(_child(_child(spec, "template"), "metadata"), "labels")
    for key in JOB_LABELS:
        match_labels.pop(key, None)
        labels.pop(key, None)
    _drop_if_empty(_child(spec, "selector"), "matchLabels")
    _drop_if_empty(spec, "selector")


def _fold_string_data(secret: _Object) -> None:
    """Puts texts of ``stringData`` into ``data``, over what is there, as the API server does on writing; what is no
    text, or no map, is left where it is, to be refused."""
    strings = _child(secret, "stringData")
    texts = {key: value for key, value in strings.items() if isinstance(value, str) and is_unicode(value)}
    held = secret.get("data") or {}
    if texts and isinstance(held, dict):
        data = dict(held)
        data.update({key: base64.b64encode(value.encode()).decode() for key, value in texts.items()})
        secret["data"] = data
        for key in texts:
            del strings[key]
    _drop_if_empty(secret, "stringData")
