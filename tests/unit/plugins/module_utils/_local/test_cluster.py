# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a cluster, with processes of a test in place of its components."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import (
    cluster,
    control_plane,
    converge,
    processes,
    state,
    upgrades,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import Binary
from ansible_collections.gitops.fleet.plugins.module_utils._local.certificates import make_pki
from ansible_collections.gitops.fleet.plugins.module_utils._local.kubeconfigs import merge_kubeconfigs, write_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import DEFAULT_PORTS, USERS
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec, TokenUser

BINARIES = {name: Binary(name, Path("/none"), "1.36.3") for name in ("etcd", "kube-apiserver", "kubectl")}
Recorded = t.Callable[..., Path]


@pytest.fixture
def recorded(tmp_path: Path) -> t.Iterator[Recorded]:
    """The folder of cluster ``hub``, of which the named components live, and all others that it had have died."""
    begun: list[subprocess.Popen[bytes]] = []

    def make(*alive: str, died: t.Collection[str] = (), ready: bool = True) -> Path:
        folder = tmp_path / "hub"
        folder.mkdir(0o700)
        had = {name: state.Process(processes.ProcessId(4194304, "never"), "1.36.3") for name in died}
        for name in alive:
            begun.append(subprocess.Popen(["sleep", "60"]))
            had[name] = state.Process(processes.ProcessId(begun[-1].pid, processes._started(begun[-1].pid)), "1.36.3")
        ports = {user: 21000 + at for at, user in enumerate(USERS)}
        kept = state.save(folder, state.State("hub", ports, version="1.36.3", ready=ready, processes=had))
        make_pki(folder / "pki", "hub")
        write_kubeconfig(folder / "kubeconfig", "hub", kept.server, folder / "pki")
        return folder

    yield make
    for child in begun:
        child.kill()
        child.wait()


@pytest.mark.parametrize("died", ["etcd", "kube-apiserver"])
def test_a_cluster_of_which_a_server_died_is_not_asked_for_its_nodes(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, died: str
):
    """It would answer with an error, after a while; what has to be done is known without."""

    def never(folder: Path) -> t.Any:
        raise AssertionError(f"{folder} is asked")

    monkeypatch.setattr(control_plane, "client", never)
    (alive,) = {"etcd", "kube-apiserver"} - {died}
    folder = recorded(alive, died=[died])
    found = state.load(folder)
    assert found is not None
    assert f"start {died}, which had died" in converge.planned(ClusterSpec("hub"), folder, found, BINARIES)
    status = cluster.status(folder.parent, "hub")
    assert (status.state, status.nodes) == ("degraded", None)


def test_a_cluster_that_never_became_ready_is_stopped_once(recorded: Recorded):
    root = recorded("etcd", ready=False).parent
    assert cluster.stopped("hub", root, check=True).changed
    assert cluster.stopped("hub", root).changed
    for check in (True, False):
        assert not cluster.stopped("hub", root, check=check).changed
    assert cluster.status(root, "hub").state == "incomplete"


@pytest.mark.parametrize("what", ["started", "upgraded"])
def test_a_cluster_that_never_became_ready_is_to_be_made_and_not_started(recorded: Recorded, what: str):
    """As one whose etcd could not start: its version is on record, and the nodes that it was to have are not."""
    root = recorded("etcd", ready=False).parent
    with pytest.raises(FleetError) as refused:
        cluster.started("hub", root) if what == "started" else cluster.upgraded("hub", "1.36.3", root)
    assert refused.value.code == "no-such-cluster" and "make it present first" in refused.value.hint


def test_what_ends_with_a_copy_of_a_cluster_is_the_copy_alone(recorded: Recorded):
    """Somebody copied its folder to keep it; what is recorded there are the processes of the other one."""
    folder = recorded("etcd", "kube-apiserver")
    root, before = folder.parent, state.load(folder)
    shutil.copytree(folder, root / "kept")
    assert [(each.name, each.state) for each in cluster.clusters(root)][1] == ("kept", "incomplete")
    with pytest.raises(FleetError) as refused:
        cluster.stopped("kept", root)
    assert refused.value.code == "state-unreadable" and "local cluster hub" in refused.value.message
    assert cluster.absent("kept", root).changed
    assert before is not None and set(control_plane.running(before)) == {"etcd", "kube-apiserver"}


