# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which files and documents of a repository the linter judges: manifests, or unmistakable parts of one; not charts,
playbooks, pipelines and values, nor templates of Helm or Jinja."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ..objects.kinds import KIND_OF
from ..objects.service_json import resources
from ..objects.updates.strategy import UpdateStage
from ..schema.fields import fields_of

KARPENTER_KINDS = ("NodePool", "NodeClaim", "NodeOverlay", "EC2NodeClass", "AKSNodeClass")
_GROUPS = r"(karpenter\.|gitops\.fleet/|placement\.kube|cluster\.kubernetes-fleet)"
_OUR_API = re.compile(rf"apiVersion[\"']?\s*:\s*[\"']?{_GROUPS}", re.ASCII)
# Lines that are nothing but a directive of Helm or Jinja.
_DIRECTIVE = re.compile(r"(?m)^[ \t]*(?:\{\{|\{%)")
_WORDS = (
    *("apiVersion", "kind", "disruption", "budgets", "stages", "nodes", "duration", "properties"),
    *("maintenanceWindow", "timeInWeek"),
)
_AZURE = re.compile(r"microsoft\.", re.IGNORECASE)
_STAGE = frozenset(each.json for each in fields_of(UpdateStage))
_BUDGET = frozenset(("nodes", "schedule", "duration", "reasons"))
_DISRUPTION = frozenset(("budgets", "consolidateAfter", "consolidationPolicy", "expireAfter"))


def may_belong(text: str) -> bool:
    """Whether a file that nobody named can hold anything that is judged, by words of manifests in its text, before it
    is parsed. False is sure, True is not."""
    return any(word in text for word in _WORDS) or bool(_AZURE.search(text))


def meant_for_us(text: str) -> bool:
    """Whether a file in which no document of ours was found, parsed or not, was to be a manifest of ours, of KubeFleet
    or Karpenter all the same: such an apiVersion stands anywhere in its text, and it is no template
    (``is_template``)."""
    return bool(_OUR_API.search(text)) and not is_template(text)


def is_template(text: str) -> bool:
    """Whether a file can be a template of Helm or Jinja: a line begins, after blanks, with a directive, ``{{`` or
    ``{%``. A directive behind a key makes none: only its value is not judged."""
    return bool(_DIRECTIVE.search(text))


def belongs(document: t.Any) -> bool:
    """Whether a document of a file that nobody named is judged: one with ``apiVersion`` and ``kind`` of any group, one
    of a kind or a group that is known here (ours, KubeFleet's, Karpenter's), Azure's own JSON, or what is unmistakably
    a part of a NodePool or a strategy."""
    if any(resources(document)):
        return True
    if isinstance(document, list):
        return bool(document) and all(map(_is_budget, document))
    if not isinstance(document, Mapping):
        return False
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if isinstance(api_version, str) and isinstance(kind, str) and api_version and kind:
        return True
    if isinstance(kind, str) and (kind in KIND_OF or kind in KARPENTER_KINDS):
        return True
    if isinstance(api_version, str) and re.match(_GROUPS, api_version):
        return True
    return _is_fragment(document)


def _is_fragment(document: Mapping[str, t.Any]) -> bool:
    """Whether it is stages of a strategy, or a disruption block or budgets of a NodePool, alone or in frames such as
    ``spec``, without fields that these do not have: pipelines have stages as well, and applications have budgets."""
    inner: t.Any = document
    for frame in ("properties", "spec", "strategy"):
        inner = inner[frame] if isinstance(inner, Mapping) and isinstance(inner.get(frame), Mapping) else inner
    stages = inner.get("stages")
    if isinstance(stages, list) and stages and all(map(_is_stage, stages)):
        return True
    disruption = inner.get("disruption", inner if "budgets" in inner else None)
    if not isinstance(disruption, Mapping) or not disruption.keys() <= _DISRUPTION:
        return False
    budgets = disruption.get("budgets", ())
    return bool(disruption) and isinstance(budgets, (list, tuple)) and all(map(_is_budget, budgets))


def _is_stage(value: t.Any) -> bool:
    """Whether it is a mapping with ``name``, and of fields of a stage alone."""
    return isinstance(value, Mapping) and "name" in value and value.keys() <= _STAGE


def _is_budget(value: t.Any) -> bool:
    """Whether it is a mapping of fields of a budget alone, with ``nodes``, or ``schedule`` and ``duration``."""
    if not isinstance(value, Mapping) or not value.keys() <= _BUDGET:
        return False
    return "nodes" in value or {"schedule", "duration"} <= value.keys()
