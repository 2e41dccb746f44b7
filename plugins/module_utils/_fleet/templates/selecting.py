# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a cluster is selected (test ``selected_by``): by labels (text as of ``kubectl -l``, ``byLabel``, label
selector), or by terms of labels and properties as placements have them (``sorter-in-required``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..._core.errors import FleetError, Problem
from ..._core.foreign import shown_value
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.placements.policy import ClusterSelector, ClusterSelectorTerm
from ..._core.objects.placements.property_rules import check_property_requirements
from ..._core.scheduling.cluster_affinity import ClusterAffinityFilter
from ..._core.scheduling.index import FleetIndex
from ..._core.schema.checking import Check, check_object
from ..._core.schema.codec import decode
from ..._core.values.selector import LabelSelector, compile_selector, label_selector
from ..._core.values.selector_text import parse_selector
from .given import objects
from .present import given_instant

TERM_FIELDS = {"labelSelector", "propertySelector", "propertySorter"}


def selected_by(cluster: t.Any, selector: t.Any) -> bool:
    """Whether an object's labels, or for terms a MemberCluster's labels and properties, are selected. ``cluster`` is
    one object, or a list of one (an empty list counts as one without labels); a row without ``metadata`` has its labels
    at the top.

    ``selector`` is a text as for ``kubectl -l``, a label selector (an empty one selects all), ``{byLabel: text}``, a
    term of a placement, a list of terms or ``{clusterSelectorTerms: terms}``, of which one is enough; no terms select
    all. FleetError ``bad-argument``, also for None, ``wrong-type``, ``invalid-label-selector``, ``sorter-in-required``,
    ``undecodable``, and as of ``check_property_requirements``.
    """
    (document, *more) = objects(cluster, "input") or [{}]
    if more:
        raise FleetError("bad-argument", f"one object is wanted, not {len(more) + 1}", "input", "use select()")
    if isinstance(selector, str):
        return _by_labels(document, _text(selector, "selector"))
    if selector is None:
        hint = "without any choice give {}, which selects everything"
        raise FleetError("bad-argument", "there is no selector", "selector", hint)
    if isinstance(selector, Mapping) and set(selector) == {"byLabel"}:
        return _by_labels(document, _text(selector["byLabel"], "selector.byLabel"))
    if isinstance(selector, list):
        return _by_terms(document, {"clusterSelectorTerms": selector})
    if isinstance(selector, Mapping) and "clusterSelectorTerms" in selector:
        return _by_terms(document, selector)
    if isinstance(selector, Mapping) and TERM_FIELDS & selector.keys():
        return _by_terms(document, {"clusterSelectorTerms": [selector]})
    return _by_labels(document, _label_selector(selector))


def _by_labels(document: Mapping[str, t.Any], selector: LabelSelector) -> bool:
    """Whether the selector takes the object's labels. FleetError ``invalid-label-selector``, ``wrong-type``."""
    try:
        return compile_selector(selector)(_labels(document))
    except ValueError as error:
        raise FleetError("invalid-label-selector", str(error), "selector") from None


def _labels(document: Mapping[str, t.Any]) -> dict[str, str]:
    """Labels of an object, or of a row without ``metadata`` that has them at the top; none where there are none.
    FleetError ``wrong-type`` for what is no mapping of texts."""
    holder = document.get("metadata") if "metadata" in document else document
    labels = holder.get("labels") if isinstance(holder, Mapping) else None
    if labels is not None and not isinstance(labels, Mapping):
        raise FleetError("wrong-type", f"labels are a mapping, not {shown_value(labels, 60)}", "input")
    for key, value in (labels or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            text = f"labels are texts, and this is {shown_value(key, 60)}: {shown_value(value, 60)}"
            raise FleetError("wrong-type", text, "input", "write it in quotes; in a template, with | string")
    return dict(labels or {})


def _text(text: t.Any, place: str) -> LabelSelector:
    """The label selector that a text as for ``kubectl -l`` is. FleetError ``wrong-type``, ``invalid-label-selector`` at
    ``place``."""
    hint = "write it as for kubectl -l, such as region in (eu,us),tier!=gold"
    if not isinstance(text, str):
        raise FleetError("wrong-type", f"text is wanted, not {shown_value(text, 60)}", place, hint)
    try:
        return parse_selector(text)
    except ValueError as error:
        raise FleetError("invalid-label-selector", str(error), place, hint) from None


def _label_selector(selector: t.Any) -> LabelSelector:
    """A label selector as manifests have it, checked; FleetError with all its problems."""
    check = Check()
    clean = check_object(check, ClusterSelectorTerm, {"labelSelector": selector})
    _refuse(check)
    return label_selector(clean["labelSelector"])


def _by_terms(document: Mapping[str, t.Any], selector: t.Any) -> bool:
    """Whether one of the terms takes the cluster, or there is none; a row without ``metadata`` is taken for metadata
    itself. Property sorters are refused. FleetError as of ``selected_by``."""
    check = Check()
    clean = check_object(check, ClusterSelector, selector)
    _refuse(check)
    terms = decode(ClusterSelector, clean).cluster_selector_terms
    for index, term in enumerate(terms):
        if term.property_sorter is not None:
            text = "a sorter prefers clusters, and selects none"
            raise FleetError("sorter-in-required", text, f"selector.clusterSelectorTerms[{index}].propertySorter")
        if term.label_selector is not None:
            _by_labels(document, term.label_selector)
        if term.property_selector is not None:
            place = f"selector.clusterSelectorTerms[{index}].propertySelector.matchExpressions"
            wrong = check_property_requirements(term.property_selector.match_expressions, place)
            if problems := [Problem(each.code, each.message, each.path, each.hint) for each in wrong]:
                raise FleetError.of(problems)
    metadata = document.get("metadata")
    named = document if isinstance(metadata, Mapping) else {**document, "metadata": document}
    try:
        found = decode(MemberCluster, named)
    except ValueError as error:
        raise FleetError("undecodable", str(error), "input") from None
    return bool(ClusterAffinityFilter.of(FleetIndex([found], given_instant()), terms, upstream=False).passing)


def _refuse(check: Check) -> None:
    """FleetError with all problems that the check found, placed in ``selector``; none: nothing."""
    if check.problems:
        raise FleetError.of(
            Problem(each.code, each.message, f"selector {each.path.removeprefix('labelSelector.')}", each.hint)
            for each in check.problems
        )
