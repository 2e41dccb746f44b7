# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update strategies, runs and gates that are taken; see ``good_manifests`` for what the tables mean."""

from __future__ import annotations

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Row, Update, named
from ansible_collections.gitops.fleet.tests.data.update_parts import (
    APPROVAL,
    AT_NIGHT,
    DIGEST,
    FULL,
    IMAGES,
    MONDAY,
    STAGES,
    by_label,
    gate,
    group,
    stage,
    update_run,
    update_strategy,
    with_status,
)

_LARGEST = [stage(f"s{at}", *(group(f"g{at}-{one}") for one in range(50))) for at in range(31)]

GOOD_UPDATES: tuple[Row, ...] = (
    # D2-06, D3-07, D3-10: stages and groups alone, as the older pages have them
    Row("two rings", update_strategy(stage("test"), stage("production", group("prod")))),
    # D3-09
    Row(
        "two stages of two groups with a wait",
        update_strategy(
            stage("one", group("a"), group("b"), afterStageWaitInSeconds=3600), stage("two", group("c"), group("d"))
        ),
    ),
    Row(
        "the longest wait", update_strategy(stage(afterStageWaitInSeconds=2592000), stage("last", group("z")))
    ),  # D3-08
    Row("31 stages of 50 groups", update_strategy(*_LARGEST)),  # D3-21
    Row(
        "a stage by label alone", update_strategy({"name": "all", **by_label("tier in (gold, silver),!canary")})
    ),  # D3-15
    Row("a group by label", update_strategy(stage("one", group("a", **by_label("ring=1"))))),
    Row("both selectors", update_strategy(stage("one", group("a", **by_label("ring!=1")), **by_label("region=eu")))),
    Row("the longest selector", update_strategy({"name": "all", **by_label(f"a in ({','.join(['abcd'] * 101)}) ")})),
    Row(
        "limits as numbers and percentages",
        update_strategy(
            stage("one", group("a", maxConcurrency="1%", maxAllowedFailures="100%"), maxConcurrency="50"),
            stage("two", group("b", maxAllowedFailures="0"), maxConcurrency="100%", maxAllowedFailures="0%"),
        ),
        (f"group-limit-looser {STAGES}[0].groups[0].maxAllowedFailures",),
    ),
    Row(
        "gates at every place",
        update_strategy(
            stage(
                "one",
                group("a", beforeGates=[AT_NIGHT], afterGates=[APPROVAL]),
                beforeGates=[APPROVAL, AT_NIGHT],
                afterGates=[{"type": "Approval"}],
            )
        ),
    ),
    Row("ten gates", update_strategy(stage(beforeGates=[APPROVAL] * 10))),
    Row("a name of fifty", named(update_strategy(stage("s" * 50, group("0" * 50))), name="r" * 50)),
    # D7, D9 and a wait that leads nowhere are worth a word
    Row(
        "group limits that are stricter",
        update_strategy(stage("one", group("a"), group("b", maxAllowedFailures="1"), maxAllowedFailures="2")),
        (
            f"group-limit-stricter {STAGES}[0].groups[0].maxAllowedFailures",
            f"group-limit-stricter {STAGES}[0].groups[1].maxAllowedFailures",
        ),
    ),
    Row(
        "a group limit that is looser",
        update_strategy(stage("one", group("a", maxAllowedFailures="3"), maxAllowedFailures="1")),
        (f"group-limit-looser {STAGES}[0].groups[0].maxAllowedFailures",),
    ),
    Row(
        "a group limit where the stage has none",
        update_strategy(stage("one", group("a", maxAllowedFailures="3"), group("b", maxAllowedFailures="inherit"))),
        (f"group-limit-looser {STAGES}[0].groups[0].maxAllowedFailures",),
    ),
    Row(
        "group limits that are as wide",
        update_strategy(
            stage(
                "one", group("a", maxAllowedFailures="2"), group("b", maxAllowedFailures="5%"), maxAllowedFailures="2"
            )
        ),
    ),
    Row(
        "a group that inherits",
        update_strategy(stage("one", group("a", maxAllowedFailures="inherit"), maxAllowedFailures="20%")),
    ),  # D3-77
    Row(
        "group concurrency above that of the stage",
        update_strategy(stage("one", group("a", maxConcurrency="5"), maxConcurrency="2")),
        (f"concurrency-above-stage {STAGES}[0].groups[0].maxConcurrency",),
    ),
    Row(
        "group concurrency above the ceiling",
        update_strategy(stage("one", group("a", maxConcurrency="51"))),
        (f"concurrency-above-stage {STAGES}[0].groups[0].maxConcurrency",),
    ),
    Row(
        "a wait after the last stage",
        update_strategy(stage(afterStageWaitInSeconds=60)),
        (f"wait-not-served {STAGES}[0].afterStageWaitInSeconds",),
    ),
    # D3-01, D3-03: a goal without a sequence
    Row("smallest run", update_run()),
    Row("a minor as target", update_run({"type": "ControlPlaneOnly", "kubernetesVersion": "v1.34"})),  # D2-01, D3-02
    Row("minor by minor", update_run({"type": "Full", "kubernetesVersion": "1.34.2", "chain": True})),  # U20
    Row("node images only", update_run({"type": "NodeImageOnly"}, {"type": "Latest"})),  # D3-30
    Row("consistent images", update_run(images={"type": "Consistent"})),  # D3-30
    Row(
        "named images",
        update_run(
            {"type": "NodeImageOnly"},
            {
                "type": "Custom",
                "customNodeImageVersions": [
                    {"version": "AKSUbuntu-2204gen2containerd-202309.26.0"},
                    {"version": "AKSWindows-2022-containerd-20348.2582.240916"},
                ],
            },
        ),
    ),
    Row("by name of a strategy", update_run(updateStrategyId="rings")),  # D3-18
    Row("by id of a strategy", update_run(updateStrategyId="/subscriptions/0/fleets/f/updateStrategies/rings")),
    Row(
        "a run with everything",
        update_run(
            strategy={"stages": [stage(), stage("two", group("prod", maxConcurrency="2"))]},
            autoUpgradeProfileId="stable",
            onConflict="refuse",
            unreachableTimeoutSeconds=0,
        ),
    ),
    Row(
        "images without effect",
        update_run({**FULL, "type": "ControlPlaneOnly"}, {"type": "Consistent"}),
        (f"images-not-touched {IMAGES}",),
    ),
    Row("a gate for a person", gate(displayName="change ticket", digest=DIGEST)),
    Row("a gate for the clock", gate("ScheduledStart", scheduledStartProperties=MONDAY)),
)

