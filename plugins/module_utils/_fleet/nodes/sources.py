# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""NodeRotations and FleetMaintenances, of files and of the records (``not-a-rotation``); what is given stands for what
is recorded."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.errors import Problem
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance
from ..._core.objects.clusters.node_rotation import NodeRotation
from ..._store.manifests import read_manifests
from ..._store.records import Records
from ..given import given_objects
from ..recorded import recorded

KIND, MAINTENANCE = "NodeRotation", "FleetMaintenance"
T = t.TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class NodeManifests:
    """NodeRotations and FleetMaintenances by name, and remarks on them that refuse nothing (``findings``)."""

    rotations: t.Mapping[str, NodeRotation] = field(default_factory=dict)
    maintenance: t.Mapping[str, FleetMaintenance] = field(default_factory=dict)
    findings: tuple[Problem, ...] = ()


def node_manifests(
    src: t.Sequence[str], definitions: t.Sequence[t.Mapping[str, t.Any]] = (), strict: bool = False
) -> NodeManifests:
    """Every object of the two kinds in the files ``src``, where others are passed over, and all ``definitions``;
    ``strict`` as of ``read``. FleetError with all problems at once: ``not-a-rotation`` for a definition of another
    kind, ``duplicate-object``, those of reading."""
    manifests = read_manifests(src) if src else ()
    given = given_objects((KIND, MAINTENANCE), manifests, definitions, strict, "not-a-rotation")
    return NodeManifests(rotations=given.objects[KIND], maintenance=given.objects[MAINTENANCE], findings=given.findings)


def with_recorded(given: NodeManifests, records: Records) -> NodeManifests:
    """What was given, and those recorded objects of both kinds whose names were not. FleetError ``record-damaged``."""
    return NodeManifests(
        rotations={**_recorded(records, NodeRotation), **given.rotations},
        maintenance={**recorded_maintenance(records), **given.maintenance},
        findings=given.findings,
    )


def recorded_maintenance(records: Records) -> dict[str, FleetMaintenance]:
    """Every recorded FleetMaintenance by name. FleetError ``record-damaged``."""
    return _recorded(records, FleetMaintenance)


def _recorded(records: Records, cls: type[T]) -> dict[str, T]:
    """The recorded objects of that class by name. FleetError ``record-damaged``."""
    return {each["metadata"]["name"]: recorded(cls, each) for each in records.list(cls.__name__)}
