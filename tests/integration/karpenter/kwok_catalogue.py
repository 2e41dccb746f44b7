# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The instance types of Karpenter's kwok provider, as its catalogue beside the binary has them, as ours."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import (
    InstanceType,
    Offering,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import parse_quantity

CAPACITY_TYPE, ZONE = "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"
# What the provider keeps for the kubelet (newInstanceType), in 10^-9.
KEPT = {"cpu": parse_quantity("100m").nanos, "memory": parse_quantity("10Mi").nanos}


def catalogue(binary: Path) -> tuple[InstanceType, ...]:
    """All types of the file that came with the binary."""
    file = binary.parent / "instance-types" / "instance_types.json"
    return tuple(map(_type, json.loads(file.read_text(encoding="utf-8"))))


def _type(row: dict[str, t.Any]) -> InstanceType:
    resources = {"pods": "110", **row["resources"]}
    family = row["name"].partition("-")[0]
    labels = {
        "kubernetes.io/arch": row["architecture"],
        "kubernetes.io/os": row["operatingSystems"][0],
        "karpenter.kwok.sh/instance-size": resources["cpu"],
        "karpenter.kwok.sh/instance-family": family,
        "karpenter.kwok.sh/instance-cpu": resources["cpu"],
        "karpenter.kwok.sh/instance-memory": resources["memory"],
    }
    allocatable = {name: parse_quantity(text).nanos - KEPT.get(name, 0) for name, text in resources.items()}
    return InstanceType(
        name=row["name"], labels=labels, allocatable=allocatable, offerings=tuple(map(_offering, row["offerings"]))
    )


def _offering(row: dict[str, t.Any]) -> Offering:
    told = {each["key"]: each["values"][0] for each in row["Requirements"]}
    return Offering(zone=told[ZONE], capacity_type=told[CAPACITY_TYPE], price=row["Price"])
