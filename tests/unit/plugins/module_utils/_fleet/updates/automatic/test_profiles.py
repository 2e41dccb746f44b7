# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles over a virtual month with a catalogue that grows: each run is made once, and only those that are due."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of, status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.versions import view_at_version
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Begin, MemberView, UpdateSeen
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import COMPLETED, TERMINAL
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.automatic import profiles as profiles_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.automatic.profiles import (
    LEASE,
    ProfilesReport,
    evaluate_profiles,
    record_profiles,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import recorded_runs
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

START = datetime(2026, 3, 1, tzinfo=UTC)
Patch = pytest.MonkeyPatch
Document = dict[str, t.Any]
RINGS = {"slow": "Stable", "fast": "Rapid"}


def manifest(kind: str, name: str, **spec: t.Any) -> Document:
    return {"apiVersion": FLEET_API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def catalogue(*versions: str, **more: str) -> Document:
    """``more`` are versions with the instant from which they can be had, or ``preview``; ``_`` stands for a dot."""
    rows: list[Document] = [{"version": each} for each in versions]
    for name, word in more.items():
        given = {"status": word} if word == "preview" else {"availableFrom": word}
        rows.append({"version": name.removeprefix("v").replace("_", "."), **given})
    return manifest("ReleaseCatalog", "own", locations=[{"name": "*", "versions": rows}])


def profiles(**more: t.Any) -> list[Document]:
    """One for each ring, with its sequence. A member of no ring is no concern of theirs."""
    made = []
    for ring, channel in RINGS.items():
        stages = [{"name": ring, "groups": [{"name": ring}]}]
        made.append(manifest("UpdateStrategy", ring, strategy={"stages": stages}))
        made.append(manifest("AutoUpgradeProfile", ring, channel=channel, updateStrategyId=ring, **more.get(ring, {})))
    return made


@dataclass
class Month:
    """Records, their clock, and who conducts: whatever may begin is done at once."""

    records: Records
    now: datetime = START

    def join(self, name: str, group: str, version: str) -> None:
        self.records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name},
                             "spec": {"identity": {"kind": "User", "name": "u"}}})  # fmt: skip
        connection = {"kubeconfig": "/none"}
        member = {**manifest("FleetMember", name, group=group, driver="local", connection=connection),
                  "status": {"version": version, "lastRead": "2026-03-01T00:00:00Z"}}  # fmt: skip
        self.records.create(member)

    def session(self, holder: str = "runner") -> Session:
        return Session(records=self.records, holder=holder, clock=lambda: self.now)

    def given(self, *documents: Document) -> UpdateManifests:
        found = update_manifests([], documents, strict=False)
        record_profiles(self.records, found, write=True)
        return found

    def tick(self, *documents: Document, write: bool = True) -> ProfilesReport:
        found = update_manifests([], documents, strict=False)
        if write:
            record_profiles(self.records, found, write=True)
        return evaluate_profiles(self.session(), found, (), write=write, start=True)

    def conduct(self) -> None:
        for run in recorded_runs(self.records, ())[0]:
            state, versions = run_of(run), self.versions()
            while run.status.status.state not in TERMINAL and derive(state).state not in TERMINAL:
                views = {
                    name: view_at_version(MemberView(name=name), at, run.target, automatic=True)
                    for name, at in versions.items()
                }
                decided = decide(state, UpdateSeen(members=views), self.now)
                state = decided.state
                for each in decided.acts:
                    assert isinstance(each, Begin)
                    state = commands.with_attempt_end(state, each.operation, COMPLETED, self.now)
                    versions[each.member] = f"v{run.target}"
                    stored = self.records.get("FleetMember", each.member)
                    assert stored
                    self.records.replace({**stored, "status": {**stored["status"], "version": f"v{run.target}"}})
            stored = self.records.get("UpdateRun", run.name)
            assert stored
            self.records.replace({**stored, "status": encode(status_of(state, derive(state), run.status))})

    def versions(self) -> dict[str, str]:
        return {each["metadata"]["name"]: each["status"]["version"] for each in self.records.list("FleetMember")}

    def runs(self) -> list[str]:
        """In the order in which they were made, without their digests."""
        made = sorted(self.records.list("UpdateRun"), key=lambda each: each["metadata"]["creationTimestamp"])
        return [each["metadata"]["name"].rpartition("-")[0] for each in made]


