# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import (
    AT_ONCE,
    AVAILABLE,
    NOT_TRACKABLE,
    NOT_YET,
    availability,
    lacking,
)

Manifest = dict[str, t.Any]


def workload(status: Manifest, replicas: int | None = 2, generation: int = 3) -> Manifest:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"metadata": {"generation": generation}, "spec": spec, "status": {"observedGeneration": 3, **status}}


@pytest.mark.parametrize(("group", "kind"), sorted(AT_ONCE))
def test_what_is_available_as_soon_as_it_exists(group: str, kind: str) -> None:
    assert availability(group, kind, {}) == AVAILABLE


@pytest.mark.parametrize(
    ("group", "kind"),
    [("batch", "Job"), ("batch", "CronJob"), ("", "Pod"), ("example.com", "Deployment"), ("apps", "Namespace")],
)
def test_other_kinds_cannot_be_tracked(group: str, kind: str) -> None:
    assert availability(group, kind, {"status": {}}) == NOT_TRACKABLE


READY = {"availableReplicas": 2, "updatedReplicas": 2}


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (workload(READY), AVAILABLE),
        (workload({"availableReplicas": 1, "updatedReplicas": 1}, replicas=None), AVAILABLE),
        (workload({}, replicas=0), AVAILABLE),
        (workload(READY, generation=4), NOT_YET),
        (workload({**READY, "availableReplicas": 1}), NOT_YET),
        (workload({**READY, "updatedReplicas": 1}), NOT_YET),
        (workload({**READY, "unavailableReplicas": 1}), NOT_YET),
        ({"metadata": {"generation": 1}, "spec": {"replicas": 0}}, NOT_YET),
    ],
)
def test_deployments(live: Manifest, expected: str) -> None:
    assert availability("apps", "Deployment", live) == expected


ROLLED = {
    "availableReplicas": 2,
    "currentReplicas": 2,
    "updatedReplicas": 2,
    "currentRevision": "a",
    "updateRevision": "a",
}


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (workload(ROLLED), AVAILABLE),
        (workload(ROLLED, generation=4), NOT_YET),
        (workload({**ROLLED, "availableReplicas": 1}), NOT_YET),
        (workload({**ROLLED, "currentReplicas": 1}), NOT_YET),
        (workload({**ROLLED, "updateRevision": "b"}), NOT_YET),
    ],
)
def test_stateful_sets(live: Manifest, expected: str) -> None:
    assert availability("apps", "StatefulSet", live) == expected


EVERYWHERE = {
    "numberAvailable": 3,
    "desiredNumberScheduled": 3,
    "currentNumberScheduled": 3,
    "updatedNumberScheduled": 3,
}


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (workload(EVERYWHERE), AVAILABLE),
        (workload({}), AVAILABLE),
        (workload(EVERYWHERE, generation=4), NOT_YET),
        (workload({**EVERYWHERE, "numberAvailable": 2}), NOT_YET),
        (workload({**EVERYWHERE, "updatedNumberScheduled": 2}), NOT_YET),
    ],
)
def test_daemon_sets(live: Manifest, expected: str) -> None:
    assert availability("apps", "DaemonSet", live) == expected


@pytest.mark.parametrize(
    ("spec", "ingress", "expected"),
    [
        ({"clusterIP": "10.0.0.1"}, None, AVAILABLE),
        ({"type": "ClusterIP", "clusterIP": "None"}, None, AVAILABLE),
        ({"type": "NodePort", "clusterIP": ""}, None, NOT_YET),
        ({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}, None, NOT_YET),
        ({"type": "LoadBalancer"}, [{}], NOT_YET),
        ({"type": "LoadBalancer"}, [{"ip": "1.2.3.4"}], AVAILABLE),
        ({"type": "LoadBalancer"}, [{"hostname": "x.example.com"}], AVAILABLE),
        ({"type": "ExternalName"}, None, NOT_TRACKABLE),
    ],
)
def test_services(spec: Manifest, ingress: list[Manifest] | None, expected: str) -> None:
    assert availability("", "Service", {"spec": spec, "status": {"loadBalancer": {"ingress": ingress}}}) == expected


@pytest.mark.parametrize(
    ("established", "named", "expected"),
    [("True", "True", AVAILABLE), ("False", "True", NOT_YET), ("True", "False", NOT_YET)],
)
def test_custom_resource_definitions(established: str, named: str, expected: str) -> None:
    conditions = [{"type": "Established", "status": established}, {"type": "NamesAccepted", "status": named}]
    live = {"status": {"conditions": conditions}}
    assert availability("apiextensions.k8s.io", "CustomResourceDefinition", live) == expected
    assert availability("apiextensions.k8s.io", "CustomResourceDefinition", {}) == NOT_YET


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([{"observedGeneration": 2}], AVAILABLE),
        ([{"observedGeneration": 2}, {"observedGeneration": 1}], NOT_YET),
        ([], NOT_YET),
        (None, NOT_YET),
    ],
)
def test_disruption_budgets(conditions: list[Manifest] | None, expected: str) -> None:
    live = {"metadata": {"generation": 2}, "status": {"conditions": conditions}}
    assert availability("policy", "PodDisruptionBudget", live) == expected


@pytest.mark.parametrize(
    ("group", "kind"),
    [("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("", "Service")]
    + [("apiextensions.k8s.io", "CustomResourceDefinition"), ("policy", "PodDisruptionBudget")],
)
@pytest.mark.parametrize(
    "part",
    [
        {"status": []},
        {"status": "x"},
        {"spec": [], "status": {"observedGeneration": 1}},
        {"spec": {"replicas": "x", "type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ["x"]}}},
        {"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": [], "conditions": {"a": 1}}},
        {"metadata": [], "status": {"conditions": [1]}},
    ],
)
def test_what_tells_something_else_than_its_kind_does_is_not_available(group: str, kind: str, part: Manifest) -> None:
    live = {"metadata": {"generation": 1}, "spec": {}, **part}
    assert availability(group, kind, live) in (NOT_YET, AVAILABLE if kind == "DaemonSet" else NOT_YET)
    assert lacking(group, kind, live).startswith(("has ", "is not "))


DAEMONS = {"desiredNumberScheduled": 5, "currentNumberScheduled": 5, "numberAvailable": 5, "updatedNumberScheduled": 2}


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("Deployment", {"availableReplicas": 1, "updatedReplicas": 2}, "has 1 of 2 replicas available"),
        ("Deployment", {"availableReplicas": 2, "updatedReplicas": 1}, "has 1 of 2 replicas of the new version"),
        ("Deployment", {**READY, "unavailableReplicas": 1}, "has 1 replica that is not available"),
        ("StatefulSet", {**READY, "currentRevision": "a", "updateRevision": "b"}, "is not available yet"),
        ("DaemonSet", DAEMONS, "has 2 of 5 pods of the new version"),
        ("DaemonSet", {**DAEMONS, "numberAvailable": 4}, "has 4 of 5 pods available"),
    ],
)
def test_what_it_lacks_is_what_keeps_it_from_being_available(kind: str, status: Manifest, words: str) -> None:
    """Nobody is told that all are there where something else is waited for."""
    live = workload(status)
    assert availability("apps", kind, live) == NOT_YET
    assert lacking("apps", kind, live) == words
