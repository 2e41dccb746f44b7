# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lint of the annotation ``karpenter.sh/do-not-disrupt`` as people write it on pods, in templates of workloads and
CronJobs, and on nodes (``wrong-type``, ``do-not-disrupt-unreadable``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime

from ..cluster.pod import DO_NOT_DISRUPT, Pod
from ..cluster.pod_disruption import protection
from ..foreign import shown_value
from ..values.field_path import field
from .budgets.lint import ERROR, WARNING, Lint

# Where annotations of pods stand: in a pod, a workload, a CronJob.
PLACES = ("metadata", "spec.template.metadata", "spec.jobTemplate.spec.template.metadata")


def lint_do_not_disrupt(document: t.Any) -> tuple[Lint, ...]:
    """Findings about the value of the annotation in any manifest, or a fragment of one, in the order of ``PLACES``:
    ``wrong-type``, an error, for what is no text, with the quoted form of a boolean; ``do-not-disrupt-unreadable``, a
    warning, for a text that protects nothing: any but ``true``, and, except on a Node, a duration above 0."""
    on_node = isinstance(document, Mapping) and document.get("kind") == "Node"
    found: list[Lint] = []
    for place in PLACES:
        annotations = field(document, f"{place}.annotations")
        if isinstance(annotations, Mapping) and DO_NOT_DISRUPT in annotations:
            path = f"{place}.annotations[{DO_NOT_DISRUPT}]"
            found += _judge(annotations[DO_NOT_DISRUPT], path, on_node)
    return tuple(found)


def _judge(value: t.Any, path: str, on_node: bool) -> t.Iterator[Lint]:
    """The finding about one value of the annotation, at its path; nothing if it protects."""
    if isinstance(value, bool):
        meant = "true" if value else "false"
        text = f'annotations are texts: write it in quotes: "{meant}"'
        yield Lint(code="wrong-type", level=ERROR, path=path, message=text, mended={path: meant})
    elif not isinstance(value, str):
        protects = '"true"' if on_node else '"true", or a duration such as "1h"'
        text = f"annotations are texts, and {shown_value(value)} protects nothing in quotes either: write {protects}"
        yield Lint(code="wrong-type", level=ERROR, path=path, message=text)
    elif on_node:
        if value != "true":
            text = f"on nodes only 'true' protects, {shown_value(value)} does nothing"
            yield Lint(code="do-not-disrupt-unreadable", level=WARNING, path=path, message=text)
    elif problem := protection(Pod(name="", annotations={DO_NOT_DISRUPT: value}), _ANY_TIME).problem:
        yield Lint(
            code="do-not-disrupt-unreadable", level=WARNING, path=path, message=f"it protects nothing: {problem}"
        )


_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