@pytest.fixture
def month(tmp_path: Path) -> t.Iterator[Month]:
    found = Month(SqliteRecords(tmp_path / "records.db", lambda: found.now))
    for number, ring in enumerate(["slow", "slow", "fast", "fast"]):
        found.join(f"m{number}", ring, "v1.34.7")
    found.join("apart", "none", "v1.34.0")
    yield found
    found.records.close()


def test_50_ticks_over_a_month(month: Month) -> None:
    """D3-83, D3-84, D3-90, D3-93, D3-97 to D3-103: the runs of the channels as the catalogue grows, none twice."""
    events: dict[int, list[Document]] = {
        0: [catalogue("1.34.7", "1.35.4"), *profiles()],
        4: [catalogue("1.34.7", "1.34.8", "1.35.4", v1_35_5="2026-03-10T00:00:00Z")],
        12: [catalogue("1.34.8", "1.35.4", "1.35.5", v1_36_0="preview")],
        15: [catalogue("1.34.8", "1.35.5", "1.36.0")],
        20: [catalogue("1.35.5", "1.36.0", "1.36.1"), *profiles(fast={"disabled": True})],
        24: profiles(),
        26: [catalogue("1.35.5", "1.35.6", "1.36.1")],
    }
    changes, made = [], 0
    for tick in range(50):
        month.now = START + timedelta(days=30) * tick / 50
        day = (month.now - START).days
        given = [document for at in sorted(events) if at <= day for document in events.pop(at)]
        foretold = month.tick(*given, write=False)
        report = month.tick(*given)
        assert [each.run for each in foretold.profiles] == [each.run for each in report.profiles]
        changes += [day] * report.changed
        made += sum(each.made for each in report.profiles)
        assert not month.tick().changed, "a second one at the same instant"
        month.conduct()
    assert month.runs() == [
        *("fast-1-35-4", "slow-1-34-8", "fast-1-35-5", "fast-1-36-0", "slow-1-35-5", "fast-1-36-1", "slow-1-35-6"),
    ]
    assert made == 7 and changes == [0, 4, 9, 15, 24, 26]
    assert set(month.versions().values()) == {"v1.35.6", "v1.36.1", "v1.34.0"}


def test_why_nothing_is_due_is_told(month: Month) -> None:
    month.tick(catalogue("1.34.7"), *profiles(slow={"disabled": True}))
    (fast, slow) = month.tick().profiles
    assert [each.code for each in fast.found.reasons] == ["UpToDate"]
    assert [each.message for each in slow.found.reasons] == ["the profile is disabled"]
    report = month.tick(*profiles(slow={"disabled": False}))
    (fast, slow) = report.profiles
    assert report.failures == (), "a catalogue that has no such release yet is nothing to be mended"
    assert "no patch of 1.33" in slow.found.reasons[0].message
    stored = month.records.get("AutoUpgradeProfile", "slow")
    assert stored and stored["status"]["lastTriggerStatus"] == "Failed"


def test_members_that_are_too_far_are_named_with_the_runs_that_bring_them_level(month: Month) -> None:
    """D3-113, D3-114."""
    month.join("old", "fast", "v1.32.1")
    months = catalogue("1.33.9", "1.34.7", "1.34.8", "1.35.4")
    (fast, _slow) = month.tick(months, *profiles()).profiles
    assert fast.found.behind == ("m2", "m3")
    assert [(each.member, each.code) for each in fast.found.reasons] == [("old", "OutOfSupport")]
    assert [(each.version, each.members) for each in fast.steps] == [("1.33.9", ("old",)), ("1.34.8", ("old",))]


