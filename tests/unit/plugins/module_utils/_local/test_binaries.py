# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Binaries: built once, found again, refused with a reason. A stand-in for go takes the place of the compiler."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import binaries, cluster, kept_builds
from ansible_collections.gitops.fleet.plugins.module_utils._local.progress_note import note_follower, noted
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import recipe
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

ETCD, KWOK = recipe("etcd"), recipe("kwok")
GO = """#!/bin/sh
echo "$@" >> "$GO_CALLS"
case "$1" in
  env) echo '{"GOVERSION": "go1.26.8", "GOOS": "linux"}' ;;
  list) echo '{"Dir": "'"$GO_MODULE"'"}' ;;
  build) if [ -n "$GO_FAILS" ]; then echo "$GO_FAILS" >&2; exit 1; fi
    while [ "$1" != -o ]; do shift; done; echo binary > "$2" ;;
esac
"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Calls of go, one a line."""
    calls = tmp_path / "calls"
    program(tmp_path / "bin" / "go", GO)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("GO_CALLS", str(calls))
    return lambda: calls.read_text().splitlines() if calls.exists() else []


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_family_is_built_once_and_said_so(go, tmp_path):
    said: list[str] = []
    folder = binaries.provide(ETCD, tmp_path / "cache", said.append)
    assert said == ["building etcd 3.6.14", "built etcd 3.6.14 in 0 s"]
    assert binaries.provide(ETCD, tmp_path / "cache", said.append) == folder
    assert len(said) == 2
    assert sum(call.startswith("build") for call in go()) == 1
    assert [entry.name for entry in (tmp_path / "cache").iterdir() if entry.is_dir()] == [folder.name]


def test_the_build_is_reproducible_and_uses_the_committed_sums(go, tmp_path, monkeypatch):
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    environ = binaries._environment()
    assert environ["GOFLAGS"] == "-mod=readonly" and environ["CGO_ENABLED"] == "0"
    assert environ["GOTOOLCHAIN"] == "local" and "GOOS" not in environ
    binaries.provide(ETCD, tmp_path / "cache")
    built = next(call for call in go() if call.startswith("build"))
    assert "-trimpath -buildvcs=false" in built


def test_the_manifest_is_a_bill_of_materials(go, tmp_path):
    folder = binaries.provide(ETCD, tmp_path / "cache")
    (row,) = json.loads((folder / "manifest.json").read_text())["binaries"]
    assert row["sha256"] == hashlib.sha256((folder / "etcd").read_bytes()).hexdigest()
    assert (row["name"], row["module"], row["version"], row["go"]) == (
        "etcd",
        "go.etcd.io/etcd/server/v3",
        "3.6.14",
        "go1.26.8",
    )


def test_a_damaged_build_is_built_again(go, tmp_path):
    folder = binaries.provide(ETCD, tmp_path / "cache")
    (folder / "etcd").write_bytes(b"")
    assert (binaries.provide(ETCD, tmp_path / "cache") / "etcd").read_text() == "binary\n"


