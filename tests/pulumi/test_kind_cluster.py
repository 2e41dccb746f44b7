# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters of kind: what it is told, with a script in its place that keeps names in a file. Kind itself is not run."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local import locks

from fleet_pulumi.fleet import make_fleet
from fleet_pulumi.kind_cluster import KindClusterProvider
from fleet_pulumi.kind_commands import KindSpec
from fleet_pulumi.settings import read_settings

IMAGE = "kindest/node:v1.36.1"
SCRIPT = """#!/bin/sh
echo "$@" >> "$0.log"
touch "$0.names"
case "$1 $2" in
  "get clusters") cat "$0.names" ;;
  "create cluster")
    cat > "$0.configuration"
    test -e "$0.faster" && { echo "node(s) already exist for a cluster with the name $4" >&2; exit 1; }
    test -e "$0.slow" && cat "$0.slow" > /dev/null
    echo "$4" >> "$0.names"
    test -e "$0.broken" && { echo "no space left" >&2; exit 1; }
    echo kubeconfig > "$8" ;;
  "export kubeconfig") echo again > "$6" ;;
  "delete cluster") grep -v "^$4\\$" "$0.names" > "$0.kept"; mv "$0.kept" "$0.names" ;;
esac
"""
KIND = {
    "backend": "kind",
    "hub": {"name": "hub", "image": IMAGE, "port": 30001},
    "members": [{"name": "m1", "image": IMAGE, "port": 30002, "workers": 2, "region": "eu"}],
}


@pytest.fixture
def kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "kind"
    path.parent.mkdir()
    path.write_text(SCRIPT)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return path


@pytest.fixture
def wanted(tmp_path: Path):
    """Numbers come as the engine sends them."""
    kubeconfig = str(tmp_path / "made" / "m1.kubeconfig")
    return {"name": "test-m1", "image": IMAGE, "port": 30002.0, "workers": 2.0, "kubeconfig": kubeconfig}


def names(kind: Path) -> list[str]:
    return kind.with_name("kind.names").read_text().split()


def test_its_configuration_has_a_fixed_port_on_loopback_and_an_image_for_each_node():
    spec = KindSpec(name="test-m1", image=IMAGE, port=30002, workers=2, kubeconfig="/made/m1")
    document = json.loads(spec.configuration())
    assert document["networking"] == {"apiServerAddress": "127.0.0.1", "apiServerPort": 30002}
    assert [each["role"] for each in document["nodes"]] == ["control-plane", "worker", "worker"]
    assert {each["image"] for each in document["nodes"]} == {IMAGE}
    assert all(
        "--kubeconfig" in each for each in (spec.create_command(), spec.delete_command(), spec.export_command())
    ), "that of the user is left alone"


def test_from_its_making_to_its_end(kind: Path, wanted):
    provider = KindClusterProvider()
    assert provider.check({}, wanted).failures == []
    made = provider.create(wanted)
    outs = made.outs
    assert outs is not None and outs["context"] == "kind-test-m1" and names(kind) == ["test-m1"]
    assert Path(wanted["kubeconfig"]).stat().st_mode & 0o777 == 0o600
    assert provider.diff(made.id, outs, wanted).changes is False
    found = provider.diff(made.id, outs, {**wanted, "image": "kindest/node:v1.37.0"})
    assert (found.replaces, found.delete_before_replace) == (["image"], True)

    kind.with_name("kind.names").write_text("")
    assert provider.read(made.id, outs).id == ""
    found = provider.diff(made.id, outs, wanted)
    assert (found.changes, found.replaces) == (True, [])
    provider.update(made.id, outs, wanted)
    assert names(kind) == ["test-m1"]
    provider.delete(made.id, outs)
    provider.delete(made.id, outs)
    assert names(kind) == [] and list(Path(wanted["kubeconfig"]).parent.iterdir()) == []


def test_a_kubeconfig_that_was_lost_is_written_again_and_the_cluster_stays(kind: Path, wanted):
    provider = KindClusterProvider()
    made = provider.create(wanted)
    Path(wanted["kubeconfig"]).unlink()
    found = provider.diff(made.id, made.outs, wanted)
    assert (found.changes, found.replaces) == (True, [])
    kind.with_name("kind.log").unlink()
    assert provider.update(made.id, made.outs, wanted).outs == made.outs
    assert Path(wanted["kubeconfig"]).read_text() == "again\n"
    assert Path(wanted["kubeconfig"]).stat().st_mode & 0o777 == 0o600
    assert "cluster " not in kind.with_name("kind.log").read_text()
    assert provider.diff(made.id, made.outs, wanted).changes is False


