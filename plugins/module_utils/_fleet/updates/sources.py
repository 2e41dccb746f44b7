# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What update runs go by, as people write it in files or in a task: UpdateRun, UpdateStrategy, FleetMaintenance,
ReleaseCatalog, AutoUpgradeProfile; ``not-an-update-run``, ``not-a-maintenance``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.errors import Problem
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance
from ..._core.objects.updates.auto_upgrade_profile import AutoUpgradeProfile
from ..._core.objects.updates.release_catalog import ReleaseCatalog
from ..._core.objects.updates.strategy import UpdateStrategy
from ..._core.objects.updates.update_run import UpdateRun
from ..._store.manifests import read_manifests
from ..given import given_objects

Spec = UpdateRun | UpdateStrategy | FleetMaintenance | ReleaseCatalog | AutoUpgradeProfile  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
_CLASSES: tuple[type[Spec], ...] = (UpdateRun, UpdateStrategy, FleetMaintenance, ReleaseCatalog, AutoUpgradeProfile)
KINDS = tuple(each.__name__ for each in _CLASSES)


@dataclass(frozen=True, kw_only=True)
class UpdateManifests:
    """Objects of each kind by name, and remarks on them (``findings``). ``gone`` are names of FleetMaintenances that
    count as not recorded."""

    runs: t.Mapping[str, UpdateRun] = field(default_factory=dict)
    strategies: t.Mapping[str, UpdateStrategy] = field(default_factory=dict)
    maintenance: t.Mapping[str, FleetMaintenance] = field(default_factory=dict)
    catalogues: t.Mapping[str, ReleaseCatalog] = field(default_factory=dict)
    profiles: t.Mapping[str, AutoUpgradeProfile] = field(default_factory=dict)
    findings: tuple[Problem, ...] = ()
    gone: frozenset[str] = frozenset()


def update_manifests(
    src: t.Sequence[str], definitions: t.Sequence[t.Mapping[str, t.Any]], strict: bool
) -> UpdateManifests:
    """All objects of these kinds in the files ``src``, and all definitions; ``strict`` as of ``read``. FleetError with
    all problems at once: those of reading the files, else ``not-an-update-run`` for a definition of another kind,
    ``duplicate-object``, those of ``read``."""
    manifests = read_manifests(src) if src else ()
    given = given_objects(KINDS, manifests, definitions, strict, "not-an-update-run")
    runs, strategies, maintenance, catalogues, profiles = given.objects.values()
    return UpdateManifests(
        runs=runs,
        strategies=strategies,
        maintenance=maintenance,
        catalogues=catalogues,
        profiles=profiles,
        findings=given.findings,
    )


def maintenance_manifests(
    src: t.Sequence[str], definitions: t.Sequence[t.Mapping[str, t.Any]], strict: bool
) -> UpdateManifests:
    """The FleetMaintenances alone, whatever else lies beside them. FleetError as of ``update_manifests``, with
    ``not-a-maintenance`` for a definition of another kind."""
    manifests = read_manifests(src) if src else ()
    kind = FleetMaintenance.__name__
    given = given_objects((kind,), manifests, definitions, strict, "not-a-maintenance")
    return UpdateManifests(maintenance=given.objects[kind], findings=given.findings)
