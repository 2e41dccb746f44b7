# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Constraints between pods while pods are placed in thought (Karpenter, ``scheduling/topology.go``): topology spread,
pod affinity, and anti-affinity in both directions, which a pod minds and which it is counted for."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from ...cluster.pod import Pod
from ...cluster.pod_manifest import PodAffinityTerm
from ...values.selector import EXISTS
from .requirement import LabelRequirement, Requirements, narrow, requirement
from .settings import Settings
from .topology_group import (
    AFFINITY,
    ANTI_AFFINITY,
    PossibleDomains,
    Taints,
    TopologyGroup,
)
from .wishes import ANYWAY, HOSTNAME, PodDemands, Wishes

# How many there are in each domain, and the domain of each by its name.
Counted = tuple[Counter[str], dict[str, str]]


@dataclass(frozen=True)
class PodHost:
    """A Node with the pods that are bound to it. ``known``: Karpenter looks at it; ``stays``: it is not on its way
    out."""

    name: str
    labels: t.Mapping[str, str]
    requirements: Requirements
    taints: Taints
    pods: tuple[Pod, ...]
    known: bool = True
    stays: bool = True


@dataclass(frozen=True)
class Landscape:
    """What holds for every simulation on one state: places by name, domains that pools could make nodes in."""

    places: tuple[PodHost, ...]
    possible: t.Mapping[str, PossibleDomains]
    settings: Settings
    # What groups find before anybody moves, by their identity: pods by domain with the domain of each, places likewise.
    counted: dict[t.Any, Counted] = field(default_factory=dict)
    known: dict[t.Any, Counted] = field(default_factory=dict)

    @cached_property
    def repelling(self) -> list[tuple[Wishes, PodHost, tuple[TopologyGroup, ...]]]:
        """Pods that have not ended and require anti-affinity, on nodes that Karpenter looks at: what each asks for,
        where it is, and a group without counts for each of its terms."""
        found = ((pod, each) for each in self.places if each.known for pod in each.pods)
        rows = ((Wishes.of(pod), each) for pod, each in found if pod.anti_affinity and not pod.ended)
        return [(wishes, each, _away_from(wishes)) for wishes, each in rows]

    @cached_property
    def _alike(self) -> list[tuple[Pod, list[tuple[str, int]]]]:
        """Active pods by namespace and labels, which is all that selectors see: one of each, and keys and places of all
        that are like it."""
        found: dict[t.Any, tuple[Pod, list[tuple[str, int]]]] = {}
        for place, each in enumerate(self.places):
            for pod in each.pods:
                if pod.active:
                    key = (pod.namespace, frozenset(pod.labels.items()))
                    found.setdefault(key, (pod, []))[1].append((pod.key, place))
        return list(found.values())

    def pods_of(self, group: TopologyGroup) -> Counted:
        """How many active pods, on nodes that take part, a group counts in each domain of its topology key, and in
        which one each of them is, by key."""
        found = self.counted.get(group.identity)
        if found is None:
            domains = [
                _domain(each, group.key) if group.filter.matches(each.taints, each.requirements) else None
                for each in self.places
            ]
            rows = [row for pod, rows in self._alike if group.counts_running(pod) for row in rows]
            inside = {key: domain for key, place in rows if (domain := domains[place]) is not None}
            found = self.counted[group.identity] = Counter(inside.values()), inside
        return found

    def domains_of(self, group: TopologyGroup) -> Counted:
        """How many nodes that stay and that Karpenter looks at take part in each domain of a group, and the domain of
        each by its name."""
        found = self.known.get(group.identity)
        if found is None:
            inside = {
                each.name: each.labels[group.key]
                for each in self.places
                if each.stays
                and each.known
                and group.key in each.labels
                and group.filter.matches(each.taints, each.requirements)
            }
            found = self.known[group.identity] = Counter(inside.values()), inside
        return found


