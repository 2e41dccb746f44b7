# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Worker processes, real ones, with a stand-in for what is done on a member: what they answer, when they may write, and
that none is left behind (F5)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import typing as t
from functools import partial, reduce
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import ApplySet
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.interrupts import Interrupts
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.keeping import running_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.permits import NO_WINDOW
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew import member_worker
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew.worker_crew import runners_for
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, MemberRunners
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import (
    MemberTask,
    Seen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection_notes import CONNECTION_NOTES
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN

LONG = 120.0
NAMES = [f"m{number}" for number in range(12)]
UID = "11111111-2222-3333-4444-555555555555"
COLLECTIONS = Path(__file__).resolve().parents[7] / ".cache" / "collections"
Work = t.Callable[[Clients, MemberTask], MemberOutcome]


def fleet(*recorded: str) -> Clients:
    specs = {name: {"clusterUID": f"{name}-{UID}"} if name in recorded else {} for name in NAMES}
    documents = {name: {"metadata": {"name": name}, "spec": spec} for name, spec in specs.items()}
    return Clients(members={name: decode(FleetMember, each) for name, each in documents.items()})


def plan(*names: str) -> t.Any:
    return SimpleNamespace(plans=[SimpleNamespace(clusters=[SimpleNamespace(cluster=name) for name in names])])


def task(name: str, **given: t.Any) -> MemberTask:
    return MemberTask(cluster=name, identity=ApplySet(placement="web", uid="u"), **given)


def configmap(name: str) -> ObjectId:
    return ObjectId(group="", version="v1", kind="ConfigMap", namespace="web", name=name)


def crew(
    monkeypatch: pytest.MonkeyPatch, work: Work, workers: int = 2, clients: Clients | None = None, told: t.Any = None
) -> t.ContextManager[MemberRunners]:
    monkeypatch.setattr(member_worker, "on_one_member", work)
    return runners_for(clients or fleet(*NAMES), plan(*NAMES), ApplyOptions(workers=workers, threads=4), told)


def done(runners: MemberRunners, each: MemberTask, window: int = NO_WINDOW) -> MemberOutcome:
    assert runners.does is not None
    return runners.does(each, window)


def code(work: t.Callable[[], object]) -> str:
    with pytest.raises(FleetError) as caught:
        work()
    return caught.value.code


def waited_for(what: t.Callable[[], t.Any]) -> t.Any:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie has, too."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def by_whom(_clients: Clients, each: MemberTask) -> MemberOutcome:
    return MemberOutcome(cluster=f"{each.cluster} by {os.getpid()}")


def test_one_worker_is_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with crew(monkeypatch, by_whom, workers=1) as runners:
        assert runners.does is None and runners.threads == 4 and runners.window() is None


def test_a_member_has_one_worker_and_all_of_them_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    with crew(monkeypatch, by_whom, workers=3) as runners:
        first, second = ({name: done(runners, task(name)).cluster for name in NAMES} for _time in range(2))
        assert runners.threads == 12
    pids = {int(each.rpartition(" ")[2]) for each in first.values()}
    assert first == second and len(pids) == 3 and os.getpid() not in pids
    assert all(map(gone, pids))


def test_members_that_could_be_one_cluster_are_asked_by_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    with crew(monkeypatch, by_whom, clients=fleet()) as runners:
        assert len({done(runners, task(name)).cluster.rpartition(" ")[2] for name in NAMES}) == 1


def test_there_are_no_more_workers_than_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_worker, "on_one_member", by_whom)
    with runners_for(fleet(), plan("m1"), ApplyOptions(workers=40)) as runners:
        assert runners.does is None


def test_what_a_look_saw_is_there_for_the_write_that_follows_and_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(_clients: Clients, each: MemberTask) -> MemberOutcome:
        each.progress.seen = t.cast(Seen, f"seen of {each.cluster}")
        return MemberOutcome(cluster=str(each.seen))

    with crew(monkeypatch, looks) as runners:
        look = task("m1", followed=True)
        assert done(runners, look).cluster == "None"
        follows = task("m1", elsewhere=look.progress.elsewhere)
        assert done(runners, follows).cluster == "seen of m1"
        assert done(runners, follows).cluster == "None", "it was taken out"
        passed = task("m1")
        done(runners, passed)
        assert passed.progress.elsewhere is None


def test_an_error_comes_back_with_what_was_written_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_clients: Clients, each: MemberTask) -> MemberOutcome:
        each.progress.written.append(configmap("one"))
        each.progress.underway = configmap("two")
        if each.cluster == "m2":
            raise LookupError("canary")
        raise FleetError("unreachable", "no route", each.cluster, "look")

    with crew(monkeypatch, fails) as runners:
        given = task("m1")
        assert code(partial(done, runners, given)) == "unreachable"
        assert given.progress.written == [configmap("one")] and given.progress.underway == configmap("two")
        with pytest.raises(FleetError) as caught:
            done(runners, task("m2"))
    assert caught.value.code == "member-fault" and "canary" not in str(caught.value)