REPAIRED_UPDATES: tuple[Row, ...] = (
    Row(
        "limits without quotes",
        update_strategy(stage("one", group("a", maxConcurrency=5), maxConcurrency=10, maxAllowedFailures=0)),
        (
            f"number-not-text {STAGES}[0].groups[0].maxConcurrency",
            f"number-not-text {STAGES}[0].maxConcurrency",
            f"number-not-text {STAGES}[0].maxAllowedFailures",
        ),
    ),
    Row(
        "a limit without quotes in a run",
        update_run(strategy={"stages": [stage(maxConcurrency=10)]}),
        (f"number-not-text {STAGES}[0].maxConcurrency",),
    ),
)

_STARTED = with_status(update_run(), phase="active")
_DONE = with_status(gate(), state="Completed")
CHANGES: tuple[Update, ...] = (
    Update("strategies are replaced", update_strategy(stage()), update_strategy(stage("other"))),
    Update("another target before the start", update_run(), update_run({**FULL, "kubernetesVersion": "1.34.3"})),
    Update("another sequence before the start", update_run(), update_run(updateStrategyId="rings")),
    Update(
        "another target after the start",
        _STARTED,
        update_run({**FULL, "kubernetesVersion": "1.34.3"}),
        ("spec-of-started-run spec",),
    ),
    Update(
        "another sequence after the start",
        _STARTED,
        update_run(updateStrategyId="rings"),
        ("spec-of-started-run spec",),
    ),
    Update("the same again after the start", _STARTED, update_run()),
    Update("an exported run", _STARTED, _STARTED),
    Update("labels after the start", _STARTED, named(update_run(), labels={"team": "a"})),
    Update("states written by hand", update_run(), _STARTED, ("status-not-yours status",)),
    Update("a gate is completed", gate(), _DONE),
    Update("a gate that was completed is read again", _DONE, _DONE),
    Update("a gate is skipped by hand", gate(), with_status(gate(), state="Skipped"), ("gate-state status.state",)),
    Update("a gate is opened again", _DONE, with_status(gate(), state="Pending"), ("gate-state status.state",)),
    Update("a gate of another name", gate(), gate(displayName="other"), ("gate-changed spec",)),
)