def test_a_run_beside_another_one_is_told(month: Month) -> None:
    """Two profiles over the same members, each with a goal of its own."""
    both = [
        manifest("AutoUpgradeProfile", "rapid", channel="Rapid"),
        manifest("AutoUpgradeProfile", "kept", channel="TargetKubernetesVersion", targetKubernetesVersion="1.34"),
    ]
    month.now += timedelta(minutes=1)
    given = [catalogue("1.34.8", "1.35.4"), *both]
    for write in (False, True):
        (kept, rapid) = month.tick(*given, write=write).profiles
        assert [each.code for each in kept.notes] == ["no-window"]
        (beside, _window) = rapid.notes
        assert beside.code == "run-beside" and kept.run in beside.message and "apart, m0, m1, m2, m3" in beside.message
    again = month.tick().profiles
    assert [[each.code for each in one.found.reasons if not each.member] for one in again] == [["RunExists"]] * 2


def test_a_member_that_is_held_is_not_told_as_one_without_a_window(month: Month) -> None:
    stored = month.records.get("FleetMember", "m2")
    assert stored
    month.records.replace({**stored, "spec": {**stored["spec"], "maintenance": "nihgts"}})
    (fast, _slow) = month.tick(catalogue("1.34.8", "1.35.4"), *profiles()).profiles
    assert fast.found.behind == ("m2", "m3") and [each.message.rpartition(": ")[2] for each in fast.notes] == ["m3"]


def test_a_freeze_of_the_fleet_is_no_window(month: Month) -> None:
    """Outside it they are upgraded at any time of day, as without it."""
    freezes = [{"name": "later", "start": "2026-12-20", "end": "2027-01-03"}]
    frozen = {"apiVersion": FLEET_API, "kind": "FleetMaintenance", "metadata": {"name": "all"}}
    (fast, _slow) = month.tick(
        catalogue("1.34.8", "1.35.4"), *profiles(), {**frozen, "spec": {"freezes": freezes}}
    ).profiles
    assert [(each.code, each.message.rpartition(": ")[2]) for each in fast.notes] == [("no-window", "m2, m3")]


def test_generate_makes_the_run_and_starts_nothing(month: Month) -> None:
    given = month.given(catalogue("1.34.8", "1.35.4"), *profiles(slow={"disabled": True}))
    for made in (True, False):
        report = evaluate_profiles(month.session(), given, ["slow"], write=True, start=False)
        (slow,) = report.profiles
        assert (slow.made, slow.started, report.changed) == (made, False, made)
        assert slow.run.startswith("slow-1-34-8-")
    (run,) = recorded_runs(month.records, ())[0]
    assert run.status.status.state == "NotStarted" and run.spec.auto_upgrade_profile_id == "slow"


def test_one_at_a_time_evaluates(month: Month) -> None:
    given = month.given(catalogue("1.34.8", "1.35.4"), *profiles())
    lease = month.records.acquire(LEASE, "another runner", 60)
    report = evaluate_profiles(month.session(), given, (), write=True, start=True)
    assert "another runner" in report.held and month.runs() == [] and not report.changed
    month.records.release(lease)
    assert len(evaluate_profiles(month.session(), given, (), write=True, start=True).profiles) == 2


