# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What pods take of nodes, one by its containers, init containers and sidecars, overhead and the pod as a whole, or
many together, as the kube-scheduler counts it (k8s.io/component-helpers, ``PodRequests``)."""

from __future__ import annotations

import typing as t
from collections import Counter
from functools import lru_cache

from ..values.parts import mapping, rows
from ..values.quantity import NANO, parse_quantity
from .facts.node import AsWritten, as_written, read_amounts
from .pod import Pod

Amounts = dict[str, int]
STAYS = "Always"
# What a pod may ask for as a whole; anything else counts only where a container asks for it.
OF_THE_POD, PAGES_OF_THE_POD = frozenset({"cpu", "memory"}), "hugepages-"


def pod_requests(
    init_containers: t.Iterable[tuple[str, Amounts]],
    containers: t.Iterable[Amounts],
    pod: Amounts,
    overhead: Amounts,
) -> Amounts:
    """What one pod requests of its node, in 10^-9 of each resource's unit: the most that runs at any time.

    ``init_containers`` are pairs of restart policy and requests, in the order of the manifest: they run one after the
    other, beside those before them that stay (sidecars, ``restartPolicy: Always``), and those stay beside
    ``containers``. What the ``pod`` asks for as a whole replaces that sum, for cpu, memory and huge pages only;
    ``overhead`` comes on top.
    """
    staying: Amounts = {}
    peak: Amounts = {}
    for policy, own in init_containers:
        now = added(staying, own)
        if policy == STAYS:
            staying = now
        peak = _larger(peak, now)
    running = staying
    for own in containers:
        running = added(running, own)
    whole = {name: amount for name, amount in pod.items() if name in OF_THE_POD or name.startswith(PAGES_OF_THE_POD)}
    return added(_larger(peak, running) | whole, overhead)


def manifest_requests(pods: t.Iterable[t.Mapping[str, t.Any]]) -> Amounts:
    """What core/v1 Pods as a member sent them (manifests) take together, in 10^-9 of each resource's unit, whatever
    their phase; they are not counted as ``pods``. ValueError if a part of one is of another type than a Pod's, or its
    amounts are refused as of ``read_amounts``.

    Most pods of a cluster are replicas: those that ask for the same are counted, and read once.
    """
    total: Amounts = {}
    for asking, count in Counter(map(_asking, pods)).items():
        for name, amount in _requests(asking).items():
            total[name] = total.get(name, 0) + amount * count
    return total


def summed_requests(pods: t.Sequence[Pod]) -> Amounts:
    """What ``Pod`` objects take together, in 10^-9 of each resource's unit, whatever their phase, each counted as one
    of ``pods``; empty for none."""
    total: Amounts = {}
    for each in pods:
        total = added(total, dict(each.requests))
    return total | {"pods": len(pods) * NANO} if pods else total


# All of a pod that decides what it takes, as it was told: init containers with their restart policies, containers, the
# pod as a whole, its overhead.
_Asking = tuple[tuple[tuple[str, AsWritten], ...], tuple[AsWritten, ...], AsWritten, AsWritten]


def _asking(pod: t.Mapping[str, t.Any]) -> _Asking:
    """What the pod asks for, as it was told, by which pods that ask for the same are known. Most pods have one of these
    four parts; the others are not looked for in them. ValueError for parts of another type."""
    spec = mapping(pod, "spec")
    init = rows(spec, "initContainers") if "initContainers" in spec else ()
    return (
        tuple([(str(each.get("restartPolicy")), _asked(each)) for each in init]),
        tuple([_asked(each) for each in rows(spec, "containers")]),
        _asked(spec) if "resources" in spec else (),
        as_written(mapping(spec, "overhead")) if "overhead" in spec else (),
    )


@lru_cache(maxsize=4096)
def _requests(asking: _Asking) -> Amounts:
    """What a pod requests that asks so; ValueError for an amount that is no quantity. Kept, for the clusters of a fleet
    run the same: nobody changes it."""
    init_containers, containers, pod, overhead = asking
    return pod_requests(
        [(policy, _nanos(asked, "requests")) for policy, asked in init_containers],
        [_nanos(asked, "requests") for asked in containers],
        _nanos(pod, "requests"),
        _nanos(overhead, "overhead"),
    )


def added(one: Amounts, other: Amounts) -> Amounts:
    """The sum of two amounts, by resource; one of the arguments itself if the other is empty."""
    if not one or not other:
        return one or other
    return {**one, **{name: one.get(name, 0) + amount for name, amount in other.items()}}


def _larger(one: Amounts, other: Amounts) -> Amounts:
    """The larger of the two amounts of each resource; one that is absent counts as 0."""
    return {**one, **{name: max(one.get(name, 0), amount) for name, amount in other.items()}}


def _asked(of: t.Mapping[str, t.Any]) -> AsWritten:
    """The requests under ``resources``, as they were told; empty without any. ValueError for parts of another type."""
    resources = mapping(of, "resources")
    return as_written(mapping(resources, "requests")) if resources else ()


@lru_cache(maxsize=1024)
def _nanos(told: AsWritten, key: str) -> Amounts:
    """The amounts in 10^-9, by resource, kept and shared: nobody changes them. ValueError, which names ``key``, as of
    ``read_amounts``."""
    return {name: parse_quantity(text).nanos for name, text in read_amounts(told, key).items()}