def tampered(path: Path) -> None:
    """Other bytes in the same place, of the same size, with the same time of change."""
    before = path.stat()
    path.write_text("BINARY\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def linked(path: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to(path.with_name("aside"))


ATTACKS: dict[str, t.Callable[[Path], None]] = {
    "its SHA-256 is another": lambda folder: tampered(folder / "etcd"),
    "its SHA-256": lambda folder: os.truncate(folder / "etcd", 3),
    "missing": lambda folder: (folder / "etcd").unlink(),
    "is no file": lambda folder: linked(folder / "etcd"),
    "others may write to it (mode 0775)": lambda folder: folder.chmod(0o775),
    "its manifest": lambda folder: (folder / "manifest.json").unlink(),
    "manifest or a file is missing": lambda folder: (folder / "manifest.json").write_text('{"binaries": 5'),
    "cannot be read": lambda folder: (folder / "manifest.json").write_text("[]"),
}


@pytest.mark.parametrize("why", ATTACKS)
def test_what_is_not_what_was_built_is_not_run(go, tmp_path, monkeypatch, why):
    """It is built again, and refused where it cannot be."""
    said: list[str] = []
    folder = binaries.get_binaries(["etcd"], "1.36", cache=tmp_path / "cache")["etcd"].path.parent
    ATTACKS[why](folder)
    with monkeypatch.context() as without_go:
        without_go.setenv("PATH", str(tmp_path))
        with pytest.raises(FleetError) as refused:
            binaries.get_binaries(["etcd"], "1.36", cache=tmp_path / "cache")
    assert refused.value.code == "damaged-binary" and why in refused.value.message
    assert "install Go" in refused.value.hint and str(folder) in refused.value.message
    found = binaries.get_binaries(["etcd"], "1.36", cache=tmp_path / "cache", say=said.append)
    assert found["etcd"].path.read_text() == "binary\n"
    assert said[0].startswith(f"{folder} is built again: ") and why in said[0]
    assert (
        binaries.get_binaries(["etcd"], "1.36", cache=tmp_path / "cache", say=said.append) == found and len(said) == 3
    )


def test_a_build_under_a_wide_umask_is_used_and_nobody_else_may_change_it(go, tmp_path):
    before = os.umask(0)
    try:
        folder = binaries.provide(ETCD, tmp_path / "cache")
        (folder / "etcd").chmod(0o777)
    finally:
        os.umask(before)
    said: list[str] = []
    binaries.provide(ETCD, tmp_path / "cache", said.append)
    assert said == [] and (folder / "etcd").stat().st_mode & 0o777 == 0o755


def test_a_manifest_that_others_may_write_to_is_not_believed(go, tmp_path):
    """They could write the sum of another program into it."""
    before = os.umask(0)
    try:
        folder = binaries.provide(ETCD, tmp_path / "cache")
    finally:
        os.umask(before)
    assert (folder / "manifest.json").stat().st_mode & 0o777 == 0o644
    (folder / "manifest.json").chmod(0o664)
    said: list[str] = []
    folder = binaries.provide(ETCD, tmp_path / "cache", said.append)
    assert said and (folder / "manifest.json").stat().st_mode & 0o022 == 0


def test_check_mode_changes_no_mode_and_finds_what_would_be_used(go, tmp_path, monkeypatch):
    """Also where nothing could be built anew, and of a file that was changed nothing is believed."""
    cache, spec = tmp_path / "cache", ClusterSpec("hub")
    wide = [binaries.get_binaries([name], "1.36", cache=cache)[name].path for name in ("etcd", "kube-apiserver")]
    for each in wide:
        each.chmod(0o777)
    told = cluster.present(spec, tmp_path / "root", cache=cache, check=True)
    assert told.changed and not (tmp_path / "root").exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binaries.get_binaries(["etcd"], "1.36", cache=cache, check=True)["etcd"].path == wide[0]
    tampered(wide[0])
    with pytest.raises(FleetError, match="its SHA-256 is another"):
        binaries.get_binaries(["etcd"], "1.36", cache=cache, check=True)
    assert [each.stat().st_mode & 0o777 for each in wide] == [0o777, 0o777]


def test_a_cache_that_others_may_write_to_is_refused(go, tmp_path):
    binaries.provide(ETCD, tmp_path / "cache")
    (tmp_path / "cache").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    for cache in ("cache", "link"):
        with pytest.raises(FleetError) as refused:
            binaries.provide(ETCD, tmp_path / cache)
        assert refused.value.code == "unsafe-folder" and "mode 0777" in refused.value.message
        assert "chmod go-w" in refused.value.hint


def test_a_manifest_of_another_recipe_or_compiler_is_not_believed(go, tmp_path):
    folder = binaries.provide(ETCD, tmp_path / "cache")
    for key in ("recipe", "go"):
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, key: {"GOVERSION": "go1.0"}}))
        said: list[str] = []
        binaries.provide(ETCD, tmp_path / "cache", said.append)
        assert said[0] == f"{folder} is built again: it was made by another recipe"


def test_a_binary_is_hashed_once_and_only_if_it_is_wanted(go, tmp_path, monkeypatch):
    binaries.get_binaries(["kube-apiserver", "kubectl"], "1.36", cache=tmp_path / "cache")
    hashed = []
    monkeypatch.setattr(kept_builds, "sha256", lambda path: hashed.append(path.name) or digest(path))
    kept_builds._known_sha256.cache_clear()
    for _again in range(3):
        binaries.get_binaries(["kube-apiserver"], "1.36", cache=tmp_path / "cache")
    assert hashed == ["kube-apiserver"]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_builders_at_once_build_once(go, tmp_path):
    """The first one builds for as long as the second one has not come to wait for it."""
    building, waiting = threading.Event(), threading.Event()
    said: list[str] = []

    def first(text: str) -> None:
        if text.startswith("building"):
            building.set()
            waiting.wait(300)

    def second(text: str) -> None:
        said.append(text)
        waiting.set()

    builder = threading.Thread(target=binaries.provide, args=(ETCD, tmp_path / "cache", first))
    builder.start()
    assert building.wait(300)
    binaries.provide(ETCD, tmp_path / "cache", second)
    builder.join()
    assert sum(call.startswith("build") for call in go()) == 1
    assert said == ["waiting for another process that builds etcd 3.6.14"]