def test_an_outcome_that_cannot_be_sent_is_an_error_of_the_member_and_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nested(_clients: Clients, each: MemberTask) -> MemberOutcome:
        each.progress.written.append(configmap("one"))
        status = reduce(lambda inner, _time: {"in": inner}, range(5000), dict[str, t.Any]())
        return MemberOutcome(cluster=each.cluster, statuses={configmap("one"): status})

    with crew(monkeypatch, nested) as runners:
        given = task("m1")
        found = runners.pool.run({"m1": partial(done, runners, given)}, 30.0)["m1"]
    assert isinstance(found, FleetError) and found.code == "member-fault" and "RecursionError" in str(found)
    assert given.progress.written == [configmap("one")]


def writes(_clients: Clients, each: MemberTask) -> MemberOutcome:
    each.permit()
    return MemberOutcome(cluster=each.cluster, done=True)


def refused() -> None:
    raise FleetError("lease-lost", "another has it")


def asked_times(asked: list[str]) -> t.Callable[[], None]:
    return lambda: asked.append("asked")


def test_an_open_window_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with Interrupts() as told, crew(monkeypatch, writes, told=told) as runners:
        window = runners.window()
        assert window is not None
        window.open_until(running_time() + LONG)
        assert done(runners, task("m1", permit=asked_times(asked)), window.number).done
    assert asked == []


def test_a_window_that_has_closed_is_asked_for_and_stays_closed_without_a_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is asked may renew; what was given back is not written under any more."""
    asked: list[str] = []
    with Interrupts() as told, crew(monkeypatch, writes, told=told) as runners:
        window = runners.window()
        assert window is not None
        assert code(partial(done, runners, task("m1", permit=asked_times(asked)), window.number)) == "lease-lost"

        def renews() -> None:
            window.open_until(running_time() + LONG)

        assert done(runners, task("m1", permit=renews), window.number).done
        window.open_until(0.0)
        assert code(partial(done, runners, task("m1", permit=refused), window.number)) == "lease-lost"
    assert asked == ["asked"]


def test_without_a_window_every_write_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with crew(monkeypatch, writes) as runners:
        assert done(runners, task("m1", permit=asked_times(asked))).done
        assert code(partial(done, runners, task("m1", permit=refused))) == "lease-lost"
    assert asked == ["asked"]


def test_a_signal_closes_every_window_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reaches the process that decides; whoever works for it asks from then on, and is told no."""
    with Interrupts() as told, crew(monkeypatch, writes, told=told) as runners:
        window = runners.window()
        assert window is not None
        window.open_until(running_time() + LONG)

        def interrupted() -> None:
            if told():
                raise FleetError("interrupted", told())

        os.kill(os.getpid(), signal.SIGTERM)
        given = task("m1", permit=interrupted)
        assert code(partial(done, runners, given, window.number)) == "interrupted"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_worker_itself_heeds_no_signal_that_can_be_heeded(monkeypatch: pytest.MonkeyPatch, how: int) -> None:
    """Ctrl-C comes to all of a terminal's processes; what is under way is to come to its end."""

    def signals(_clients: Clients, each: MemberTask) -> MemberOutcome:
        os.kill(os.getpid(), how)
        return MemberOutcome(cluster=each.cluster)

    with crew(monkeypatch, signals) as runners:
        assert done(runners, task("m1")).cluster == "m1"


