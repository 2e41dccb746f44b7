# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One pod of each DaemonSet, its newest or one made of its template, which stands for those that will run on new nodes
(Karpenter, ``getDaemonSetPods``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..values.parts import mapping, rows
from .pod import Pod
from .pod_manifest import REQUIRED
from .pod_reading import read_pod

Document = Mapping[str, t.Any]


def daemon_pods(daemon_sets: t.Iterable[Document], pods: t.Iterable[Document]) -> tuple[Pod, ...]:
    """One pod for each DaemonSet (manifests), in their order: its newest among ``pods``, else one made of its template.
    FleetError and ValueError as of ``DaemonPods.pods_of``."""
    seen = DaemonPods()
    for pod in pods:
        seen.see(pod)
    return seen.pods_of(daemon_sets)


class DaemonPods:
    """The newest pod of each DaemonSet, found while pods pass by one at a time and are forgotten."""

    def __init__(self) -> None:
        self._newest: dict[str, Document] = {}

    def see(self, pod: Document) -> None:
        """Keeps the pod if it is the newest of its DaemonSet so far; of equally old ones the first stays. ValueError
        for parts of another type."""
        for owner in rows(mapping(pod, "metadata"), "ownerReferences"):
            uid = owner.get("uid")
            if owner.get("controller") and owner.get("kind") == "DaemonSet" and isinstance(uid, str):
                known = self._newest.get(uid)
                if known is None or _made(pod) > _made(known):
                    self._newest[uid] = pod

    def pods_of(self, daemon_sets: t.Iterable[Document]) -> tuple[Pod, ...]:
        """One pod for each of the DaemonSets, in their order: the newest that was seen, as others may have changed what
        it asks for, else one made of the template's spec, without labels and owners, its limits standing for requests
        that it lacks. A required node affinity of the template stands for the pod's, where the controller puts the name
        of its node. FleetError as of ``read_pod``, ValueError for parts of another type."""
        return tuple(_pod(each, self._newest.get(str(mapping(each, "metadata").get("uid")))) for each in daemon_sets)


def _pod(daemon_set: Document, running: Document | None) -> Pod:
    """The pod of one DaemonSet, of the ``running`` one with the template's required node affinity, or of the spec of
    the template with the DaemonSet's name and namespace. Errors as of ``DaemonPods.pods_of``."""
    metadata = mapping(daemon_set, "metadata")
    template = mapping(mapping(mapping(daemon_set, "spec"), "template"), "spec")
    if running is None:
        spec = dict(template) | {
            key: [_requesting(each) for each in rows(template, key)] for key in ("containers", "initContainers")
        }
        name = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
        return read_pod({"metadata": name, "spec": spec})
    required = mapping(mapping(template, "affinity"), "nodeAffinity").get(REQUIRED)
    if required is None:
        return read_pod(running)
    spec = dict(mapping(running, "spec"))
    affinity = dict(mapping(spec, "affinity"))
    affinity["nodeAffinity"] = dict(mapping(affinity, "nodeAffinity")) | {REQUIRED: required}
    return read_pod({**running, "spec": spec | {"affinity": affinity}})


def _requesting(container: Document) -> dict[str, t.Any]:
    """The container, of which what has a limit and no request requests its limit, as API servers have it for pods.
    ValueError for parts of another type."""
    resources = mapping(container, "resources")
    requests = dict(mapping(resources, "limits")) | dict(mapping(resources, "requests"))
    return dict(container) | {"resources": dict(resources) | {"requests": requests}}


def _made(pod: Document) -> str:
    """When it was made, in the manifest's words, which sort by time; empty if it does not tell. ValueError for metadata
    that are no map."""
    return str(mapping(pod, "metadata").get("creationTimestamp") or "")
