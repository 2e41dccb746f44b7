# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""PodDisruptionBudgets, read from manifests, and what they hold back (Karpenter, ``pkg/utils/pdb``): which cover a pod,
which never allow anything (``maxUnavailable``, ``minAvailable``, ``AlwaysAllow``), whether a pod needs room elsewhere
at once."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from ..values.selector import LabelSelector, check_selector, matches
from .pod import Pod, reschedulable
from .pod_disruption import disruptable, evictable
from .pod_manifest import PdbManifest
from .pod_reading import read_as

ALWAYS_ALLOW = "AlwaysAllow"


@dataclass(frozen=True, kw_only=True)
class PodDisruptionBudget:
    """``allowed`` is how many pods may go now (``status.disruptionsAllowed``); without a selector it covers nothing;
    ``unhealthy`` is its ``unhealthyPodEvictionPolicy``."""

    name: str
    namespace: str = "default"
    selector: LabelSelector | None = None
    allowed: int = 0
    max_unavailable: int | str | None = None
    min_available: int | str | None = None
    unhealthy: str = "IfHealthyBudget"

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def fully_blocking(self) -> bool:
        """Whether it never allows anything, but for ``lets_through``: ``maxUnavailable`` 0 or ``0%``, ``minAvailable``
        ``100%``. Other spellings are not seen through, as in Karpenter."""
        return self.max_unavailable in (0, "0%") or self.min_available == "100%"

    def lets_through(self, pod: Pod) -> bool:
        """Whether the pod goes whatever is allowed: its condition Ready is False, and the budget says
        ``AlwaysAllow``."""
        return self.unhealthy == ALWAYS_ALLOW and pod.ready == "False"


class _NamespaceBudgets(t.NamedTuple):
    """Budgets with valid selectors, the labels that those name, and which budgets cover pods that have been asked for,
    by the values of these labels: others decide nothing."""

    budgets: list[PodDisruptionBudget]
    labels: list[str]
    covering: dict[tuple[str | None, ...], tuple[PodDisruptionBudget, ...]]


class PodDisruptionBudgets:
    """The budgets of a cluster, to be asked pod by pod; which of them cover pods that are alike to selectors is found
    once."""

    def __init__(self, budgets: t.Iterable[PodDisruptionBudget]) -> None:
        """Takes the budgets in any order; those without a selector, or with a wrong one, cover nothing."""
        self.budgets = tuple(sorted(budgets, key=lambda one: one.key))
        named: dict[str, set[str]] = defaultdict(set)
        usable: dict[str, list[PodDisruptionBudget]] = defaultdict(list)
        for each in self.budgets:
            if each.selector is not None and not check_selector(each.selector):
                usable[each.namespace].append(each)
                named[each.namespace] |= {*each.selector.match_labels}
                named[each.namespace] |= {one.key for one in each.selector.match_expressions}
        self._by_namespace = {name: _NamespaceBudgets(each, sorted(named[name]), {}) for name, each in usable.items()}

    def covering(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """The budgets of its namespace that select the pod, by name; one without a selector, or with a wrong one,
        selects none."""
        here = self._by_namespace.get(pod.namespace)
        if here is None:
            return ()
        alike = tuple(map(pod.labels.get, here.labels))
        found = here.covering.get(alike)
        if found is None:
            found = here.covering[alike] = tuple(each for each in here.budgets if matches(each.selector, pod.labels))
        return found

    def reschedulable_now(self, pod: Pod, now: datetime) -> bool:
        """Whether room must be found for it at once, at an aware instant: it is ``reschedulable`` and ``disruptable``,
        and, if a drain evicts it, not under several budgets nor under one that never allows anything and does not let
        it through."""
        if not (reschedulable(pod) and disruptable(pod, now)):
            return False
        if not evictable(pod, now):
            return True
        found = self.covering(pod)
        return len(found) < 2 and not any(each.fully_blocking and not each.lets_through(pod) for each in found)


def read_pod_disruption_budget(document: t.Any) -> PodDisruptionBudget:
    """A policy/v1 PodDisruptionBudget; FleetError ``undecodable`` if it has not the structure of one. A limit that is
    neither a whole number nor a text counts as absent."""
    manifest = read_as(PdbManifest, document, "PodDisruptionBudget")
    return PodDisruptionBudget(
        name=manifest.metadata.name,
        namespace=manifest.metadata.namespace,
        selector=manifest.spec.selector,
        allowed=manifest.status.disruptions_allowed,
        max_unavailable=_plain(manifest.spec.max_unavailable),
        min_available=_plain(manifest.spec.min_available),
        unhealthy=manifest.spec.unhealthy_pod_eviction_policy,
    )


def _plain(value: t.Any) -> int | str | None:
    """A whole number or a text as it is; None for anything else, 2.0 and truth values too."""
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None
