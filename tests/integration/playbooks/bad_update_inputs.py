# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users get wrong with update runs and their gates; rows as in ``bad_inputs``, with records of their own.

The fleet of these records: ``east`` (driver command, group ``prod``), ``west`` (no driver), ``south`` (a driver that
cannot be used yet), ``north`` (driver role); each has the label ``at`` with its name. The runs that were made there
before: ``fresh`` (recorded only), ``ended`` (Completed), ``waiting`` (at its first gate), ``flying`` (an upgrade is in
flight), ``elsewhere`` (conducted by somebody else), ``skipped`` (its stage with a gate is skipped).
"""

from __future__ import annotations

import typing as t

from bad_inputs import Bad, Options

COMMAND: Options = {"command": {"begin": ["false"], "observe": ["echo", "v1.35.4"]}}
UPGRADE: Options = {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}


def only(*names: str, **group: t.Any) -> Options:
    """A sequence of one stage for each name: those members that have the label ``at`` with it."""
    made = [
        {
            "name": f"only-{name}",
            "groups": [{"name": f"at-{name}", "memberSelector": {"byLabel": f"at={name}"}, **group}],
        }
        for name in names
    ]
    return {"stages": made}


def run(name: str = "new", upgrade: Options | None = None, **spec: t.Any) -> Options:
    return {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "UpdateRun",
        "metadata": {"name": name},
        "spec": {"managedClusterUpdate": {"upgrade": upgrade or UPGRADE}, **spec},
    }


def _row(name: str, verb: str, code: str, words: tuple[str, ...], options: Options) -> Bad:
    records = {"type": "sqlite", "path": "{folder}/updates.db"}
    return Bad(name, verb, {"records": records, **options}, code, words)


def update(title: str, code: str, /, *words: str, **options: t.Any) -> Bad:
    return _row(title, "update_run", code, words, options)


def defined(title: str, code: str, /, *words: str, **spec: t.Any) -> Bad:
    return update(title, code, *words, definition=[run(**spec)])


def conducted(title: str, code: str, /, *words: str, **options: t.Any) -> Bad:
    given = {"state": "conducted", "operations": "{folder}/operations", "drivers": COMMAND, **options}
    if "definition" not in given:
        given.setdefault("name", "fresh")
    return update(title, code, *words, **given)


def gate(title: str, code: str, /, *words: str, **options: t.Any) -> Bad:
    return _row(title, "gate", code, words, {"run": "waiting", **options})


def approval() -> Options:
    return {"type": "Approval", "displayName": "board"}


DEFINITIONS = (
    defined("an unknown field in a run", "unknown-field", "strategyy", "spec", strategyy={}),
    defined(
        "an unknown field in a stage",
        "unknown-field",
        "groupz",
        "spec.strategy.stages[0]",
        strategy={"stages": [{"name": "a", "groupz": [], "groups": [{"name": "g"}]}]},
    ),
    defined(
        "a sequence and a strategy",
        "two-sequences",
        "updateStrategyId",
        strategy=only("east"),
        updateStrategyId="rings",
    ),
    defined("a strategy that is nowhere", "no-such-strategy", "rinks", "rings", updateStrategyId="rinks"),
    defined("a version that is missing", "version-missing", "kubernetesVersion", upgrade={"type": "ControlPlaneOnly"}),
    defined(
        "a version that is forbidden",
        "version-not-wanted",
        "kubernetesVersion",
        upgrade={"type": "NodeImageOnly", "kubernetesVersion": "1.36.3"},
    ),
    defined("a version in words", "wrong-form", "latest", "1.34.2", upgrade={**UPGRADE, "kubernetesVersion": "latest"}),
    defined("a slip in the type", "not-one-of", "ControlPlaneOnly", upgrade={**UPGRADE, "type": "ControlPlane"}),
    defined(
        "a type that is not there yet",
        "upgrade-type-not-supported",
        "Full",
        "ControlPlaneOnly",
        "UpdateRun/new",
        upgrade={**UPGRADE, "type": "Full"},
    ),
    defined(
        "a member in two groups",
        "overlapping-groups",
        "east",
        "group prod of stage one",
        "group at-east of stage only-east",
        strategy={"stages": [{"name": "one", "groups": [{"name": "prod"}]}, *only("east")["stages"]]},
    ),
    defined(
        "a selector with a slip",
        "invalid-label-selector",
        "byLabel",
        "kubectl",
        strategy={"stages": [{"name": "a", "memberSelector": {"byLabel": "at=(east"}}]},
    ),
    defined("nobody at once", "wrong-form", "maxConcurrency", "at least 1", strategy=only("east", maxConcurrency="0")),
    defined(
        "a clock without its time",
        "schedule-missing",
        "ScheduledStart",
        "startDay",
        strategy=only("east", beforeGates=[{"type": "ScheduledStart"}]),
    ),
    update(
        "all that is wrong at once",
        "unknown-field",
        "3 problems",
        "strategyy",
        "maxConcurrency",
        "kubernetesVersion",
        definition=[
            run(upgrade={"type": "Full"}, strategyy={}, strategy=only("east", maxConcurrency="none")),
        ],
    ),
    update("no goal", "missing-field", "managedClusterUpdate", definition=[{**run(), "spec": {}}]),
    update("a bad name of a run", "invalid-name", "Web 136", definition=[run("Web 136")]),
    update(
        "something else than a run",
        "not-an-update-run",
        "MemberCluster",
        "UpdateStrategy",
        definition=[
            {
                "apiVersion": "cluster.kubernetes-fleet.io/v1",
                "kind": "MemberCluster",
                "metadata": {"name": "x"},
                "spec": {"identity": {"kind": "User", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}},
            }
        ],
    ),
    update("a run twice", "duplicate-object", "new", "twice", definition=[run(), run()]),
    update("no run at all", "which-run", "named", "none", "docs/updates.md", src=["{manifests}/resources"]),
    update("one of two runs", "which-run", "new, other", definition=[run(), run("other")]),
    update("a run that is nowhere", "no-such-run", "webb", "fresh", name="webb"),
    update("a file of runs that is nowhere", "no-such-file", "{folder}/nowhere.yml", src=["{folder}/nowhere.yml"]),
    update(
        "another digest than approved",
        "digest-mismatch",
        "sha256:0123",
        "approved",
        definition=[run()],
        digest="sha256:0123",
    ),
    update(
        "another run than was started",
        "run-started",
        "ended",
        "another name",
        definition=[run("ended", strategy=only("west"))],
    ),
)

COMMANDS = (
    update("a start after the end", "conflict-state", "Completed", "final", "ended", name="ended", state="started"),
    update("a stop before the start", "conflict-state", "NotStarted", "fresh", name="fresh", state="stopped"),
    update("a run in flight to be deleted", "run-in-flight", "east", "force: true", name="flying", state="absent"),
    update("nothing to skip", "nothing-asked", "targets", "Member:c-1", name="fresh", state="skipped"),
    update(
        "a target without its kind",
        "bad-target",
        "'east'",
        "Member, Group, Stage",
        name="fresh",
        state="skipped",
        targets=["east"],
    ),
    update(
        "a whole run to skip", "bad-target", "Run:fresh", "Member", name="fresh", state="skipped", targets=["Run:fresh"]
    ),
    update(
        "a member that is not in the run",
        "unknown-target",
        "Member:eest",
        "east",
        name="fresh",
        state="skipped",
        targets=["Member:eest"],
    ),
    update(
        "a wait that is not there",
        "unknown-target",
        "AfterStageWait:only-east",
        "none",
        name="fresh",
        state="skipped",
        targets=["Member:east", "AfterStageWait:only-east"],
    ),
    update(
        "a member in flight to skip",
        "conflict-state",
        "Member:east is Running",
        "in flight",
        name="flying",
        state="skipped",
        targets=["Member:east"],
    ),
    update(
        "a member of a run that has ended",
        "conflict-state",
        "Completed",
        name="ended",
        state="skipped",
        targets=["Member:east"],
    ),
    update("no state of a run", "bad-option", "conducted", "state", name="fresh", state="running"),
    Bad(
        "runs in CI that would be lost",
        "update_run",
        {"records": {"path": "{folder}/updates.db"}, "name": "fresh"},
        "no-durable-records",
        ("CI", "durable: true"),
        {"CI": "true"},
    ),
    _row("an unknown run to look at", "update_run_info", "no-such-run", ("webb", "fresh"), {"names": ["webb"]}),
)

CONDUCTING = (
    conducted(
        "a placeholder that is none",
        "bad-option",
        "{cluster}",
        "{member}",
        "drivers.command.begin",
        drivers={"command": {"begin": ["upgrade", "{cluster}"], "observe": ["echo", "v1.35.4"]}},
    ),
    conducted(
        "several bad placeholders",
        "bad-option",
        "2 problems",
        "{reference}",
        "{target}",
        drivers={"command": {"begin": ["upgrade", "{reference}"], "observe": ["show", "{target}"]}},
    ),
    conducted("a command that is empty", "bad-option", "drivers.command.begin", drivers={"command": {"begin": []}}),
    conducted("a driver that nobody knows", "bad-option", "drivers", "kubeadm", drivers={"kubeadm": {}}),
    conducted(
        "an unknown option of a driver",
        "bad-option",
        "comand",
        drivers={"command": {"begin": ["false"], "comand": ["x"]}},
    ),
    conducted("a driver without its options", "driver-without-options", "command", "begin", "east", drivers={}),
    conducted(
        "a member without a driver",
        "no-driver",
        "west",
        "local, cluster_api, command, role",
        definition=[run(strategy=only("west"))],
    ),
    conducted(
        "a driver of a management cluster that is not named",
        "driver-without-options",
        "cluster_api",
        "kubeconfig",
        "south",
        definition=[run(strategy=only("south"))],
    ),
    conducted(
        "drivers wrong in every way",
        "driver-without-options",
        "3 problems",
        "west",
        "south",
        "north",
        definition=[run(strategy=only("east", "west", "south", "north"))],
    ),
    conducted(
        "a role that is not there",
        "bad-option",
        "{folder}/roles/upgrade",
        definition=[run(strategy=only("north"))],
        drivers={"role": {"role": "{folder}/roles/upgrade", "extra_vars": {"password": "canary-of-a-secret"}}},
    ),
    conducted(
        "events that cannot be written",
        "unwritable-file",
        "{folder}/notes.txt/events",
        events="{folder}/notes.txt/events",
    ),
    conducted(
        "operations that cannot be kept",
        "unwritable-folder",
        "{folder}/notes.txt/operations",
        operations="{folder}/notes.txt/operations",
    ),
    conducted("no time for a run", "bad-option", "time_limit", "less than 1", time_limit=0),
    conducted("less than no patience", "bad-option", "max_idle", "-1", max_idle=-1),
    conducted("looks without a pause", "bad-option", "interval", interval=0),
    conducted(
        "two minors at once",
        "minor-skipped",
        "east",
        "v1.34.1 -> v1.35 -> 1.36.3",
        "one minor at a time",
        drivers={"command": {"begin": ["false"], "observe": ["echo", "v1.34.1"]}},
    ),
    conducted("a run that somebody conducts", "lease-held", "somebody@elsewhere", "free in", name="elsewhere"),
    conducted("another digest to be conducted", "digest-mismatch", "sha256:0123", digest="sha256:0123"),
    conducted("members that another run has", "member-busy", "flying", "east", name="impatient"),
)

GATES = (
    gate("a gate of no run", "no-such-run", "webb", "waiting", run="webb"),
    gate("a gate that is nowhere", "no-such-gate", "before only-east board", stage="prod"),
    gate("a gate that is not open", "gate-not-open", "after only-east", "not reached", timing="After"),
    gate("one of several gates", "ambiguous-gate", "2 gates", "before only-east", "id", run="gated", name="board"),
    gate("a gate of a run that never started", "gate-not-open", "before only-east", run="gated", timing="Before"),
    gate("a gate for another digest", "digest-mismatch", "sha256:0123", stage="only-east", digest="sha256:0123"),
    gate("a gate at no time", "bad-option", "timing", "Before", timing="Meanwhile"),
    _row("a gate without its run", "gate", "bad-option", ("run",), {"stage": "only-east"}),
)

UPDATE_ROWS = (*DEFINITIONS, *COMMANDS, *CONDUCTING, *GATES)
