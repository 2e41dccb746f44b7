# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure's own JSON (templates, what ``az`` prints), judged as our kinds of the same fields; of a member also the id of
its cluster (``clusterResourceId``)."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ..objects.reading import judge
from ..objects.service_json import EXPRESSION, MEMBER, ServiceResource
from ..schema.rules import Found
from ..values.field_path import value_at
from .remark import LintProblem, of_finding, of_found

_CLUSTER_ID = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.[^/]+/[^/]+/[^/]+", re.IGNORECASE
)


def judge_resource(resource: ServiceResource) -> t.Iterator[LintProblem]:
    """Remarks on a resource of Azure's JSON (a template, or what ``az`` prints), with paths of the document: errors and
    warnings of the manifest that it stands for. Values that are expressions of a template are not judged; of a member
    the id of its cluster is, too (``missing-field``, ``wrong-type`` or ``wrong-form`` of ``clusterResourceId``)."""
    manifest = resource.manifest()
    judged = judge(manifest)
    for each in (*map(of_found, judged.problems), *map(of_finding, judged.findings)):
        written = value_at(manifest, each.path)
        if not (isinstance(written, str) and EXPRESSION.fullmatch(written)):
            mended = {resource.place(path): meant for path, meant in each.mended.items()}
            yield replace(each, path=resource.place(each.path), mended=mended)
    if resource.kind == MEMBER:
        yield from map(of_found, _check_cluster(resource))


def _check_cluster(resource: ServiceResource) -> t.Iterator[Found]:
    """At most one problem with the id of a member's cluster: missing, no text, or of another form; expressions pass."""
    given, path = resource.body.get("clusterResourceId"), resource.place("spec.clusterResourceId")
    if given is None:
        yield Found("missing-field", path, "clusterResourceId is missing", "give the id of the cluster")
    elif not isinstance(given, str):
        yield Found("wrong-type", path, "clusterResourceId is text, the id of the cluster")
    elif not EXPRESSION.fullmatch(given) and not _CLUSTER_ID.fullmatch(given):
        form = "/subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.ContainerService/managedClusters/<name>"
        yield Found("wrong-form", path, f"{given!r} is not the id of a cluster, {form}")