class PodTopology:
    """The constraints between pods in one simulation, in groups that pods share: ``groups`` are what pods to place ask
    for, ``inverse`` by which pods keep others away. ``gone`` are the names of places that go, ``moving`` the keys of
    pods to place."""

    def __init__(
        self, land: Landscape, asked: t.Iterable[PodDemands], gone: frozenset[str], moving: frozenset[str]
    ) -> None:
        """Makes the groups of the pods ``asked``, and of others that keep pods away where they are; pods that move are
        not counted where they were."""
        self._land, self._gone, self._moving = land, gone, moving
        self.groups: dict[t.Any, TopologyGroup] = {}
        self.inverse: dict[t.Any, TopologyGroup] = {}
        self._repelled: dict[str, list[TopologyGroup]] = {}
        for wishes, place, away in land.repelling:
            if wishes.pod.key not in moving:
                self._repel(wishes, away, place.labels)
        for each in asked:
            self.update(each)

    @property
    def idle(self) -> bool:
        """Whether no constraint between pods is known, so that places depend on nodes alone."""
        return not (self.groups or self.inverse)

    def update(self, asked: PodDemands) -> None:
        """Notes the constraints of a pod as it asks for them now, in place of what it asked for before; required
        anti-affinity stays noted, as no pod gives that up."""
        if asked.plain and not self.groups:
            return
        for each in self.groups.values():
            each.owners.discard(asked.key)
        wishes = asked.wishes
        if wishes.anti_affinity:
            self._repel(wishes, _away_from(wishes), {})
        for group in self._asked_for(wishes):
            known = self.groups.get(group.identity)
            if known is None:
                known = self.groups[group.identity] = self._filled(group, wishes)
            known.owners.add(asked.key)

    def demands(self, asked: PodDemands, taints: Taints, node: Requirements) -> Requirements | None:
        """What a node of these taints and requirements must be besides for the pod to stand there, by constraints
        between pods; empty without any, None if nothing will do."""
        if self.idle:
            return {}
        out: Requirements = {}
        for group in self._minding(asked, taints, node):
            of_pod = asked.strict.get(group.key) or _with_any_value(group.key)
            found = group.domains_left(asked.pod, of_pod, node.get(group.key) or _with_any_value(group.key))
            if not found.values:
                return None
            narrow(out, found)
        return out

    def record(self, asked: PodDemands, taints: Taints, node: Requirements) -> None:
        """Counts a pod that has been placed on a node with these requirements, ``demands`` among them. Where several
        domains are listed, anti-affinity counts it in each (of a demand by exclusion, as upstream, in those that it
        excludes), spread and affinity in none."""
        for group in self.groups.values():
            if group.counts_on(asked.pod, taints, node):
                domains = node.get(group.key)
                if domains is None:
                    continue
                if group.kind == ANTI_AFFINITY:
                    for each in domains.values:
                        group.record(each)
                elif domains.single is not None:
                    group.record(domains.single)
        for group in self.inverse.values():
            if asked.key in group.owners and group.key in node:
                for each in node[group.key].values:
                    group.record(each)

    def _minding(self, asked: PodDemands, taints: Taints, node: Requirements) -> t.Iterator[TopologyGroup]:
        """The groups that have a say in where the pod goes: those of its own constraints, then those by which pods want
        it away."""
        for group in self.groups.values():
            if asked.key in group.owners:
                yield group
        yield from self._repelling(asked)

    def _repelling(self, asked: PodDemands) -> list[TopologyGroup]:
        """The groups by which pods, itself among them, want such a pod away from them, wherever: on every node, for
        they leave none out."""
        found = self._repelled.get(asked.key)
        if found is None:
            found = self._repelled[asked.key] = [each for each in self.inverse.values() if each.selects(asked.pod)]
        return found

    def _asked_for(self, wishes: Wishes) -> t.Iterator[TopologyGroup]:
        """A new group without counts for each constraint of the pod: spread, affinity, anti-affinity; wishes only if
        they are respected."""
        respect = self._land.settings.respect
        for one in wishes.spread:
            if respect or one.when_unsatisfiable != ANYWAY:
                yield TopologyGroup.of_spread(one, wishes)
        for term in _terms(wishes.affinity, wishes.preferred_affinity, respect):
            yield TopologyGroup.of_term(AFFINITY, term, wishes.pod)
        for term in _terms(wishes.anti_affinity, wishes.preferred_anti_affinity, respect):
            yield TopologyGroup.of_term(ANTI_AFFINITY, term, wishes.pod)

    def _filled(self, group: TopologyGroup, wishes: Wishes) -> TopologyGroup:
        """The same group, now with its domains and with the pods in them, those that are to be placed left out."""
        group.first = self._land.settings.first
        self._know(group, wishes)
        counts, inside = self._land.pods_of(group)
        left = Counter(counts)
        for key in self._moving:
            if key in inside:
                left[inside[key]] -= 1
        group.take_counts(left)
        return group

    def _know(self, group: TopologyGroup, wishes: Wishes) -> None:
        """Tells a group the domains in which pools could make nodes, and those of the nodes that stay. A hostname is a
        domain without being known, since each new node has one."""
        if group.key == HOSTNAME:
            return
        group.add_domains(group.makeable_domains(self._land.possible.get(group.key, {}), wishes.tolerations))
        counts, inside = self._land.domains_of(group)
        gone = Counter(inside[name] for name in self._gone if name in inside)
        group.add_domains(domain for domain, count in counts.items() if count > gone[domain])

    def _repel(self, wishes: Wishes, away: t.Iterable[TopologyGroup], labels: t.Mapping[str, str]) -> None:
        """Notes that the pod of ``wishes`` keeps others away, by the groups ``away``, from where it is: on a node of
        these labels, or nowhere yet."""
        for group in away:
            known = self.inverse.get(group.identity)
            if known is None:
                known = self.inverse[group.identity] = group.uncounted()
                self._repelled.clear()
                self._know_repelled(known, wishes)
            if group.key in labels:
                known.record(labels[group.key])
            known.owners.add(wishes.pod.key)

    def _know_repelled(self, group: TopologyGroup, wishes: Wishes) -> None:
        """Tells a group of those that keep others away the domains in which pools could make nodes, and those of the
        nodes that stay, unless the setting ``upstream`` is on; of hostnames nothing, as of ``_know``."""
        if group.key == HOSTNAME:
            return
        group.add_domains(group.makeable_domains(self._land.possible.get(group.key, {}), wishes.tolerations))
        if not self._land.settings.upstream:
            # Where a node is, a pod may go, whether or not a pool could make nodes there.
            group.add_domains(self._land.domains_of(group)[0])


def _away_from(wishes: Wishes) -> tuple[TopologyGroup, ...]:
    """A group without counts for each required anti-affinity of a pod."""
    return tuple(TopologyGroup.of_term(ANTI_AFFINITY, each, wishes.pod) for each in wishes.anti_affinity)


def _terms(
    must: tuple[PodAffinityTerm, ...], wished: tuple[tuple[int, PodAffinityTerm], ...], respect: bool
) -> t.Iterator[PodAffinityTerm]:
    """The required terms, and after them the preferred ones if they are respected."""
    yield from must
    if respect:
        yield from (term for _weight, term in wished)


def _with_any_value(key: str) -> LabelRequirement:
    """The demand that the label is there, with any value."""
    return requirement(key, EXISTS)


def _domain(place: PodHost, key: str) -> str | None:
    """The domain of a place, its label ``key``; a node that has no hostname yet is counted under its name. None without
    the label."""
    return place.labels.get(key, place.name if key == HOSTNAME else None)
