# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an API server does with a new NodePool: prune, default, validate (CRD of Karpenter v1.14.1).

Judged are ``spec.disruption``, the two durations of ``spec.template.spec``, and whether the parts are there that v1
demands: the classes below name these, and leave the objects around them open.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ...schema.checking import Check, check_object
from ...schema.codec import with_defaults
from ...schema.finding import Finding
from ...schema.prop import Prop, prop
from ...schema.rules import Found
from ...values.duration import parse_or_never
from ...values.field_path import field
from .node_pool import DEFAULT_DISRUPTION, DEFAULT_EXPIRY, Disruption
from .node_pool_forms import DURATION, DURATION_OR_NEVER

LONE = "schedule-without-duration"
BUDGETS, POLICY = "spec.disruption.budgets", "spec.disruption.consolidationPolicy"
_CLAIM = "spec.template.spec"
GRACE = f"{_CLAIM}.terminationGracePeriod"
Policies = tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class NodeClaimTemplateSpec:
    expire_after: str = prop("How long a node lives.", default=DEFAULT_EXPIRY, **DURATION_OR_NEVER)
    node_class_ref: t.Any = prop("The class that machines are made from.")
    requirements: t.Any = prop("What nodes may be made, a list.")
    termination_grace_period: str | None = prop("How long a drain may take.", default=None, **DURATION)


@dataclass(frozen=True, kw_only=True)
class NodeClaimTemplate:
    spec: NodeClaimTemplateSpec = prop("What NodeClaims ask for.", open=True)


@dataclass(frozen=True, kw_only=True)
class NodePoolSpec:
    disruption: Disruption = prop("How nodes may be disrupted.", default=DEFAULT_DISRUPTION)
    template: NodeClaimTemplate = prop("What NodeClaims are made from.", open=True)


@dataclass(frozen=True, kw_only=True)
class NodePoolManifest:
    spec: NodePoolSpec = prop("What is asked for.", open=True)


_WHOLE = Prop(doc="", open=True)


@dataclass(frozen=True)
class NodePoolAdmission:
    """What becomes of a manifest: the object pruned, with defaults, and without what is wrong in it; and what is said.

    ``decodes`` tells whether Karpenter's typed client can read what was stored.
    """

    stored: Mapping[str, t.Any]
    problems: tuple[Found, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def decodes(self) -> bool:
        return all(parses(text) for _path, text in durations(self.stored))


def admit(document: Mapping[str, t.Any], strict: bool = False, policies: Policies = None) -> NodePoolAdmission:
    """The answer of an API server to a new object. ``policies`` are those that the cluster's own definition lists.

    Of budgets with one of two fields that belong together each is named; a server names the list, and judges this rule
    only where nothing is missing or of another type.
    """
    check = Check(strict, enums={} if policies is None else {POLICY: policies})
    stored = with_defaults(NodePoolManifest, check_object(check, NodePoolManifest, document, prop=_WHOLE))
    return NodePoolAdmission(stored, (*check.problems, *_lone(stored)), tuple(check.findings))


def _lone(stored: Mapping[str, t.Any]) -> t.Iterator[Found]:
    for index, each in enumerate(_budgets(stored)):
        if ("schedule" in each) != ("duration" in each):
            key, other = ("schedule", "duration") if "schedule" in each else ("duration", "schedule")
            hint = f"add {other}, or take {key} away"
            yield Found(LONE, f"{BUDGETS}[{index}]", f"{key} needs {other} beside it", hint)


def _budgets(stored: Mapping[str, t.Any]) -> t.Sequence[Mapping[str, t.Any]]:
    return field(stored, BUDGETS) or ()


def durations(stored: Mapping[str, t.Any]) -> t.Iterator[tuple[str, t.Any]]:
    """The values of all duration fields with their paths, whatever stands there."""
    found = [(f"{BUDGETS}[{index}].duration", each.get("duration")) for index, each in enumerate(_budgets(stored))]
    paths = ("spec.disruption.consolidateAfter", f"{_CLAIM}.expireAfter", GRACE)
    for path, value in (*found, *((path, field(stored, path)) for path in paths)):
        if value is not None:
            yield path, value


def parses(text: str) -> bool:
    """Whether a duration that fits its pattern can be read."""
    try:
        parse_or_never(text)
    except ValueError:
        return False
    return True
