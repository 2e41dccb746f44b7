# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node pools that commands upgrade, as a user has them: programs, records in a file, members that are files."""

from __future__ import annotations

import json
import threading
import time
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import Cluster, Pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import NODE_POOL, UpgradeStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import SECONDS, write_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import machine
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import (
    ConductOptions,
    RunVerdict,
    carry_on,
    rehearse,
    verdict,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import read_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.member_plans import member_plans
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_command import (
    PoolSubject,
    commanded,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_rotation import PoolTask
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import start_run
from ansible_collections.gitops.fleet.plugins.module_utils._report.upgrade_plan_text import upgrade_plan_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

OLD, NEW = "v1.35.4", "v1.36.3"
OBSERVE = (
    'cd "$1"; printf \'{"version": "%s", "pools": [{"name": "blue", "count": 3, "version": "%s", "image": "%s"}]}\\n\''
    ' "$(cat "$2")" "$(cat "$2.blue")" "$(cat "$2.image")"'
)
BEGIN = 'cd "$1"; echo "$2" >> begun.log; echo "v$3" > "$2"'
HELD = 'cd "$1"; echo "$2" >> begun.log; until [ -e go ]; do sleep 0.1; done'
POOL = (
    'cd "$1"; echo "$2 $3 $4 $5" >> pools.log; [ -e "$2.stuck" ] && exit 3;'
    ' [ -z "$4" ] || echo "v$4" > "$2.blue"; [ -z "$5" ] || echo "$5" > "$2.image"'
)
Document = dict[str, t.Any]


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Cloud:
    """Members ``a`` and ``b``, each with a pool ``blue``."""

    folder: Path
    records: SqliteRecords
    lost_after: float = Pace().lost_after

    def __post_init__(self) -> None:
        context = {"name": "x", "context": {"cluster": "x", "user": ""}}
        nowhere = {"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}
        server = {"clusters": [nowhere], "users": [], "contexts": [context], "current-context": "x"}
        (self.folder / "kubeconfig").write_text(json.dumps(server))
        for name in "ab":
            for file, text in {name: OLD, f"{name}.blue": OLD, f"{name}.image": "Linux-1"}.items():
                (self.folder / file).write_text(text)
            pools = [{"name": "blue", "count": 3, "version": OLD, "image": "Linux-1"}]
            self.keep("MemberCluster", name, {"identity": {"kind": "User", "name": "u"}}, CLUSTER_API)
            self.keep("FleetMember", name, {"connection": {"kubeconfig": str(self.folder / "kubeconfig")},
                                            "driver": "command"})  # fmt: skip
            stored = self.records.get("FleetMember", name)
            assert stored
            status = {"version": OLD, "nodePools": pools, "lastRead": "2026-08-17T11:00:00Z"}
            self.records.replace({**stored, "status": status})

    def keep(self, kind: str, name: str, spec: Document, api: str = FLEET_API) -> None:
        self.records.create({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})

    def command(self, **more: t.Any) -> Document:
        folder = str(self.folder)
        return {
            "begin": ["sh", "-c", BEGIN, "begin", folder, "{member}", "{target}"],
            "observe": ["sh", "-c", OBSERVE, "observe", folder, "{member}"],
            "begin_pool": ["sh", "-c", POOL, "pool", folder, "{member}", "{pool}", "{target}", "{image}"],
            **more,
        }

    def session(self) -> Session:
        return Session(records=self.records, holder="tests", clock=now, environ={"PATH": "/usr/bin:/bin"})

    def made(self, name: str, **update: t.Any) -> UpdateRun:
        run = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": name},
               "spec": {"managedClusterUpdate": update}}  # fmt: skip
        return define_run(self.records, name, update_manifests([], [run], strict=False), write=True).run

    def offer(self, spec: Document) -> None:
        stored = self.records.get("ReleaseCatalog", "own")
        assert stored
        self.records.replace({**stored, "spec": spec})

    def conduct(self, name: str, command: Document) -> RunVerdict:
        return verdict(self.carried(name, command))

    def carried(self, name: str, command: Document) -> RunEnding:
        return carry_on(self.session(), read_run(self.records, name), self.wish(command))

    def wish(self, command: Document) -> ConductOptions:
        return ConductOptions(
            drivers={"command": command},
            operations=str(self.folder / "operations"),
            pace=Pace(interval=0.1, settle=60, lost_after=self.lost_after),
            max_idle=timedelta(0),
            timeout=1.0,
        )

    def states(self, name: str) -> dict[str, str]:
        return {each.name: each.status.state for each in read_run(self.records, name).status.members}

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def told(self, what: str) -> list[str]:
        return [(self.folder / f"{name}{what}").read_text().strip() for name in "ab"]


@pytest.fixture
def cloud(tmp_path: Path) -> t.Iterator[Cloud]:
    records = SqliteRecords(tmp_path / "records.db", now)
    yield Cloud(tmp_path, records)
    records.close()


def test_commands_that_know_no_pools_are_refused(cloud: Cloud) -> None:
    cloud.made("images", upgrade={"type": "NodeImageOnly"})
    command = {name: each for name, each in cloud.command().items() if name != "begin_pool"}
    with pytest.raises(FleetError) as refused:
        cloud.conduct("images", command)
    assert refused.value.code == "upgrade-type-not-supported" and "with node pools: a, b" in str(refused.value)
    assert set(cloud.states("images").values()) == {"NotStarted"}


def test_the_same_image_for_all_of_which_the_plan_tells(cloud: Cloud) -> None:
    """D3-24, D3-33, D3-34, D3-35."""
    images = [{"family": "Linux", "os": "Linux", "versions": [{"version": each} for each in ("1", "2")]}]
    cloud.keep(
        "ReleaseCatalog", "own", {"locations": [{"name": "*", "versions": [{"version": "1.35.4"}], "images": images}]}
    )
    run = cloud.made("images", upgrade={"type": "NodeImageOnly"}, nodeImageSelection={"type": "Consistent"})
    plans = member_plans(cloud.session(), run, update_manifests([], [], strict=False), {})
    assert plans is not None
    assert plans.unattended_stopped == ()
    text = "\n".join(upgrade_plan_text(plans.target, plans.works))
    assert (
        "unattended" not in text
        and "pool blue" in text
        and "image 1 -> 2" in text
        and "newest of Linux that all members can have" in text
    )
    assert cloud.conduct("images", cloud.command()).outcome == "done"
    assert cloud.states("images") == {"a": "Completed", "b": "Completed"}
    selected = read_run(cloud.records, "images").status.node_image_selection
    assert selected and [each.version for each in selected.selected_node_image_versions] == ["Linux-2"]
    assert cloud.lines("pools.log") == ["a blue  Linux-2", "b blue  Linux-2"]
    assert (cloud.told(".image"), cloud.told(".blue"), cloud.lines("begun.log")) == (["Linux-2"] * 2, [OLD] * 2, [])


def test_the_plan_of_check_mode_says_what_the_run_will_do_by_what_is_there_now(cloud: Cloud) -> None:
    """Nodes that were replaced since they were read last: what is recorded of them would be taken for a way back."""
    cloud.keep("ReleaseCatalog", "own", offered())
    (cloud.folder / "a.image").write_text("Linux-3")
    run, given = cloud.made("images", upgrade={"type": "NodeImageOnly"}), update_manifests([], [], strict=False)
    then = rehearse(cloud.session(), run, given, cloud.wish(cloud.command()))
    plans = member_plans(cloud.session(), then.run, given, {}, then.seen)
    assert plans is not None
    text = " ".join(" ".join(upgrade_plan_text(plans.target, plans.works)).split())
    ahead = "pool blue is at Linux-3, ahead of 2: newest of Linux in this location"
    assert f"a is skipped AlreadyAtTarget: {ahead}" in text and "b pool blue image 1 -> 2 newest" in text
    assert cloud.conduct("images", cloud.command()).outcome == "done"
    assert cloud.states("images") == {"a": "Skipped", "b": "Completed"}
    assert [each.message for each in read_run(cloud.records, "images").status.members][0] == ahead


def test_that_unattended_updates_end_is_told_where_the_commands_say_so_d3_108(cloud: Cloud) -> None:
    cloud.keep("ReleaseCatalog", "own", offered())
    run = cloud.made("images", upgrade={"type": "NodeImageOnly"})
    drivers = {"command": {**cloud.command(), "stops_unattended_updates": True}, "role": None}
    plans = member_plans(cloud.session(), run, update_manifests([], [], strict=False), drivers)
    assert plans is not None and plans.unattended_stopped == ("a", "b")
    told = " ".join(upgrade_plan_text(plans.target, plans.works, (), plans.unattended_stopped)).split()
    assert "unattended updates of the operating system are switched off on: a, b" in " ".join(told)
    declared = {"stops_unattended_updates": True}
    for others in ({"command": cloud.command(), "role": declared}, {"command": {"providers": {"elsewhere": declared}}}):
        without = member_plans(cloud.session(), run, update_manifests([], [], strict=False), others)
        assert without is not None and without.unattended_stopped == ()
    assert cloud.conduct("images", drivers["command"]).outcome == "done"


def offered(soon: str = "") -> Document:
    """Images 1 and 2, of which the second can be had now, or at that instant."""
    second = {"version": "2", **({"availableFrom": soon} if soon else {})}
    images = [{"family": "Linux", "os": "Linux", "versions": [{"version": "1"}, second]}]
    versions = [{"version": "1.35.4"}, {"version": "1.36.3"}]
    return {"locations": [{"name": "*", "versions": versions, "images": images}]}


def test_images_that_are_the_same_for_all_are_approved_with_the_run(cloud: Cloud) -> None:
    """D3-33, D3-34. They are chosen when the run is made, before its first step, and stand in its digest; a newer image
    makes another run of it, which the approval is not for; once it was started nothing changes them."""
    newer = offered()
    newer["locations"][0]["images"][0]["versions"].append({"version": "3"})
    cloud.keep("ReleaseCatalog", "own", offered())
    update = {"upgrade": {"type": "NodeImageOnly"}, "nodeImageSelection": {"type": "Consistent"}}

    def chosen() -> list[str]:
        selected = read_run(cloud.records, "images").status.node_image_selection
        return [each.version for each in selected.selected_node_image_versions] if selected else []

    seen = cloud.made("images", **update).status.digest
    assert chosen() == ["Linux-2"] and set(cloud.states("images").values()) == {"NotStarted"}
    assert cloud.made("images", **update).status.digest == seen, "nothing has changed"
    cloud.offer(newer)
    with pytest.raises(FleetError) as refused:
        define_run(cloud.records, "images", update_manifests([], [], strict=False), write=True, approved=seen)
    assert refused.value.code == "digest-mismatch" and chosen() == ["Linux-2"]
    assert cloud.made("images", **update).status.digest != seen and chosen() == ["Linux-3"]
    cloud.offer(offered())
    assert cloud.made("images", **update).status.digest == seen and chosen() == ["Linux-2"]
    assert start_run(cloud.session(), read_run(cloud.records, "images"), {}, write=True).changed
    cloud.offer(newer)
    assert cloud.conduct("images", cloud.command()).outcome == "done"
    assert chosen() == ["Linux-2"] and cloud.told(".image") == ["Linux-2"] * 2


def test_a_run_of_which_all_in_flight_waits_ends_and_is_taken_up_again(cloud: Cloud) -> None:
    """An image is withdrawn while the control plane is upgraded: the member stays Running, and the instant is told at
    which it is worth going on."""
    soon = write_time(now() + timedelta(hours=1), SECONDS)
    cloud.keep("ReleaseCatalog", "own", offered())
    selection = {"type": "Custom", "customNodeImageVersions": [{"version": "Linux-2"}]}
    cloud.made("later", upgrade={"type": "Full", "kubernetesVersion": "1.36.3"}, nodeImageSelection=selection)

    def withdraw() -> None:
        end = time.monotonic() + 300
        while not cloud.lines("begun.log") and time.monotonic() < end:
            time.sleep(0.05)
        cloud.offer(offered(soon))
        (cloud.folder / "go").touch()

    withdrawing = threading.Thread(target=withdraw)
    withdrawing.start()
    held = ["sh", "-c", f"{HELD}; {BEGIN}", "begin", str(cloud.folder), "{member}", "{target}"]
    ending = cloud.carried("later", cloud.command(begin=held))
    withdrawing.join()
    came = verdict(ending)
    assert (came.outcome, came.code, ending.resumes) == ("waiting", "waiting", soon)
    assert cloud.states("later") == {"a": "Running", "b": "NotStarted"} and not cloud.lines("pools.log")
    cloud.offer(offered())
    assert cloud.conduct("later", cloud.command()).outcome == "done"
    assert cloud.lines("begun.log") == ["a", "a", "b"], "once held, once begun"
    assert cloud.told(".image") == ["Linux-2"] * 2


@pytest.mark.parametrize("elsewhere", [False, True], ids=["on the same machine", "on another one"])
def test_an_attempt_that_has_a_name_of_its_platform_goes_on_with_the_pool(cloud: Cloud, elsewhere: bool) -> None:
    """D3-22. The name is that of the control plane's upgrade, which is over; whoever polls it for the pool would take
    that for done. Where the attempt was not begun, nobody knows whether its pool was."""
    soon = write_time(now() + timedelta(hours=1), SECONDS)
    cloud.keep("ReleaseCatalog", "own", offered())
    selection = {"type": "Custom", "customNodeImageVersions": [{"version": "Linux-2"}]}
    cloud.made("later", upgrade={"type": "Full", "kubernetesVersion": "1.36.3"}, nodeImageSelection=selection)
    begin = f"""{BEGIN}; until [ -e go ]; do sleep 0.1; done; printf '{{"reference": "op-%s"}}\\n' "$2" """

    def withdraw() -> None:
        end = time.monotonic() + 300
        while not cloud.lines("begun.log") and time.monotonic() < end:
            time.sleep(0.05)
        cloud.offer(offered(soon))
        (cloud.folder / "go").touch()

    withdrawing = threading.Thread(target=withdraw)
    withdrawing.start()
    command = cloud.command(
        begin=["sh", "-c", begin, "begin", str(cloud.folder), "{member}", "{target}"],
        poll=["sh", "-c", "test $1 = op-$2", "poll", "{reference}", "{member}"],
    )
    assert cloud.conduct("later", command).outcome == "waiting"
    withdrawing.join()
    (row, _other) = read_run(cloud.records, "later").status.members
    assert (row.status.state, row.reference) == ("Running", "platform:op-a") and not cloud.lines("pools.log")
    cloud.offer(offered())
    if elsewhere:
        (cloud.folder / "operations").rename(cloud.folder / "theirs")
        cloud.lost_after = 1.0
    came = cloud.conduct("later", command)
    if elsewhere:
        assert came.outcome == "failed" and cloud.lines("pools.log") == []
        assert (
            read_run(cloud.records, "later").status.members[0].message.startswith("pool blue: the operation cannot be")
        )
    else:
        assert came.outcome == "done" and cloud.lines("pools.log") == ["a blue 1.36.3 Linux-2", "b blue 1.36.3 Linux-2"]
        assert cloud.lines("begun.log") == ["a", "b"]


def test_the_next_attempt_goes_on_with_the_pool(cloud: Cloud) -> None:
    """D3-22: control plane and pool, of which one fails; it is started again, and its control plane is let alone."""
    (cloud.folder / "b.stuck").touch()
    cloud.made("whole", upgrade={"type": "Full", "kubernetesVersion": "1.36.3"})
    assert cloud.conduct("whole", cloud.command()).outcome == "failed"
    assert cloud.states("whole") == {"a": "Completed", "b": "Failed"}
    (row,) = (each for each in read_run(cloud.records, "whole").status.members if each.name == "b")
    assert row.message.startswith("pool blue: ended with exit code 3")
    (cloud.folder / "b.stuck").unlink()
    start_run(cloud.session(), read_run(cloud.records, "whole"), {}, write=True)
    assert cloud.conduct("whole", cloud.command()).outcome == "done"
    assert cloud.lines("begun.log") == ["a", "b"] and len(cloud.lines("pools.log")) == 3
    assert cloud.told("") == cloud.told(".blue") == [NEW, NEW]


class Platform:
    """A driver that sees what was meant ``here``, and begins pools."""

    def __init__(self, here: str) -> None:
        self.begun: list[str] = []
        self._here = here

    def observe(self, _member: str) -> Observation:
        return Observation(version=NEW)

    def begin(self, work: Work) -> str:
        self.begun.append(work.pool)
        return f"{machine()}:1:2"

    def poll(self, work: Work) -> OperationProgress:
        if self.begun:
            return OperationProgress(state=SUCCEEDED)
        return OperationProgress(state=NOT_BEGUN if work.reference == self._here else UNKNOWN)


@pytest.mark.parametrize(("meant_in", "begun"), [("1@/here", True), ("2@/here", False), ("1@/of-another-user", False)])
def test_a_pool_is_begun_only_where_it_would_be_seen_if_it_had_been(meant_in: str, begun: bool) -> None:
    """Images alone: the intent is all that is recorded. In another folder of this machine it may be under way."""
    here = f"{machine()}/1@/here"
    platform = Platform(here)
    step = UpgradeStep(what=NODE_POOL, pool="blue", version=NEW)

    def seen(_member: str, _seen: Observation) -> Cluster:
        return Cluster(name="a", version=NEW, pools=(Pool(name="blue", version=NEW if platform.begun else OLD),))

    reference = f"{machine()}/{meant_in}"
    work = Work(operation="r.a.1", run="r", member="a", upgrade_type="Full", target=NEW, reference=reference)
    task = PoolTask(driver=platform, work=work, step=step, image="", say=lambda _text: None,
                    pause=lambda _seconds: None, clock=lambda: 0.0)  # fmt: skip
    end = commanded(PoolSubject(platform, seen, step), task, Pace(lost_after=0.0), lambda: here)
    assert (platform.begun, end.failure == "") == (["blue"] if begun else [], begun)
