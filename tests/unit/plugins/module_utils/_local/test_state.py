# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a cluster: whole at every instant, and nothing else is taken for it."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster, ports, state
from ansible_collections.gitops.fleet.plugins.module_utils._local.locks import make_folder
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange
from ansible_collections.gitops.fleet.plugins.module_utils._local.processes import ProcessId
from ansible_collections.gitops.fleet.plugins.module_utils._local.state import Process, State

STATE = State(
    "one",
    {"etcd": 1, "kube-apiserver": 3},
    "fleet",
    "1.36.3",
    processes={"etcd": Process(ProcessId(7, "b/9"), "3.6.14")},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the cluster of ``STATE``."""
    return make_folder(tmp_path / "one", 0o700)


def test_it_comes_back_as_it_was_saved(folder):
    state.save(folder, STATE)
    assert state.load(folder) == STATE
    assert (folder / "state.json").stat().st_mode & 0o077 == 0
    assert [entry.name for entry in folder.iterdir()] == ["state.json"]


def test_no_file_is_no_state(tmp_path):
    assert state.load(tmp_path) is None and state.load(tmp_path / "none") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"schema": 1}', '{"schema": 1, "processes": {"etcd": 3}}']
)
def test_anything_else_is_refused(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(FleetError) as refused:
        state.load(tmp_path)
    assert refused.value.code == "state-unreadable"


def test_a_newer_state_is_refused(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"schema": state.SCHEMA + 1}))
    with pytest.raises(FleetError) as refused:
        state.load(tmp_path)
    assert refused.value.code == "state-too-new"


@pytest.mark.parametrize("root", ["a\0b", "~\0", "~\ud800/x", "a\ud800", "~nosuchuser/local", "circle/a"])
def test_a_root_that_no_folder_can_be_is_refused(tmp_path, monkeypatch, root):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "circle").symlink_to("circle")
    for call in (state.resolved_root, cluster.clusters):
        with pytest.raises(FleetError) as refused:
            call(Path(root))
        assert (refused.value.code, refused.value.where) == ("bad-path", "root")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_folder_that_cannot_have_its_name_is_not_made(tmp_path, name):
    with pytest.raises(FleetError) as refused:
        make_folder(tmp_path / name / "deeper")
    assert refused.value.code == "unwritable-folder" and "no folder can have this name" in refused.value.message
    assert not list(tmp_path.iterdir())


def test_a_process_is_noted_and_forgotten(folder):
    two = Process(ProcessId(8, "b/10"), "1.36.3")
    noted = state.record_process(folder, STATE, "kube-apiserver", two)
    assert state.load(folder) == noted and set(noted.processes) == {"etcd", "kube-apiserver"}
    assert state.record_process(folder, noted, "kube-apiserver", None) == STATE


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "a/b", "../a", "a" * 41, "ä", "a\n"])
def test_a_bad_name_reaches_no_file(tmp_path, name):
    with pytest.raises(FleetError) as refused:
        state.cluster_dir(tmp_path, name)
    assert refused.value.code == "bad-name"


@pytest.fixture
def free_ports(monkeypatch):
    monkeypatch.setattr(ports, "is_free", lambda port: True)


def test_clusters_of_a_root_hold_different_ports(tmp_path, free_ports):
    made = [state.make(tmp_path, name, PortRange(100, 199)) for name in ("a", "b", "c")]
    numbers = [port for one in made for port in one.ports.values()]
    assert len(set(numbers)) == len(numbers) == 18
    assert state.cluster_names(tmp_path) == ("a", "b", "c")
    again = state.record_other_ports(tmp_path, made[0], PortRange(100, 199))
    assert again.ports == made[0].ports


def test_ports_of_a_stopped_cluster_stay_its_own(tmp_path, free_ports):
    one = state.make(tmp_path, "a", PortRange(100, 199))
    state.save(tmp_path / "a", replace(one, wanted="stopped"))
    assert state.make(tmp_path, "b", PortRange(100, 199)).ports["etcd"] == 106


def test_removal_leaves_nothing_and_is_repeatable(tmp_path, free_ports):
    state.make(tmp_path, "a", PortRange(100, 199))
    state.remove(tmp_path, "a")
    state.remove(tmp_path, "a")
    assert state.cluster_names(tmp_path) == () and not list(tmp_path.glob(".a*"))


def test_a_removal_that_was_cut_off_is_finished_by_the_next(tmp_path):
    """Keys and data are in what it left, by whatever process it was begun."""
    for left in (".a.removed.7", f".a.removed.{os.getpid()}", ".b.removed.7"):
        (tmp_path / left / "pki").mkdir(parents=True)
        (tmp_path / left / "pki" / "ca.key").touch()
    assert cluster.absent("a", tmp_path, check=True).changed and len(state.half_removed(tmp_path, "a")) == 2
    assert cluster.absent("a", tmp_path).changed
    assert [state.name_of_removed(each) for each in state.half_removed(tmp_path)] == ["b"]
    assert not cluster.absent("a", tmp_path).changed


def test_what_cannot_be_removed_is_told(tmp_path, free_ports, monkeypatch):
    def closed(path, **_how):
        raise PermissionError(13, "Permission denied", str(path))

    state.make(tmp_path, "a", PortRange(100, 199))
    with monkeypatch.context() as patched:
        patched.setattr(state.shutil, "rmtree", closed)
        for _again in range(2):
            with pytest.raises(FleetError, match="Permission denied") as refused:
                cluster.absent("a", tmp_path)
            assert refused.value.code == "unwritable-folder"
    assert cluster.absent("a", tmp_path).changed and not list(tmp_path.glob(".a*"))


def test_a_link_called_like_a_removal_that_was_cut_off_is_not_followed(tmp_path, monkeypatch):
    """Whoever else may write to the root could have any folder of this user removed."""
    (tmp_path / "root" / "a").mkdir(0o700, parents=True)
    (tmp_path / "home" / "documents").mkdir(parents=True)
    planted = tmp_path / "root" / ".a.removed.7"
    planted.symlink_to(tmp_path / "home")
    assert cluster.absent("a", tmp_path / "root").changed
    assert (tmp_path / "home" / "documents").is_dir() and planted.is_symlink()
    assert not cluster.absent("a", tmp_path / "root").changed
    monkeypatch.setattr(state, "half_removed", lambda _root, _name: (planted,))  # put there just then
    with pytest.raises(FleetError) as refused:
        state.remove(tmp_path / "root", "a")
    assert refused.value.code == "unwritable-folder" and (tmp_path / "home" / "documents").is_dir()


def test_what_another_user_removes_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / ".a.removed.7" / "pki").mkdir(parents=True)
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(state.os, "geteuid", lambda: owner + 1)
    assert state.half_removed(tmp_path) == ()


def test_what_a_link_leads_to_is_not_said_to_be_removed(tmp_path):
    (tmp_path / "elsewhere" / "pki").mkdir(parents=True)
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    for _again in range(2):
        with pytest.raises(FleetError, match="is a link") as refused:
            cluster.absent("a", tmp_path)
        assert (refused.value.code, refused.value.where) == ("unwritable-folder", "a")
    assert (tmp_path / "elsewhere" / "pki").is_dir()


def test_the_root_lies_where_the_user_keeps_state():
    assert str(state.default_root({"XDG_STATE_HOME": "/x"})) == "/x/gitops-fleet/local"
    assert str(state.default_root({"HOME": "/home/ada"})) == "/home/ada/.local/state/gitops-fleet/local"


def test_a_component_that_came_later_gets_a_port_that_no_other_cluster_holds(tmp_path, free_ports):
    """Once, and from the other end of the range: the slots of clusters stay whole."""
    within = PortRange(21000, 21039)
    one, two = (state.make(tmp_path, name, within) for name in ("one", "two"))
    one = state.record_missing_ports(tmp_path, one, ("etcd", "karpenter"), within)
    two = state.record_missing_ports(tmp_path, two, ("karpenter",), within)
    assert one.ports["etcd"] in range(21000, 21039) and state.load(tmp_path / "one") == one
    assert two.ports["karpenter"] < one.ports["karpenter"] <= 21039
    assert state.record_missing_ports(tmp_path, one, ("etcd", "karpenter"), within) is one
    full = PortRange(one.ports["karpenter"], one.ports["karpenter"])
    with pytest.raises(FleetError) as refused:
        state.record_missing_ports(tmp_path, two, ("other",), full)
    assert refused.value.code == "no-free-ports"


GOOD = state.State("a", {user: 21000 + at for at, user in enumerate(ports.USERS)})


@pytest.mark.parametrize(
    "change",
    [
        *({"ports": value} for value in ({}, [], None, {"etcd": 1}, {**GOOD.ports, "kwok": "x"})),
        {"ports": {**GOOD.ports, "etcd": 65536}},
        *({"profile": value} for value in ("huge", None, ["api"])),
        *({"version": value} for value in (None, 1.36, "latest")),
        *({"wanted": value} for value in ("dead", None)),
        *({"name": value} for value in ("../a", None)),
        {"ready": "yes"},
        *({"processes": value} for value in ([], {"etcd": []}, {"etcd": {"pid": "1", "started": "x", "version": "1"}})),
        *({"processes": {"etcd": {"pid": pid, "started": "x", "version": "1"}}} for pid in (0, -1, None)),
        {"processes": {"etcd": {"pid": 7, "started": None, "version": "1"}}},
        *({"processes": {"etcd": {"pid": 7, "started": "x", "version": "1", "log_before": at}}} for at in (-1, "1")),
    ],
)
def test_a_state_that_none_of_ours_can_be_is_unreadable_and_told_without_failing(tmp_path, change):
    folder = tmp_path / "a"
    folder.mkdir(0o700)
    state.save(folder, GOOD)
    document = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**document, **change}))
    with pytest.raises(FleetError) as refused:
        state.load(folder)
    assert refused.value.code == "state-unreadable"
    assert cluster.status(tmp_path, "a").state == "incomplete"


def test_a_state_that_is_nested_without_end_is_unreadable(tmp_path):
    (tmp_path / "state.json").write_text("[" * 100_000)
    with pytest.raises(FleetError) as refused:
        state.load(tmp_path)
    assert refused.value.code == "state-unreadable"


def test_a_root_that_cannot_be_read_has_not_no_clusters(tmp_path, monkeypatch):
    def closed(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(state.os, "scandir", closed)
    with pytest.raises(FleetError) as refused:
        state.cluster_names(tmp_path)
    assert refused.value.code == "state-unreadable"


def test_a_link_that_leads_nowhere_hides_no_cluster(tmp_path, monkeypatch):
    """In a folder that several users share, anybody can put one."""
    (tmp_path / "east").mkdir(0o700)
    for name in ("circle", "no.name", "gone"):
        (tmp_path / name).symlink_to("nothing" if name == "gone" else name)
    assert state.cluster_names(tmp_path) == ("east",)
    (tmp_path / "closed").symlink_to(tmp_path / "east")
    is_dir = Path.is_dir

    def closed(entry):
        raise PermissionError(errno.EACCES, "Permission denied", str(entry))

    class Entry:
        name = "closed"
        is_dir = closed

    monkeypatch.setattr(state.os, "scandir", lambda _root: [Entry()])
    monkeypatch.setattr(Path, "is_dir", lambda path: closed(path) if path.name == "closed" else is_dir(path))
    assert [(each.name, each.state) for each in cluster.clusters(tmp_path)] == [("closed", "incomplete")]


def test_a_cluster_is_found_by_its_port_and_its_authority(tmp_path):
    found_ports = {}
    for name in ("east", "west"):
        found_ports[name] = state.make(tmp_path, name, PortRange(20000, 20999)).ports["kube-apiserver"]
        (tmp_path / name / "pki").mkdir()
        (tmp_path / name / "pki" / "ca.crt").write_text(f"ca.crt of {name}")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "state.json").write_text("{")
    assert state.cluster_behind(tmp_path, found_ports["west"], None) == "west"
    assert state.cluster_behind(tmp_path, found_ports["west"], b"ca.crt of west\n", first="east") == "west"
    assert state.cluster_behind(tmp_path, found_ports["west"], b"ca.crt of east") == ""
    assert state.cluster_behind(tmp_path, 1, None) == ""
    assert state.cluster_behind(tmp_path / "none", 1, None) == ""