def test_who_waits_hears_how_far_the_builder_is(tmp_path):
    """A line of before, and the end, are no news."""
    note, heard = tmp_path / ".etcd.said", []
    told = noted(note, lambda _text: None)
    told("building etcd: 1 of 9 packages are compiled")
    look = note_follower(note, heard.append)
    look()
    for text in ("building etcd: 2 of 9 packages are compiled", "building \x1b[2Jetcd", "built etcd in 9 s"):
        told(text)
        look()
        look()
    assert heard == ["building etcd: 2 of 9 packages are compiled", "building \\x1b[2Jetcd"]
    noted(tmp_path / "gone" / ".said", heard.append)("said all the same")
    assert heard[-1] == "said all the same"


def test_stage_files_of_kwok_come_from_its_module(go, tmp_path, monkeypatch):
    monkeypatch.setenv("GO_MODULE", str(tmp_path / "module"))
    for folder, name in (("node/fast", "node.yaml"), ("pod/fast", "pod.yaml"), ("pod/fast", "kustomization.yaml")):
        program(tmp_path / "module" / "kustomize" / "stage" / folder / name, name)
    found = binaries.get_binaries(["kwok"], "1.36", cache=tmp_path / "cache")["kwok"]
    assert [stage.name for stage in found.stages] == ["node.yaml", "pod.yaml"]
    said: list[str] = []
    for number, attack in enumerate((lambda path: path.write_text("x"), Path.unlink, linked)):
        attack(found.stages[0])
        again = binaries.get_binaries(["kwok"], "1.36", cache=tmp_path / "cache", say=said.append)["kwok"]
        assert again.stages == found.stages and again.stages[0].read_text() == "node.yaml"
        assert len(said) == 3 * (number + 1)


def test_definitions_and_instance_types_of_karpenter_come_from_its_module(go, tmp_path, monkeypatch):
    monkeypatch.setenv("GO_MODULE", str(tmp_path / "module"))
    shipped = ("pkg/apis/crds/pools.yaml", "kwok/apis/crds/classes.yaml", "kwok/cloudprovider/instance_types.json")
    for name in (*shipped, "kwok/cloudprovider/cloudprovider.go"):
        program(tmp_path / "module" / name, name)
    found = binaries.get_binaries(["karpenter"], "1.36", cache=tmp_path / "cache")["karpenter"]
    assert [each.name for each in found.crds] == ["pools.yaml", "classes.yaml"]
    assert [each.name for each in (found.path.parent / "instance-types").iterdir()] == ["instance_types.json"]
    assert found.version == "1.14.1" and found.stages == ()


def test_a_failed_build_shows_the_end_of_what_the_compiler_said(go, tmp_path, monkeypatch):
    monkeypatch.setenv("GO_FAILS", "etcd.go:1: no such thing")
    with pytest.raises(FleetError) as failed:
        binaries.provide(ETCD, tmp_path / "cache")
    assert failed.value.code == "build-failed" and "etcd.go:1: no such thing" in failed.value.message
    monkeypatch.setenv("GO_FAILS", "go: go.mod requires go >= 1.26.0 (running go 1.24.1)")
    with pytest.raises(FleetError) as failed:
        binaries.provide(ETCD, tmp_path / "cache")
    assert failed.value.code == "go-too-old"


def test_without_go_there_is_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FleetError) as failed:
        binaries.provide(ETCD, tmp_path / "cache")
    assert failed.value.code == "go-missing" and "binaries_dir" in failed.value.hint


