# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Requests of a pod by hand, after the pages of Kubernetes on sidecar containers and pod-level resources."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster import pod_requests
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_reading import read_pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_requests import (
    manifest_requests,
    summed_requests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import NANO, parse_quantity

Spec = dict[str, t.Any]


def asks(stays: bool = False, **requests: str) -> Spec:
    return {"resources": {"requests": requests}} | ({"restartPolicy": "Always"} if stays else {})


CASES: dict[str, tuple[Spec, dict[str, str]]] = {
    "containers are added up": (
        {"containers": [asks(cpu="250m", memory="64Mi"), asks(cpu="250m", memory="64Mi")]},
        {"cpu": "500m", "memory": "128Mi"},
    ),
    "the largest ordinary init container counts where it is more": (
        {"initContainers": [asks(cpu="3"), asks(cpu="2", memory="1Gi")], "containers": [asks(cpu="1", memory="2Gi")]},
        {"cpu": "3", "memory": "2Gi"},
    ),
    "a sidecar counts with the containers": (
        {"initContainers": [asks(True, cpu="100m")], "containers": [asks(cpu="1")]},
        {"cpu": "1100m"},
    ),
    "an init container runs beside the sidecars before it": (
        {
            "initContainers": [asks(True, cpu="1"), asks(cpu="2"), asks(True, cpu="4")],
            "containers": [asks(cpu="500m")],
        },
        {"cpu": "5500m"},
    ),
    "but not beside those after it": (
        {"initContainers": [asks(cpu="5"), asks(True, cpu="1")], "containers": [asks(cpu="1")]},
        {"cpu": "5"},
    ),
    "sidecars and an init container after them can be the most": (
        {"initContainers": [asks(True, cpu="1"), asks(cpu="2")], "containers": [asks(cpu="500m")]},
        {"cpu": "3"},
    ),
    "what the pod asks for replaces the sum of its containers": (
        {"resources": {"requests": {"cpu": "2"}}, "containers": [asks(cpu="500m")]},
        {"cpu": "2"},
    ),
    "and counts where no container asks": (
        {"resources": {"requests": {"cpu": "1", "memory": "100Mi"}}, "containers": [asks(cpu="500m"), {}]},
        {"cpu": "1", "memory": "100Mi"},
    ),
    "a resource that the pod does not name is added up": (
        {"resources": {"requests": {"cpu": "2"}}, "containers": [asks(cpu="500m", memory="50Mi"), asks(memory="50Mi")]},
        {"cpu": "2", "memory": "100Mi"},
    ),
    "huge pages can be asked for by the pod, devices cannot": (
        {
            "resources": {"requests": {"hugepages-2Mi": "8Mi", "example.org/gpu": "9"}},
            "containers": [asks(**{"example.org/gpu": "1"})],
        },
        {"hugepages-2Mi": "8Mi", "example.org/gpu": "1"},
    ),
    "overhead comes on top of all": (
        {
            "resources": {"requests": {"cpu": "2"}},
            "containers": [asks(cpu="500m", memory="1Gi")],
            "overhead": {"cpu": "250m", "memory": "120Mi"},
        },
        {"cpu": "2250m", "memory": "1144Mi"},
    ),
    "nothing is asked for": ({"containers": [{}]}, {}),
}


@pytest.mark.parametrize(("spec", "counted"), CASES.values(), ids=CASES)
def test_facts_and_disruption_count_the_same(spec: Spec, counted: dict[str, str]) -> None:
    pod = {"metadata": {"name": "p"}, "spec": spec}
    nanos = {name: parse_quantity(text).nanos for name, text in counted.items()}
    assert manifest_requests([pod]) == nanos
    assert read_pod(pod).requests == {**nanos, "pods": NANO}


def test_pods_are_added_up() -> None:
    pods = [{"spec": spec} for spec, _counted in CASES.values()] * 3
    total: dict[str, int] = {}
    for _spec, counted in CASES.values():
        for name, text in counted.items():
            total[name] = total.get(name, 0) + 3 * parse_quantity(text).nanos
    assert manifest_requests(pods) == total
    assert manifest_requests([]) == {}


def test_replicas_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(pod_requests, "pod_requests", lambda *asked: read.append(asked) or {"cpu": 1})
    replicas = [{"metadata": {"name": f"web-{number}"}, "spec": {"containers": [asks(cpu="1")]}} for number in range(9)]
    assert manifest_requests([*replicas, {"spec": {"containers": [asks(cpu="2")]}}]) == {"cpu": 10}
    assert len(read) == 2


@pytest.mark.parametrize("amount", [True, [], {}, "x", "1" * 65])
def test_what_is_no_quantity_is_no_quantity_beside_one_that_looks_alike(amount: object) -> None:
    """In Python ``True`` equals 1, and so do pods that ask for them."""
    pods = [{"spec": {"containers": [{"resources": {"requests": {"cpu": asked}}}]}} for asked in (1, "1", amount)]
    with pytest.raises(ValueError, match="quantit"):
        manifest_requests(pods)


def test_a_container_asks_for_few_resources() -> None:
    with pytest.raises(ValueError, match="more than 64"):
        manifest_requests([{"spec": {"containers": [asks(**{f"example.org/{each}": "1" for each in range(65)})]}}])


def test_pods_together_are_counted_as_pods_too() -> None:
    pods = [read_pod({"metadata": {"name": name}, "spec": {"containers": [asks(cpu="250m")]}}) for name in "ab"]
    # Each has itself as one of its own requests already; together they are as many as they are.
    assert summed_requests(pods) == {"cpu": NANO // 2, "pods": 2 * NANO}
    assert summed_requests([]) == {}
