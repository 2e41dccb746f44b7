# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a placed object is available, by kind (Deployment, StatefulSet, DaemonSet, Service, CustomResourceDefinition,
PodDisruptionBudget, kinds that are available at once), and what it lacks if not, such as ``has 1 of 3 replicas
available``: the table of KubeFleet's availability tracker."""

from __future__ import annotations

import typing as t

from ..values.listed import number_of
from ..values.parts import mapping, number, rows

AVAILABLE, NOT_YET, NOT_TRACKABLE = "Available", "ManifestNotAvailableYet", "NotTrackable"

NOT_YET_IN_WORDS = "is not available yet"

Live = t.Mapping[str, t.Any]

AT_ONCE = frozenset(
    {
        ("", "Namespace"),
        ("", "Secret"),
        ("", "ConfigMap"),
        ("", "ServiceAccount"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
        ("apps", "ControllerRevision"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "StorageClass"),
    }
)


def availability(group: str, kind: str, live: Live) -> str:
    """AVAILABLE, NOT_YET or NOT_TRACKABLE for a live object of that kind (``group`` without a version, empty for the
    core group); NOT_YET also where a field that counts is not of its type."""
    if (group, kind) in AT_ONCE:
        return AVAILABLE
    tracker = TRACKERS.get((group, kind))
    try:
        return tracker(live) if tracker else NOT_TRACKABLE
    except ValueError:
        return NOT_YET


def lacking(group: str, kind: str, live: Live) -> str:
    """What a live object that is not available lacks, as the rest of a sentence about it: ``has 1 of 3 replicas
    available``, for most kinds ``is not available yet``, ``has a status of another structure`` where status or metadata
    are no map. Whether it is available is not looked at."""
    try:
        return _lacking(group, kind, live)
    except ValueError:
        return "has a status of another structure"


def _lacking(group: str, kind: str, live: Live) -> str:
    """What a live object lacks, as the rest of a sentence about it: ``has 1 of 3 replicas available``. ValueError for a
    status or metadata that are no map."""
    status = _status(live)
    if group == "apps" and status.get("observedGeneration") != mapping(live, "metadata").get("generation"):
        return "is not taken up by its controller yet"
    if group == "apps" and kind in ("Deployment", "StatefulSet"):
        wanted = _wanted_count(live)
        others = _count(status, "unavailableReplicas")
        if _count(status, "availableReplicas") == _count(status, "updatedReplicas") == wanted and others:
            return f"has {number_of(others, 'replica')} that {'is' if others == 1 else 'are'} not available"
        return _share(status, "replica", wanted, "availableReplicas", wanted, "updatedReplicas")
    if group == "apps" and kind == "DaemonSet":
        wanted, there = _count(status, "desiredNumberScheduled"), _count(status, "currentNumberScheduled")
        return _share(status, "pod", wanted, "numberAvailable", there, "updatedNumberScheduled")
    return NOT_YET_IN_WORDS


def _share(status: Live, what: str, wanted: int, available: str, there: int, updated: str) -> str:
    """How many of the ``wanted`` are available by that field of the status; if all are, how many of those that are
    ``there`` are updated, by its field; as of an unknown kind if all are that, too."""
    if _count(status, available) != wanted:
        return f"has {_count(status, available):,} of {number_of(wanted, what)} available"
    if _count(status, updated) != there:
        return f"has {_count(status, updated):,} of {number_of(there, what)} of the new version"
    return NOT_YET_IN_WORDS


def _count(status: Live, field: str) -> int:
    """The number in a field of a status; 0 where it is missing or no whole number."""
    value = status.get(field)
    return value if isinstance(value, int) else 0


def _wanted_count(live: Live) -> int:
    """How many replicas are wanted, 1 where that is not said; 0 where it is no number."""
    try:
        return _wanted(live)
    except ValueError:
        return 0


def _deployment(live: Live) -> str:
    """Available if its status is of today's generation, and all replicas that are wanted are available and updated,
    none unavailable. ValueError for parts of another type."""
    status, wanted = _status(live), _wanted(live)
    return _judged(
        _observed(live)
        and status.get("availableReplicas", 0) == wanted
        and status.get("updatedReplicas", 0) == wanted
        and not status.get("unavailableReplicas")
    )


def _stateful_set(live: Live) -> str:
    """Available if its status is of today's generation, all replicas that are wanted are available, and its current
    replicas and revision are the updated ones. ValueError for parts of another type."""
    status, wanted = _status(live), _wanted(live)
    return _judged(
        _observed(live)
        and status.get("availableReplicas", 0) == wanted
        and status.get("currentReplicas", 0) == status.get("updatedReplicas", 0)
        and status.get("currentRevision") == status.get("updateRevision")
    )


def _daemon_set(live: Live) -> str:
    """Available if its status is of today's generation, as many pods as are wanted are available, and all that are
    scheduled are updated. ValueError for parts of another type."""
    status = _status(live)
    return _judged(
        _observed(live)
        and status.get("numberAvailable", 0) == status.get("desiredNumberScheduled", 0)
        and status.get("currentNumberScheduled", 0) == status.get("updatedNumberScheduled", 0)
    )


def _service(live: Live) -> str:
    """Available with a cluster IP (the ``None`` of a headless one counts), or, as a LoadBalancer, with an address in
    its first ingress; NOT_TRACKABLE for other types. ValueError for parts of another type."""
    spec = mapping(live, "spec")
    kind = spec.get("type") or "ClusterIP"
    if kind in ("ClusterIP", "NodePort"):
        return _judged(bool(spec.get("clusterIP")))
    if kind == "LoadBalancer":
        ingress = rows(mapping(_status(live), "loadBalancer"), "ingress") or [{}]
        return _judged(bool(ingress[0].get("ip") or ingress[0].get("hostname")))
    return NOT_TRACKABLE


def _definition(live: Live) -> str:
    """Available if its conditions Established and NamesAccepted are True. ValueError for parts of another type."""
    return _judged(_is_condition_true(live, "Established") and _is_condition_true(live, "NamesAccepted"))


def _disruption_budget(live: Live) -> str:
    """Available if it has conditions, all of today's generation. ValueError for parts of another type."""
    generation = mapping(live, "metadata").get("generation")
    conditions = rows(_status(live), "conditions")
    return _judged(bool(conditions) and all(each.get("observedGeneration") == generation for each in conditions))


TRACKERS: t.Mapping[tuple[str, str], t.Callable[[Live], str]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("policy", "PodDisruptionBudget"): _disruption_budget,
}


def _status(live: Live) -> Live:
    """The status of a live object, empty where it has none. ValueError for what is no map."""
    return mapping(live, "status")


def _wanted(live: Live) -> int:
    """``spec.replicas``, 1 where it is missing. ValueError for what is no whole number."""
    spec = mapping(live, "spec")
    return 1 if spec.get("replicas") is None else number(spec, "replicas")


def _observed(live: Live) -> bool:
    """Whether the status is of today's generation. ValueError for parts of another type."""
    return bool(_status(live).get("observedGeneration") == mapping(live, "metadata").get("generation"))


def _is_condition_true(live: Live, kind: str) -> bool:
    """Whether the condition of that type is True; not if it is missing. ValueError for conditions that are no list of
    maps."""
    return any(each.get("type") == kind and each.get("status") == "True" for each in rows(_status(live), "conditions"))


def _judged(holds: bool) -> str:
    return AVAILABLE if holds else NOT_YET
