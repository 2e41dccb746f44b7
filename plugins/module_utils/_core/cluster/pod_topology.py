# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Constraints between pods, as the kube-scheduler's filters have them: topology spread (DoNotSchedule), required pod
affinity and anti-affinity.
"""

from __future__ import annotations

import typing as t
from collections import Counter

from ..values.selector import LabelSelector, check_selector, matches
from .pod import Pod
from .pod_fit import Room, refusal
from .pod_manifest import PodAffinityTerm, PodSpread

Labels = t.Mapping[str, str]
HONOR = "Honor"


class PodTopology:
    """The pods of all rooms, by the domains that constraints ask for; counted once and kept up to date."""

    def __init__(self, rooms: t.Sequence[Room]) -> None:
        self._rooms = rooms
        self._eligible: dict[tuple[t.Any, ...], frozenset[str]] = {}
        self._new: list[Labels] = []
        self._counts: dict[tuple[t.Any, ...], Counter[str]] = {}
        self._repelling = [(room.labels, pod) for room in rooms for pod in room.pods if pod.anti_affinity]

    def open(self, labels: Labels) -> None:
        """Note a new node, or more of its labels: it is a domain of its own."""
        self._new.append(labels)

    def put(self, pod: Pod, labels: Labels) -> None:
        """Note a pod that has been placed on a node of these labels."""
        for (namespaces, key, selector, match), counts in self._counts.items():
            if key in labels and _counts(pod, namespaces, selector, match):
                counts[labels[key]] += 1
        if pod.anti_affinity:
            self._repelling.append((labels, pod))

    def refusal(self, pod: Pod, labels: Labels) -> str:
        """Why the pod may not run on a node of these labels beside the others; empty if it may."""
        if any(not self._spread_holds(pod, each, labels) for each in pod.spread):
            return "topology spread"
        if any(not self._attracted(pod, each, labels) for each in pod.affinity):
            return "pod affinity"
        if any(self._in_domain(pod, each, labels) for each in pod.anti_affinity) or self._repelled(pod, labels):
            return "pod anti-affinity"
        return ""

    def _spread_holds(self, pod: Pod, one: PodSpread, labels: Labels) -> bool:
        """Whether the domain stays within ``maxSkew`` of the one with the fewest pods that count."""
        domain = labels.get(one.topology_key)
        if domain is None:
            return False
        match = tuple((key, pod.labels[key]) for key in one.match_label_keys if key in pod.labels)
        counts = self._count((pod.namespace,), one.topology_key, one.label_selector, match)
        domains = self._domains(pod, one) | {domain}
        fewest = min(counts[each] for each in domains)
        if one.min_domains is not None and len(domains) < one.min_domains:
            fewest = 0
        own = _counts(pod, (pod.namespace,), one.label_selector, match)
        return counts[domain] + own - fewest <= one.max_skew

    def _domains(self, pod: Pod, one: PodSpread) -> set[str]:
        """The domains that the pod could go to, which are those that count."""
        asks = (one, tuple(sorted(pod.node_selector.items())), pod.node_affinity, pod.tolerations, pod.unjudged)
        found = self._eligible.get(asks)
        if found is None:
            rooms = (each for each in self._rooms if one.topology_key in each.labels and _takes_part(pod, one, each))
            found = self._eligible[asks] = frozenset(each.labels[one.topology_key] for each in rooms)
        return {*found, *(each[one.topology_key] for each in self._new if one.topology_key in each)}

    def _attracted(self, pod: Pod, one: PodAffinityTerm, labels: Labels) -> bool:
        """Some such pod is in the domain; or none is anywhere, and the pod is one itself."""
        domain = labels.get(one.topology_key)
        if domain is None:
            return False
        counts = self._count(_namespaces(pod, one), one.topology_key, one.label_selector)
        alone = not counts.total() and _counts(pod, _namespaces(pod, one), one.label_selector, ())
        return counts[domain] > 0 or alone

    def _in_domain(self, pod: Pod, one: PodAffinityTerm, labels: Labels) -> bool:
        domain = labels.get(one.topology_key)
        counts = self._count(_namespaces(pod, one), one.topology_key, one.label_selector)
        return domain is not None and counts[domain] > 0

    def _repelled(self, pod: Pod, labels: Labels) -> bool:
        """Whether a pod that is there wants no such pod beside it."""
        return any(
            one.topology_key in labels
            and there.get(one.topology_key) == labels[one.topology_key]
            and _counts(pod, _namespaces(other, one), one.label_selector, ())
            for there, other in self._repelling
            for one in other.anti_affinity
        )

    def _count(
        self,
        namespaces: tuple[str, ...] | None,
        key: str,
        selector: LabelSelector | None,
        match: tuple[tuple[str, str], ...] = (),
    ) -> Counter[str]:
        known = (namespaces, key, selector, match)
        found = self._counts.get(known)
        if found is None:
            found = self._counts[known] = Counter(
                room.labels[key]
                for room in self._rooms
                if key in room.labels
                for pod in room.pods
                if _counts(pod, namespaces, selector, match)
            )
        return found


def _takes_part(pod: Pod, one: PodSpread, room: Room) -> bool:
    taints = room.taints if one.node_taints_policy == HONOR else ()
    if one.node_affinity_policy == HONOR:
        return not refusal(pod, room.labels, taints)
    return True


def _namespaces(pod: Pod, term: PodAffinityTerm) -> tuple[str, ...] | None:
    """Where a term looks; None is everywhere. Labels of namespaces are not known here, so their selector is wide."""
    if term.namespace_selector is not None:
        return None
    return term.namespaces or (pod.namespace,)


def _counts(
    pod: Pod,
    namespaces: tuple[str, ...] | None,
    selector: LabelSelector | None,
    match: tuple[tuple[str, str], ...],
) -> bool:
    if pod.deleting_at is not None or pod.ended or (namespaces is not None and pod.namespace not in namespaces):
        return False
    if any(pod.labels.get(key) != value for key, value in match):
        return False
    return selector is not None and not check_selector(selector) and matches(selector, pod.labels)
