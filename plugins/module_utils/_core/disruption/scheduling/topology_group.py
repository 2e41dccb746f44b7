# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Pods counted by domain for one constraint between pods, which nodes take part, and the domains that it leaves:
``maxSkew``, ``minDomains``, ``matchLabelKeys``, taints and affinity policies (Karpenter,
``scheduling/topologygroup.go``, ``topologynodefilter.go``, ``topologydomaingroup.go``).

Equal domains are taken by ``first``, then by name, where upstream leaves it to chance.
"""

from __future__ import annotations

import typing as t
from collections import Counter

from ...cluster.pod import Pod
from ...cluster.pod_manifest import PodAffinityTerm, PodSpread
from ...objects.clusters.member_cluster import Taint
from ...objects.clusters.tolerations import first_untolerated
from ...objects.placements.policy import Toleration
from ...resources.cleaning import NAMESPACE_LABEL
from ...values.selector import IN, LabelSelector, LabelSelectorRequirement, check_selector, compile_selector
from .requirement import LabelRequirement, Requirements, compatible, intersected, of_labels, of_selector
from .wishes import HOSTNAME, Wishes

SPREAD, AFFINITY, ANTI_AFFINITY = "spread", "affinity", "anti-affinity"
HONOR, IGNORE = "Honor", "Ignore"
UNLIMITED = 2**31 - 1
Taints = tuple[Taint, ...]
# By domain: the sets of taints of the pools that could make nodes there.
PossibleDomains = t.Mapping[str, t.Sequence[Taints]]


class NodeFilter:
    """Which nodes take part in a spread: ``taints`` and ``affinity`` are its policies, and ``Honor`` leaves those out
    that the pod does not tolerate, or select; any other text leaves out none."""

    __slots__ = ("affinity", "alternatives", "taints", "tolerations")

    def __init__(self, wishes: Wishes | None = None, taints: str = "", affinity: str = "") -> None:
        """The filter of a pod's spread; without ``wishes`` it leaves out no node by affinity, and where taints are
        honored those that have any."""
        self.taints, self.affinity = taints, affinity
        self.tolerations: tuple[Toleration, ...] = ()
        self.alternatives: tuple[Requirements, ...] = ()
        if wishes is not None:
            self.tolerations = wishes.tolerations
            own = of_labels(wishes.pod.node_selector)
            terms = wishes.terms if wishes.pod.node_affinity is not None else None
            self.alternatives = (
                (own,)
                if terms is None
                else tuple(intersected(own, of_selector(one.match_expressions)) for one in terms)
            )

    def matches(self, taints: Taints, requirements: Requirements) -> bool:
        """Whether a node with these taints and labels takes part in the spread."""
        if self.taints == HONOR and first_untolerated(taints, self.tolerations) is not None:
            return False
        if self.affinity != HONOR or not self.alternatives:
            return True
        return any(compatible(requirements, each) for each in self.alternatives)

    @property
    def identity(self) -> tuple[t.Any, ...]:
        """What filters are compared by; of alternatives the labels that they ask about and not the values, as
        upstream's hash."""
        asked = [frozenset((key, one.min_values) for key, one in each.items()) for each in self.alternatives]
        return self.taints, self.affinity, _odd(asked), _odd(self.tolerations)


