# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""F18, F19: whoever may approve a staged run may do so once, in no name but the own one, and nothing else.

Users log in with certificates; the hub has the policies of role hub. Runs of a namespace and of none are judged alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import typing as t
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.key import RunKey
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import DOES_NOT_COUNT
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import STARTED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.answering import (
    WishedApproval,
    give_approval,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.approvals import (
    RUN_DIGEST,
    GivenApproval,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import (
    StagedOptions,
    StagedReport,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import staged_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.approval_policy import (
    OF_STAGED_RUNS,
    path_of,
    shipped,
    vouched_since,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import user
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from further_user import client_kubeconfig
from member_gateway import until
from small_fleet import MERGE, Document, Fleet, codes

API = "placement.kubernetes-fleet.io/v1beta1"
GROUP = API.partition("/")[0]
RBAC = "rbac.authorization.k8s.io"
REQUESTS = ("clusterapprovalrequests", "approvalrequests")
LIFTED = BrakeLimits(max_removals="100%", max_object_removals="100%")
VERIFIED, FOUR_EYES = Terms(verified=True), Terms(self_approval=False)
CONFIG_MAPS: Document = {"group": "", "version": "v1", "kind": "ConfigMap"}


def rule(verbs: str, *resources: str) -> Document:
    return {"apiGroups": [GROUP], "resources": list(resources), "verbs": verbs.split()}


# Whoever approves may also patch, as kubectl does.
PATCHES = rule("patch", *(f"{each}/status" for each in REQUESTS))


class HubUser:
    """One who logs in to the hub with a certificate of that name, with the printed rights of those who approve staged
    runs, and what ``rules`` say."""

    def __init__(self, fleet: Fleet, name: str, *rules: Document) -> None:
        assert fleet.hub is not None
        self.name = name
        metadata = {"name": f"staged-{name}"}
        role = {"kind": "ClusterRole", "metadata": metadata, "rules": list(rules)}
        subject = {"kind": "User", "name": name, "apiGroup": RBAC}
        bound = {
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": metadata["name"]},
            "subjects": [subject],
        }
        own = ({"apiVersion": f"{RBAC}/v1", **each} for each in (role, bound))
        for each in (*rights("hub_staged_approver", subject, []), *own):
            apply_object(fleet.hub.client, each, "administrator", force=True)
        self.kubeconfig = client_kubeconfig(fleet.hub.folder, name)
        self.client = KubeClient(connection_from_kubeconfig(self.kubeconfig))

    def writes(self, path: str, body: Document) -> Document:
        """A merge patch, as kubectl sends it."""
        return self.client.request("PATCH", path, body, {"fieldManager": "kubectl-patch"}, MERGE)

    def approves(self, fleet: Fleet, run: str) -> GivenApproval:
        """As the verb ``gate`` does it."""
        options = {"type": "hub", "kubeconfig": str(self.kubeconfig)}
        records = open_records(options, {}, lambda: fleet.now)
        session = fleet.session(records=records, hub=self.client, environ=dict(os.environ))
        return give_approval(session, WishedApproval(run=run), user(session), write=True)


@pytest.fixture(params=["", "inside"], ids=["of no namespace", "of a namespace"])
def asked(request: pytest.FixtureRequest, hub_fleet: Fleet) -> Asked:
    """A run that waits for an approval, of a placement that one member is to hold."""
    return Asked(hub_fleet, hub_fleet.namespace if request.param else "")


class Asked:
    """The run, and what is told of it."""

    def __init__(self, fleet: Fleet, namespace: str) -> None:
        self.fleet, self.key = fleet, RunKey(namespace, f"{fleet.name}-1")
        for server in (fleet.servers["m1"], *((fleet.hub,) if fleet.hub else ())):
            metadata = {"name": fleet.namespace}
            server.client.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        fleet.join("m1")
        whole = {"group": "", "version": "v1", "kind": "Namespace", "name": fleet.namespace}
        spec = {"resourceSelectors": [CONFIG_MAPS if namespace else whole], "strategy": {"type": "External"}}
        stage = {"name": "all", "labelSelector": {}, "beforeStageTasks": [{"type": "Approval"}]}
        self.write("placements", "ResourcePlacement" if namespace else "ClusterResourcePlacement", fleet.name, spec)
        self.write("runs/strategy", self.key.kinds.strategy, "rings", {"stages": [stage]})
        self.wanted({"placementName": fleet.name, "stagedRolloutStrategyName": "rings"})
        assert not codes(fleet.apply(limits=LIFTED))

    def write(self, folder: str, kind: str, name: str, spec: Document) -> None:
        document = {"apiVersion": API, "kind": kind, "metadata": self.key.metadata(name), "spec": spec}
        path = self.fleet.folder / folder
        path.mkdir(parents=True, exist_ok=True)
        (path / "one.yml").write_text(json.dumps(document), encoding="utf-8")

    def wanted(self, spec: Document) -> None:
        self.write("runs/run", self.key.kinds.run, self.key.name, spec)

    def conduct(self, terms: Terms = VERIFIED) -> StagedReport:
        given = staged_manifests([str(self.fleet.folder / "runs")], (), [str(self.fleet.folder / "resources")])
        ways = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0)))
        wish = StagedOptions(ways=ways, limits=LIFTED, timeout=2.0, terms=terms)
        return staged_run(
            self.fleet.session(environ=dict(os.environ)), str(self.key), given, "conducted", wish, write=True
        )

    def waits(self, terms: Terms = VERIFIED) -> None:
        assert self.conduct(terms).verdict[1] == "awaiting-approval"
        assert not self.fleet.servers["m1"].data(self.fleet.namespaced("configmaps", "settings"))

    def passes(self, terms: Terms = VERIFIED) -> None:
        assert self.conduct(terms).verdict[0] == "done"
        assert self.fleet.servers["m1"].data(self.fleet.namespaced("configmaps", "settings"))

    @property
    def name(self) -> str:
        return f"{self.key.name}-before-all"

    @property
    def path(self) -> str:
        return KINDS[self.key.kinds.approval].path(self.key.namespace, self.name)

    @property
    def digest(self) -> str:
        found = self.fleet.records.get(self.key.kinds.approval, self.key.record(self.name))
        assert found
        return str(found["metadata"]["annotations"][RUN_DIGEST])

    def approval(self, message: str, **more: t.Any) -> Document:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = {"type": "Approved", "status": "True", "reason": "Fine", "lastTransitionTime": now}
        return {"status": {"conditions": [{**said, "observedGeneration": 1, "message": message, **more}]}}


@pytest.fixture
def anna(hub_fleet: Fleet) -> HubUser:
    return HubUser(hub_fleet, "anna", PATCHES)


NAMES = "an approval that says by whom it is names whoever approves"
FORGED: dict[str, tuple[t.Callable[[Asked], Document], str]] = {
    "in another name": (lambda run: run.approval(f"by the boss for {run.digest}"), NAMES),
    "in another name, with a reason": (lambda run: run.approval(f"by bo for {run.digest}: by anna"), NAMES),
    "in no name": (lambda run: run.approval(f"by  for {run.digest}"), NAMES),
    "of another digest": (lambda run: run.approval(f"by anna for sha256:{0:064}"), NAMES),
    "in two names": (lambda run: run.approval(f"by bo for {run.digest} by anna for {run.digest}"), NAMES),
    "as accepted": (lambda run: run.approval("fine", type="ApprovalAccepted"), "an approval is accepted by whoever"),
    "of another generation": (
        lambda run: run.approval(f"by anna for {run.digest}", observedGeneration=7),
        "an approval names the generation of its request",
    ),
}


@pytest.mark.parametrize("how", FORGED)
def test_an_approver_cannot_write_it(asked: Asked, anna: HubUser, how: str) -> None:
    asked.waits()
    body, words = FORGED[how]
    with pytest.raises(ApiError) as refused:
        anna.writes(f"{asked.path}/status", body(asked))
    assert refused.value.status == 403 and words in refused.value.message, refused.value
    asked.waits(Terms())


def test_an_approval_is_written_once_and_verified(asked: Asked, anna: HubUser) -> None:
    """Neither changed, made fresh nor taken away, nor by another approver; then it is told whose it was."""
    asked.waits(FOUR_EYES)
    given = anna.approves(asked.fleet, str(asked.key))
    assert (given.by, given.verified, given.own) == ("anna", True, False)
    bert = HubUser(asked.fleet, "bert", PATCHES)
    (approved,) = anna.client.get(asked.path)["status"]["conditions"]
    for who, body in (
        *(
            (who, {"status": {"conditions": [{**approved, **other}]}})
            for who in (anna, bert)
            for other in ({"lastTransitionTime": "2100-01-01T00:00:00Z"}, {"observedGeneration": 7}, {"reason": "No"})
        ),
        (bert, asked.approval(f"by bert for {asked.digest}")),
        (anna, asked.approval(f"by anna for {asked.digest}: another reason")),
        (anna, asked.approval("no", status="False")),
        (anna, {"status": {"conditions": []}}),
    ):
        with pytest.raises(ApiError) as refused:
            who.writes(f"{asked.path}/status", body)
        assert "an approval is written once and not changed" in refused.value.message
    asked.passes(FOUR_EYES)
    assert f"{asked.key}: before all: approved by anna" in asked.fleet.said


def test_requests_are_made_and_marked_by_whoever_conducts(asked: Asked, anna: HubUser) -> None:
    asked.waits()
    carla = HubUser(asked.fleet, "carla", rule("create update patch", *REQUESTS))
    found = anna.client.get(asked.path)
    kind = KINDS[asked.key.kinds.approval].path(asked.key.namespace)
    ahead = {**found, "metadata": {**asked.key.metadata("ahead"), "annotations": found["metadata"]["annotations"]}}
    with pytest.raises(ApiError) as refused:
        carla.client.post(kind, ahead)
    assert "approval requests are made by whoever may write the status of staged update runs" in refused.value.message
    with pytest.raises(ApiError) as refused:
        carla.writes(asked.path, {"metadata": {"annotations": {RUN_DIGEST: f"sha256:{0:064}"}}})
    assert "run-digest of an approval request stay as they are" in refused.value.message
    for who, path in ((anna, asked.path), (anna, KINDS[asked.key.kinds.run].path(asked.key.namespace, asked.key.name))):
        with pytest.raises(ApiError) as refused:
            who.writes(path, {"metadata": {"labels": {"held": "yes"}}})
        assert refused.value.status == 403


def test_an_approval_as_kubefleet_has_it_is_of_nobody(asked: Asked, anna: HubUser) -> None:
    """It counts where nobody asks for names."""
    asked.waits(Terms())
    anna.writes(f"{asked.path}/status", asked.approval("looks fine"))
    asked.passes(Terms())
    assert f"{asked.key}: before all: approved by nobody who is named" in asked.fleet.said


def test_one_of_nobody_does_not_count_where_names_have_to_be_verified(asked: Asked, anna: HubUser) -> None:
    """It is taken away, and asked for anew; by whoever carries the run on without asking for names, too."""
    asked.waits()
    for terms in (VERIFIED, Terms()):
        anna.writes(f"{asked.path}/status", asked.approval("looks fine"))
        asked.waits(terms)
        assert any("counts for nothing: nothing proves that it is of anybody" in line for line in asked.fleet.said)
        asked.fleet.said.clear()
    events = asked.fleet.records.events(asked.key.kinds.run, str(asked.key))
    assert any(each.reason == "ApprovalRefused" for each in events)


def test_whoever_made_the_run_does_not_approve_it_under_four_eyes(asked: Asked, anna: HubUser) -> None:
    made = "kubernetes-admin"
    asked.waits(FOUR_EYES)
    session = asked.fleet.session(environ=dict(os.environ))
    with pytest.raises(FleetError) as refused:
        give_approval(session, WishedApproval(run=str(asked.key), self_approval=False), made, write=True)
    assert refused.value.code == "self-approval"
    assert give_approval(session, WishedApproval(run=str(asked.key)), made, write=True).own
    asked.waits(FOUR_EYES)
    assert any(f"{made} made or started the run, and self-approval is not allowed" in line for line in asked.fleet.said)
    (told,) = fleet_history(session, HistoryRequest(about=str(asked.key), action="Approved")).rows
    assert told.outcome == DOES_NOT_COUNT and "started the run, and self-approval is not allowed" in told.message
    anna.approves(asked.fleet, str(asked.key))
    asked.passes(FOUR_EYES)


def test_nobody_makes_a_run_in_another_name(asked: Asked) -> None:
    runs = ("clusterstagedupdateruns", "stagedupdateruns")
    dora = HubUser(asked.fleet, "dora", rule("create update patch", *runs))
    kind = KINDS[asked.key.kinds.run].path(asked.key.namespace)
    spec = {"placementName": asked.fleet.name, "stagedRolloutStrategyName": "rings"}
    metadata = {**asked.key.metadata("forged"), "annotations": {MADE_BY: "anna"}}
    forged = {"apiVersion": API, "kind": asked.key.kinds.run, "metadata": metadata, "spec": spec}
    with pytest.raises(ApiError) as refused:
        dora.client.post(kind, forged)
    assert "gitops.fleet/made-by is whoever makes the run" in refused.value.message
    asked.waits()
    for name in ("dora", "anna", None):
        with pytest.raises(ApiError) as refused:
            dora.writes(f"{kind}/{asked.key.name}", {"metadata": {"annotations": {MADE_BY: name}}})
        assert "gitops.fleet/made-by of a run stays as it is" in refused.value.message


def test_whoever_started_a_run_is_held_by_the_hub_and_does_not_approve_it_under_four_eyes(
    asked: Asked, anna: HubUser
) -> None:
    """One that another account made: nobody starts it in another name, nor takes the name of who did for an own one."""
    runs = ("clusterstagedupdateruns", "stagedupdateruns")
    dora, mia = (HubUser(asked.fleet, name, rule("create update patch", *runs)) for name in ("dora", "mia"))
    kind = KINDS[asked.key.kinds.run].path(asked.key.namespace)
    spec = {"placementName": asked.fleet.name, "stagedRolloutStrategyName": "rings"}
    metadata = {**asked.key.metadata(asked.key.name), "annotations": {MADE_BY: "mia"}}
    mia.client.post(kind, {"apiVersion": API, "kind": asked.key.kinds.run, "metadata": metadata, "spec": spec})
    for name, state in (("anna", "Run"), ("dora", "Initialize")):
        with pytest.raises(ApiError) as refused:
            body = {"metadata": {"annotations": {STARTED_BY: name}}, "spec": {"state": state}}
            dora.writes(f"{kind}/{asked.key.name}", body)
        assert "gitops.fleet/started-by is whoever told the run to run first" in refused.value.message
    asked.waits(FOUR_EYES)
    for other in ("dora", None):
        with pytest.raises(ApiError) as refused:
            dora.writes(f"{kind}/{asked.key.name}", {"metadata": {"annotations": {STARTED_BY: other}}})
        assert "gitops.fleet/started-by is whoever told the run to run first" in refused.value.message
    started = "kubernetes-admin"
    session = asked.fleet.session(environ=dict(os.environ))
    assert give_approval(session, WishedApproval(run=str(asked.key)), started, write=True).own
    asked.waits(FOUR_EYES)
    assert any(f"{started} made or started the run, and self-approval" in line for line in asked.fleet.said)
    anna.approves(asked.fleet, str(asked.key))
    asked.passes(FOUR_EYES)


def test_without_the_policies_names_do_not_count_where_they_have_to_be_verified(asked: Asked, anna: HubUser) -> None:
    """Nor do they later on, when the policies are there: a request that was open without them could have been written
    by anybody."""
    with without_policies(asked.fleet):
        asked.waits()
        anna.writes(f"{asked.path}/status", asked.approval(f"by the boss for {asked.digest}"))
    asked.waits(VERIFIED)
    assert any("nothing proves that it is of the boss" in line for line in asked.fleet.said)


def test_without_the_policies_names_are_told_as_unverified(asked: Asked, anna: HubUser) -> None:
    with without_policies(asked.fleet):
        asked.waits(Terms())
        anna.writes(f"{asked.path}/status", asked.approval(f"by the boss for {asked.digest}"))
        asked.passes(Terms())
    assert f"{asked.key}: before all: approved by the boss, unverified" in asked.fleet.said


@contextlib.contextmanager
def without_policies(fleet: Fleet) -> Iterator[None]:
    assert fleet.hub is not None
    for each in shipped():
        if each["metadata"]["name"] in OF_STAGED_RUNS:
            fleet.hub.client.delete(path_of(each))
    until(lambda: takes_any_name(fleet))
    try:
        yield
    finally:
        install(fleet.hub.client, write=True)
        until(lambda: not takes_any_name(fleet))
        # What is made in the second in which the policies were made could be older than they are.
        until(lambda: datetime.now(UTC) >= since(fleet) + timedelta(seconds=1))


def since(fleet: Fleet) -> datetime:
    return t.cast(datetime, vouched_since(fleet.hub_client, OF_STAGED_RUNS))


def takes_any_name(fleet: Fleet) -> bool:
    """Whether the API server is without the policies by now: it notices soon after they came or went."""
    assert fleet.hub is not None
    metadata = {"name": "probe", "annotations": {MADE_BY: "somebody"}}
    spec = {"placementName": "none", "stagedRolloutStrategyName": "none"}
    probe = {"apiVersion": API, "kind": "ClusterStagedUpdateRun", "metadata": metadata, "spec": spec}
    path = KINDS["ClusterStagedUpdateRun"].path()
    try:
        fleet.hub.client.request("POST", path, probe, {"dryRun": "All"})
    except ApiError as error:
        assert error.status == 403, error
        return False
    return True