def test_a_finished_build_serves_where_go_has_gone(go, tmp_path, monkeypatch):
    folder = binaries.provide(ETCD, tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binaries.provide(ETCD, tmp_path / "cache") == folder


def test_check_mode_builds_nothing(go, tmp_path):
    found = binaries.get_binaries(["etcd", "kube-apiserver"], "1.36", cache=tmp_path / "cache", build=False)
    assert found["kube-apiserver"].version == "1.36.3" and not (tmp_path / "cache").exists()


@pytest.mark.parametrize("build", [True, False])
def test_a_cache_that_cannot_be_made_is_told(go, tmp_path, build):
    (tmp_path / "file").touch()
    with pytest.raises(FleetError) as refused:
        binaries.get_binaries(["etcd"], "1.36", cache=tmp_path / "file" / "x", build=build)
    assert refused.value.code == "unwritable-folder" and f"{tmp_path}/file/x cannot be" in refused.value.message


def test_ready_binaries_tell_their_own_versions(tmp_path):
    for minor in ("1.35.9", "1.36.2", "1.36.4"):
        program(tmp_path / minor / "kube-apiserver", f"#!/bin/sh\necho Kubernetes v{minor}\n")
    program(tmp_path / "etcd", "#!/bin/sh\necho 'etcd Version: 3.5.30'; echo 'Go Version: go1.25.0'\n")
    found = binaries.get_binaries(["etcd", "kube-apiserver"], "1.36", binaries_dir=tmp_path)
    assert (found["etcd"].version, found["kube-apiserver"].version) == ("3.5.30", "1.36.4")
    assert found["kube-apiserver"].path == tmp_path / "1.36.4" / "kube-apiserver"


def test_a_binary_that_took_the_place_of_another_with_its_time_is_asked(tmp_path):
    """All files of some archives and package managers have one time, and a link may lead to another one by now."""
    for version in ("0.7.0", "0.7.1"):
        program(tmp_path / version, f"#!/bin/sh\necho version v{version}\n")
        os.utime(tmp_path / version, (1, 1))
    (tmp_path / "now").mkdir()
    for version in ("0.7.0", "0.7.1"):
        (tmp_path / "now" / "kwok").unlink(missing_ok=True)
        (tmp_path / "now" / "kwok").symlink_to(tmp_path / version)
        assert binaries.get_binaries(["kwok"], "1.36", binaries_dir=tmp_path / "now")["kwok"].version == version


@pytest.mark.parametrize("text", ["\x7fELF of another architecture", "#!/bin/sh\necho hello\n"])
def test_what_tells_no_version_is_passed_over_where_another_fits(tmp_path, text):
    """A folder may hold those of several machines."""
    program(tmp_path / "arm64" / "etcd", text)
    program(tmp_path / "amd64" / "etcd", "#!/bin/sh\necho etcd Version: 3.5.30\n")
    found = binaries.get_binaries(["etcd"], "1.36", binaries_dir=tmp_path)
    assert found["etcd"].path == tmp_path / "amd64" / "etcd"


def test_a_folder_without_the_wanted_binary_is_refused(tmp_path):
    program(tmp_path / "kube-apiserver", "#!/bin/sh\necho Kubernetes v1.34.1\n")
    with pytest.raises(FleetError) as refused:
        binaries.get_binaries(["kube-apiserver"], "1.36", binaries_dir=tmp_path)
    assert refused.value.code == "missing-binary" and "1.34.1" in refused.value.message


def test_a_version_at_the_end_of_a_sentence_is_read(tmp_path):
    program(tmp_path / "a" / "kwok", "#!/bin/sh\necho version v0.8.0.\n")
    program(tmp_path / "b" / "kwok", "#!/bin/sh\nprintf '\\377 version v0.7.0, of today\\n'\n")
    assert binaries.get_binaries(["kwok"], "1.36", binaries_dir=tmp_path)["kwok"].version == "0.8.0"


@pytest.mark.parametrize("script", ["echo nonsense", "exit 1", "echo '[]'"])
def test_a_go_that_does_not_work_is_told(tmp_path, monkeypatch, script):
    program(tmp_path / "bin" / "go", f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(FleetError) as refused:
        binaries.provide(ETCD, tmp_path / "cache")
    assert refused.value.code == "go-missing"


def test_a_build_that_cannot_be_put_in_its_place_is_told(go, tmp_path, monkeypatch):
    def full(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(binaries, "write_manifest", full)
    with pytest.raises(FleetError) as refused:
        binaries.provide(ETCD, tmp_path / "cache")
    assert refused.value.code == "unwritable-folder" and "No space left" in refused.value.message


@pytest.mark.parametrize("told", ["hello", "1.2.3-+x"])
def test_an_unstamped_binary_is_refused(tmp_path, told):
    program(tmp_path / "etcd", f"#!/bin/sh\necho {told}\n")
    with pytest.raises(FleetError) as refused:
        binaries.get_binaries(["etcd"], "1.36", binaries_dir=tmp_path)
    assert refused.value.code == "missing-binary"


def test_the_cache_lies_where_the_user_keeps_caches():
    assert binaries.cache_root({"XDG_CACHE_HOME": "/x"}) == Path("/x/gitops-fleet/binaries")
    assert binaries.cache_root({"HOME": "/home/ada"}) == Path("/home/ada/.cache/gitops-fleet/binaries")
    assert os.path.isabs(binaries.cache_root({}))