class TopologyGroup:
    """One constraint (``spread``, ``affinity`` or ``anti-affinity``) that many pods may share; ``owners`` are the keys
    of these. ``counts`` has every known domain, 0 without a pod. ``namespaces`` None: all. ``used`` is the number of
    domains with a pod; ``first`` are domains that are taken first among equals."""

    __slots__ = (
        "_matcher", "counts", "filter", "first", "identity", "key", "kind", "max_skew", "min_domains", "namespaces",
        "owners", "selector", "used",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        key: str,
        namespaces: frozenset[str] | None,
        selector: LabelSelector | None,
        max_skew: int = UNLIMITED,
        min_domains: int | None = None,
        filter: NodeFilter | None = None,
    ) -> None:
        """A group without domains, pods and owners. Without a selector, or with a wrong one, it selects no pod; without
        a filter all nodes take part."""
        self.kind, self.key, self.namespaces, self.selector = kind, key, namespaces, selector
        self.max_skew, self.min_domains, self.filter = max_skew, min_domains, filter or NodeFilter()
        self.counts: dict[str, int] = {}
        self.used = 0  # domains with a pod
        self.first: tuple[str, ...] = ()  # domains that are taken first among equals
        self.owners: set[str] = set()
        usable = selector is not None and not check_selector(selector)
        self._matcher = compile_selector(selector) if usable else None
        self.identity = (key, kind, namespaces, max_skew, self.filter.identity, _selector_identity(selector))

    @classmethod
    def of_spread(cls, one: PodSpread, wishes: Wishes) -> TopologyGroup:
        """The group of one spread of a pod, in its own namespace; ``match_label_keys`` narrow its selector, if it has
        one, by the pod's labels. Without policies it ignores taints and honors the pod's node affinity."""
        pod, selector = wishes.pod, one.label_selector
        rows = [
            LabelSelectorRequirement(key, IN, (pod.labels[key],)) for key in one.match_label_keys if key in pod.labels
        ]
        if rows and selector is not None:
            selector = LabelSelector(selector.match_labels, (*selector.match_expressions, *rows))
        taken = NodeFilter(wishes, one.node_taints_policy or IGNORE, one.node_affinity_policy or HONOR)
        namespaces = frozenset((pod.namespace,))
        return cls(SPREAD, one.topology_key, namespaces, selector, one.max_skew, one.min_domains, taken)

    @classmethod
    def of_term(cls, kind: str, one: PodAffinityTerm, pod: Pod) -> TopologyGroup:
        """The group of one affinity or anti-affinity of a pod (``kind``). Of the labels of namespaces only their names
        are known here (``kubernetes.io/metadata.name``); a selector that lists none of them means all namespaces."""
        return cls(kind, one.topology_key, _namespaces(one, pod), one.label_selector)

    def uncounted(self) -> TopologyGroup:
        """A new group of the same constraint, without domains, pods and owners."""
        made = TopologyGroup.__new__(TopologyGroup)
        made.kind, made.key, made.namespaces, made.selector = self.kind, self.key, self.namespaces, self.selector
        made.max_skew, made.min_domains, made.filter = self.max_skew, self.min_domains, self.filter
        made.counts, made.used, made.first, made.owners = {}, 0, self.first, set()
        made._matcher, made.identity = self._matcher, self.identity
        return made

    def add_domains(self, domains: t.Iterable[str]) -> None:
        """Adds domains, without pods where they are new."""
        for each in domains:
            self.counts.setdefault(each, 0)

    def makeable_domains(self, domains: PossibleDomains, tolerations: tuple[Toleration, ...]) -> t.Iterator[str]:
        """The domains in which pools could make nodes for pods with these tolerations, in the order given; all of them
        if the constraint ignores taints."""
        for name, pools in domains.items():
            if self.filter.taints == IGNORE or any(first_untolerated(each, tolerations) is None for each in pools):
                yield name

    def take_counts(self, counts: t.Mapping[str, int]) -> None:
        """Takes over how many pods there are in each domain, counts of 0 and less left out, in a group that has counted
        none."""
        for domain, count in counts.items():
            if count > 0:
                self.counts[domain] = count
                self.used += 1

    def record(self, domain: str) -> None:
        """Counts one pod more in the domain."""
        count = self.counts.get(domain, 0)
        self.counts[domain] = count + 1
        if count == 0:
            self.used += 1

    def selects(self, pod: Pod) -> bool:
        """Whether the constraint is about the pod, by namespace and labels; none without a selector, or with a wrong
        one."""
        if self.namespaces is not None and pod.namespace not in self.namespaces:
            return False
        return self._matcher is not None and self._matcher(pod.labels)

    def counts_running(self, pod: Pod) -> bool:
        """As ``selects``, for pods that run: without a selector all of its namespaces count."""
        if self.selector is None:
            return self.namespaces is None or pod.namespace in self.namespaces
        return self.selects(pod)

    def counts_on(self, pod: Pod, taints: Taints, requirements: Requirements) -> bool:
        """Whether the pod counts on a node with these taints and requirements."""
        return self.selects(pod) and self.filter.matches(taints, requirements)

    def domains_left(self, pod: Pod, of_pod: LabelRequirement, of_node: LabelRequirement) -> LabelRequirement:
        """The domains that are left for the pod on such a node, no value if there is none, by what pod (``of_pod``) and
        node (``of_node``) ask of the topology key: for spread the one with the fewest pods within ``maxSkew``; for
        affinity those with such pods, or for the first of its kind one or two of the pod's own, one of the node before
        others; for anti-affinity those without. A node's only hostname need not be known."""
        if self.kind == SPREAD:
            return self._spread(pod, of_pod, of_node)
        if self.kind == AFFINITY:
            return self._beside(pod, of_pod, of_node)
        return self._away(of_pod, of_node)

    def _among(self, of_node: LabelRequirement) -> t.Iterable[str]:
        """The known domains of the node, those that are to come first, then by name."""
        if of_node.operator == IN:
            return self._ordered(each for each in of_node.values if each in self.counts)
        return self._ordered(each for each in self.counts if of_node.has(each))

    def _ordered(self, domains: t.Iterable[str]) -> list[str]:
        """The domains as a list, those of ``first`` first and in its order, then by name."""
        found = sorted(domains)
        return [*(each for each in self.first if each in found), *(each for each in found if each not in self.first)]

    def _spread(self, pod: Pod, of_pod: LabelRequirement, of_node: LabelRequirement) -> LabelRequirement:
        """The one domain that spread leaves: of those within ``maxSkew`` of the fewest pods anywhere for the pod the
        one with the fewest, or a node's only hostname if that is; no value if there is none."""
        more = 1 if self.selects(pod) else 0
        if self.key == HOSTNAME and len(of_node.values) == 1:
            (name,) = of_node.values
            # A new node is always possible, so that the fewest pods on a node are none.
            return self._these((name,) if self.counts.get(name, 0) + more <= self.max_skew else ())
        fewest = self._fewest(of_pod)
        best, least = None, UNLIMITED
        for each in self._among(of_node):
            count = self.counts[each] + more
            if count - fewest <= self.max_skew and count < least:
                best, least = each, count
        return self._these(() if best is None else (best,))

    def _fewest(self, of_pod: LabelRequirement) -> int:
        """The fewest pods in a domain that the pod may go to; 0 for hostnames, and where there are fewer domains than
        ``minDomains``; ``UNLIMITED`` without any."""
        if self.key == HOSTNAME:
            return 0
        counts = [count for name, count in self.counts.items() if of_pod.has(name)]
        if self.min_domains is not None and len(counts) < self.min_domains:
            return 0
        return min(counts, default=UNLIMITED)

    def _beside(self, pod: Pod, of_pod: LabelRequirement, of_node: LabelRequirement) -> LabelRequirement:
        """The domains that affinity leaves: those with pods that it wants, or for the first of its kind one that suits
        pod and node, or else any of the pod's, and one more of ``first``. A node's only hostname alone, if it will
        do."""
        if self.key == HOSTNAME and len(of_node.values) == 1:
            (name,) = of_node.values
            taken = of_pod.has(name) and (self.counts.get(name, 0) > 0 or self._first_of_its_kind(pod, of_pod))
            return self._these((name,) if taken else ())
        found = [each for each in self._among(of_node) if self.counts[each] > 0 and of_pod.has(each)]
        if found or not self._first_of_its_kind(pod, of_pod):
            return self._these(found)
        able = of_pod.intersection(of_node)
        own = [each for each in self._ordered(self.counts) if of_pod.has(each)]
        near = next((each for each in own if able.has(each)), None)
        # Upstream takes any domain of the pod beside one of the node; here it is the same, unless another is asked for.
        far = next((each for each in own if each in self.first and each != near), near or next(iter(own), None))
        return self._these([each for each in (near, far) if each is not None])

    def _first_of_its_kind(self, pod: Pod, of_pod: LabelRequirement) -> bool:
        """Whether nobody whom the pod wants beside it is anywhere that it may go, and it is one of them itself."""
        if not self.selects(pod):
            return False
        return self.used == 0 or not any(count > 0 and of_pod.has(name) for name, count in self.counts.items())

    def _away(self, of_pod: LabelRequirement, of_node: LabelRequirement) -> LabelRequirement:
        """The known domains without pods that the node and the pod admit; of a node's only hostname just whether it has
        none."""
        if self.key == HOSTNAME and len(of_node.values) == 1:
            (name,) = of_node.values
            return self._these(() if self.counts.get(name, 0) else (name,))
        return self._these([each for each in self._among(of_node) if not self.counts[each] and of_pod.has(each)])

    def _these(self, domains: t.Iterable[str]) -> LabelRequirement:
        """The demand that the label has one of these values; none of them: no value will do."""
        return LabelRequirement(self.key, frozenset(domains))


