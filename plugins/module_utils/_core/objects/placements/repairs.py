# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Forms of a placement's preferred terms that documents print and no API server takes (``metricSorter``, an object for
a list or a list for an object), rewritten before anything is judged."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...schema.checking import Check
from ...schema.finding import Finding
from ...values.field_path import field, with_field

AFFINITY = "spec.policy.affinity.clusterAffinity"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_METRIC_SORTER = (
    "the field is called propertySorter; a server that does not refuse the other name drops it, and then every cluster "
    "gets the full weight"
)
Document = Mapping[str, t.Any]


def repair_placement(check: Check, document: Document) -> Document:
    """The manifest of a placement with the preferred terms of its cluster affinity in the published form, itself where
    it has none; the one that was given is not changed. Each rewrite is told to ``check`` as a repair
    (``preferred-not-a-list``, ``preference-is-a-list``, ``metric-sorter``)."""
    affinity = field(document, AFFINITY)
    if not isinstance(affinity, Mapping) or PREFERRED not in affinity:
        return document
    terms, path = affinity[PREFERRED], f"{AFFINITY}.{PREFERRED}"
    if isinstance(terms, Mapping) and terms:
        found = Finding("preferred-not-a-list", path, f"{path}[0]", terms, [terms], "preferred terms are a list")
        check.repair(found, "write a dash before its first field")
        terms = [terms]
    if isinstance(terms, list):
        terms = [_repair_term(check, each, f"{path}[{index}]") for index, each in enumerate(terms)]
    return with_field(document, path, terms)


def _repair_term(check: Check, term: t.Any, path: str) -> t.Any:
    """A preferred term with its preference as one object and ``propertySorter`` for ``metricSorter``, each told as a
    repair; itself where neither applies, as where both sorters are there."""
    if not isinstance(term, Mapping):
        return term
    preference, place = term.get("preference"), f"{path}.preference"
    if isinstance(preference, list) and len(preference) == 1 and isinstance(preference[0], Mapping):
        only = preference[0]
        found = Finding("preference-is-a-list", f"{place}[0]", place, preference, only, "a preference is one object")
        check.repair(found, "write it without the dash")
        preference = only
    if isinstance(preference, Mapping) and "metricSorter" in preference and "propertySorter" not in preference:
        old, new = f"{place}.metricSorter", f"{place}.propertySorter"
        sorter = preference["metricSorter"]
        check.repair(Finding("metric-sorter", old, new, sorter, sorter, _METRIC_SORTER), "write propertySorter")
        preference = {("propertySorter" if key == "metricSorter" else key): each for key, each in preference.items()}
    return term if preference is term.get("preference") else {**term, "preference": preference}
