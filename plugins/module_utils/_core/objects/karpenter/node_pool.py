# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``NodePool`` of karpenter.sh/v1 and its budgets, decoded from what members have stored, with defaults
(``consolidateAfter``, ``expireAfter``, ``consolidationPolicy``), as far as decisions about disruption read it, or
``undecodable``; and printed again.

What an API server demands of a field stands beside it; the parts around these in ``node_pool_schema``. Printing keeps
what Karpenter tells apart: an absent list is not an empty one.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import FleetError
from ...schema.codec import decode, encode
from ...schema.meta import EMPTY, ObjectMeta
from ...schema.prop import prop
from ...values.duration import NEVER, parse_or_never
from ...values.node_selector import NodeSelectorRequirement, requirements
from .node_pool_forms import COUNT, DURATION_OR_NEVER, HOURS_AND_MINUTES, SCHEDULE

API_VERSION, KIND = "karpenter.sh/v1", "NodePool"
EMPTY_REASON, DRIFTED, UNDERUTILIZED = "Empty", "Drifted", "Underutilized"
REASONS = (EMPTY_REASON, DRIFTED, UNDERUTILIZED)
DEFAULT_NODES, DEFAULT_POLICY, DEFAULT_EXPIRY = "10%", "WhenEmptyOrUnderutilized", "720h"
POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
MAX_BUDGETS = MAX_REASONS = 50


@dataclass(frozen=True)
class Budget:
    """One entry of ``spec.disruption.budgets``, with the texts as they are written.

    ``nodes`` is a number or a percentage, ``schedule`` a cron text in UTC. ``reasons`` None means all of them; an empty
    tuple, none.
    """

    nodes: str = prop("How many nodes may be disrupted at once.", default=DEFAULT_NODES, **COUNT)
    schedule: str | None = prop("When the budget begins to hold, in UTC.", default=None, **SCHEDULE)
    duration: str | None = prop("How long it holds from there.", default=None, **HOURS_AND_MINUTES)
    reasons: tuple[str, ...] | None = prop(
        "What it holds back.", default=None, enum=REASONS, max_items=MAX_REASONS, unique=True
    )

    def covers(self, reason: str) -> bool:
        """Whether it holds for a disruption of that reason."""
        return self.reasons is None or reason in self.reasons

    def as_dict(self) -> dict[str, t.Any]:
        """The budget as manifests have it, in a new dict; schedule, duration and reasons that are None are left out."""
        out: dict[str, t.Any] = {"nodes": self.nodes}
        out |= {key: value for key in ("schedule", "duration") if (value := getattr(self, key)) is not None}
        return out if self.reasons is None else out | {"reasons": list(self.reasons)}


DEFAULT_BUDGETS = (Budget(),)


@dataclass(frozen=True)
class Disruption:
    """``spec.disruption``, with the defaults of the published schema. An empty list of budgets means no limit."""

    consolidate_after: str = prop("How long a node is left alone after its pods changed.", **DURATION_OR_NEVER)
    consolidation_policy: str = prop("What nodes are consolidated.", default=DEFAULT_POLICY, enum=POLICIES)
    budgets: tuple[Budget, ...] = prop("Limits.", default=DEFAULT_BUDGETS, max_items=MAX_BUDGETS)

    def as_dict(self) -> dict[str, t.Any]:
        """``spec.disruption`` as manifests have it, in new dicts and lists, defaults written out."""
        return {
            "consolidationPolicy": self.consolidation_policy,
            "consolidateAfter": self.consolidate_after,
            "budgets": [each.as_dict() for each in self.budgets],
        }


DEFAULT_DISRUPTION = Disruption("0s")


