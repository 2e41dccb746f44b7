# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged updates of a placement that are refused; see ``bad_manifests`` for the table."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest, Row, named
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    APPROVE,
    STAGES,
    WAIT,
    approval_request,
    staged,
    staged_run,
    staged_strategy,
    twin,
)

_STAGE = f"{STAGES}[0]"


def _stage(**fields: t.Any) -> Manifest:
    return staged_strategy(staged(**fields))


def _after(*tasks: t.Any) -> Manifest:
    return _stage(afterStageTasks=list(tasks))


BAD_STAGED: tuple[Row, ...] = (
    Row("a strategy without stages", {**staged_strategy(), "spec": {}}, (f"missing-field {STAGES}",)),
    Row("32 stages", staged_strategy(*(staged(f"s{at}") for at in range(32))), (f"too-many-items {STAGES}",)),
    Row("a stage without name", _stage(name=None), (f"missing-field {_STAGE}.name",)),
    Row("a stage of no name", _stage(name=""), (f"wrong-form {_STAGE}.name",)),
    Row("a stage with a dash", _stage(name="eu-west"), (f"wrong-form {_STAGE}.name",)),
    Row("a stage in capitals", _stage(name="Canary"), (f"wrong-form {_STAGE}.name",)),
    Row("a stage of 64 letters", _stage(name="a" * 64), (f"wrong-length {_STAGE}.name",)),
    Row(
        "two stages of one name",
        staged_strategy(staged(), staged("rest"), staged()),
        (f"duplicate-stage {STAGES}[2].name",),
    ),
    Row("none at once", _stage(maxConcurrency=0), (f"invalid-count-or-percentage {_STAGE}.maxConcurrency",)),
    Row("no percent at once", _stage(maxConcurrency="0%"), (f"invalid-count-or-percentage {_STAGE}.maxConcurrency",)),
    Row("101% at once", _stage(maxConcurrency="101%"), (f"invalid-count-or-percentage {_STAGE}.maxConcurrency",)),
    Row(
        "a number at once in quotes",
        _stage(maxConcurrency="5"),
        (f"invalid-count-or-percentage {_STAGE}.maxConcurrency",),
    ),
    Row(
        "a stage by an unknown operator",
        _stage(labelSelector={"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}),
        (f"invalid-label-selector {_STAGE}.labelSelector.matchExpressions[0].operator",),
    ),
    Row("sorted by no label", _stage(sortingLabelKey="my order"), (f"invalid-sorting-key {_STAGE}.sortingLabelKey",)),
    Row("sorted by an empty label", _stage(sortingLabelKey=""), (f"invalid-sorting-key {_STAGE}.sortingLabelKey",)),
    Row(
        "a wait before a stage",
        _stage(beforeStageTasks=[WAIT]),
        (f"wait-before-stage {_STAGE}.beforeStageTasks[0].type",),
    ),
    Row(
        "a time for an approval before a stage",
        _stage(beforeStageTasks=[{**APPROVE, "waitTime": "1h"}]),
        (f"wait-not-wanted {_STAGE}.beforeStageTasks[0].waitTime",),
    ),
    Row(
        "two approvals before",
        _stage(beforeStageTasks=[APPROVE, APPROVE]),
        (f"too-many-items {_STAGE}.beforeStageTasks",),
    ),
    Row("a wait of no length", _after({"type": "TimedWait"}), (f"wait-missing {_STAGE}.afterStageTasks[0].waitTime",)),
    Row(
        "a wait of zero", _after({**WAIT, "waitTime": "0s"}), (f"wait-not-usable {_STAGE}.afterStageTasks[0].waitTime",)
    ),
    Row(
        "a wait of four hundred years",
        _after({**WAIT, "waitTime": "3600000h"}),
        (f"wait-not-usable {_STAGE}.afterStageTasks[0].waitTime",),
    ),
    Row(
        "a wait in words", _after({**WAIT, "waitTime": "1 hour"}), (f"wrong-form {_STAGE}.afterStageTasks[0].waitTime",)
    ),
    Row("a wait of a day", _after({**WAIT, "waitTime": "1d"}), (f"wrong-form {_STAGE}.afterStageTasks[0].waitTime",)),
    Row("a wait in seconds", _after({**WAIT, "waitTime": 60}), (f"wrong-type {_STAGE}.afterStageTasks[0].waitTime",)),
    Row("a wait backwards", _after({**WAIT, "waitTime": "-1h"}), (f"wrong-form {_STAGE}.afterStageTasks[0].waitTime",)),
    Row(
        "a time for an approval",
        _after({**APPROVE, "waitTime": "1h"}),
        (f"wait-not-wanted {_STAGE}.afterStageTasks[0].waitTime",),
    ),
    Row("two waits", _after(WAIT, WAIT), (f"duplicate-task {_STAGE}.afterStageTasks[1].type",)),
    Row("two approvals", _after(APPROVE, APPROVE), (f"duplicate-task {_STAGE}.afterStageTasks[1].type",)),
    Row("three tasks", _after(WAIT, APPROVE, APPROVE), (f"too-many-items {_STAGE}.afterStageTasks",)),
    Row(
        "another task", _after({"type": "Metrics", "waitTime": "1h"}), (f"not-one-of {_STAGE}.afterStageTasks[0].type",)
    ),
    Row(
        "many mistakes in one strategy",
        twin(
            staged_strategy(
                staged("a-b", maxConcurrency=0, sortingLabelKey="-"),
                staged("x", beforeStageTasks=[WAIT]),
                staged("x", afterStageTasks=[WAIT, {**WAIT, "waitTime": "0h"}]),
            )
        ),
        (
            f"wrong-form {STAGES}[0].name",
            f"invalid-count-or-percentage {STAGES}[0].maxConcurrency",
            f"invalid-sorting-key {STAGES}[0].sortingLabelKey",
            f"wait-before-stage {STAGES}[1].beforeStageTasks[0].type",
            f"duplicate-stage {STAGES}[2].name",
            f"duplicate-task {STAGES}[2].afterStageTasks[1].type",
            f"wait-not-usable {STAGES}[2].afterStageTasks[1].waitTime",
        ),
    ),
    Row(
        "a run of nothing by nothing",
        {**staged_run(), "spec": {}},
        ("missing-field spec.placementName", "missing-field spec.stagedRolloutStrategyName"),
    ),
    Row("a run of an empty name", staged_run(placementName=""), ("empty-text spec.placementName",)),
    Row("a run of 256 letters", staged_run(placementName="a" * 256), ("wrong-length spec.placementName",)),
    Row(
        "a run by a name in capitals",
        staged_run(stagedRolloutStrategyName="Rings"),
        ("invalid-reference spec.stagedRolloutStrategyName",),
    ),
    Row(
        "a run of the latest by name",
        staged_run(resourceSnapshotIndex="latest"),
        ("invalid-snapshot-index spec.resourceSnapshotIndex",),
    ),
    Row(
        "a run of an index below zero",
        staged_run(resourceSnapshotIndex="-1"),
        ("invalid-snapshot-index spec.resourceSnapshotIndex",),
    ),
    Row(
        "a run of an index with zeros",
        staged_run(resourceSnapshotIndex="007"),
        ("invalid-snapshot-index spec.resourceSnapshotIndex",),
    ),
    Row("a run that pauses", staged_run("Paused"), ("not-one-of spec.state",)),
    Row("a run in lower case", staged_run("run"), ("not-one-of spec.state",)),
    Row("a run of 64 letters", named(staged_run(), name="a" * 64), ("name-too-long metadata.name",)),
    Row(
        "a run in no namespace",
        {**twin(staged_run()), "metadata": {"name": "web-7"}},
        ("namespace-missing metadata.namespace",),
    ),
    Row("an approval for nothing", approval_request(targetStage=None), ("missing-field spec.targetStage",)),
    Row("an approval for no stage", approval_request(targetStage=""), ("empty-text spec.targetStage",)),
    Row(
        "an approval for a run in capitals",
        twin(approval_request(parentStageRollout="Web")),
        ("invalid-reference spec.parentStageRollout",),
    ),
    Row("an approval in the spec", approval_request(approved=True), ("unknown-field spec.approved",)),
)
