# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which consolidation policies (``consolidationPolicy``) the NodePool definition of one cluster knows, as releases of
Karpenter differ in them (``not-the-definition`` for another one)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...errors import FleetError
from ...values.field_path import field

NAME, VERSION = "nodepools.karpenter.sh", "v1"


def consolidation_policies(definition: t.Any) -> tuple[str, ...]:
    """The values of ``spec.disruption.consolidationPolicy`` that a cluster's CustomResourceDefinition, as an API server
    returns it, lists for v1, in its order; empty if it takes any. FleetError ``not-the-definition`` if it is not that
    of NodePools, has no v1, or does not say in it what that field takes."""
    if field(definition, "metadata.name") != NAME:
        raise _refusal(f"this is not the CustomResourceDefinition {NAME}", "")
    versions = field(definition, "spec.versions")
    rows = versions if isinstance(versions, (list, tuple)) else ()
    served = next((each for each in rows if field(each, "name") == VERSION), None)
    below = "".join(f".properties.{name}" for name in ("spec", "disruption", "consolidationPolicy"))
    policy = field(served, f"schema.openAPIV3Schema{below}")
    if not isinstance(policy, Mapping):
        raise _refusal("consolidationPolicy has no schema in it", f"spec.versions of {VERSION}")
    listed = policy.get("enum")
    if listed is None:
        return ()
    if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) for each in listed):
        raise _refusal(f"a list of texts is wanted, not {listed!r:.60}", "enum of consolidationPolicy")
    return tuple(listed)


def _refusal(message: str, where: str) -> FleetError:
    """The error ``not-the-definition``, to be raised, with how to print the definition as its hint."""
    return FleetError("not-the-definition", message, where, f"give what kubectl get crd {NAME} -o json prints")
