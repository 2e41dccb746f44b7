# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is done leaves a trace that lasts: who, when, what and why; by both kinds of records, and on a hub against those
who would rather have another one."""

from __future__ import annotations

import contextlib
import json
import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import GOING_ON, HistoryRow
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.hub_rights import (
    APPROVER,
    CONDUCTOR,
    READER,
    hub_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.answering import (
    WishedApproval,
    give_approval,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import staged_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object, delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import object_path
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import Subject
from ansible_collections.gitops.fleet.plugins.module_utils._report.history_text import history_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from further_user import client_kubeconfig
from small_fleet import MERGE, Document, Fleet

ENTRIES = KINDS["AuditEntry"]
PLACEMENT = "ClusterResourcePlacement"
LIFTED = BrakeLimits(max_removals="100%", max_object_removals="100%")
Login = t.Callable[[str, str], KubeClient]


@pytest.fixture
def log_in(hub_fleet: Fleet) -> t.Iterator[Login]:
    """Clients of new users of the hub who may do what is printed for the purpose, and no more."""
    assert hub_fleet.hub is not None
    hub, granted = hub_fleet.hub, list[Document]()
    with contextlib.ExitStack() as stack:

        def give(user: str, purpose: str) -> KubeClient:
            for each in hub_manifests(purpose, Subject("User", user)):
                manifest = dict(each)
                apply_object(hub.client, manifest, "administrator")
                if manifest["kind"] != "Namespace":
                    granted.append(manifest)
            connection = connection_from_kubeconfig(client_kubeconfig(hub.folder, user))
            return stack.enter_context(KubeClient(connection))

        yield give
    for each in granted:
        resource = resource_for(hub.client, each["apiVersion"], each["kind"])
        delete_object(hub.client, object_path(resource, each, ""))


def entries(fleet: Fleet) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in fleet.records.list("AuditEntry")}


def asked(fleet: Fleet, session: Session | None = None, **wanted: t.Any) -> tuple[HistoryRow, ...]:
    found = fleet_history(session or fleet.session(environ={"USER": "ann"}), HistoryRequest(**wanted))
    assert not found.problems
    return found.rows


def of_placement(fleet: Fleet) -> tuple[HistoryRow, ...]:
    return asked(fleet, about=f"{PLACEMENT}/{fleet.name}")


def applied(fleet: Fleet, **more: t.Any) -> t.Any:
    return fleet.apply(environ={"USER": "ann", "PATH": "/usr/bin:/bin"}, **more)


def session_of(client: KubeClient, fleet: Fleet) -> Session:
    return replace(fleet.session(HubRecords(client, lambda: fleet.now)), hub=client)


def test_an_apply_leaves_one_trace_and_one_that_changes_nothing_none(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    approved = fleet.look().plan.digest
    assert not applied(fleet, approved=approved).problems
    before = entries(fleet)
    (row,) = of_placement(fleet)
    assert (row.action, row.by, row.holder, row.outcome) == ("Applied", fleet.user, fleet.holder, "done")
    assert row.members == ("m1", "m2") and row.ended is not None and row.at <= row.ended
    assert row.digest == row.approved_digest == approved and "2 of 2 clusters done" in row.message
    assert not applied(fleet).changed
    assert entries(fleet) == before, "nothing changed, so that nothing is told, and nothing is written anew"


def test_a_look_leaves_no_trace(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    before = entries(fleet)
    fleet.look()
    asked(fleet, journal=True)
    assert entries(fleet) == before


def test_later_acts_are_added_and_earlier_ones_stay_as_they_were_written(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    applied(fleet)
    before = entries(fleet)
    fleet.later += timedelta(hours=3)
    fleet.resources(fleet.configmap(color="red"))
    applied(fleet)
    after = entries(fleet)
    assert before.items() <= after.items() and len(after) == len(before) + 2
    first, second = of_placement(fleet)
    assert second.at - first.at >= timedelta(hours=3)
    assert f"; changes ConfigMap {fleet.namespace}/" in second.message and '-> "red"; ' in second.message
    assert "; changes " not in first.message
    assert asked(fleet, since="1h", about=PLACEMENT) == (second,)


def test_the_whole_story_of_a_member_is_told_in_order(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    applied(fleet)
    leave(fleet.session(), LeaveRequest(names=("m1",), max_removals="100%"), write=True)
    assert not fleet.end(limits=LIFTED).problems
    told = asked(fleet, member="m1")
    assert [each.action for each in told] == ["Joined", "Applied", "Left"]
    assert [each.action for each in of_placement(fleet)] == ["Applied", "Removed"], "though it is gone"
    assert [each.action for each in asked(fleet, about="MemberCluster/m1")] == ["Joined", "Left"]
    text = " ".join(" ".join(history_text(told, "records.db")).split())
    assert f"{PLACEMENT}/{fleet.name}" in text and "what was placed there stays" in text


def test_of_a_member_without_placements_it_is_said_that_nothing_was_there(fleet: Fleet) -> None:
    fleet.join("m1")
    leave(fleet.session(), LeaveRequest(names=("m1",)), write=True)
    assert asked(fleet, member="m1")[-1].message == "nothing was placed there"


def staged(fleet: Fleet) -> str:
    """Conducts a run of one stage that waits for an approval; its state."""
    api, name = "placement.kubernetes-fleet.io/v1beta1", f"{fleet.name}-first"
    stage = {"name": "all", "labelSelector": {}, "beforeStageTasks": [{"type": "Approval"}]}
    strategy = {"kind": "ClusterStagedUpdateStrategy", "metadata": {"name": "at-once"}, "spec": {"stages": [stage]}}
    spec = {"placementName": fleet.name, "stagedRolloutStrategyName": "at-once"}
    run = {"kind": "ClusterStagedUpdateRun", "metadata": {"name": name}, "spec": spec}
    folder = fleet.folder / "runs"
    folder.mkdir(exist_ok=True)
    text = "\n---\n".join(json.dumps({"apiVersion": api, **each}) for each in (strategy, run))
    (folder / "all.yml").write_text(text, encoding="utf-8")
    given = staged_manifests([str(folder)], (), [str(fleet.folder / "resources")])
    ways = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0)))
    session = fleet.session(environ={"USER": "ann", "PATH": "/usr/bin:/bin"})
    return staged_run(
        session, name, given, "conducted", StagedOptions(ways=ways, limits=LIFTED, timeout=2.0), write=True
    ).state


def test_an_approval_is_told_with_its_reason_between_what_came_before_and_after(fleet: Fleet) -> None:
    fleet.join("m1")
    document = fleet.placement()
    document["spec"]["strategy"] = {"type": "External"}
    (fleet.folder / "placements" / f"{fleet.name}.yml").write_text(json.dumps(document), encoding="utf-8")
    assert not applied(fleet).problems
    assert staged(fleet) == "Waiting"
    run = f"{fleet.name}-first"
    asked_for = WishedApproval(run=run, stage="all", timing="Before", reason="ticket 7 {{ 7 * 7 }} \x1b[2J")
    give_approval(fleet.session(environ={"USER": "ann"}), asked_for, fleet.user, write=True)
    assert staged(fleet) == "Succeeded"
    told = asked(fleet, about=f"ClusterStagedUpdateRun/{run}")
    assert [each.action for each in told] == ["RunDefined", "StageApproved", "RunConducted"]
    (approved,) = (each for each in told if each.action == "StageApproved")
    assert (approved.by, approved.source) == (fleet.user, "entry") and approved.approved_digest
    assert approved.reason == "ticket 7 {{ 7 * 7 }} \\x1b[2J"
    assert all(line.isprintable() for line in history_text(told, "records.db"))
    assert fleet.records.get("AuditEntry", approved.entry) is not None


def test_who_could_not_do_it_is_told_with_the_reason(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    applied(fleet)
    fleet.resources(fleet.configmap(color="red"))
    fleet.cut("m2")
    assert applied(fleet).problems
    last = of_placement(fleet)[-1]
    assert last.outcome == "partial" and "m2" in last.message and last.members == ("m1",)


def test_an_apply_that_was_killed_is_told_as_not_ended(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    fleet.killed("members")
    (killed,) = of_placement(fleet)
    assert killed.ended is None and (killed.outcome == GOING_ON or "not ended" in killed.outcome)
    assert not applied(fleet).problems
    assert {each.outcome for each in of_placement(fleet)} >= {"done"} and killed.entry in entries(fleet)


def test_a_damaged_entry_is_named_and_hides_no_other(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    (name,) = entries(fleet)
    bad = {"at": "lately", "by": "ann", "action": "Applied"}
    fleet.records.create(
        {"apiVersion": ENTRIES.api_version, "kind": "AuditEntry", "metadata": {"name": "bad"}, "spec": bad}
    )
    found = fleet_history(fleet.session(), HistoryRequest())
    assert [each.entry for each in found.rows] == [name]
    assert any("bad" in str(each) for each in found.problems)


def forged(by: str, **spec: t.Any) -> Document:
    """An entry that no verb wrote."""
    given = {"at": "2020-01-01T00:00:00Z", "by": by, "action": "Left", "object": {"kind": "MemberCluster"}}
    metadata = {"name": "20200101t000000z-0001-00000000"}
    return {"apiVersion": ENTRIES.api_version, "kind": "AuditEntry", "metadata": metadata, "spec": {**given, **spec}}


@pytest.mark.parametrize("purpose", [CONDUCTOR, APPROVER, READER])
def test_an_account_that_conducts_adds_entries_and_neither_changes_nor_deletes_one(
    hub_fleet: Fleet, log_in: Login, purpose: str
) -> None:
    hub_fleet.join("m1")
    ((name, entry),) = entries(hub_fleet).items()
    user = purpose.replace("_", "-")
    client, path = log_in(user, purpose), ENTRIES.path("", name)
    for attempt in (
        lambda: client.put(path, {**entry, "metadata": {**entry["metadata"], "labels": {"a": "b"}}}),
        lambda: client.request("PATCH", path, {"spec": {"by": "nobody"}}, {"fieldManager": "x"}, MERGE),
        lambda: client.delete(path),
        lambda: client.request("DELETE", ENTRIES.path(), {"kind": "DeleteOptions", "apiVersion": "v1"}),
    ):
        with pytest.raises(ApiError) as error:
            attempt()
        assert error.value.status == 403
    assert entries(hub_fleet) == {name: entry}
    if purpose == READER:
        with pytest.raises(ApiError):
            client.post(ENTRIES.path(), forged(user))
    else:
        client.post(ENTRIES.path(), forged(user))


def test_lines_of_an_older_kubefleet_are_told_with_todays_reasons_d4_94(hub_fleet: Fleet) -> None:
    """Of a placement that its agent has rolled out, and that is carried on from here."""
    fleet, controller = hub_fleet, "cluster-resource-placement-controller"
    assert fleet.hub is not None
    for number, reason in enumerate(("PlacementScheduleSuccess", "PlacementSyncSuccess", "PlacementRolloutCompleted")):
        line = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{fleet.name}.", "namespace": "default"},
            "involvedObject": {"kind": PLACEMENT, "name": fleet.name},
            "type": "Normal",
            "reason": reason,
            "message": "so it was",
            "source": {"component": controller},
            "lastTimestamp": f"2024-05-01T12:00:0{number}Z",
        }
        fleet.hub.client.post("/api/v1/namespaces/default/events", line)
    told = asked(fleet, about=f"{PLACEMENT}/{fleet.name}", journal=True)
    assert [(each.action, each.by) for each in told] == [
        ("SchedulingSucceeded", controller),
        ("PlacementWorkSynchronized", controller),
        ("PlacementRolloutCompleted", controller),
    ]
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    assert "SchedulingSucceeded" in fleet.reasons()


def test_not_even_an_administrator_rewrites_an_entry(hub_fleet: Fleet) -> None:
    """The definition holds it; such an account can only take the entry, or the definition, away."""
    hub_fleet.join("m1")
    ((name, entry),) = entries(hub_fleet).items()
    assert hub_fleet.hub is not None
    for spec in ({"by": "nobody"}, {"reason": "a better one"}, {"outcome": None}):
        with pytest.raises(ApiError) as refused:
            hub_fleet.hub.patch(ENTRIES.path("", name), {"spec": spec})
        assert "an entry stays as it was written" in str(refused.value)
    with pytest.raises(ApiError):
        hub_fleet.hub.patch(ENTRIES.path("", name), {"spec": None})
    assert entries(hub_fleet)[name]["spec"] == entry["spec"]


def test_nobody_adds_an_entry_in_another_name(hub_fleet: Fleet, log_in: Login) -> None:
    """Not even an administrator; the hub's policy compares it with whoever asks."""
    hub_fleet.join("m1")
    assert hub_fleet.hub is not None
    for client in (log_in("anna", CONDUCTOR), hub_fleet.hub.client):
        with pytest.raises(ApiError) as refused:
            client.post(ENTRIES.path(), forged("the boss"))
        assert refused.value.status == 403 and "spec.by is whoever writes the entry" in str(refused.value)


