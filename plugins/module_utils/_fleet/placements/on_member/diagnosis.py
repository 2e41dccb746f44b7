# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why a workload on a member is not available: up to 50 pods of each of the first three are asked what ails them, told
in at most 500 characters. Reads only."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.errors import FleetError
from ...._core.foreign import in_data, in_line
from ...._core.objects.identity import ObjectId
from ...._core.plan.outcome import MemberOutcome
from ...._core.resources.availability import NOT_YET
from ...._core.resources.pod_trouble import WORKLOADS, pod_trouble
from ...._core.schema.codec import decode
from ...._core.values.parts import mapping
from ...._core.values.selector import LabelSelector, check_selector
from ...._core.values.selector_text import selector_text
from ...._kube.client import KubeClient
from ...._kube.lists import list_pages

MOST, PODS, LENGTH = 3, 50, 500


def diagnosed(client: KubeClient, outcome: MemberOutcome) -> MemberOutcome:
    """The outcome, with what ails the pods of its first ``MOST`` workloads that are not available, by one request for
    each and up to 50 pods, cut at 500 characters; nothing where pods cannot be read."""
    late = [
        (step.id, step.manifest)
        for step in outcome.steps
        if (outcome.availability or {}).get(step.id) == NOT_YET and (step.id.group, step.id.kind) in WORKLOADS
    ]
    lacks = dict(outcome.lacks or {})
    for each, manifest in late[:MOST]:
        found = _trouble(client, each, manifest or {})
        if found:
            lacks[each] = f"{lacks.get(each, 'is not available yet')} ({in_line(found, LENGTH)})"
    return replace(outcome, lacks=lacks)


def _trouble(client: KubeClient, each: ObjectId, manifest: t.Mapping[str, t.Any]) -> str:
    """What ails the pods of the workload, in words without our credentials; empty if nothing does, or they cannot be
    read."""
    try:
        selector = decode(LabelSelector, mapping(mapping(manifest, "spec"), "selector"))
        text = "" if check_selector(selector) else selector_text(selector)
        if not text:
            return ""
        pods = next(list_pages(client, f"/api/v1/namespaces/{each.namespace}/pods", text, limit=PODS), [])
    except (FleetError, ValueError):
        return ""
    # Hidden before any of it is cut: the beginning of a token would not be found.
    return pod_trouble(in_data(pods, client.hide))
