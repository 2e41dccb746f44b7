# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an API server does with a new NodePool: prune, default, validate (``schedule-without-duration``,
``not-with-replicas``; CRD of Karpenter v1.14.1); its durations, and which of them can be read."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ...schema.checking import Check, Written, check_object, no_written_text
from ...schema.codec import with_defaults
from ...schema.finding import Finding
from ...schema.meta import EMPTY
from ...schema.prop import prop
from ...schema.rules import Found, not_overlapping
from ...values.duration import parse_or_never
from ...values.field_path import field
from .claim_schema import (
    NodeClaimTemplateSpec,
    check_claim,
    check_label_not_reserved,
)
from .node_pool import DEFAULT_DISRUPTION, Disruption
from .node_pool_forms import LABEL_VALUE

LONE = "schedule-without-duration"
BUDGETS, POLICY = "spec.disruption.budgets", "spec.disruption.consolidationPolicy"
_TEMPLATE = "spec.template"
_CLAIM = f"{_TEMPLATE}.spec"
GRACE = f"{_CLAIM}.terminationGracePeriod"
Policies = tuple[str, ...] | None  # pylint: disable=unsupported-binary-operation  # Python 3.11 can


@dataclass(frozen=True, kw_only=True)
class NodeClaimTemplateMeta:
    annotations: t.Mapping[str, str] = prop("Annotations of the node.", default=EMPTY)
    labels: t.Mapping[str, str] = prop(
        "Labels of the node.", default=EMPTY, max_items=100, max_length=63, **LABEL_VALUE
    )


@dataclass(frozen=True, kw_only=True)
class NodeClaimTemplate:
    metadata: NodeClaimTemplateMeta | None = prop("Labels and annotations of the node.", default=None)
    spec: NodeClaimTemplateSpec = prop("What NodeClaims ask for.")


@dataclass(frozen=True, kw_only=True)
class NodePoolSpec:
    disruption: Disruption = prop("How nodes may be disrupted.", default=DEFAULT_DISRUPTION)
    limits: t.Mapping[str, str] = prop("What all nodes may have together.", default=EMPTY, quantity=True)
    replicas: int | None = prop("A fixed number of nodes.", default=None, minimum=0)
    template: NodeClaimTemplate = prop("What NodeClaims are made from.")
    weight: int | None = prop("Which pool comes first.", default=None, minimum=1, maximum=100)


@dataclass(frozen=True, kw_only=True)
class NodePoolManifest:
    """Metadata is judged with that of all kinds, and status by nobody."""

    api_version: t.Any = prop("API version.", default=None)
    kind: t.Any = prop("Kind.", default=None)
    metadata: t.Any = prop("Metadata.", default=None)
    spec: NodePoolSpec = prop("What is asked for.")
    status: t.Any = prop("What was found.", default=None)


@dataclass(frozen=True)
class NodePoolAdmission:
    """What becomes of the manifest of a NodePool: ``stored``, the object pruned, with defaults, and without what is
    wrong in it; the problems for which a server would refuse it; and the findings, its repairs."""

    stored: Mapping[str, t.Any]
    problems: tuple[Found, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def decodes(self) -> bool:
        """Whether all durations of what was stored can be read by Karpenter's typed client."""
        return all(duration_parses(text) for _path, text in durations(self.stored))


def admit(
    document: Mapping[str, t.Any], strict: bool = False, policies: Policies = None, written: Written = no_written_text
) -> NodePoolAdmission:
    """The answer of an API server to a new NodePool, without asking one. ``policies`` are those that the cluster's own
    definition lists, empty for any, None where it is not known: then those of the class. ``strict`` and ``written`` as
    in ``Check``. Problems of single fields come before those over several. Each budget with only one of schedule and
    duration is named (``schedule-without-duration``), where a server names the list."""
    check = Check(strict, enums={} if policies is None else {POLICY: policies}, written=written)
    stored = with_defaults(NodePoolManifest, check_object(check, NodePoolManifest, document))
    problems = (*check.problems, *_lone(stored), *not_overlapping(check.problems, _rules(stored)))
    return NodePoolAdmission(stored, problems, tuple(check.findings))


def _lone(stored: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """``schedule-without-duration`` for each budget that has one of schedule and duration without the other."""
    for index, each in enumerate(_budgets(stored)):
        if ("schedule" in each) != ("duration" in each):
            key, other = ("schedule", "duration") if "schedule" in each else ("duration", "schedule")
            hint = f"add {other}, or take {key} away"
            yield Found(LONE, f"{BUDGETS}[{index}]", f"{key} needs {other} beside it", hint)


def _rules(stored: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """Rules over several fields: labels that Karpenter keeps for itself, those of ``check_claim``, and what may not
    stand beside ``replicas`` (``not-with-replicas``)."""
    labels = field(stored, f"{_TEMPLATE}.metadata.labels")
    for key in labels or ():
        yield from check_label_not_reserved(key, f"{_TEMPLATE}.metadata.labels[{key}]", in_pool=True)
    yield from check_claim(field(stored, _CLAIM), _CLAIM, in_pool=True)
    if field(stored, "spec.replicas") is None:
        return
    for name in field(stored, "spec.limits") or ():
        if name != "nodes":
            text = "a pool with replicas has no limit but that of nodes"
            yield Found("not-with-replicas", f"spec.limits[{name}]", text, "leave it out")
    if field(stored, "spec.weight") is not None:
        text = "a pool with replicas is not chosen, so that it has no weight"
        yield Found("not-with-replicas", "spec.weight", text, "leave it out")


def _budgets(stored: Mapping[str, t.Any]) -> t.Sequence[Mapping[str, t.Any]]:
    """The budgets of what was stored, in order; empty where there are none."""
    return field(stored, BUDGETS) or ()


def durations(stored: Mapping[str, t.Any]) -> t.Iterator[tuple[str, t.Any]]:
    """Path and value of each duration field that is there and not null: those of budgets, then consolidateAfter,
    expireAfter and terminationGracePeriod."""
    found = [(f"{BUDGETS}[{index}].duration", each.get("duration")) for index, each in enumerate(_budgets(stored))]
    paths = ("spec.disruption.consolidateAfter", f"{_CLAIM}.expireAfter", GRACE)
    for path, value in (*found, *((path, field(stored, path)) for path in paths)):
        if value is not None:
            yield path, value


def duration_parses(text: str) -> bool:
    """Whether a duration that fits its pattern can be read, which one of more than 292 years cannot; ``Never`` can."""
    try:
        parse_or_never(text)
    except ValueError:
        return False
    return True
