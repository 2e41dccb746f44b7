# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What overrides do on one cluster, as names for a binding (KubeFleet override snapshots): digests of the effect."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...objects.clusters.member_cluster import MemberCluster
from ...objects.overrides.override import Override, places_of
from ...objects.overrides.override_rules import VARIABLE_START
from ..sealing import LEFT_OUT, content_digest
from .overrides import acts_on
from .patch import filled

LENGTH = 10


@dataclass(frozen=True)
class Acting:
    """An override, and the numbers, from 0, of those of its rules that act on a cluster."""

    override: Override
    rules: tuple[int, ...]

    @property
    def varies(self) -> bool:
        """Whether what it does depends on the name or labels of the cluster, by variables in its values."""
        patches = (patch for each in self.rules for patch in self.rule(each).json_patch_overrides)
        return any(VARIABLE_START in repr(patch.value) for patch in patches)

    def rule(self, number: int) -> t.Any:
        """One of the override's rules."""
        return self.override.spec.policy.override_rules[number]


def acting(overrides: t.Iterable[Override], cluster: MemberCluster) -> tuple[Acting, ...]:
    """Those of the attached overrides of which any rule acts on the cluster, in their order."""
    found = []
    for each in overrides:
        rules = enumerate(each.spec.policy.override_rules)
        numbers = tuple(number for number, rule in rules if acts_on(rule, cluster))
        if numbers:
            found.append(Acting(each, numbers))
    return tuple(found)


def effect_name(one: Acting, cluster: MemberCluster, secret: bool, key: bytes) -> str:
    """``<override>-<digest of what it does on the cluster>``.

    Of an override that reaches a ``secret`` the digest is made with the ``key`` of the records, and without one it does
    not cover values: whoever reads a name must not be able to try out weak ones.
    """
    rules = []
    for number in one.rules:
        rule = one.rule(number)
        patches = [
            [patch.op, patch.path, LEFT_OUT if secret and not key else _filled(patch.value, cluster)]
            for patch in rule.json_patch_overrides
        ]
        rules.append([rule.override_type, patches])
    effect = {"objects": sorted(map(list, places_of(one.override))), "rules": rules}
    return f"{one.override.name}-{content_digest(effect, key if secret else b'')[:LENGTH]}"


def _filled(value: t.Any, cluster: MemberCluster) -> t.Any:
    return filled(value, cluster.name, cluster.metadata.labels)[0]
