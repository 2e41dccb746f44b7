# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows and freezes that live on the cluster itself, read from the annotation
``gitops.fleet/maintenance`` or from what its platform prints, and read again as they were kept
(``invalid-maintenance``)."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping

from ...errors import FleetError
from ...objects.api_groups import FLEET_API
from ...objects.clusters.fleet_maintenance import ClusterMaintenance, FleetMaintenance
from ...objects.reading import read
from ...objects.service_json import MAINTENANCE, manifests_of

# Of the namespace kube-system, which is made with the cluster.
ANNOTATION = "gitops.fleet/maintenance"
IN_ANNOTATION = f"annotation {ANNOTATION}"
_PARTS = {"windows", "freezes"}
_HINT = "windows and freezes as in the spec of a FleetMaintenance, or what az aks maintenanceconfiguration list prints"


def cluster_maintenance(text: str, source: str, member: str) -> ClusterMaintenance:
    """The windows and freezes in a JSON ``text``: as in the spec of a FleetMaintenance, or as Azure prints its
    maintenance configurations. ``source`` says in words where it was found, for errors with the name of the ``member``.
    FleetError ``invalid-maintenance`` for another document, and those of a FleetMaintenance with the same fields."""
    where = f"member {member}, {source}"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise FleetError("invalid-maintenance", "it is no JSON", where, _HINT) from None
    spec = _spec(document)
    if spec is None or set(spec) - _PARTS:
        raise FleetError("invalid-maintenance", "it says something else than windows and freezes", where, _HINT)
    return _judged(spec, source, where)


def kept_maintenance(document: t.Any, where: str) -> ClusterMaintenance:
    """What ``encode`` made of the windows of a cluster, judged as when they were read there; ``where`` is for errors.
    FleetError as of ``cluster_maintenance``."""
    source = document.get("source", "") if isinstance(document, Mapping) else None
    if not isinstance(source, str) or set(document) - {"source", *_PARTS}:
        raise FleetError("invalid-maintenance", "these are no windows and freezes of a cluster", where, _HINT)
    return _judged({key: each for key, each in document.items() if key in _PARTS}, source, where)


def _judged(spec: Mapping[str, t.Any], source: str, where: str) -> ClusterMaintenance:
    """The windows and freezes of the spec, checked as those of a FleetMaintenance; FleetError with its problems."""
    metadata = {"name": "own"}
    found = read({"apiVersion": FLEET_API, "kind": MAINTENANCE, "metadata": metadata, "spec": spec}, where).object
    given = t.cast(FleetMaintenance, found).spec
    return ClusterMaintenance(source=source, windows=given.windows, freezes=given.freezes)


def _spec(document: t.Any) -> dict[str, t.Any] | None:
    """The spec that a document stands for, its fields not judged; empty for an empty list, None where it is neither a
    mapping nor what Azure prints of maintenance alone."""
    made = manifests_of(document)
    if made:
        fits = all(each["kind"] == MAINTENANCE for each in made)
        return {"windows": [one for each in made for one in each["spec"]["windows"]]} if fits else None
    if document == []:
        return {}
    return dict(document) if isinstance(document, Mapping) else None