@dataclass(frozen=True)
class NodeTemplate:
    """``spec.template``: what NodeClaims are made from. All of it but ``requirements`` is in the drift hash.

    ``node_class`` are group and kind of the class, empty where they are not said; ``termination_grace_period`` None
    means that a drain may take any time.
    """

    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    annotations: Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    requirements: tuple[NodeSelectorRequirement, ...] = ()
    expire_after: str = DEFAULT_EXPIRY
    termination_grace_period: str | None = None
    node_class: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class NodePool:
    """A pool. ``manifest`` is what it was made from, for the fields that nothing here decides about."""

    metadata: ObjectMeta
    disruption: Disruption = DEFAULT_DISRUPTION
    template: NodeTemplate = NodeTemplate()
    manifest: Mapping[str, t.Any] = field(default_factory=lambda: EMPTY, hash=False, compare=False)

    @property
    def name(self) -> str:
        return self.metadata.name

    def as_dict(self) -> dict[str, t.Any]:
        """The manifest as it was read, which is not changed, with the present ``spec.disruption``, ``expireAfter`` and,
        unless that is None, ``terminationGracePeriod``; no other field of the template is written back. What it lacks
        of version, kind and metadata is filled in."""
        spec = dict(self.manifest.get("spec") or {})
        template = dict(spec.get("template") or {})
        claim = dict(template.get("spec") or {}) | {"expireAfter": self.template.expire_after}
        if self.template.termination_grace_period is not None:
            claim["terminationGracePeriod"] = self.template.termination_grace_period
        spec |= {"disruption": self.disruption.as_dict(), "template": template | {"spec": claim}}
        return (
            {"apiVersion": API_VERSION, "kind": KIND}
            | dict(self.manifest)
            | {
                "metadata": self.manifest.get("metadata") or encode(self.metadata),
                "spec": spec,
            }
        )


def decode_node_pool(document: Mapping[str, t.Any]) -> NodePool:
    """The pool of a stored object, with the schema's defaults for what is absent or null: ``consolidateAfter`` 0s,
    policy WhenEmptyOrUnderutilized (for an empty text too), one budget of 10%, ``expireAfter`` 720h.

    FleetError ``undecodable`` where a field that is read here holds what Karpenter's typed client could not read
    either, values of labels and annotations aside, and for a null in a list of texts; in a list of objects it counts as
    an empty one. What is not read here is not judged, and stays in ``manifest``.
    """
    spec = _mapping(document.get("spec"), "spec")
    template = _mapping(spec.get("template"), "spec.template")
    metadata, claim = (
        _mapping(template.get("metadata"), "spec.template.metadata"),
        _mapping(template.get("spec"), "spec.template.spec"),
    )
    disruption = _mapping(spec.get("disruption"), "spec.disruption")
    grace = _duration(claim.get("terminationGracePeriod"), "spec.template.spec.terminationGracePeriod", never=False)
    return NodePool(
        metadata=_metadata(_mapping(document.get("metadata"), "metadata")),
        disruption=Disruption(
            _duration(disruption.get("consolidateAfter"), "spec.disruption.consolidateAfter") or "0s",
            _text(disruption.get("consolidationPolicy"), "spec.disruption.consolidationPolicy") or DEFAULT_POLICY,
            DEFAULT_BUDGETS if disruption.get("budgets") is None else decode_budgets(disruption["budgets"]),
        ),
        template=NodeTemplate(
            _mapping(metadata.get("labels"), "spec.template.metadata.labels"),
            _mapping(metadata.get("annotations"), "spec.template.metadata.annotations"),
            _requirements(claim.get("requirements")),
            _duration(claim.get("expireAfter"), "spec.template.spec.expireAfter") or DEFAULT_EXPIRY,
            grace,
            _class(_mapping(claim.get("nodeClassRef"), "spec.template.spec.nodeClassRef")),
        ),
        manifest=document,
    )


