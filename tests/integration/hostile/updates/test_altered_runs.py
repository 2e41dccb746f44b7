# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user who may write nothing but the status of runs: the goal is the spec's, and what was approved is not widened."""

from __future__ import annotations

import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import SkipTarget
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import host
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import defining, update_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import (
    Approver,
    Which,
    complete_gates,
    user,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from conducting import Plays
from few_rights import STATUS_WRITER, User
from update_fleet import HELD, NEW, OLD, TARGET, Document, UpdateFleet, sequence, until

BOARD = {"type": "Approval", "displayName": "change board"}
CANARY_FIRST = sequence(
    {"name": "canary", "groups": [{"name": "one"}], "afterGates": [{**BOARD, "displayName": "is well"}]},
    {"name": "prod", "groups": [{"name": "all", "maxConcurrency": "1"}], "beforeGates": [BOARD],
     "afterStageWaitInSeconds": 600},
    {"name": "rest", "groups": [{"name": "late"}]},
)  # fmt: skip


def gated(fleet: UpdateFleet) -> dict[str, t.Any]:
    """Stage ``canary`` is done, and its gate waits; ``prod`` has two members behind another gate."""
    fleet.file_members(canary=OLD, a=OLD, b=OLD)
    for name, group in (("canary", "one"), ("a", "all"), ("b", "all")):
        fleet.patch(f"/apis/gitops.fleet/v1alpha1/fleetmembers/{name}", {"spec": {"group": group}})
    drivers = {"command": fleet.file_driver()}
    assert fleet.conduct(fleet.run(CANARY_FIRST), drivers).code == "awaiting-approval"
    assert fleet.file_upgrades() == ["canary"]
    return drivers


def given(fleet: UpdateFleet, strategy: Document | None = None) -> UpdateManifests:
    return update_manifests([], [fleet.run(strategy)], strict=False)


def stages(document: Document) -> list[Document]:
    return t.cast(list[Document], document["status"]["stages"])


def _no_gates(document: Document) -> None:
    stages(document)[0].pop("afterGates")
    stages(document)[1].pop("beforeGates")


def _one_more(document: Document) -> None:
    stages(document)[1]["groups"][0]["members"].append({"name": "victim", "status": {"state": "NotStarted"}})


def _another(document: Document) -> None:
    stages(document)[1]["groups"][0]["members"][0]["name"] = "victim"


def _all_at_once(document: Document) -> None:
    stages(document)[1]["groups"][0]["maxConcurrency"] = 50
    stages(document)[1]["maxConcurrency"] = 50


def _any_failure(document: Document) -> None:
    stages(document)[1]["groups"][0]["maxAllowedFailures"] = 50


def _no_wait(document: Document) -> None:
    stages(document)[1].pop("afterStageWaitStatus")


def _stage_less(document: Document) -> None:
    del stages(document)[0]


def _passed(document: Document) -> None:
    (gate,) = stages(document)[0]["afterGates"]
    gate |= {"status": {"state": "Completed"}, "by": "the boss", "verified": True}


def _passed_by_the_clock(document: Document) -> None:
    (gate,) = stages(document)[0]["afterGates"]
    gate["status"] = {"state": "Completed", "completedTime": "2020-01-01T00:00:00Z"}


def _both_passed(document: Document) -> None:
    _passed(document)
    (gate,) = stages(document)[1]["beforeGates"]
    gate |= {"status": {"state": "Completed", "startTime": "2020-01-01T00:00:00Z"}, "by": "the boss", "verified": True}


def _skipped_gate(document: Document) -> None:
    (gate,) = stages(document)[0]["afterGates"]
    gate["status"] = {"state": "Skipped"}


def _another_gate(document: Document) -> None:
    stages(document)[1]["beforeGates"][0]["id"] = stages(document)[0]["afterGates"][0]["id"]


def _running(document: Document) -> None:
    row = stages(document)[1]["groups"][0]["members"][0]
    operation = f"{document['metadata']['name']}-{document['metadata']['uid'][:8]}.{row['name']}.1"
    row |= {"status": {"state": "Running"}, "attempt": 1, "operationId": operation}


def _elsewhere(document: Document) -> None:
    row = stages(document)[0]["groups"][0]["members"][0]
    row |= {"status": {"state": "Running"}, "operationId": "../../../../tmp/theirs"}


def _an_attempt(document: Document) -> None:
    stages(document)[0]["groups"][0]["members"][0]["attempt"] = 7


def _another_strategy(document: Document) -> None:
    """What a retry lays out again: no gates, and all at once."""
    for one in document["status"]["strategy"]["stages"]:
        one.pop("beforeGates", None)
        one.pop("afterGates", None)
        one["maxConcurrency"] = "50"


ALTERED: dict[str, tuple[t.Callable[[Document], None], str]] = {
    "gates are dropped": (_no_gates, "record-altered"),
    "a member is added": (_one_more, "record-altered"),
    "a member is another": (_another, "record-altered"),
    "all at once": (_all_at_once, "record-altered"),
    "any number may fail": (_any_failure, "record-altered"),
    "the wait is dropped": (_no_wait, "record-altered"),
    "the strategy is another": (_another_strategy, "record-altered"),
    "a stage is dropped": (_stage_less, "record-altered"),
    "a gate was passed": (_passed, "gate-unproven"),
    "a gate was passed by the clock": (_passed_by_the_clock, "gate-unproven"),
    "both gates were passed": (_both_passed, "gate-unproven"),
    "a gate is skipped": (_skipped_gate, "record-altered"),
    "a gate has the id of another": (_another_gate, "record-altered"),
    "a member behind the gates is Running": (_running, "record-altered"),
    "an operation is called otherwise": (_elsewhere, "record-altered"),
    "an attempt is counted otherwise": (_an_attempt, "record-altered"),
}


def alter(fleet: UpdateFleet, change: t.Callable[[Document], None]) -> None:
    mallory = User(fleet, "mallory", STATUS_WRITER)
    document = mallory.client.get(f"/apis/gitops.fleet/v1alpha1/updateruns/{fleet.run_name}")
    change(document)
    mallory.writes("updateruns", fleet.run_name, {"status": document["status"]})


@pytest.mark.parametrize("how", ALTERED)
def test_what_was_altered_is_not_carried_out(fleet: UpdateFleet, how: str) -> None:
    drivers = gated(fleet)
    change, code = ALTERED[how]
    alter(fleet, change)
    with pytest.raises(FleetError) as refused:
        fleet.conduct(drivers=drivers)
    assert refused.value.code == code and fleet.run_name in refused.value.where, refused.value
    assert fleet.file_upgrades() == ["canary"], "nothing was begun"


def test_the_target_is_the_one_of_the_spec(fleet: UpdateFleet) -> None:
    """And so is the digest, whatever the status says of both."""
    fleet.file_members(a=OLD)
    drivers = {"command": fleet.file_driver()}
    made = defining.define_run(fleet.records, fleet.run_name, given(fleet), write=True).run
    alter(fleet, lambda one: one["status"].update(targetVersion="1.35.9", digest=f"sha256:{0:064}"))
    assert fleet.conduct(drivers=drivers).outcome == "done"
    assert fleet.row("a").version_after == NEW and (fleet.folder / "files" / "a").read_text().strip() == f"v{TARGET}"
    assert (fleet.recorded().status.digest, fleet.recorded().status.target_version) == (made.status.digest, TARGET)


def test_a_run_that_is_conducted_is_looked_at_again(fleet: UpdateFleet, plays: Plays) -> None:
    """The change comes while a conductor is at work; what is in flight ends by itself."""
    fleet.file_members(a=OLD, b=OLD)
    fleet.write(sequence(("all",)))
    first = plays.start("gitops.fleet.update", **fleet.variables(drivers={"command": fleet.file_driver(begin=HELD)}))
    until(lambda: fleet.file_upgrades() == ["a"])
    alter(fleet, lambda one: stages(one)[0]["groups"][0].update(maxConcurrency=2))
    first.code(2)
    assert first.fleet["code"] == "record-altered" and fleet.file_upgrades() == ["a"]
    fleet.let_go()
    until(lambda: not fleet.leftovers())


def test_every_verb_refuses_it(fleet: UpdateFleet, plays: Plays) -> None:
    drivers = gated(fleet)
    alter(fleet, _all_at_once)
    session, records, name = fleet.session(), fleet.records, fleet.run_name
    for command in (
        lambda: update_run.stop_run(session, name, write=True),
        lambda: update_run.skip_targets(session, name, [SkipTarget(type="Member", name="b")], write=True),
        lambda: complete_gates(session, name, Which(), Approver(name="kubernetes-admin"), "", "", write=True),
        lambda: update_run.recorded_runs(records, [name]),
        lambda: defining.define_run(records, name, given(fleet, CANARY_FIRST), write=False),
    ):
        with pytest.raises(FleetError) as refused:
            command()
        assert refused.value.code == "record-altered"
    variables = fleet.variables(run=name, drivers=drivers)
    del variables["updates"]
    assert "record-altered" in plays("gitops.fleet.update", "--check", **variables).code(2).output
    assert "record-altered" in plays("gitops.fleet.approve", run=name, records=fleet.options).code(2).output
    runs, problems = update_run.recorded_runs(records, [])
    assert runs == () and [each.code for each in problems] == ["record-altered"]
    assert update_run.delete_run(session, name, force=False, write=True), "it can be taken away"


def test_a_run_that_was_not_started_is_laid_out_again(fleet: UpdateFleet) -> None:
    """What is recorded before the start is not believed at all: it follows from spec, strategy and members."""
    fleet.file_members(a=OLD, b=OLD)
    defining.define_run(fleet.records, fleet.run_name, given(fleet, sequence(("all",))), write=True)

    def doctored(one: Document) -> None:
        stages(one)[0]["groups"][0]["members"] = [{"name": "b", "status": {"state": "NotStarted"}}]
        stages(one)[0]["groups"][0]["members"] += [{"name": "a", "status": {"state": "Completed"}}]

    alter(fleet, doctored)
    assert fleet.conduct(drivers={"command": fleet.file_driver()}).outcome == "done"
    assert fleet.file_upgrades() == ["a", "b"]


def test_a_run_that_was_started_cannot_be_made_new(fleet: UpdateFleet) -> None:
    """Then its spec could be edited, and its status would not count. The API server holds this by the definition."""
    gated(fleet)
    mallory = User(fleet, "mallory", STATUS_WRITER)
    for status in ({"phase": "new"}, None):
        with pytest.raises(ApiError) as refused:
            mallory.writes("updateruns", fleet.run_name, {"status": status})
        assert "a run that was started stays so" in refused.value.message


def started(fleet: UpdateFleet) -> None:
    """Recorded and started, and not conducted yet."""
    who = user(fleet.session())
    made = defining.define_run(fleet.records, fleet.run_name, given(fleet, sequence(("all",))), write=True, who=who).run
    update_run.start_run(fleet.session(), made, {}, write=True, who=who)


def test_a_member_that_was_only_called_done_is_no_success(fleet: UpdateFleet) -> None:
    """The word of the record would make the run green. At the end each member itself is asked."""
    fleet.file_members(a=OLD, b=OLD)
    started(fleet)

    def done(one: Document) -> None:
        rows = stages(one)[0]["groups"][0]["members"]
        operation = f"{fleet.run_name}-{one['metadata']['uid'][:8]}.a.1"
        rows[0] |= {"status": {"state": "Completed"}, "attempt": 1, "operationId": operation, "versionAfter": NEW}
        rows[1] |= {"status": {"state": "Skipped"}, "skippedBy": "system", "reason": "AlreadyAtTarget"}
        stages(one)[0]["groups"][0]["reached"] = stages(one)[0]["reached"] = True

    alter(fleet, done)
    came = fleet.conduct(drivers={"command": fleet.file_driver()})
    assert (came.outcome, came.code) == ("partial", "not-at-target")
    assert f"a is at {OLD}" in came.message and f"b is at {OLD}" in came.message


@pytest.mark.parametrize("times", [1, 2], ids=["by one conductor", "by the next one"])
def test_an_intent_that_somebody_wrote_is_not_carried_out(fleet: UpdateFleet, times: int) -> None:
    """A member whose turn it could be, with the reference of this very place: its own record does not bear the mark.
    Without that its window and the limits of its group would not be asked."""
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver()}
    started(fleet)
    here = host.intent_reference(fleet.operations)

    def meant(one: Document) -> None:
        row = stages(one)[0]["groups"][0]["members"][1]
        operation = f"{fleet.run_name}-{one['metadata']['uid'][:8]}.b.1"
        row |= {"status": {"state": "Running"}, "attempt": 1, "operationId": operation, "reference": here}
        stages(one)[0]["groups"][0]["reached"] = stages(one)[0]["reached"] = True

    alter(fleet, meant)
    for _time in range(times - 1):
        assert fleet.conduct(drivers=drivers, time_limit=timedelta(seconds=1)).code == "time-limit"
    came = fleet.conduct(drivers=drivers, pace=Pace(interval=0.1, settle=20, lost_after=2))
    assert fleet.file_upgrades() == []
    assert came.code == "run-failed" and fleet.row("b").reason == "OperationLost"
