# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update strategies, runs and gates that are refused; see ``bad_manifests`` for what the table means."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest, Row, member, named
from ansible_collections.gitops.fleet.tests.data.update_parts import (
    APPROVAL,
    AT_NIGHT,
    FULL,
    IMAGES,
    MONDAY,
    STAGES,
    UPGRADE,
    by_label,
    gate,
    group,
    stage,
    update_run,
    update_strategy,
    with_status,
)

_FIRST, _GROUP = f"{STAGES}[0]", f"{STAGES}[0].groups[0]"


def _one(**fields: t.Any) -> Manifest:
    """A strategy of one stage with one group with these fields."""
    return update_strategy(stage("one", group("a", **fields)))


def _before(gate_configuration: t.Any) -> Manifest:
    return update_strategy(stage(beforeGates=[gate_configuration]))


def _scheduled(**changed: t.Any) -> Manifest:
    return _before({**AT_NIGHT, "scheduledStartConfiguration": {**MONDAY, **changed}})


_SCHEDULE = f"{_FIRST}.beforeGates[0].scheduledStartConfiguration"

BAD_UPDATES: tuple[Row, ...] = (
    # names
    Row(
        "a strategy with an upper-case name",
        named(update_strategy(stage()), name="Rings"),
        ("invalid-name metadata.name",),
    ),
    Row("a strategy with a dot", named(update_strategy(stage()), name="a.b"), ("invalid-name metadata.name",)),
    Row("a run with a dot", named(update_run(), name="v1.34"), ("invalid-name metadata.name",)),
    Row("a run with a long name", named(update_run(), name="r" * 51), ("name-too-long metadata.name",)),
    Row("a gate that is no GUID", named(gate(), name="approve-it"), ("invalid-name metadata.name",)),
    Row(
        "a gate in upper case",
        named(gate(), name="3F0A8C52-6A4E-5B0D-9C1E-0123456789AB"),
        ("invalid-name metadata.name",),
    ),
    Row("a stage without a name", update_strategy({"groups": [group()]}), (f"missing-field {_FIRST}.name",)),
    Row("a stage with a blank", update_strategy(stage("first stage")), (f"wrong-form {_FIRST}.name",)),
    Row("a stage with a long name", update_strategy(stage("s" * 51)), (f"wrong-length {_FIRST}.name",)),
    Row("a group of no name", update_strategy(stage("one", {})), (f"missing-field {_GROUP}.name",)),
    Row("a group with an empty name", update_strategy(stage("one", group(""))), (f"wrong-form {_GROUP}.name",)),
    Row("a group that ends in a dash", update_strategy(stage("one", group("a-"))), (f"wrong-form {_GROUP}.name",)),
    Row("a member's group in upper case", member({"inCluster": True}, group="EU"), ("wrong-form spec.group",)),
    Row("a run of no members", update_run(members=[]), ("too-few-items spec.members",)),
    # stages and groups
    Row("no sequence", update_strategy(), (f"too-few-items {STAGES}",)),  # D3-10
    Row("a strategy of nothing", {**update_strategy(), "spec": {}}, ("missing-field spec.strategy",)),
    Row(
        "32 stages",
        update_strategy(*(stage(f"s{at}", group(f"g{at}")) for at in range(32))),
        (f"too-many-items {STAGES}",),
    ),  # D3-21
    Row(
        "51 groups",
        update_strategy(stage("one", *(group(f"g{at}") for at in range(51)))),
        (f"too-many-items {_FIRST}.groups",),
    ),  # D3-21
    Row(
        "a stage that selects nothing", update_strategy({"name": "one"}), (f"stage-selects-nothing {_FIRST}.groups",)
    ),  # D3-10
    Row(
        "a stage with no groups", update_strategy({"name": "one", "groups": []}), (f"too-few-items {_FIRST}.groups",)
    ),  # D3-10
    Row(
        "two stages of one name",
        update_strategy(stage(), stage("first", group("b"))),
        (f"duplicate-stage {STAGES}[1].name",),
    ),
    Row(
        "two groups of one name",
        update_strategy(stage("one", group("a"), group("b"), group("a"))),
        (f"duplicate-group {_FIRST}.groups[2].name",),
    ),
    Row(
        "a group in two stages",
        update_strategy(stage("one"), stage("two")),
        (f"group-in-two-stages {STAGES}[1].groups[0].name",),
    ),
    # D2-06, D3-20: a strategy holds no versions
    Row(
        "a version beside the stages",
        update_strategy(stage(), kubernetesVersion="1.34.2"),
        ("unknown-field spec.strategy.kubernetesVersion",),
    ),
    Row(
        "a version in a stage",
        update_strategy(stage(kubernetesVersion="1.34.2")),
        (f"unknown-field {_FIRST}.kubernetesVersion",),
    ),
    Row(
        "an image in a group",
        _one(nodeImageSelection={"type": "Latest"}),
        (f"unknown-field {_GROUP}.nodeImageSelection",),
    ),
    Row(
        "translated fields",
        {**update_strategy(), "spec": {"strategy": {"étapes": []}}},
        ("unknown-field spec.strategy.étapes", f"missing-field {STAGES}"),
    ),  # D3-45
    Row(
        "one stage too deep",
        {**update_strategy(), "spec": {"stages": [stage()]}},
        ("unknown-field spec.stages", "missing-field spec.strategy"),
    ),
    # waits and limits
    Row(
        "a wait of less than nothing",
        update_strategy(stage(afterStageWaitInSeconds=-1)),
        (f"out-of-range {_FIRST}.afterStageWaitInSeconds",),
    ),  # D3-08
    Row(
        "a wait of more than a month",
        update_strategy(stage(afterStageWaitInSeconds=2592001)),
        (f"out-of-range {_FIRST}.afterStageWaitInSeconds",),
    ),  # D3-08
    Row(
        "a wait in words",
        update_strategy(stage(afterStageWaitInSeconds="1h")),
        (f"wrong-type {_FIRST}.afterStageWaitInSeconds",),
    ),
    Row("no members at once", _one(maxConcurrency="0"), (f"wrong-form {_GROUP}.maxConcurrency",)),
    Row("no per cent at once", _one(maxConcurrency="0%"), (f"wrong-form {_GROUP}.maxConcurrency",)),
    Row("more than all at once", _one(maxConcurrency="101%"), (f"wrong-form {_GROUP}.maxConcurrency",)),
    Row("a zero in front", _one(maxConcurrency="05"), (f"wrong-form {_GROUP}.maxConcurrency",)),
    Row("half a member", _one(maxConcurrency=0.5), (f"wrong-type {_GROUP}.maxConcurrency",)),
    Row("a truth value as limit", _one(maxAllowedFailures=True), (f"wrong-type {_GROUP}.maxAllowedFailures",)),
    Row("fewer failures than none", _one(maxAllowedFailures="-1"), (f"wrong-form {_GROUP}.maxAllowedFailures",)),
    Row("very many failures", _one(maxAllowedFailures="12345678901"), (f"wrong-length {_GROUP}.maxAllowedFailures",)),
    Row(
        "a stage that inherits",
        update_strategy(stage(maxAllowedFailures="inherit")),
        (f"wrong-form {_FIRST}.maxAllowedFailures",),
    ),
    Row(
        "51 at once in a stage",
        update_strategy(stage(maxConcurrency="51")),
        (f"concurrency-above-ceiling {_FIRST}.maxConcurrency",),
    ),  # D3-21
    # selectors
    Row("a selector of nothing", _one(**by_label("")), (f"wrong-length {_GROUP}.memberSelector.byLabel",)),
    Row("a selector that is missing", _one(memberSelector={}), (f"missing-field {_GROUP}.memberSelector.byLabel",)),
    Row("a selector of 513", _one(**by_label("a" * 513)), (f"wrong-length {_GROUP}.memberSelector.byLabel",)),  # D3-15
    Row(
        "a selector with a slip",
        _one(**by_label("tier=gold,")),
        (f"invalid-label-selector {_GROUP}.memberSelector.byLabel",),
    ),
    Row(
        "a selector that compares",
        update_strategy({"name": "one", **by_label("nodes > 3")}),
        (f"invalid-label-selector {_FIRST}.memberSelector.byLabel",),
    ),
    Row(
        "a selector as labels",
        _one(memberSelector={"byLabel": {"tier": "gold"}}),
        (f"wrong-type {_GROUP}.memberSelector.byLabel",),
    ),
    # gates
    Row("a gate of no kind", _before({"displayName": "a"}), (f"missing-field {_FIRST}.beforeGates[0].type",)),
    Row("a gate of another kind", _before({"type": "approval"}), (f"not-one-of {_FIRST}.beforeGates[0].type",)),
    Row(
        "a gate of an empty name",
        _before({**APPROVAL, "displayName": ""}),
        (f"wrong-length {_FIRST}.beforeGates[0].displayName",),
    ),
    Row(
        "a gate of a long name",
        _before({**APPROVAL, "displayName": "a" * 101}),
        (f"wrong-length {_FIRST}.beforeGates[0].displayName",),
    ),
    Row("eleven gates", _one(afterGates=[APPROVAL] * 11), (f"too-many-items {_GROUP}.afterGates",)),
    Row(
        "a start after",
        update_strategy(stage(afterGates=[AT_NIGHT])),
        (f"scheduled-after {_FIRST}.afterGates[0].type",),
    ),
    Row("a start after a group", _one(afterGates=[AT_NIGHT]), (f"scheduled-after {_GROUP}.afterGates[0].type",)),
    Row("a start at no time", _before({"type": "ScheduledStart"}), (f"schedule-missing {_SCHEDULE}",)),
    Row(
        "an approval at a time",
        _before({**APPROVAL, "scheduledStartConfiguration": MONDAY}),
        (f"schedule-not-wanted {_SCHEDULE}",),
    ),
    Row("a start on no day", _scheduled(startDay="monday"), (f"not-one-of {_SCHEDULE}.startDay",)),
    Row("a start at 24", _scheduled(startTime="24:00"), (f"wrong-form {_SCHEDULE}.startTime",)),
    Row("a start at 9", _scheduled(startTime="9:30"), (f"wrong-form {_SCHEDULE}.startTime",)),
    Row("a start in a zone", _scheduled(utcOffset="CET"), (f"wrong-form {_SCHEDULE}.utcOffset",)),
    Row("a start in a far zone", _scheduled(utcOffset="+14:30"), (f"wrong-form {_SCHEDULE}.utcOffset",)),
    Row(
        "a start without an offset",
        _before(
            {"type": "ScheduledStart", "scheduledStartConfiguration": {"startDay": "Monday", "startTime": "09:30"}}
        ),
        (f"missing-field {_SCHEDULE}.utcOffset",),
    ),
    # runs
    Row(
        "a run without a goal",
        {**update_run(), "spec": {"updateStrategyId": "rings"}},
        ("missing-field spec.managedClusterUpdate",),
    ),  # D3-01
    Row("a run of no kind of upgrade", update_run({"kubernetesVersion": "1.34.2"}), (f"missing-field {UPGRADE}.type",)),
    Row(
        "a run with two sequences",
        update_run(updateStrategyId="rings", strategy={"stages": [stage()]}),
        ("two-sequences spec.updateStrategyId",),
    ),  # D3-18
    Row(
        "a run with another kind of upgrade", update_run({**FULL, "type": "NodesOnly"}), (f"not-one-of {UPGRADE}.type",)
    ),
    Row(
        "Full without a version", update_run({"type": "Full"}), (f"version-missing {UPGRADE}.kubernetesVersion",)
    ),  # D3-26
    Row(
        "ControlPlaneOnly without a version",
        update_run({"type": "ControlPlaneOnly"}),
        (f"version-missing {UPGRADE}.kubernetesVersion",),
    ),  # D3-26
    Row(
        "NodeImageOnly with a version",
        update_run({**FULL, "type": "NodeImageOnly"}),
        (f"version-not-wanted {UPGRADE}.kubernetesVersion",),
    ),  # D3-26
    Row(
        "NodeImageOnly with minors to go through",
        update_run({"type": "NodeImageOnly", "chain": True}),
        (f"chain-not-wanted {UPGRADE}.chain",),
    ),  # U20
    Row(
        "a run of a profile with minors to go through",
        update_run({**FULL, "chain": True}, autoUpgradeProfileId="stable"),
        (f"chain-not-wanted {UPGRADE}.chain",),
    ),  # U20
    Row("a chain in words", update_run({**FULL, "chain": "yes, please"}), (f"wrong-type {UPGRADE}.chain",)),
    Row(
        "a version of one number",
        update_run({**FULL, "kubernetesVersion": "1"}),
        (f"wrong-form {UPGRADE}.kubernetesVersion",),
    ),
    Row(
        "a version in words",
        update_run({**FULL, "kubernetesVersion": "latest"}),
        (f"wrong-form {UPGRADE}.kubernetesVersion",),
    ),
    Row(
        "a version without quotes",
        update_run({**FULL, "kubernetesVersion": 1.3}),
        (f"wrong-type {UPGRADE}.kubernetesVersion",),
    ),
    Row("a selection of no type", update_run(images={}), (f"missing-field {IMAGES}.type",)),
    Row("a selection in lower case", update_run(images={"type": "latest"}), (f"not-one-of {IMAGES}.type",)),  # D3-30
    Row(
        "an image under Latest",
        update_run(images={"type": "Latest", "version": "202309.26.0"}),
        (f"unknown-field {IMAGES}.version",),
    ),  # D3-28
    Row(
        "images under Consistent",
        update_run(images={"type": "Consistent", "customNodeImageVersions": [{"version": "a-1"}]}),
        (f"images-not-wanted {IMAGES}.customNodeImageVersions",),
    ),  # D3-28
    Row(
        "Custom without images",
        update_run(images={"type": "Custom"}),
        (f"images-missing {IMAGES}.customNodeImageVersions",),
    ),
    Row(
        "Custom with a list of nothing",
        update_run(images={"type": "Custom", "customNodeImageVersions": []}),
        (f"too-few-items {IMAGES}.customNodeImageVersions",),
    ),
    Row(
        "two images of a family",
        update_run(
            images={"type": "Custom", "customNodeImageVersions": [{"version": "u-22-1"}, {"version": "u-22-2"}]}
        ),
        (f"duplicate-image-family {IMAGES}.customNodeImageVersions[1].version",),
    ),
    Row(
        "an id that ends with no name",
        update_run(updateStrategyId="/fleets/f/updateStrategies/"),
        ("wrong-form spec.updateStrategyId",),
    ),
    Row("another way with conflicts", update_run(onConflict="fail"), ("not-one-of spec.onConflict",)),
    Row(
        "less than no patience",
        update_run(unreachableTimeoutSeconds=-1),
        ("out-of-range spec.unreachableTimeoutSeconds",),
    ),
    Row(
        "a stage of a run that selects nothing",
        update_run(strategy={"stages": [{"name": "one"}]}),
        (f"stage-selects-nothing {_FIRST}.groups",),
    ),
    # all at once
    Row(
        "one of everything",
        update_run(
            {"type": "NodeImageOnly", "kubernetesVersion": "1.34"},
            {"type": "Custom"},
            updateStrategyId="rings",
            strategy={
                "stages": [
                    stage("one", group("a"), group("a"), maxConcurrency="99", afterGates=[AT_NIGHT]),
                    {"name": "one", "kubernetesVersion": "1.34"},
                ]
            },
        ),
        (
            f"unknown-field {STAGES}[1].kubernetesVersion",
            f"concurrency-above-ceiling {_FIRST}.maxConcurrency",
            f"scheduled-after {_FIRST}.afterGates[0].type",
            f"duplicate-group {_FIRST}.groups[1].name",
            f"duplicate-stage {STAGES}[1].name",
            f"stage-selects-nothing {STAGES}[1].groups",
            "two-sequences spec.updateStrategyId",
            f"version-not-wanted {UPGRADE}.kubernetesVersion",
            f"images-missing {IMAGES}.customNodeImageVersions",
        ),
    ),
    Row(
        "a budget for a reason in lower case",
        update_run(nodePools={"budgets": [{"reasons": ["Drifted", "empty"]}]}),
        ("not-one-of spec.nodePools.budgets[0].reasons[1]",),
    ),
    # gates as objects
    Row(
        "an approval with a time",
        gate(scheduledStartProperties=MONDAY),
        ("schedule-not-wanted spec.scheduledStartProperties",),
    ),
    Row("a start without a time", gate("ScheduledStart"), ("schedule-missing spec.scheduledStartProperties",)),
    Row("a gate of another type", gate("Manual"), ("not-one-of spec.gateType",)),
    Row("a gate of no run", gate(target={}), ("missing-field spec.target.updateRunProperties",)),
    Row(
        "a gate in between",
        gate(target={"updateRunProperties": {"name": "a", "timing": "Between"}}),
        ("not-one-of spec.target.updateRunProperties.timing",),
    ),
    Row("a gate with half a digest", gate(digest="sha256:0a"), ("wrong-form spec.digest",)),
)

# Status is written by itself, so these are refused there.
BAD_STATUS: tuple[Row, ...] = (
    Row("a gate that is translated", with_status(gate(), state="Terminé"), ("not-one-of status.state",)),  # D3-45
    Row("a gate that runs", with_status(gate(), state="Running"), ("not-one-of status.state",)),
    Row("an approval by nobody", with_status(gate(), approval={}), ("missing-field status.approval.by",)),
    Row(
        "a run that is translated",
        with_status(update_run(), status={"state": "Omitido"}),
        ("not-one-of status.status.state",),
    ),  # D3-45
    Row("a run in another phase", with_status(update_run(), phase="started"), ("not-one-of status.phase",)),
    Row(
        "a run with an error of no code",
        with_status(update_run(), status={"error": {}}),
        ("missing-field status.status.error.code",),
    ),
)