def test_a_killed_worker_is_one_problem_for_each_member_under_way_and_another_takes_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it had written is told as far as it was heard of."""
    (tmp_path / "hang").touch()

    def hangs(_clients: Clients, each: MemberTask) -> MemberOutcome:
        if (tmp_path / "hang").exists():
            each.progress.written.append(configmap("one"))
            (tmp_path / f"{each.cluster}.new").write_text(str(os.getpid()))
            (tmp_path / f"{each.cluster}.new").rename(tmp_path / each.cluster)
            threading.Event().wait()
        return by_whom(_clients, each)

    with crew(monkeypatch, hangs) as runners:
        outcomes: dict[str, t.Any] = {}
        given = {name: task(name) for name in NAMES[:6]}

        def run() -> None:
            outcomes.update(runners.pool.run({name: partial(done, runners, each) for name, each in given.items()}))

        running = threading.Thread(target=run, daemon=True)
        running.start()
        waited_for(lambda: all(each.progress.written for each in given.values()))
        pids = {name: int((tmp_path / name).read_text()) for name in given}
        (tmp_path / "hang").unlink()
        victim = pids["m0"]
        mine = [name for name, pid in pids.items() if pid == victim]
        os.kill(victim, signal.SIGKILL)
        for name in mine:
            waited_for(given[name].progress.written.copy)
        rest = {name: waited_for(partial(_works_again, runners, name)) for name in mine}
        assert victim not in rest.values() and set(rest.values()) < set(pids.values())
    running.join(LONG)
    assert not running.is_alive()
    assert {name: each.code for name, each in outcomes.items()} == dict.fromkeys(given, "worker-lost")
    assert all(each.where == name for name, each in outcomes.items())


def _works_again(runners: MemberRunners, name: str) -> int:
    try:
        return int(done(runners, task(name)).cluster.rpartition(" ")[2])
    except FleetError as error:
        assert error.code == "worker-lost"
        return 0


def test_when_all_are_lost_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(_clients: Clients, each: MemberTask) -> MemberOutcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError(each)

    with crew(monkeypatch, dies) as runners:
        found = runners.pool.run({name: partial(done, runners, task(name)) for name in NAMES})
    assert {t.cast(FleetError, each).code for each in found.values()} == {"worker-lost"}


def test_one_that_is_stopped_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleeps(_clients: Clients, each: MemberTask) -> MemberOutcome:
        os.kill(os.getpid(), signal.SIGSTOP)
        return by_whom(_clients, each)

    def waits() -> None:
        with contextlib.suppress(FleetError):  # it may have ended before it was told to
            done(runners, task("m1"))

    with crew(monkeypatch, sleeps) as runners:
        running = threading.Thread(target=waits, daemon=True)
        running.start()
    running.join(LONG)
    assert not running.is_alive()


def test_a_secret_that_one_worker_shows_is_hidden_in_what_another_hears(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the other did not know it in time: whoever shows it has told of it before."""
    token = "a-token-that-another-worker-has-shown"

    def tells(_clients: Clients, each: MemberTask) -> MemberOutcome:
        if each.cluster == "m0":
            SHOWN.add(token)
            return MemberOutcome(cluster=each.cluster)
        raise FleetError("refused", f"it says: {token}", each.cluster)

    with crew(monkeypatch, tells) as runners:
        places = {name: done(runners, task("m0")) and name for name in NAMES}
        assert SHOWN.without_secrets(token) == "(hidden)"
        for name in [each for each in places if each != "m0"]:
            with pytest.raises(FleetError) as caught:
                done(runners, task(name))
            assert token not in str(caught.value) and "(hidden)" in str(caught.value)


def test_what_was_learned_of_clusters_and_connections_is_known_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def learns(clients: Clients, each: MemberTask) -> MemberOutcome:
        clients.identities._saw(each.cluster, f"{each.cluster}-{UID}")
        CONNECTION_NOTES.note(Connection(name=each.cluster, server="https://example"), f"seen of {each.cluster}")
        each.say(f"{each.cluster} waits")
        return MemberOutcome(cluster=each.cluster)

    clients, said = fleet(*NAMES), list[str]()
    CONNECTION_NOTES.take()
    with crew(monkeypatch, learns, clients=clients) as runners:
        for name in NAMES:
            done(runners, task(name, say=said.append))
    assert clients.identities.seen == {name: f"{name}-{UID}" for name in NAMES}
    assert CONNECTION_NOTES.take() == {name: [f"seen of {name}"] for name in sorted(NAMES)}
    assert said == [f"{name} waits" for name in NAMES]


PROGRAM = """
import os, sys, threading
sys.path[:0] = sys.argv[1:3]
import test_worker_crew as here
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew import member_worker
def hangs(_clients, each):
    os.write(1, b"%d\\n" % os.getpid())
    threading.Event().wait()
member_worker.on_one_member = hangs
with here.runners_for(here.fleet(), here.plan("m1", "m2", "m3"), here.ApplyOptions(workers=3)) as runners:
    pids = [each for each in os.popen(f"ps -o pid= --ppid {os.getpid()}").read().split()]
    os.write(1, (" ".join(pids) + "\\n").encode())
    runners.pool.run({"m1": lambda: here.done(runners, here.task("m1"))})
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_the_process_that_it_works_for(how: int) -> None:
    """However that ends."""
    command = [sys.executable, "-c", PROGRAM, str(COLLECTIONS), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            children = list(map(int, process.stdout.readline().split()))
            at_work = int(process.stdout.readline())
            assert at_work in children
            process.send_signal(how)
            assert process.wait(LONG) == -how
            for pid in children:
                waited_for(partial(gone, pid))
        finally:
            process.kill()
