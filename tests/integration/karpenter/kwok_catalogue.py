# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The instance types of Karpenter's kwok provider, from its catalogue beside the binary, as a file for our verbs."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import parse_quantity
from small_fleet import Document

CAPACITY_TYPE, ZONE = "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"
# What the provider keeps for the kubelet (newInstanceType), in 10^-9.
KEPT = {"cpu": parse_quantity("100m").nanos, "memory": parse_quantity("10Mi").nanos}
MILLI = 10**6


def write_catalogue(binary: Path, to: Path) -> str:
    """All types of the file that came with the binary; the path of ours."""
    file = binary.parent / "instance-types" / "instance_types.json"
    types = [_type(each) for each in json.loads(file.read_text(encoding="utf-8"))]
    to.write_text(json.dumps({"instanceTypes": types}), encoding="utf-8")
    return str(to)


def _type(row: Document) -> Document:
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
    left = {name: parse_quantity(text).nanos - KEPT.get(name, 0) for name, text in resources.items()}
    allocatable = {name: f"{nanos // MILLI}m" for name, nanos in left.items()}
    offerings = [_offering(each) for each in row["offerings"]]
    return {"name": row["name"], "labels": labels, "allocatable": allocatable, "offerings": offerings}


def _offering(row: Document) -> Document:
    told = {each["key"]: each["values"][0] for each in row["Requirements"]}
    return {"zone": told[ZONE], "capacityType": told[CAPACITY_TYPE], "price": row["Price"]}