def decode_budgets(rows: t.Any, path: str = "spec.disruption.budgets") -> tuple[Budget, ...]:
    """Budgets as they are stored, in their order; one without ``nodes``, and a null in the place of one, is of 10%.
    What they say is judged where they are evaluated, except durations, which Karpenter's client reads at once:
    FleetError ``undecodable`` for one that does not parse, and for a value of another type; its place begins with
    ``path``."""
    if not isinstance(rows, (list, tuple)):
        raise FleetError("undecodable", f"a list is wanted, not {rows!r:.60}", path)
    return tuple(_budget(_mapping(each, f"{path}[{index}]"), f"{path}[{index}]") for index, each in enumerate(rows))


def _metadata(row: Mapping[str, t.Any]) -> ObjectMeta:
    """The metadata of a pool; FleetError ``undecodable`` where a part of it is of another structure."""
    try:
        return decode(ObjectMeta, row)
    except (ValueError, TypeError) as error:
        raise FleetError("undecodable", str(error), "metadata") from None


def _requirements(rows: t.Any) -> tuple[NodeSelectorRequirement, ...]:
    """The requirements of the template, in order; empty for None, and for a null in the list one without key and
    operator. FleetError ``undecodable`` for what is no list of requirements, or a part of one of another type."""
    here = "spec.template.spec.requirements"
    if rows is not None and not isinstance(rows, (list, tuple)):
        raise FleetError("undecodable", f"a list of requirements is wanted, not {rows!r:.60}", here)
    return requirements([_requirement(each, f"{here}[{index}]") for index, each in enumerate(rows or ())])


def _requirement(row: t.Any, path: str) -> Mapping[str, t.Any]:
    """Key, operator and values of a requirement, empty where they are absent. FleetError ``undecodable`` for those of
    another type."""
    found = _mapping(row, path)
    texts = {key: _text(found.get(key), f"{path}.{key}") or "" for key in ("key", "operator")}
    return {**texts, "values": _texts(found.get("values"), f"{path}.values") or ()}


def _texts(value: t.Any, path: str) -> tuple[str, ...] | None:
    """The list as a tuple; None for None. FleetError ``undecodable`` for anything but a list of texts."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise FleetError("undecodable", f"a list of texts is wanted, not {value!r:.60}", path)


def _text(value: t.Any, path: str) -> str | None:
    """The text itself; None for None. FleetError ``undecodable`` for anything else."""
    if value is None or isinstance(value, str):
        return value
    raise FleetError("undecodable", f"text is wanted, not {value!r:.60}", path)


def _budget(row: Mapping[str, t.Any], path: str) -> Budget:
    """The budget of a mapping at ``path``, 10% if it does not say how many nodes. FleetError ``undecodable`` for a
    value of another type or a duration that does not parse, ``Never`` too."""
    nodes, schedule = _text(row.get("nodes"), f"{path}.nodes"), _text(row.get("schedule"), f"{path}.schedule")
    return Budget(
        DEFAULT_NODES if nodes is None else nodes,
        schedule,
        _duration(row.get("duration"), f"{path}.duration", never=False),
        _texts(row.get("reasons"), f"{path}.reasons"),
    )


def _class(row: Mapping[str, t.Any]) -> tuple[str, str]:
    """Group and kind of the class that a template refers to, empty where they are absent. FleetError ``undecodable``
    for one that is no text."""
    path = "spec.template.spec.nodeClassRef"
    return _text(row.get("group"), f"{path}.group") or "", _text(row.get("kind"), f"{path}.kind") or ""


def _duration(value: t.Any, path: str, never: bool = True) -> str | None:
    """The duration as it is written; None for None. FleetError ``undecodable`` for anything that does not parse as one,
    and for ``Never`` where ``never`` is False."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and (never or value != NEVER):
            parse_or_never(value)
            return value
    except ValueError as error:
        raise FleetError("undecodable", str(error), path) from None
    raise FleetError("undecodable", f"a duration is wanted, not {value!r:.60}", path)


def _mapping(value: t.Any, path: str) -> Mapping[str, t.Any]:
    """The mapping itself; an empty one for None. FleetError ``undecodable`` for anything else."""
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise FleetError("undecodable", f"an object is wanted, not {value!r:.60}", path)
    return value