@pytest.mark.parametrize("check", [True, False])
def test_what_a_link_leads_to_is_not_ended(recorded: Recorded, check: bool):
    """It was stopped, and only then the removal was refused; check mode foretold one."""
    folder = recorded("etcd", "kube-apiserver")
    root = folder.parent / "other"
    root.mkdir(0o700)
    (root / "hub").symlink_to(folder)
    with pytest.raises(FleetError, match="is a link"):
        cluster.absent("hub", root, check=check)
    kept = state.load(folder)
    assert kept and all(processes.is_running(each.id) for each in kept.processes.values()) and len(kept.processes) == 2


def test_what_is_stopped_is_told_as_it_was_once_others_were_done_with_it(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """It had been stopped when it was looked at, and another run was just starting it."""
    folder = recorded("etcd")
    running = state.load(folder)
    assert running is not None
    state.save(folder, replace(running, wanted="stopped", processes={}))

    @contextlib.contextmanager
    def locked(*_given: t.Any) -> t.Iterator[None]:
        state.save(folder, running)
        yield

    monkeypatch.setattr(cluster, "_locked", locked)
    found = cluster.stopped("hub", folder.parent)
    assert found.changed and (found.before.state, found.after.state) == ("degraded", "stopped")


@pytest.mark.parametrize("check", [True, False])
def test_a_cluster_of_which_nothing_but_a_note_is_there_was_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: bool
):
    """A difference would else tell of a new one that making it had been cut off."""
    monkeypatch.setattr(cluster, "get_binaries", lambda *_given, **_options: BINARIES)
    monkeypatch.setattr(converge, "bring_up", lambda *_given: ("make the cluster",))
    monkeypatch.setattr(converge, "settle_nodes", lambda *_given: ())
    folder = tmp_path / "hub"
    folder.mkdir(0o700)
    (folder / "fleet").write_text("demo")
    found = cluster.present(ClusterSpec("hub"), tmp_path, check=check)
    assert found.changed and found.before.state == "absent"
    (folder / "state.json").write_text("")
    assert check or cluster.present(ClusterSpec("hub"), tmp_path).before.state == "incomplete"


@pytest.mark.parametrize(
    "work",
    [
        lambda root: cluster.stopped("hub", root),
        lambda root: cluster.started("hub", root),
        lambda root: cluster.upgraded("hub", "1.36.3", root),
    ],
    ids=["stopped", "started", "upgraded"],
)
def test_who_works_on_a_cluster_that_is_not_there_leaves_nothing(tmp_path: Path, work: t.Callable[[Path], t.Any]):
    """A folder that was named by mistake is not made."""
    with pytest.raises(FleetError) as refused:
        work(tmp_path / "other")
    assert refused.value.code == "no-such-cluster" and not list(tmp_path.iterdir())