def test_whoever_may_add_entries_can_tell_what_never_was(hub_fleet: Fleet, log_in: Login) -> None:
    """Of a forged one, which is in the own name, the hub holds when it was created."""
    hub_fleet.join("m1")
    approver = log_in("anna", APPROVER)
    approver.post(ENTRIES.path(), forged("anna"))
    first, *_others = asked(hub_fleet)
    assert (first.by, first.action, first.entry) == ("anna", "Left", forged("anna")["metadata"]["name"])
    stored = entries(hub_fleet)[first.entry]
    assert not stored["metadata"]["creationTimestamp"].startswith("2020")


def test_who_may_only_read_sees_the_history_and_which_records_are_left_out(hub_fleet: Fleet, log_in: Login) -> None:
    hub_fleet.join("m1")
    session = session_of(log_in("rita", READER), hub_fleet)
    found = fleet_history(session, HistoryRequest())
    assert [(each.action, each.by) for each in found.rows] == [("Joined", hub_fleet.user)]
    assert {each.code for each in found.problems} == {"forbidden"}


def test_who_may_not_add_entries_does_the_work_and_is_told(hub_fleet: Fleet, log_in: Login) -> None:
    """A hub whose roles are older than entries: nothing stops, and nobody believes that evidence is kept."""
    hub_fleet.join("m1")
    hub_fleet.place()
    client = log_in("rita", READER)
    records = hub_fleet.records

    class Without:
        """The records as they are, but for entries, which are written with rights that do not suffice."""

        def __getattr__(self, name: str) -> t.Any:
            return getattr(records, name)

        def create(self, record: Document, *more: t.Any) -> Document:
            to = HubRecords(client, lambda: hub_fleet.now) if record["kind"] == "AuditEntry" else records
            return to.create(record, *more)

    before = entries(hub_fleet)
    report = hub_fleet.apply(records=Without())
    assert not report.problems and hub_fleet.holders() == ["m1"] and entries(hub_fleet) == before
    warned = [line for line in hub_fleet.said if "no evidence of this is kept" in line]
    assert len(warned) == 1 and "auditentries" in warned[0]


def test_no_such_form_of_a_time_is_refused(file_fleet: Fleet) -> None:
    with pytest.raises(FleetError) as refused:
        asked(file_fleet, since="lately")
    assert refused.value.code == "bad-option"