def test_in_another_folder_the_cluster_stays_and_its_kubeconfig_is_moved(kind: Path, wanted, tmp_path):
    """Two stacks of one name are told to take a folder of their own."""
    provider = KindClusterProvider()
    made = provider.create(wanted)
    moved = {**wanted, "kubeconfig": str(tmp_path / "other" / "m1.kubeconfig")}
    found = provider.diff(made.id, made.outs, moved)
    assert (found.changes, found.replaces) == (True, [])
    kind.with_name("kind.log").unlink()
    outs = provider.update(made.id, made.outs, moved).outs
    assert outs == {**(made.outs or {}), "kubeconfig": moved["kubeconfig"]}
    assert Path(moved["kubeconfig"]).exists() and not Path(wanted["kubeconfig"]).exists()
    assert "cluster " not in kind.with_name("kind.log").read_text()
    assert provider.diff(made.id, outs, moved).changes is False


def test_what_a_killed_run_began_is_made_anew_and_a_cluster_of_others_is_left(kind: Path, wanted):
    provider = KindClusterProvider()
    kind.with_name("kind.names").write_text("test-m1\n")
    with pytest.raises(RuntimeError, match="not of this stack"):
        provider.create(wanted)
    assert names(kind) == ["test-m1"]
    Path(wanted["kubeconfig"]).with_name(".m1.kubeconfig.making").touch()
    provider.create(wanted)
    assert names(kind) == ["test-m1"] and Path(wanted["kubeconfig"]).is_file()


def test_one_that_fails_leaves_nothing_and_says_why(kind: Path, wanted):
    kind.with_name("kind.broken").touch()
    with pytest.raises(RuntimeError, match="no space left"):
        KindClusterProvider().create(wanted)
    assert names(kind) == [] and list(Path(wanted["kubeconfig"]).parent.iterdir()) == []


def test_one_that_somebody_else_made_meanwhile_is_not_deleted(kind: Path, wanted):
    kind.with_name("kind.faster").touch()
    with pytest.raises(RuntimeError, match="already exist"):
        KindClusterProvider().create(wanted)
    assert "delete cluster" not in kind.with_name("kind.log").read_text()
    assert list(Path(wanted["kubeconfig"]).parent.iterdir()) == []


def test_a_cluster_that_another_run_is_making_is_waited_for_and_left_to_it(kind: Path, wanted, monkeypatch):
    """The mark that it is not whole yet is the other's, whose run was not killed."""
    waits, pause = threading.Event(), time.sleep
    monkeypatch.setattr(locks.time, "sleep", lambda seconds: (waits.set(), pause(seconds)))
    slow = kind.with_name("kind.slow")
    os.mkfifo(slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(KindClusterProvider().create, wanted)
        with slow.open("w"):  # it is being made now
            slow.unlink()
            second = pool.submit(KindClusterProvider().create, wanted)
            assert waits.wait(60)
        assert first.result().outs is not None
        with pytest.raises(RuntimeError, match="not of this stack"):
            second.result()
    assert names(kind) == ["test-m1"] and "delete cluster" not in kind.with_name("kind.log").read_text()


def test_without_kind_the_preview_says_so(wanted, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    (failure,) = KindClusterProvider().check({}, wanted).failures
    assert "kind is not on the PATH" in failure.reason


def test_the_program_makes_them_under_names_of_the_stack_and_all_goes_with_them(run):
    ran = run(lambda: make_fleet(read_settings("test", Path("/folder"), KIND)))
    made = ran.of(":KindCluster")
    assert {name: each.inputs["name"] for name, each in made.items()} == {"hub": "test-hub", "m1": "test-m1"}
    assert made["m1"].inputs["kubeconfig"] == "/folder/kind/m1.kubeconfig"
    assert all(each.deleted_with in ("hub", "m1") for each in ran.found if each.type.startswith("kubernetes:"))
    assert "driver" not in ran.named("hub/FleetMember/m1").inputs["spec"]
    assert {each.inputs["upsertExistingObjects"] for each in ran.of("providers:kubernetes").values()} == {"true"}