class TestLongWork:
    """The lease is kept as long as the work takes, and asked for before anything is written."""

    def slow(self, month: Month, seconds: int, monkeypatch: pytest.MonkeyPatch, then: t.Callable[[], None]) -> None:
        """Each profile takes that long: what runs there are is read for each of them."""
        read = month.records.list

        def listed(kind: str, *arguments: t.Any) -> t.Any:
            if kind == "UpdateRun":
                month.now += timedelta(seconds=seconds)
                then()
            return read(kind, *arguments)

        monkeypatch.setattr(month.records, "list", listed)

    def test_it_is_renewed_from_write_to_write(self, month: Month, monkeypatch: pytest.MonkeyPatch) -> None:
        refused: list[str] = []

        def meddle() -> None:
            with pytest.raises(FleetError) as held:
                month.records.acquire(LEASE, "another", 60)
            refused.append(held.value.code)

        self.slow(month, 100, monkeypatch, meddle)
        told = month.tick(catalogue("1.34.7", "1.35.4"), *profiles())
        assert [each.made for each in told.profiles] == [True, False] and told.held == ""
        assert len(refused) > 1 and set(refused) == {"lease-held"}, "200 seconds, with a lease of 120"

    def test_whoever_lost_it_writes_nothing(self, month: Month, monkeypatch: pytest.MonkeyPatch) -> None:
        month.given(catalogue("1.34.7", "1.35.4"), *profiles())
        other: list[ProfilesReport] = []

        def overtake() -> None:
            if not other:
                other.append(ProfilesReport())
                other[0] = evaluate_profiles(month.session("another"), UpdateManifests(), (), write=True, start=True)

        self.slow(month, 130, monkeypatch, overtake)
        told = month.tick()
        made = [each.run for each in other[0].profiles if each.made]
        assert len(made) == 1 and [each["metadata"]["name"] for each in month.records.list("UpdateRun")] == made
        assert told.profiles == () and not told.changed and told.held, "it was overtaken before its first write"


def test_what_a_profile_keeps_cannot_be_changed(month: Month) -> None:
    month.given(*profiles())
    other = manifest("AutoUpgradeProfile", "slow", channel="Stable", updateStrategyId="fast")
    with pytest.raises(FleetError) as error:
        month.given(other)
    assert error.value.code == "profile-fixed" and "slow" in str(error.value)


def test_members_with_node_pools_are_no_silent_loss(month: Month) -> None:
    """A role upgrades control planes alone: a profile whose member has node pools says so, and makes no run."""
    stored = month.records.get("FleetMember", "m0")
    assert stored
    pools = [{"name": "np", "count": 3, "version": "v1.34.7"}]
    spec = {**stored["spec"], "driver": "role"}
    stored = month.records.replace({**stored, "spec": spec})
    month.records.replace({**stored, "status": {**stored["status"], "nodePools": pools}})
    for write in (False, True):
        (fast, slow) = month.tick(catalogue("1.34.8", "1.35.4"), *profiles(), write=write).profiles
        assert "with node pools: m0" in slow.found.reasons[-1].message and not slow.run
        assert fast.run.startswith("fast-1-35-4")
    assert month.runs() == ["fast-1-35-4"]


def test_what_keeps_one_run_from_its_start_keeps_no_other_and_passes(month: Month, monkeypatch: Patch) -> None:
    """A killed evaluation leaves the same behind."""
    begin = profiles_module.start_run

    def refused(session: Session, run: t.Any, *arguments: t.Any) -> t.Any:
        if run.name.startswith("fast"):
            raise FleetError("member-busy", "another-0.m2.1 is in flight", "m2")
        return begin(session, run, *arguments)

    monkeypatch.setattr(profiles_module, "start_run", refused)
    (fast, slow) = month.tick(catalogue("1.34.8", "1.35.4"), *profiles()).profiles
    assert (fast.made, fast.started, slow.made, slow.started) == (True, False, True, True)
    assert [each.code for each in fast.found.reasons if not each.member] == ["member-busy"]
    stored = month.records.get("AutoUpgradeProfile", "fast")
    assert stored and stored["status"]["lastTriggerError"]["code"] == "member-busy"
    monkeypatch.setattr(profiles_module, "start_run", begin)
    foretold = month.tick(write=False).profiles[0]
    assert foretold.run == fast.run
    (again, _slow) = month.tick().profiles
    assert (again.run, again.made, again.started) == (fast.run, False, True)
    assert not month.tick().changed
    month.conduct()
    assert month.versions()["m2"] == "v1.35.4"