def _namespaces(term: PodAffinityTerm, pod: Pod) -> frozenset[str] | None:
    """The namespaces that a term of the pod is about: those that it lists, and those whose names its selector of
    namespaces lists; without both, the pod's own. None for all."""
    if term.namespace_selector is None:
        return frozenset(term.namespaces or (pod.namespace,))
    selector = term.namespace_selector
    listed = [frozenset((value,)) for key, value in selector.match_labels.items() if key == NAMESPACE_LABEL]
    listed += [
        frozenset(each.values)
        for each in selector.match_expressions
        if each.key == NAMESPACE_LABEL and each.operator == IN
    ]
    return frozenset.intersection(*listed) | frozenset(term.namespaces) if listed else None


def _selector_identity(selector: LabelSelector | None) -> t.Any:
    """What selectors are compared by, whatever the order of their parts; None without one."""
    if selector is None:
        return None
    rows = frozenset((each.key, each.operator, _odd(each.values)) for each in selector.match_expressions)
    return frozenset(selector.match_labels.items()), rows


def _odd(rows: t.Iterable[t.Hashable]) -> frozenset[t.Hashable]:
    """What is there an odd number of times, each once: twice the same cancels itself in upstream's hash of sets."""
    return frozenset(each for each, count in Counter(rows).items() if count % 2)
