# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the NodePool definition of one cluster knows: releases of Karpenter differ in the policies that they have."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...errors import FleetError

NAME, VERSION = "nodepools.karpenter.sh", "v1"


def policies(definition: t.Any) -> tuple[str, ...]:
    """The values of ``spec.disruption.consolidationPolicy`` that a cluster's CustomResourceDefinition lists, as an API
    server returns it; none if it takes any.

    FleetError ``not-the-definition`` if it is none of NodePools in v1.
    """
    if _get(definition, "metadata", "name") != NAME:
        raise _refusal(f"this is not the CustomResourceDefinition {NAME}", "")
    versions = _get(definition, "spec", "versions")
    rows = versions if isinstance(versions, (list, tuple)) else ()
    served = next((each for each in rows if _get(each, "name") == VERSION), None)
    schema = _get(served, "schema", "openAPIV3Schema")
    policy = _get(
        schema, *(step for key in ("spec", "disruption", "consolidationPolicy") for step in ("properties", key))
    )
    if not isinstance(policy, Mapping):
        raise _refusal("consolidationPolicy has no schema in it", f"spec.versions of {VERSION}")
    listed = policy.get("enum")
    if listed is None:
        return ()
    if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) for each in listed):
        raise _refusal(f"a list of texts is wanted, not {listed!r:.60}", "enum of consolidationPolicy")
    return tuple(listed)


def _get(value: t.Any, *keys: str) -> t.Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _refusal(message: str, where: str) -> FleetError:
    return FleetError("not-the-definition", message, where, f"give what kubectl get crd {NAME} -o json prints")
