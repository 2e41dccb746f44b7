# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""F18, F19: an approver may say yes, once, in the own name, to what is open; and nothing else.

Users log in with certificates and have the rights of ``few_rights``; the hub has the policies of role hub.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import APPROVAL_REFUSED
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.approval_policy import (
    OF_STAGED_RUNS,
    OF_UPDATES,
    path_of,
    shipped,
    vouched_since,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import (
    Approver,
    Which,
    complete_gates,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from conducting import Plays
from few_rights import APPROVER, CONDUCTOR, User, rule
from update_fleet import OLD, Document, UpdateFleet, sequence

BEHIND_A_GATE = sequence(
    {"name": "all", "groups": [{"name": "all"}], "beforeGates": [{"type": "Approval", "displayName": "change board"}]}
)
FOUR_EYES = Terms(self_approval=False)
VERIFIED = Terms(verified=True)


@pytest.fixture
def anna(fleet: UpdateFleet) -> User:
    return User(fleet, "anna", APPROVER)


@pytest.fixture
def drivers(fleet: UpdateFleet) -> dict[str, t.Any]:
    fleet.file_members(a=OLD)
    return {"command": fleet.file_driver()}


def opened(fleet: UpdateFleet, drivers: t.Any, **wish: t.Any) -> Document:
    """The gate that the run waits for."""
    assert fleet.conduct(fleet.run(BEHIND_A_GATE), drivers, **wish).code == "awaiting-approval"
    (gate,) = fleet.gates()
    return gate


def approval(gate: Document, by: str, **more: t.Any) -> Document:
    return {"status": {"state": "Completed", "approval": {"by": by, "digest": gate["spec"]["digest"], **more}}}


def approve(fleet: UpdateFleet, who: User, now: datetime | None = None, **options: t.Any) -> t.Any:
    """As the verb does it."""
    whom = Approver(name=who.name, since=vouched_since(who.client))
    clock = {"clock": lambda: now} if now else {}
    session = fleet.session(records=who.records(), **clock)
    return complete_gates(session, fleet.run_name, Which(), whom, "", "", write=True, **options)


def passed(fleet: UpdateFleet) -> t.Any:
    return fleet.recorded().status.stages[0].before_gates[0]


FORGED: dict[str, tuple[t.Callable[[Document], Document], str]] = {
    "in another name": (lambda gate: approval(gate, "the boss", verified=True), "approval.by is whoever approves"),
    "in no name": (lambda gate: approval(gate, ""), "approval.by is whoever approves"),
    "of another digest": (
        lambda gate: approval({"spec": {"digest": f"sha256:{0:064}"}}, "anna"),
        "an approval names the digest of its gate",
    ),
    "of no digest": (lambda _gate: {"status": {"state": "Completed", "approval": {"by": "anna"}}}, "names the digest"),
    "without an approval": (lambda _gate: {"status": {"state": "Completed"}}, "a gate is completed by an approval"),
    "as skipped": (lambda _gate: {"status": {"state": "Skipped"}}, "a gate is completed by an approval"),
    "ahead": (
        lambda gate: {"status": {**approval(gate, "anna")["status"], "state": "Pending"}},
        "an approval completes a gate that is Pending",
    ),
}


@pytest.mark.parametrize("how", FORGED)
def test_an_approver_cannot_write_it(fleet: UpdateFleet, drivers: t.Any, anna: User, how: str) -> None:
    gate = opened(fleet, drivers)
    body, words = FORGED[how]
    with pytest.raises(ApiError) as refused:
        anna.writes("gates", gate["metadata"]["name"], body(gate))
    assert refused.value.status == 403 and words in refused.value.message, refused.value
    assert fleet.conduct(drivers=drivers).code == "awaiting-approval" and fleet.file_upgrades() == []


def test_an_approval_is_written_once(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """Neither changed nor taken away, nor by another approver."""
    gate = opened(fleet, drivers)
    assert approve(fleet, anna).verified
    name, bert = gate["metadata"]["name"], User(fleet, "bert", APPROVER)
    for who, body in (
        (bert, approval(gate, "bert")),
        (anna, approval(gate, "anna", reason="another one")),
        (anna, {"status": {"approval": None}}),
        (anna, {"status": None}),
    ):
        with pytest.raises(ApiError) as refused:
            who.writes("gates", name, body)
        assert refused.value.status in (403, 422), refused.value
    assert fleet.conduct(drivers=drivers, terms=VERIFIED).outcome == "done"
    assert (passed(fleet).by, passed(fleet).verified) == ("anna", True)


def test_a_gate_cannot_be_approved_before_it_opens(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """Its object is made by whoever conducts. Whoever may make objects, and may not conduct, makes none."""
    who = User(fleet, "carla", (*APPROVER, rule("create", "gates")))
    gate = opened(fleet, drivers)
    metadata = {"name": "11111111-2222-4333-8444-555555555555"}
    with pytest.raises(ApiError) as refused:
        who.client.post("/apis/gitops.fleet/v1alpha1/gates", {**gate, "metadata": metadata})
    assert "gates are opened by whoever may write updateruns/status" in refused.value.message
    with pytest.raises(ApiError) as refused:
        anna.client.post("/apis/gitops.fleet/v1alpha1/gates", {**gate, "metadata": metadata})
    assert refused.value.status == 403


def test_an_approver_cannot_touch_the_run(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    gate = opened(fleet, drivers)
    for kind, name, body, sub in (
        ("updateruns", fleet.run_name, {"status": {"targetVersion": "1.36.0"}}, "/status"),
        ("updateruns", fleet.run_name, {"spec": {"members": ["a", "b"]}}, ""),
        ("gates", gate["metadata"]["name"], {"spec": {"digest": ""}}, ""),
    ):
        with pytest.raises(ApiError) as refused:
            anna.writes(kind, name, body, sub)
        assert refused.value.status == 403


def test_the_verb_says_whose_approval_it_is(fleet: UpdateFleet, plays: Plays, anna: User) -> None:
    """With the rights of an approver and no more; the one who conducts has no more than needs be either."""
    fleet.file_members(a=OLD)
    fleet.write(BEHIND_A_GATE)
    runner = User(fleet, "runner", CONDUCTOR)
    variables = fleet.variables(drivers={"command": fleet.file_driver()}, records=runner.options)
    assert plays("gitops.fleet.update", **variables).code(0).fleet["code"] == "awaiting-approval"
    done = plays("gitops.fleet.approve", run=fleet.run_name, records=anna.options).code(0)
    assert done.changed == 1
    ended = plays("gitops.fleet.update", **variables).code(0)
    assert ended.fleet["outcome"] == "done" and "Completed by anna\n" in ended.output, ended.output
    run = fleet.recorded()
    assert run.metadata.annotations["gitops.fleet/made-by"] == run.status.started_by == "runner"
    assert (passed(fleet).by, passed(fleet).verified) == ("anna", True)


def test_nobody_makes_or_starts_a_run_in_another_name(fleet: UpdateFleet, drivers: t.Any) -> None:
    runner = User(fleet, "runner", CONDUCTOR)
    run = fleet.run(BEHIND_A_GATE)
    run["metadata"]["annotations"] = {"gitops.fleet/made-by": "anna"}
    with pytest.raises(ApiError) as refused:
        runner.client.post("/apis/gitops.fleet/v1alpha1/updateruns", run)
    assert "is whoever wrote the spec" in refused.value.message
    opened(fleet, drivers)
    editor = User(fleet, "dora", (*CONDUCTOR, rule("patch", "updateruns", "updateruns/status")))
    with pytest.raises(ApiError) as refused:
        editor.writes("updateruns", fleet.run_name, {"status": {"startedBy": "anna"}})
    assert "status.startedBy is whoever starts the run" in refused.value.message
    for name in ("made-by", "digest"):
        with pytest.raises(ApiError) as refused:
            editor.writes("updateruns", fleet.run_name, _annotated(name, "dora"), "")
        assert "of a run that was started stay as they are" in refused.value.message


def _annotated(name: str, value: str) -> Document:
    return {"metadata": {"annotations": {f"gitops.fleet/{name}": value}}}


def test_four_eyes(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """Whoever made and started the run may not approve it, where that is wanted; it is recorded in any case."""
    gate = opened(fleet, drivers, terms=FOUR_EYES)
    made = "kubernetes-admin"
    with pytest.raises(FleetError) as refused:
        complete_gates(
            fleet.session(), fleet.run_name, Which(), Approver(name=made), "", "", write=True, self_approval=False
        )
    assert refused.value.code == "self-approval"
    fleet.patch(f"/apis/gitops.fleet/v1alpha1/gates/{gate['metadata']['name']}/status", approval(gate, made))
    assert fleet.conduct(drivers=drivers, terms=FOUR_EYES).code == "awaiting-approval"
    words = f"the approval of {made} does not count: {made} made or started the run"
    assert any(words in line for line in fleet.said), fleet.said
    events = fleet.records.events("UpdateRun", fleet.run_name)
    assert any(each.reason == "ApprovalRefused" and words in each.message for each in events)
    told = fleet_history(fleet.session(), HistoryRequest(about=f"UpdateRun/{fleet.run_name}", action=APPROVAL_REFUSED))
    assert [each.reason for each in told.rows] == [f"{made} made or started the run, and self-approval is not allowed"]
    approve(fleet, anna)
    assert fleet.conduct(drivers=drivers, terms=FOUR_EYES).outcome == "done"
    assert (passed(fleet).by, passed(fleet).verified) == ("anna", True)


def test_terms_stay_with_the_run(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """Whoever carries it on without them has nothing count that did not count before."""
    gate = opened(fleet, drivers, terms=FOUR_EYES)
    made = "kubernetes-admin"
    own = complete_gates(fleet.session(), fleet.run_name, Which(), Approver(name=made, since=None), "", "", write=False)
    assert f"nothing proves that it is of {made}" in own.uncounted
    fleet.patch(f"/apis/gitops.fleet/v1alpha1/gates/{gate['metadata']['name']}/status", approval(gate, made))
    assert fleet.conduct(drivers=drivers).code == "awaiting-approval" and fleet.file_upgrades() == []
    assert any(f"{made} made or started the run" in line for line in fleet.said), fleet.said
    assert any("terms that the run keeps: allow_self_approval=false" in line for line in fleet.said), fleet.said
    assert fleet.recorded().metadata.annotations["gitops.fleet/allow-self-approval"] == "false"
    assert approve(fleet, anna).uncounted == ""
    assert fleet.conduct(drivers=drivers).outcome == "done"
    assert (passed(fleet).by, passed(fleet).verified) == ("anna", True)


def test_a_self_approval_counts_otherwise_and_is_told(fleet: UpdateFleet, drivers: t.Any) -> None:
    gate = opened(fleet, drivers)
    name = gate["metadata"]["name"]
    fleet.patch(f"/apis/gitops.fleet/v1alpha1/gates/{name}/status", approval(gate, "kubernetes-admin"))
    assert fleet.conduct(drivers=drivers).outcome == "done"
    assert any("by kubernetes-admin, who made or started the run" in line for line in fleet.said), fleet.said


def test_an_approval_that_was_not_used_in_time_does_not_count(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """Then the gate opens again, and a fresh one counts."""
    terms = Terms(expires=timedelta(hours=1))
    before = opened(fleet, drivers, terms=terms)
    approve(fleet, anna, _now() - timedelta(hours=2))
    assert fleet.conduct(drivers=drivers, terms=terms).code == "awaiting-approval"
    assert any("expires after 3600 s" in line for line in fleet.said), fleet.said
    (again,) = fleet.gates()
    assert again["metadata"]["name"] == before["metadata"]["name"]
    assert again["metadata"]["uid"] != before["metadata"]["uid"] and again["status"] == {"state": "Pending"}
    approve(fleet, anna, _now() - timedelta(minutes=10))
    assert fleet.conduct(drivers=drivers, terms=terms).outcome == "done"


def test_an_approval_of_another_run_does_not_count(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """Not even of one with the same digest: copied by somebody who may write gates, and not conduct."""
    first = opened(fleet, drivers)
    approve(fleet, anna)
    (approved,) = fleet.gates()
    fleet.run_name += "-again"
    assert fleet.conduct(fleet.run(BEHIND_A_GATE), drivers).code == "awaiting-approval"
    (second,) = [each for each in fleet.gates() if each["metadata"]["name"] != first["metadata"]["name"]]
    assert second["spec"]["digest"] == first["spec"]["digest"]
    bert = User(fleet, "bert", APPROVER)
    with pytest.raises(ApiError) as refused:
        bert.writes("gates", second["metadata"]["name"], {"status": approved["status"]})
    assert refused.value.status == 403
    assert fleet.conduct(drivers=drivers).code == "awaiting-approval" and fleet.file_upgrades() == []


def test_without_the_policies_names_are_unverified(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    """They are recorded as such, and do not count where names have to be verified; nor do they later on, when the
    policies are there: a gate that was open without them could have been written by anybody."""
    with fleet.without_policies():
        gate = opened(fleet, drivers, terms=VERIFIED)
        anna.writes("gates", gate["metadata"]["name"], approval(gate, "the boss", verified=True))
    assert fleet.conduct(drivers=drivers, terms=VERIFIED).code == "awaiting-approval"
    assert any("nothing proves that it is of the boss" in line for line in fleet.said), fleet.said
    assert fleet.file_upgrades() == []
    assert approve(fleet, anna).verified, "of a gate that opened since"
    assert fleet.conduct(drivers=drivers, terms=VERIFIED).outcome == "done"


def test_where_nobody_asks_for_proof_an_unverified_name_is_told_as_such(
    fleet: UpdateFleet, drivers: t.Any, anna: User
) -> None:
    with fleet.without_policies():
        gate = opened(fleet, drivers)
        anna.writes("gates", gate["metadata"]["name"], approval(gate, "the boss", verified=True))
        assert not approve(fleet, anna).changed
        assert fleet.conduct(drivers=drivers).outcome == "done"
    assert (passed(fleet).by, passed(fleet).verified) == ("the boss", False)
    assert any("Completed by the boss, unverified" in line for line in fleet.said), fleet.said


WEAKENED: dict[str, tuple[str, Document]] = {
    "no denial": ("ValidatingAdmissionPolicyBinding", {"spec": {"validationActions": ["Audit"]}}),
    "an exception": (
        "ValidatingAdmissionPolicy",
        {"spec": {"matchConditions": [{"name": "not-eve", "expression": "request.userInfo.username != 'eve'"}]}},
    ),
    "failures pass": ("ValidatingAdmissionPolicy", {"spec": {"failurePolicy": "Ignore"}}),
    "labelled objects pass": (
        "ValidatingAdmissionPolicyBinding",
        {"spec": {"matchResources": {"objectSelector": {"matchLabels": {"held": "yes"}}}}},
    ),
}


@pytest.mark.parametrize("names", [OF_UPDATES, OF_STAGED_RUNS])
@pytest.mark.parametrize("how", WEAKENED)
def test_a_policy_that_was_weakened_vouches_for_nothing(fleet: UpdateFleet, how: str, names: tuple[str, ...]) -> None:
    kind, body = WEAKENED[how]
    policy = next(each for each in shipped() if each["kind"] == kind and each["metadata"]["name"] in names)
    before = vouched_since(fleet.client, names)
    assert before
    with fleet.policies_as_shipped():
        fleet.patch(path_of(policy), body)
        assert vouched_since(fleet.client, names) is None
        assert install(fleet.client, write=True).policies[f"{kind}/{policy['metadata']['name']}"] == "updated"
    since = vouched_since(fleet.client, names)
    assert since and since > before, "what was written meanwhile is not vouched for"
    assert not install(fleet.client, write=True).changed


def test_approvals_from_before_an_update_of_the_policies_are_asked_for_anew(
    fleet: UpdateFleet, drivers: t.Any, anna: User
) -> None:
    """Who made the gate and who approved it could have been anybody under the policy that was there."""
    (policy,) = (
        each for each in shipped() if each["metadata"]["name"] == OF_UPDATES[0] and "Binding" not in each["kind"]
    )
    with fleet.policies_as_shipped():
        fleet.patch(path_of(policy), {"spec": {"failurePolicy": "Ignore"}})
        gate = opened(fleet, drivers, terms=VERIFIED)
        anna.writes("gates", gate["metadata"]["name"], approval(gate, "anna"))
    assert fleet.conduct(drivers=drivers, terms=VERIFIED).code == "awaiting-approval"
    assert fleet.file_upgrades() == []
    assert approve(fleet, anna).verified
    assert fleet.conduct(drivers=drivers, terms=VERIFIED).outcome == "done"


def test_who_may_not_read_the_policies_verifies_nothing(fleet: UpdateFleet, drivers: t.Any, anna: User) -> None:
    blind = User(fleet, "blind", (rule("get", "updateruns", "gates"), rule("update", "gates/status")))
    assert vouched_since(blind.client) is None
    opened(fleet, drivers)
    done = approve(fleet, blind)
    assert (done.by, done.verified) == ("blind", False)


@pytest.mark.parametrize("minor", ["1.35", "1.36"])
def test_every_api_server_that_we_know_keeps_the_policies_as_they_are(
    local_cluster_factory: t.Any, hub: LocalOutcome, minor: str, fleet: UpdateFleet
) -> None:
    """What a server fills in stands in our files; else they would look changed, and vouch for nothing."""
    name = f"u{fleet.number}-hub"
    fleet.made.append(name)
    with KubeClient(connection_from_kubeconfig(local_cluster_factory(name, version=minor).kubeconfig)) as client:
        assert set(install(client, write=True).policies.values()) == {"created"}
        assert not install(client, write=False).changed
        assert vouched_since(client) and vouched_since(client, OF_STAGED_RUNS)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