def test_what_is_refused_again_and_again_changes_nothing(month: Month, monkeypatch: Patch) -> None:
    def refused(*_arguments: t.Any) -> t.NoReturn:
        raise FleetError("forbidden", "updateruns/status may not be updated")

    monkeypatch.setattr(profiles_module, "start_run", refused)
    assert month.tick(catalogue("1.34.8", "1.35.4"), *profiles()).changed
    told = month.records.events("AutoUpgradeProfile", "fast")
    for _tick in range(3):
        month.now += timedelta(hours=1)
        report = month.tick()
        assert not report.changed and [each.code for each in report.failures] == ["forbidden"] * 2
    assert month.records.events("AutoUpgradeProfile", "fast") == told


@pytest.mark.parametrize("how", ["disabled", "deleted"])
def test_a_profile_that_is_stopped_while_others_are_evaluated_makes_no_run(
    month: Month, monkeypatch: Patch, how: str
) -> None:
    month.given(catalogue("1.34.8", "1.35.4"), *profiles())
    remember = profiles_module._remember

    def stopped(records: Records, profile: t.Any, *more: t.Any) -> None:
        remember(records, profile, *more)
        slow = records.get("AutoUpgradeProfile", "slow")
        if slow and how == "deleted":
            records.delete("AutoUpgradeProfile", "slow")
        elif slow:
            records.replace({**slow, "spec": {**slow["spec"], "disabled": True}})

    monkeypatch.setattr(profiles_module, "_remember", stopped)
    report = month.tick()
    assert [(each.made, each.started) for each in report.profiles] == [(True, True), (False, False)]
    assert report.profiles[1].found.reasons[-1].message == f"it was just {how}" and report.failures == ()
    assert month.runs() == ["fast-1-35-4"]


def test_of_a_run_whose_maker_was_overtaken_it_is_told_who_made_it(month: Month, monkeypatch: Patch) -> None:
    month.given(catalogue("1.34.8", "1.35.4"), *profiles())
    define = profiles_module.define_run

    def overtaken(*arguments: t.Any) -> t.Any:
        done = define(*arguments)
        month.now += timedelta(seconds=130)
        month.records.acquire(LEASE, "another", 60)
        return done

    monkeypatch.setattr(profiles_module, "define_run", overtaken)
    report = month.tick()
    assert report.changed and "another" in report.held
    assert [(each.made, each.started) for each in report.profiles] == [(True, False)]
    assert [each["spec"]["object"]["name"] for each in month.records.list("AuditEntry")] == ["fast"]
    monkeypatch.undo()
    month.now += timedelta(seconds=130)
    assert [(each.made, each.started) for each in month.tick().profiles] == [(False, True), (True, True)]


def test_a_journal_that_cannot_be_kept_stops_nothing(month: Month, monkeypatch: Patch) -> None:
    def full(*_arguments: t.Any) -> None:
        raise FleetError("forbidden", "no events for you")

    monkeypatch.setattr(month.records, "event", full)
    report = month.tick(catalogue("1.34.8", "1.35.4"), *profiles())
    assert [each.started for each in report.profiles] == [True, True]


def test_a_sequence_that_is_gone_keeps_no_other_profile(month: Month) -> None:
    month.given(catalogue("1.34.8", "1.35.4"), *profiles())
    month.records.delete("UpdateStrategy", "fast")
    report = month.tick()
    (fast, slow) = report.profiles
    assert [each.code for each in fast.found.reasons] == ["no-such-strategy"] and slow.started
    assert [(each.code, each.where) for each in report.failures] == [("no-such-strategy", "AutoUpgradeProfile/fast")]
    stored = month.records.get("AutoUpgradeProfile", "fast")
    assert stored and stored["status"]["lastTriggerStatus"] == "Failed"


def test_versions_of_vendors_make_runs_that_can_be_read(month: Month) -> None:
    (fast, slow) = month.tick(catalogue("1.34.8-gke.1000", "1.35.4-gke.7"), *profiles()).profiles
    assert fast.run.startswith("fast-1-35-4-") and slow.run.startswith("slow-1-34-8-")
    assert [each.started for each in (fast, slow)] == [True, True]
    assert [each.target for each in recorded_runs(month.records, ())[0]] == ["1.35.4", "1.34.8"]
