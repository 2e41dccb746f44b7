# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Facts of one node, bounded, as it tells them: those of a snapshot, the label of its pool, its image, the age that it
pretends to have (``gitops.fleet/simulated-age``), amounts (capacity, allocatable) as texts."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from ...foreign import in_line
from ...values.parts import (
    mapping,
    rows,
    text,
    texts,
)
from ...values.parts import name as called
from ...values.quantity import parse_quantity

# What is more was not written by Kubernetes: names and values of labels are shorter, and so are amounts.
LONGEST_TEXT, LONGEST_AMOUNT, MOST_AMOUNTS = 512, 64, 64
AsWritten = tuple[tuple[str, str], ...]
AGE = "gitops.fleet/simulated-age"
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
POOL_LABELS = (
    "gitops.fleet/pool",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
)
# The node image by the name under which it is chosen, where a platform tells it; Azure's pools say what they are for.
IMAGE_LABEL, MODE_LABEL = "kubernetes.azure.com/node-image-version", "kubernetes.azure.com/mode"


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """One node. ``pool`` comes from the first of ``POOL_LABELS`` that is there, ``version`` is the kubelet's, ``mode``
    is Azure's (``System``, ``User``); texts are empty where the node does not tell. ``created_at`` is earlier by the
    age that a simulated node pretends to have. Amounts are quantities as texts."""

    name: str
    pool: str = ""
    created_at: datetime | None = None
    version: str = ""
    image: str = ""
    mode: str = ""
    instance_type: str = ""
    ready: bool = False
    unschedulable: bool = False
    capacity: t.Mapping[str, str] = field(default_factory=dict)
    allocatable: t.Mapping[str, str] = field(default_factory=dict)


def node_facts(node: t.Mapping[str, t.Any], created_at: datetime | None) -> NodeFacts:
    """The facts of a core/v1 Node manifest, its texts fit to be shown. A simulated node is older than ``created_at``
    (None: not known) by its annotation's age. Of two conditions Ready the last counts.

    ValueError for a node without a name, whose parts are of other types than an API server's, longer or more than
    Kubernetes writes, or that is older than a calendar has.
    """
    metadata, status = mapping(node, "metadata"), mapping(node, "status")
    labels, info = texts(metadata, "labels"), mapping(status, "nodeInfo")
    conditions = {each.get("type"): each.get("status") for each in rows(status, "conditions") if _is_told(each)}
    return NodeFacts(
        name=_short(called(metadata)),
        pool=_short(labels.get(pool_label_key(labels), "")),
        created_at=_older(created_at, simulated_age(texts(metadata, "annotations"))) if created_at else None,
        version=_short(text(info, "kubeletVersion")),
        image=_short(image_of(labels, text(info, "osImage"))),
        mode=_short(labels.get(MODE_LABEL, "")),
        instance_type=_short(labels.get("node.kubernetes.io/instance-type", "")),
        ready=conditions.get("Ready") == "True",
        unschedulable=bool(mapping(node, "spec").get("unschedulable")),
        capacity=amount_texts(status, "capacity"),
        allocatable=amount_texts(status, "allocatable"),
    )


def pool_label_key(labels: t.Mapping[str, str]) -> str:
    """The key of the label that tells a node's pool, the first of ``POOL_LABELS`` that is there; empty if none is."""
    return next((label for label in POOL_LABELS if label in labels), "")


def image_of(labels: t.Mapping[str, str], os_image: str) -> str:
    """The name of a node's image, as its platform tells it by label, or else ``os_image``, its operating system."""
    return labels.get(IMAGE_LABEL) or os_image


def amount_texts(of: t.Mapping[str, t.Any], key: str) -> t.Mapping[str, str]:
    """The amounts of a node, a map of quantities as texts under ``key``, empty where it is absent; nobody changes it,
    as it is shared. ValueError if it is no map, and as of ``read_amounts``."""
    return read_amounts(as_written(mapping(of, key)), key)


def as_written(amounts: t.Mapping[str, t.Any]) -> AsWritten:
    """Amounts of a node or a pod as pairs of names and quantities, in order, for ``read_amounts``; what is no text is
    made one."""
    try:
        "".join(amounts.values())
    except TypeError:
        return tuple([(name, str(amount)) for name, amount in amounts.items()])
    return tuple(amounts.items())


@lru_cache(maxsize=1024)
def read_amounts(told: AsWritten, key: str) -> t.Mapping[str, str]:
    """Amounts of a node or a pod by name, of what was told (``as_written``), read once and kept for all that tell the
    same: nobody changes them. ValueError if one is no quantity, for more than 64, and for what is too long; ``key`` is
    the name of the field, for errors."""
    if len(told) > MOST_AMOUNTS:
        raise ValueError(f"{key} has more than {MOST_AMOUNTS} entries")
    for _name, amount in told:
        if len(amount) > LONGEST_AMOUNT:
            raise ValueError(f"{key} holds something else than quantities")
        parse_quantity(amount)
    return {_short(name): amount for name, amount in told}


def _older(created_at: datetime, age: timedelta) -> datetime:
    """The instant ``age`` before; ValueError where no calendar has it."""
    try:
        return created_at - age
    except OverflowError:
        raise ValueError("the simulated age of a node is out of range") from None


def _short(told: str) -> str:
    """What a node tells, as one line fit to be recorded and shown; ValueError for more than 512 characters."""
    if len(told) > LONGEST_TEXT:
        raise ValueError(f"a node tells a text of more than {LONGEST_TEXT} characters")
    return in_line(told)


def _is_told(condition: t.Mapping[str, t.Any]) -> bool:
    """Whether the condition has a text as its type."""
    return isinstance(condition.get("type"), str)


def simulated_age(annotations: t.Mapping[str, str]) -> timedelta:
    """The age that a node of a local cluster pretends to have by its annotation, such as ``30d`` or ``12h30m``, at most
    ``timedelta.max``; zero if it has none, or one that is not made of whole ``d``, ``h``, ``m`` and ``s`` of up to six
    digits."""
    told = annotations.get(AGE, "")
    if not re.fullmatch(r"([0-9]{1,6}[dhms])+", told):
        return timedelta()
    seconds = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"([0-9]+)([dhms])", told))
    return timedelta(seconds=seconds) if seconds <= timedelta.max.total_seconds() else timedelta.max
