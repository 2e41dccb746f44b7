# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged update runs and their strategies as people write them, in files or outright (``not-a-staged-run``), with
overrides and the paths where Secrets are looked for."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...._core.errors import Problem
from ...._core.objects.staged.key import DEFINED_KINDS, RUN_KINDS
from ...._core.objects.staged.strategy import ClusterStagedUpdateStrategy
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun
from ...._store.manifests import Manifest, read_manifests
from ...given import given_objects
from ..overrides import LoadedOverrides, overrides_in
from ..sources import no_manifests_findings


@dataclass(frozen=True, kw_only=True)
class StagedManifests:
    """What was given, by name (``namespace/name`` in a namespace). ``overrides`` are those of the same files,
    ``resources`` the paths in which the content of Secrets is looked for, ``findings`` repairs, warnings and
    ``no-manifests``."""

    runs: t.Mapping[str, ClusterStagedUpdateRun] = field(default_factory=dict)
    strategies: t.Mapping[str, ClusterStagedUpdateStrategy] = field(default_factory=dict)
    overrides: LoadedOverrides = LoadedOverrides()
    resources: tuple[str, ...] = ()
    findings: tuple[Problem, ...] = ()


def staged_manifests(
    src: t.Sequence[str],
    definitions: t.Sequence[t.Mapping[str, t.Any]] = (),
    resources: t.Sequence[str] = (),
    strict: bool = False,
) -> StagedManifests:
    """Every run and strategy in the files and among the definitions, and the overrides, which may be among the
    ``resources`` too. FleetError with the problems of reading, ``not-a-staged-run`` for a definition of another kind,
    ``duplicate-object`` and broken rules; then those of ``overrides_in``."""
    manifests = read_manifests(src) if src else ()
    beside = read_manifests(resources) if resources else ()
    given = given_objects(DEFINED_KINDS, manifests, definitions, strict, "not-a-staged-run")
    overrides = overrides_in((*manifests, *_not_in(beside, manifests)), strict)
    return StagedManifests(
        runs={name: one for each in RUN_KINDS for name, one in given.objects[each.run].items()},
        strategies={name: one for each in RUN_KINDS for name, one in given.objects[each.strategy].items()},
        overrides=overrides,
        resources=tuple(resources),
        findings=(*no_manifests_findings(src, manifests, "src"), *given.findings, *overrides.findings),
    )


def _not_in(manifests: t.Iterable[Manifest], others: t.Iterable[Manifest]) -> t.Iterator[Manifest]:
    """The manifests that stand at no place of the others."""
    there = {each.where for each in others}
    yield from (each for each in manifests if each.where not in there)