def test_a_cluster_that_another_makes_just_then_is_stopped_under_its_lock(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """There was no folder at the first look; whoever makes it is not done with it."""
    root = recorded("etcd").parent
    held: list[str] = []

    @contextlib.contextmanager
    def locked(_root: Path, name: str, *_given: t.Any) -> t.Iterator[None]:
        held.append(name)
        yield

    monkeypatch.setattr(cluster, "_locked", locked)
    monkeypatch.setattr(cluster.os.path, "isdir", lambda _folder: False)
    assert cluster.stopped("hub", root).changed and held == ["hub"]


def test_a_stop_that_was_cut_off_is_forgotten_once_the_cluster_is_to_run(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """Killed before it ended a process: all goes on, so there is nothing to start. What dies later was not stopped."""
    monkeypatch.setattr(control_plane, "decide", lambda *_given: control_plane.ControlPlanePlan())
    folder = recorded("etcd", "kube-apiserver")
    found = state.load(folder)
    assert found is not None
    state.save(folder, replace(found, wanted="stopped"))
    end = time.monotonic() + 600
    assert converge.bring_up(ClusterSpec("hub"), folder.parent, BINARIES, DEFAULT_PORTS, end) == ()
    processes.stop([each.id for each in found.processes.values()])
    assert cluster.status(folder.parent, "hub").state == "degraded"


def test_a_user_that_was_taken_away_does_not_come_back_by_a_run_that_was_cut_off(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """A later start goes by the files that are there; this one is cut off as it writes those of the users that stay."""
    monkeypatch.setattr(control_plane, "taken_ports", lambda *_given: ())
    monkeypatch.setattr(control_plane, "begin", lambda _folder, kept, *_given: kept)
    folder, end = recorded(), time.monotonic() + 600
    ann, bob = TokenUser("one", "ann"), TokenUser("two", "bob")
    converge.bring_up(ClusterSpec("hub", tokens=(ann, bob)), folder.parent, BINARIES, DEFAULT_PORTS, end)
    written = converge.write_private

    def cut_off(path: Path, content: bytes) -> None:
        """Killed once the file of the users is there."""
        written(path, content)
        if path.name.startswith("tokens-"):
            raise KeyboardInterrupt

    monkeypatch.setattr(converge, "write_private", cut_off)
    with pytest.raises(KeyboardInterrupt):
        converge.bring_up(ClusterSpec("hub", tokens=(ann,)), folder.parent, BINARIES, DEFAULT_PORTS, end)
    found = state.load(folder)
    assert found is not None and converge.recorded_spec(folder, found, "1.36.3").tokens == (ann,)


@pytest.mark.parametrize("mark", ["\x0b", "\x1c", "\x85", "\u2028"])
def test_a_start_goes_by_the_users_that_were_asked_for(recorded: Recorded, monkeypatch: pytest.MonkeyPatch, mark: str):
    """Whatever else may end a line: the token of one would let somebody in as another."""
    monkeypatch.setattr(control_plane, "taken_ports", lambda *_given: ())
    monkeypatch.setattr(control_plane, "begin", lambda _folder, kept, *_given: kept)
    folder, end = recorded(), time.monotonic() + 600
    users = (TokenUser(f"one{mark}", f"a{mark}nn", (f"devs{mark}",)), TokenUser("two", "bob"))
    converge.bring_up(ClusterSpec("hub", tokens=users), folder.parent, BINARIES, DEFAULT_PORTS, end)
    found = state.load(folder)
    assert found is not None and converge.recorded_spec(folder, found, "1.36.3").tokens == users


ALTERED: dict[str, t.Callable[[Path], None]] = {
    "nothing": lambda folder: None,
    "no kubeconfig": lambda folder: (folder / "kubeconfig").unlink(),
    "another kubeconfig": lambda folder: (folder / "kubeconfig").write_text("{}"),
    "no keys": lambda folder: shutil.rmtree(folder / "pki"),
}


@pytest.mark.parametrize("altered", ALTERED)
def test_check_mode_says_the_steps_of_the_run(recorded: Recorded, monkeypatch: pytest.MonkeyPatch, altered: str):
    """A run without keys ends all processes, so that none has died, and makes other keys."""
    monkeypatch.setattr(control_plane, "taken_ports", lambda *_given: ())
    monkeypatch.setattr(control_plane, "begin", lambda _folder, kept, *_given: kept)
    folder = recorded("etcd", died=["kube-apiserver"])
    ALTERED[altered](folder)
    found = state.load(folder)
    assert found is not None
    said = converge.planned_start(ClusterSpec("hub"), folder, found, BINARIES)
    assert ("write the kubeconfig" in said) == (altered != "nothing")
    assert ("start kube-apiserver, which had died" in said) == (altered != "no keys")
    end = time.monotonic() + 600
    assert converge.bring_up(ClusterSpec("hub"), folder.parent, BINARIES, DEFAULT_PORTS, end) == said


def test_check_mode_and_the_run_refuse_keys_that_are_gone(recorded: Recorded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(control_plane, "taken_ports", lambda *_given: ())
    folder = recorded()
    (folder / "pki" / "ca.crt").unlink()
    found = state.load(folder)
    assert found is not None
    for way in (
        lambda: converge.planned_start(ClusterSpec("hub"), folder, found, BINARIES),
        lambda: converge.bring_up(ClusterSpec("hub"), folder.parent, BINARIES, DEFAULT_PORTS, time.monotonic()),
    ):
        with pytest.raises(FleetError) as refused:
            way()
        assert refused.value.code == "state-unreadable"


def test_an_upgrade_that_somebody_else_completed_has_its_line(recorded: Recorded, monkeypatch: pytest.MonkeyPatch):
    """It was cut off before the newer API server started, which ``present`` then did."""
    monkeypatch.setattr(cluster, "get_binaries", lambda *_given, **_options: BINARIES)
    monkeypatch.setattr(converge, "bring_up", lambda *_given: ())
    folder = recorded()
    upgrades.intend(folder, "v1.35.4", "v1.36.3")
    for _again in range(2):
        cluster.upgraded("hub", "1.36.3", folder.parent, operation="op.1")
    (line,) = (folder.parent / upgrades.LOG).read_text().splitlines()
    assert json.loads(line)["from"] == "v1.35.4" and json.loads(line)["operation"] == "op.1"
    assert upgrades.pending(folder) is None


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A system that is not Linux, and has no /proc."""
    monkeypatch.setattr(cluster.sys, "platform", "darwin")
    monkeypatch.setattr(processes, "_PROC", tmp_path / "none")


@pytest.mark.parametrize("check", [False, True])
def test_a_cluster_that_is_not_there_is_absent_on_every_system(elsewhere: None, tmp_path: Path, check: bool):
    assert not cluster.absent("gone", tmp_path, check=check).changed


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("end", [cluster.stopped, cluster.absent])
def test_clusters_are_ended_on_linux_only(
    recorded: Recorded, elsewhere: None, end: t.Callable[..., t.Any], check: bool
):
    with pytest.raises(FleetError) as refused:
        end("hub", recorded().parent, check=check)
    assert refused.value.code == "linux-only"


def test_what_is_left_of_a_removal_is_removed_on_linux_only(elsewhere: None, tmp_path: Path):
    (tmp_path / ".hub.removed.1").mkdir()
    with pytest.raises(FleetError) as refused:
        cluster.absent("hub", tmp_path)
    assert refused.value.code == "linux-only"


@pytest.mark.parametrize(
    "act",
    [
        lambda root: cluster.stopped("hub", root),
        lambda root: cluster.stopped("hub", root, check=True),
        lambda root: cluster.started("hub", root),
        lambda root: cluster.upgraded("hub", "1.36.3", root),
        lambda root: cluster.memory(root, "hub"),
        lambda root: converge.bring_up(ClusterSpec("hub"), root, BINARIES, DEFAULT_PORTS, 0.0),
    ],
)
def test_no_process_is_taken_for_a_clusters_that_others_may_have_noted(
    recorded: Recorded, act: t.Callable[[Path], object]
):
    """Whoever makes the folder first could have any process of this user ended, and knows the keys."""
    folder = recorded("etcd")
    kept = state.load(folder)
    folder.chmod(0o777)
    with pytest.raises(FleetError) as refused:
        act(folder.parent)
    assert (refused.value.code, refused.value.where) == ("unsafe-folder", "hub")
    assert "others may write to it (mode 0777)" in refused.value.message
    assert kept is not None and processes.is_running(kept.processes["etcd"].id)
    assert cluster.status(folder.parent, "hub").state == "incomplete"
    assert cluster.absent("hub", folder.parent).changed and processes.is_running(kept.processes["etcd"].id)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_keys_of_another_users_folder_are_no_clusters(recorded: Recorded):
    folder = recorded()
    root = folder.parent
    os.chown(folder, 65534, 65534)
    merge_kubeconfigs(root)
    assert b"hub" not in (root / "kubeconfig").read_bytes() and state.cluster_behind(root, 21002, None) == ""
    for act in (state.load, lambda folder: state.make(folder.parent, "hub", DEFAULT_PORTS)):
        with pytest.raises(FleetError, match="it belongs to user 65534") as refused:
            act(folder)
        assert refused.value.code == "unsafe-folder"


def test_a_folder_that_somebody_made_first_is_not_filled(tmp_path: Path):
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub").chmod(0o777)
    with pytest.raises(FleetError) as refused:
        converge.bring_up(ClusterSpec("hub"), tmp_path, BINARIES, DEFAULT_PORTS, 0.0)
    assert refused.value.code == "unsafe-folder" and list((tmp_path / "hub").iterdir()) == []


def test_the_cluster_of_another_user_is_not_removed(recorded: Recorded, monkeypatch: pytest.MonkeyPatch):
    """In a folder that both may write to it would lose its name, while it runs on."""
    folder = recorded()
    owner = folder.stat().st_uid
    monkeypatch.setattr(state.os, "geteuid", lambda: owner + 1)
    with pytest.raises(FleetError, match=f"belongs to user {owner}, and is left alone") as refused:
        cluster.absent("hub", folder.parent)
    assert refused.value.code == "unwritable-folder" and (folder / "pki").is_dir()
