# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a manifest of any kind says to Karpenter (its annotation ``do-not-disrupt``, and a feature gate that is gone,
``feature-gate-gone``), and to placements: which of its fields are ignored (``bad-ignore``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..cluster.pod import DO_NOT_DISRUPT
from ..disruption.budgets.lint import ERROR, NOTE, WARNING
from ..disruption.do_not_disrupt import lint_do_not_disrupt
from ..resources.comparison.left_alone import IGNORE, IGNORE_FORM, ignored_paths
from ..values.field_path import value_at
from .remark import LintProblem, of_lint

EXPIRY = "an expired node of Karpenter goes all the same: its pods are only drained later, until its grace period"
# Where a kind keeps the metadata of its pods, if it is none itself.
POD_METADATA = {
    "CronJob": "spec.jobTemplate.spec.template.metadata",
    "DaemonSet": "spec.template.metadata",
    "Deployment": "spec.template.metadata",
    "Job": "spec.template.metadata",
    "ReplicaSet": "spec.template.metadata",
    "StatefulSet": "spec.template.metadata",
}
CONTAINERS = ("spec.template.spec.containers", "spec.template.spec.initContainers")


def judge_other_kind(document: Mapping[str, t.Any]) -> t.Iterator[LintProblem]:
    """Remarks on a manifest of a kind that is not checked otherwise: on Karpenter's annotation ``do-not-disrupt``
    (``do-not-disrupt-and-expiry``, ``do-not-disrupt-not-on-pods``, those of ``lint_do_not_disrupt``, and that what
    bears it without a name is a patch, ``patch-only``), its feature gate for drift (``feature-gate-gone``), and the
    annotation ``gitops.fleet/ignore`` (``bad-ignore``). Workloads whose pods are known are CronJob, DaemonSet,
    Deployment, Job, ReplicaSet and StatefulSet."""
    kind = str(document.get("kind"))
    faults = [of_lint(each) for each in lint_do_not_disrupt(document)]
    yield from faults
    if kind in ("Node", "Pod") or kind in POD_METADATA:
        path = POD_METADATA.get(kind, "metadata")
        if DO_NOT_DISRUPT in _mapping(document, f"{path}.annotations"):
            yield from _patch(document, kind)
            if kind != "Node" and not faults:
                yield LintProblem(code="do-not-disrupt-and-expiry", level=NOTE, message=EXPIRY, path=_place(path))
        elif kind in POD_METADATA and DO_NOT_DISRUPT in (own := _mapping(document, "metadata.annotations")):
            yield _not_on_pods(kind, own[DO_NOT_DISRUPT], path)
    yield from _feature_gate(document, kind)
    yield from _ignored(document)


def _patch(document: Mapping[str, t.Any], kind: str) -> t.Iterator[LintProblem]:
    """A note ``patch-only`` if the document has no ``metadata.name``, or an empty one."""
    if not value_at(document, "metadata.name"):
        text = f"this can be a patch of a {kind}, and not create one: it has no metadata.name"
        yield LintProblem(code="patch-only", level=NOTE, message=text, path="metadata.name")


def _ignored(document: Mapping[str, t.Any]) -> t.Iterator[LintProblem]:
    """An error ``bad-ignore`` if the annotation ``gitops.fleet/ignore`` cannot be read."""
    try:
        ignored_paths(document)
    except ValueError as error:
        text = f"{error}; {IGNORE_FORM}"
        yield LintProblem(code="bad-ignore", level=ERROR, message=text, path=f"metadata.annotations[{IGNORE}]")


def _place(metadata: str) -> str:
    """The field path of the annotation ``do-not-disrupt`` in the metadata at that path."""
    return f"{metadata}.annotations[{DO_NOT_DISRUPT}]"


def _not_on_pods(kind: str, value: t.Any, path: str) -> LintProblem:
    """The warning, mended by moving the annotation of a workload to the metadata of its pods, which are at ``path``."""
    here, there = _place("metadata"), _place(path)
    text = f"the annotation of a {kind} does not reach its pods, so that nothing is protected; it belongs to {there}"
    mended = {here: None, there: value}
    return LintProblem(code="do-not-disrupt-not-on-pods", level=WARNING, message=text, path=here, mended=mended)


def _feature_gate(document: Mapping[str, t.Any], kind: str) -> t.Iterator[LintProblem]:
    """Warnings where a ConfigMap, or the variable FEATURE_GATES of a container in ``spec.template``, names the gate for
    drift, which Karpenter had before v1.0, mended by taking it out."""
    text = "Karpenter has no feature gate for drift any more: drift is always detected, and this has no effect"
    if kind == "ConfigMap":
        for key in ("featureGates.driftEnabled", "settings.featureGates.drift"):
            if key in _mapping(document, "data"):
                path = f"data[{key}]"
                yield LintProblem(code="feature-gate-gone", level=WARNING, message=text, path=path, mended={path: None})
    for path in CONTAINERS:
        containers = value_at(document, path)
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            variables = value_at(container, "env")
            for place, variable in enumerate(variables if isinstance(variables, list) else ()):
                value = value_at(variable, "value")
                if value_at(variable, "name") != "FEATURE_GATES" or not isinstance(value, str):
                    continue
                gates = value.split(",")
                kept = [each for each in gates if not each.strip().startswith("Drift=")]
                if len(kept) < len(gates):
                    where = f"{path}[{index}].env[{place}].value"
                    yield LintProblem(
                        code="feature-gate-gone",
                        level=WARNING,
                        message=text,
                        path=where,
                        mended={where: ",".join(kept)},
                    )


def _mapping(document: t.Any, path: str) -> Mapping[str, t.Any]:
    """The mapping at a field path; empty where there is none."""
    found = value_at(document, path)
    return found if isinstance(found, Mapping) else {}
