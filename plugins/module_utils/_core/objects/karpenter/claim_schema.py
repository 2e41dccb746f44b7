# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Requirements, taints and node class as the published v1 definitions of NodePool, NodeClaim and NodeOverlay have them,
and rules that these share: labels (``restricted-label``), values (``values-missing``, ``min-values-too-large``; CRDs of
Karpenter v1.14.1)."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ...schema.prop import prop
from ...schema.rules import Found
from ...values.listed import number_of
from .node_pool import DEFAULT_EXPIRY
from .node_pool_forms import DURATION, DURATION_OR_NEVER

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
COMPARING = ("Gt", "Lt", "Gte", "Lte")
MAX_REQUIREMENTS = 100
_DOMAIN_OK = ("karpenter.sh/capacity-type", "karpenter.sh/nodepool")
_PART = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_NAME = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)


def is_qualified(text: str) -> bool:
    """Whether a text is a name, with a lower-case DNS prefix and ``/`` before it or without, as keys of requirements,
    and keys and values of taints, have it; of any length but 0."""
    prefix, slash, name = text.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or all(map(_PART.fullmatch, prefix.split("."))))


_QUALIFIED: dict[str, t.Any] = {
    "matches": is_qualified,
    "form": "a name of letters, digits, '-', '_' and '.', which may have a DNS prefix and '/' before it",
}
_NOT_EMPTY: dict[str, t.Any] = {"min_length": 1}


@dataclass(frozen=True, kw_only=True)
class NodeClassRef:
    group: str = prop(
        "API group of the class.", pattern=r"[^/]+", form="an API group without a version, such as karpenter.k8s.aws"
    )
    kind: str = prop("Kind of the class.", **_NOT_EMPTY)
    name: str = prop("Name of the class.", **_NOT_EMPTY)


@dataclass(frozen=True, kw_only=True)
class OverlayRequirement:
    key: str = prop("Label.", max_length=316, **_QUALIFIED)
    operator: str = prop("How values are compared.", enum=OPERATORS)
    values: tuple[str, ...] | None = prop("Values.", default=None)


@dataclass(frozen=True, kw_only=True)
class NodeRequirement(OverlayRequirement):
    min_values: int | None = prop("How many values must be possible.", default=None, minimum=1, maximum=50)


@dataclass(frozen=True, kw_only=True)
class NodeTaint:
    key: str = prop("Key.", **_QUALIFIED)
    value: str | None = prop("Value.", default=None, **_QUALIFIED)
    effect: str = prop("What it does to pods that do not tolerate it.", enum=EFFECTS)
    time_added: datetime | None = prop("Instant at which it was added.", default=None)


@dataclass(frozen=True, kw_only=True)
class NodeClaimTemplateSpec:
    expire_after: str = prop("How long a node lives.", default=DEFAULT_EXPIRY, **DURATION_OR_NEVER)
    node_class_ref: NodeClassRef = prop("The class that machines are made from.")
    requirements: tuple[NodeRequirement, ...] = prop("What nodes may be made.", max_items=MAX_REQUIREMENTS)
    startup_taints: tuple[NodeTaint, ...] | None = prop("Taints that something else takes off.", default=None)
    taints: tuple[NodeTaint, ...] | None = prop("Taints of the node.", default=None)
    termination_grace_period: str | None = prop("How long a drain may take.", default=None, **DURATION)


def check_claim(claim: t.Any, path: str, in_pool: bool) -> t.Iterator[Found]:
    """What ``check_node_requirements`` finds in a NodeClaim's spec, or the template of one in a NodePool (``in_pool``),
    which is at ``path``."""
    if isinstance(claim, Mapping):
        yield from check_node_requirements(claim.get("requirements"), f"{path}.requirements", in_pool)


def check_node_requirements(rows: t.Any, path: str, in_pool: bool = False) -> t.Iterator[Found]:
    """What is wrong with a list of requirements at ``path``, one after another: ``restricted-label``;
    ``values-missing`` (In without values, Gt, Lt, Gte and Lte without just one whole number; NotIn passes) or
    ``min-values-too-large``. ``in_pool`` as of ``check_label_not_reserved``. What is no list, and an item that is no
    mapping, are left to the schema; ``values`` are a list, or not there."""
    for index, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        if isinstance(row, Mapping):
            here = f"{path}[{index}]"
            yield from check_label_not_reserved(row.get("key"), f"{here}.key", in_pool)
            yield from _check_values(row, here)


def check_label_not_reserved(key: t.Any, path: str, in_pool: bool) -> t.Iterator[Found]:
    """The problem ``restricted-label``, at ``path``, of a key that Karpenter keeps for itself:
    ``kubernetes.io/hostname``, and each whose prefix (the whole key, if it has no slash) ends with ``karpenter.sh``;
    but ``karpenter.sh/capacity-type`` may be set, and ``karpenter.sh/nodepool`` where it does not stand in a NodePool
    (``in_pool``)."""
    if not isinstance(key, str):
        return
    own = key.partition("/")[0].endswith("karpenter.sh") and key not in _DOMAIN_OK
    if own or key == "kubernetes.io/hostname" or (in_pool and key == "karpenter.sh/nodepool"):
        yield Found("restricted-label", path, f"{key!r:.80} is a label that Karpenter keeps for itself", "leave it out")


def _check_values(row: Mapping[str, t.Any], path: str) -> t.Iterator[Found]:
    """At most one problem of a requirement: ``values-missing`` if In has no values or a comparing operator not just one
    whole number of at least 0; ``min-values-too-large`` if In has fewer values than ``minValues``."""
    values: t.Sequence[t.Any] = row.get("values") or ()
    operator, least = row.get("operator"), row.get("minValues")
    if operator == "In" and not values:
        yield Found("values-missing", path, "In needs values", "name the values, or write Exists")
    elif operator in COMPARING and (len(values) != 1 or not _is_count(values[0])):
        yield Found("values-missing", path, f"{operator} needs one whole number of at least 0, as text")
    elif operator == "In" and isinstance(least, int) and least > len(values):
        text = f"{number_of(len(values), 'value', 'is', 'are')} here, so that {least} different ones are never possible"
        yield Found("min-values-too-large", f"{path}.minValues", text, f"write at most {len(values)}, or more values")


def _is_count(value: t.Any) -> bool:
    """Whether a value is the text of a whole number of at least 0, of at most 18 digits, with a ``+`` or without."""
    return isinstance(value, str) and bool(re.fullmatch(r"\+?[0-9]{1,18}", value, re.ASCII))
