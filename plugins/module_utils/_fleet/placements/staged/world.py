# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a staged update run sees of its placement, its strategy, policies, snapshots, other runs and the members with
their labels, out of the records; recorded staged runs, listed."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ...._core.errors import FleetError
from ...._core.objects.clusters.member_cluster import MemberCluster
from ...._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...._core.objects.placements.resource_snapshot import ClusterResourceSnapshot
from ...._core.objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ...._core.objects.placements.snapshot_labels import LATEST, NUMBER_OF_CLUSTERS, RESOURCE_HASH, RESOURCE_INDEX
from ...._core.objects.staged.approval import ClusterApprovalRequest
from ...._core.objects.staged.key import RunKey, RunKinds
from ...._core.objects.staged.strategy import ClusterStagedUpdateStrategy
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun
from ...._core.rollout.content import OverridesByCluster, RolloutBinding
from ...._core.rollout.staged.world import ObservedState
from ...._core.schema.meta import Condition, ObjectMeta, find_condition
from ...._store.records import Records
from ...recorded import decoded
from ...recorded import recorded as read_record
from ..binding_journal import taken_up
from ..recorded import (
    REVISION,
    Document,
    RecordedPlacement,
    is_recovering,
    recorded_placement,
    unfinished_recovery_problem,
)
from .sources import StagedManifests
from .typed_records import recorded_run, recorded_strategy


@dataclass
class SeenMembers:
    """Members as the records have them. One is read once, and counts for as long as its record stays as it is."""

    _known: dict[str, tuple[str, MemberCluster]] = field(default_factory=dict)

    def clusters_named(self, records: Records, names: t.Container[str]) -> tuple[MemberCluster, ...]:
        """Those of these names whose MemberCluster is recorded, by name. FleetError ``record-damaged``, and others of
        the records."""
        found = []
        for each in records.list("MemberCluster"):
            name, version = each["metadata"]["name"], each["metadata"]["resourceVersion"]
            if name not in names:
                continue
            if self._known.get(name, ("",))[0] != version:
                self._known[name] = version, read_record(MemberCluster, each)
            found.append(self._known[name][1])
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class RunGround:
    """What a run is decided on, as it is recorded; ``placement`` and ``strategy`` are None where there is none.
    ``policies`` say whether they are fully scheduled, ``snapshots`` are the metadata of all parts of resource
    snapshots, ``runs`` the other runs of the placement; ``roll`` reads ``members`` again."""

    recorded: RecordedPlacement
    placement: ClusterResourcePlacement | None
    strategy: ClusterStagedUpdateStrategy | None
    policies: tuple[ClusterSchedulingPolicySnapshot, ...] = ()
    snapshots: tuple[ObjectMeta, ...] = ()
    members: tuple[MemberCluster, ...] = ()
    runs: tuple[ClusterStagedUpdateRun, ...] = ()
    roll: SeenMembers = field(default_factory=SeenMembers)

    @property
    def bindings(self) -> tuple[RolloutBinding, ...]:
        """The recorded bindings as a run takes them up, see ``taken_up``, by name."""
        generations = {name: each["metadata"]["generation"] for name, each in self.recorded.bindings.items()}
        return tuple(
            RolloutBinding(binding=taken_up(each, generations[each.name], None))
            for each in self.recorded.known.bindings
        )

    def hash_of(self, index: str) -> str:
        """The recorded hash of the content of the resource snapshot at that index; empty where there is none."""
        return self._annotation(index, RESOURCE_HASH)

    def revision_of(self, index: str) -> str:
        """The Git revision of the resource snapshot at that index; empty where none is recorded."""
        return self._annotation(index, REVISION)

    def _annotation(self, index: str, name: str) -> str:
        """That annotation of the first part of the resource snapshot at that index which has it; empty without."""
        parts = (each for each in self.snapshots if each.labels.get(RESOURCE_INDEX) == index)
        return next((each.annotations[name] for each in parts if name in each.annotations), "")

    @property
    def policy(self) -> ClusterSchedulingPolicySnapshot | None:
        """The policy that is marked as the latest, of several the one with the highest index; None without one."""
        latest = [each for each in self.policies if each.metadata.labels.get(LATEST) == "true"]
        return latest[-1] if latest else None

    def seen(
        self,
        bindings: tuple[RolloutBinding, ...],
        approvals: tuple[ClusterApprovalRequest, ...] = (),
        overrides: OverridesByCluster | None = None,
    ) -> ObservedState:
        """All that a run is decided on, with the bindings and approvals as they are by now; ``overrides`` None: none
        are known yet."""
        return ObservedState(
            placement=self.placement,
            strategy=self.strategy,
            policy_snapshots=self.policies,
            resource_snapshots=self.snapshots,
            clusters=self.members,
            bindings=bindings,
            overrides=overrides or {},
            approvals=approvals,
            runs=self.runs,
        )


