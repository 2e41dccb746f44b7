# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Remarks on one placement: its spread constraints in words where the number of clusters is missing
(``spread-in-words``), and selectors that select nothing (``namespaced-selected``, ``cluster-scoped-selected``,
``reserved-selected``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..disruption.budgets.lint import ERROR, NOTE, WARNING
from ..objects.placements.policy import TopologySpreadConstraint
from ..objects.placements.rules import WITH_SELECTORS
from ..objects.scopes import BUILT_IN
from ..objects.selectable import is_reserved_namespace
from ..schema.codec import decode
from ..schema.rules import indexes_at
from ..values.field_path import field, value_at
from .remark import LintProblem

CONSTRAINTS = "spec.policy.topologySpreadConstraints"
WIDE = "ClusterResourcePlacement"
UNDECIDED = "number-of-clusters-missing"


def spread_in_words(document: Mapping[str, t.Any], wrong: t.Collection[str]) -> t.Iterator[LintProblem]:
    """A note ``spread-in-words`` for each spread constraint of the placement, as of ``in_words``, but for those to or
    into which a path of ``wrong``, the paths of problems, leads."""
    rows, bad = value_at(document, CONSTRAINTS), indexes_at(wrong, CONSTRAINTS)
    for index, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        if isinstance(row, Mapping) and str(index) not in bad:
            text = in_words(decode(TopologySpreadConstraint, row))
            yield LintProblem(code="spread-in-words", level=NOTE, message=text, path=f"{CONSTRAINTS}[{index}]")


def selected_in_vain(document: Mapping[str, t.Any]) -> t.Iterator[LintProblem]:
    """Remarks on selectors of a ClusterResourcePlacement that KubeFleet refuses (a kind that is known to lie in a
    namespace, error ``namespaced-selected``), or that select by its name a namespace which is never placed (warning
    ``reserved-selected``); none if one of them is for single resources of its namespace
    (``NamespaceWithResourceSelectors``)."""
    rows = field(document, "spec.resourceSelectors")
    selectors = [each for each in rows if isinstance(each, Mapping)] if isinstance(rows, list) else []
    if any(each.get("selectionScope") == WITH_SELECTORS for each in selectors):
        return
    for index, each in enumerate(rows if isinstance(rows, list) else ()):
        group, kind, name = (each.get(key) if isinstance(each, Mapping) else None for key in ("group", "kind", "name"))
        path = f"spec.resourceSelectors[{index}]"
        if isinstance(group, str) and isinstance(kind, str) and BUILT_IN.get((group, kind)):
            text = f"{kind} lies in a namespace, and a ClusterResourcePlacement selects none (select its Namespace)"
            yield LintProblem(code="namespaced-selected", level=ERROR, message=text, path=f"{path}.kind")
        elif (group, kind) == ("", "Namespace") and isinstance(name, str) and is_reserved_namespace(name):
            text = f"namespace {name} is there on every member for its own ends, and is never placed"
            yield LintProblem(code="reserved-selected", level=WARNING, message=text, path=f"{path}.name")


def cluster_scoped_selected(document: Mapping[str, t.Any]) -> t.Iterator[LintProblem]:
    """Errors ``cluster-scoped-selected`` on selectors of a ResourcePlacement that mean kinds which lie in no namespace,
    as far as they are known: those of Kubernetes itself, and KubeFleet's envelopes."""
    rows = field(document, "spec.resourceSelectors")
    for index, each in enumerate(rows if isinstance(rows, list) else ()):
        group, kind = (each.get(key) if isinstance(each, Mapping) else None for key in ("group", "kind"))
        if isinstance(group, str) and isinstance(kind, str) and BUILT_IN.get((group, kind)) is False:
            text = f"{kind} lies in no namespace, and a ResourcePlacement selects in its own (use a {WIDE})"
            path = f"spec.resourceSelectors[{index}].kind"
            yield LintProblem(code="cluster-scoped-selected", level=ERROR, message=text, path=path)


def in_words(constraint: TopologySpreadConstraint) -> str:
    """The spread constraint in a sentence, as KubeFleet's plugin TopologySpreadConstraints counts it: what holds once
    the number of clusters is given."""
    key, most = constraint.topology_key, constraint.max_skew
    if constraint.when_unsatisfiable == "DoNotSchedule":
        what = "a cluster that would make it more is not picked"
    else:
        what = "a cluster that would make it more is picked after the others"
    return (
        f"once the number of clusters is given: the numbers of picked clusters of two values of the label {key} differ "
        f"by {most} at most, and {what}; clusters without the label are not counted"
    )
