# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a staged update run gives to clusters: the content of one recorded snapshot (``snapshot-gone``), with Secrets as
they are at present and the overrides of today, which are refused where they are not those that it began with
(``overrides-changed``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.errors import FleetError
from ...._core.objects.identity import Manifest, ObjectId, identify
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun
from ...._core.plan.brakes import BrakeLimits
from ...._core.plan.compose import WantedPlacement
from ...._core.plan.document import PlacementPlan, Rendered
from ...._core.plan.rendering import Sealing
from ...._core.plan.staged import staged_plan
from ...._core.resources.history import KeptSnapshot
from ...._core.resources.sealing import object_hash
from ...._core.rollout.content import Overrides
from ...._core.schema.meta import find_condition
from ...._core.values.listed import listed
from ...._kube.client import KubeClient
from ...._kube.errors import ApiError
from ...._kube.paths import BUILT_IN, object_path
from ...._store.digest_key import known_digest_key
from ...._store.manifests import read_manifests
from ...session import Session
from ..explaining import recorded_index
from ..history.kept import kept_snapshots
from ..history.roll_back import RollBack, add_by_key, content_of, require_whole
from ..overrides import overrides_concerning, with_overrides_on_hub
from ..rollout_words import NAMED
from ..sources import now_credentials
from .sources import StagedManifests
from .world import RunGround


def planned(
    session: Session,
    run: ClusterStagedUpdateRun,
    ground: RunGround,
    given: StagedManifests,
    credentials: frozenset[tuple[str, str]],
    limits: BrakeLimits,
    prune_kinds: tuple[str, ...],
    *,
    hubs: frozenset[str],
    sends: bool,
) -> PlacementPlan:
    """The plan of a run that has been laid out. What Secrets hold is needed only where it ``sends`` something; else
    objects come as they are recorded if it cannot be had. ``hubs`` are members that are the hub itself. FleetError
    ``snapshot-gone``, ``snapshot-not-whole``, ``fleet-credentials`` where the content has what a member is reached with
    by now, where an override cannot be carried out, of the records, and as of ``kept_snapshots``,
    ``with_overrides_on_hub``, ``overrides_concerning``, and if it ``sends`` ``content_of`` and ``read_manifests``."""
    placement, policy = ground.placement, ground.policy
    if placement is None or policy is None:
        raise AssertionError("a run that is laid out has its placement and policy")
    kept = _kept(ground, run)
    objects = _objects(session, kept, run, given, sends)
    ids = [each.id for each in objects]
    loaded = with_overrides_on_hub(given.overrides, session)
    refused = [replace(each, where=str(placement.key)) for each in now_credentials(ids, credentials)]
    if refused:
        raise FleetError.of(refused)
    wanted = WantedPlacement(
        placement=placement,
        objects=objects,
        overrides=overrides_concerning(loaded, placement, ids),
        sealing=Sealing(key=known_digest_key(session.records), source=f"git:{kept.revision}" if kept.revision else ""),
        findings=loaded.findings,
        prune_kinds=prune_kinds,
    )
    index = recorded_index(ground.members, session)
    return staged_plan(wanted, ground.recorded.known, policy, kept.name, index, session.clock(), limits, hubs)


def _kept(ground: RunGround, run: ClusterStagedUpdateRun) -> KeptSnapshot:
    """The snapshot that the run has taken. FleetError ``snapshot-gone``, ``snapshot-not-whole``, ``record-damaged``."""
    index = run.status.resource_snapshot_index_used
    found = [each for each in kept_snapshots(ground.recorded) if str(each.index) == index]
    if not found:
        text = f"snapshot {index}, which the run began with, is not kept any more"
        hint = "revisionHistoryLimit of the placement says how many are kept; make a new run"
        raise FleetError("snapshot-gone", text, str(run.key), hint)
    return require_whole(found[0], str(run.placement_key))


def _objects(
    session: Session, kept: KeptSnapshot, run: ClusterStagedUpdateRun, given: StagedManifests, sends: bool
) -> tuple[Rendered, ...]:
    """The snapshot's objects; where Secrets, or the files or the hub that may have them, cannot be read and nothing is
    sent, as they are recorded, without what those hold. FleetError as of ``content_of`` and ``_present`` if the run
    ``sends``."""
    asked = RollBack(to=kept.index, checkouts=given.resources)
    try:
        return content_of(session, str(run.placement_key), kept, asked, _present(session, kept, given))
    except FleetError:
        if sends:
            raise
    return tuple(
        Rendered(id=identify(each), hash=object_hash(each), manifest=each, sealed=each) for each in kept.manifests
    )


def _present(session: Session, kept: KeptSnapshot, given: StagedManifests) -> dict[t.Any, list[Manifest]]:
    """What Secrets hold at present, in the files if there are any, else on the hub: the same, unless they have changed
    since. Manifests by key, none if nothing is sealed. FleetError as of ``read_manifests``, ApiError of the hub."""
    found: dict[t.Any, list[Manifest]] = {}
    if kept.secret_sources and given.resources:
        for each in read_manifests(given.resources):
            add_by_key(found, each.document)
    elif session.hub is not None:
        for one in kept.secret_sources:
            if (one.group, one.kind) == ("", "Secret"):
                add_by_key(found, _secret(session.hub, one))
    return found


def _secret(hub: KubeClient, one: ObjectId) -> Manifest:
    """The Secret on the hub; empty if it is not there. ApiError."""
    try:
        return hub.get(
            object_path(BUILT_IN["v1", "Secret"], {"metadata": {"namespace": one.namespace, "name": one.name}})
        )
    except ApiError as error:
        if error.code != "not-found":
            raise
        return {}


def refuse_other_overrides(run: ClusterStagedUpdateRun, plan: PlacementPlan) -> None:
    """FleetError ``overrides-changed`` if those of clusters that have neither succeeded nor failed are not what the run
    began with. That is kept by name and hash alone, and a cluster whose turn comes later is to get it."""
    changed = [
        each.cluster_name
        for stage in run.status.stages_status
        for each in stage.clusters
        if find_condition(each.conditions, "Succeeded") is None
        and plan.content.content_on(each.cluster_name).overrides
        != Overrides(cluster=each.cluster_resource_override_snapshots, namespaced=each.resource_override_snapshots)
    ]
    if changed:
        text = f"the overrides of {listed(changed, NAMED)} are not those that the run began with"
        hint = "bring them back to what they were, or stop this run and make a new one"
        raise FleetError("overrides-changed", text, str(run.key), hint)
