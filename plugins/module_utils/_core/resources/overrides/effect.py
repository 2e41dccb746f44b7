# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The name by which a binding tells what an override does on its cluster: a digest of the effect (in place of
KubeFleet's override snapshots)."""

from __future__ import annotations

import typing as t

from ...objects.clusters.member_cluster import MemberCluster
from ...objects.overrides.override import places_of
from ..sealing import LEFT_OUT, content_digest
from .overrides import Acting
from .patch import filled

LENGTH = 10


def effect_name(one: Acting, cluster: MemberCluster, secret: bool, key: bytes) -> str:
    """``<override>-<digest>``: the first 10 hexadecimal digits over the objects that it names and what its acting rules
    do on the cluster. FleetError ``not-json`` for a value that JSON does not have.

    ``secret``: the override reaches a Secret. Then the digest is made with the ``key`` of the records, and without one
    it does not cover values: whoever reads a name must not be able to try out weak ones.
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
    """The value with its variables filled in for the cluster; those that cannot be are left out."""
    return filled(value, cluster.name, cluster.metadata.labels)[0]