def run_ground(records: Records, run: ClusterStagedUpdateRun, given: StagedManifests) -> RunGround:
    """What is recorded of the run's placement, with the strategy of a file before the recorded one. FleetError
    ``recovery-unfinished``, ``record-damaged``, ``records-damaged``, and others of the records."""
    name = str(run.placement_key)
    found = recorded_placement(records, name)
    if is_recovering(found.document):
        raise FleetError.of([unfinished_recovery_problem(name)])
    placement, roll = found.placement, SeenMembers()
    return RunGround(
        recorded=found,
        placement=placement,
        strategy=_strategy(records, run, given),
        policies=tuple(_policies(found, placement)),
        snapshots=tuple(_metadata_of(each) for each in found.resource_snapshots),
        members=roll.clusters_named(records, {each.spec.target_cluster for each in found.known.bindings}),
        runs=tuple(
            each
            for each in recorded_runs(records, run.key.kinds, run.key.namespace)
            if each.key != run.key and each.placement_key == run.placement_key
        ),
        roll=roll,
    )


def recorded_runs(records: Records, kinds: RunKinds, namespace: str = "") -> t.Iterator[ClusterStagedUpdateRun]:
    """The recorded runs of a kind, by name, with ``namespace`` only those in it; damaged ones are passed over.
    FleetError where runs cannot be listed."""
    for document in records.list(kinds.run, namespace=namespace):
        metadata = document["metadata"]
        try:
            yield recorded_run(RunKey(str(metadata.get("namespace") or ""), str(metadata["name"])), document)
        except FleetError:
            continue


def _metadata_of(snapshot: Document) -> ObjectMeta:
    """The snapshot's metadata, its content not looked at. FleetError ``record-damaged``."""
    return decoded(ClusterResourceSnapshot, {**snapshot, "spec": {}}).metadata


def _strategy(
    records: Records, run: ClusterStagedUpdateRun, given: StagedManifests
) -> ClusterStagedUpdateStrategy | None:
    """The run's strategy, of a file before the recorded one; None if there is neither. FleetError ``record-damaged``,
    and others of the records."""
    name = run.strategy_record_name
    if name in given.strategies:
        return given.strategies[name]
    document = records.get(run.key.kinds.strategy, name)
    return recorded_strategy(run.key, document) if document is not None else None


def _policies(
    found: RecordedPlacement, placement: ClusterResourcePlacement | None
) -> t.Iterator[ClusterSchedulingPolicySnapshot]:
    """The recorded policies, by index. How many clusters are asked for, and whether they were found, is taken from the
    placement. FleetError ``record-damaged``."""
    for document in found.policy_snapshots:
        each = decoded(ClusterSchedulingPolicySnapshot, document)
        annotations = dict(each.metadata.annotations)
        policy = placement.spec.policy if placement else None
        if policy is not None and policy.number_of_clusters is not None:
            annotations[NUMBER_OF_CLUSTERS] = str(policy.number_of_clusters)
        yield replace(
            each,
            metadata=replace(each.metadata, annotations=annotations),
            status=replace(each.status, conditions=_scheduled(placement, each.metadata.generation)),
        )


def _scheduled(placement: ClusterResourcePlacement | None, generation: int) -> tuple[Condition, ...]:
    """What the last apply of the placement says of its clusters, as a policy's condition: of an older generation if
    that was of another spec; none without one."""
    said = find_condition(placement.status.conditions, f"{placement.kind}Scheduled") if placement else None
    if placement is None or said is None:
        return ()
    older = said.observed_generation != placement.metadata.generation
    return (replace(said, type="Scheduled", observed_generation=generation - older),)
