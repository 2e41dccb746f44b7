# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is told before binaries come; the ways themselves are told in ``released``."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local.kept_builds import write_manifest
from ansible_collections.gitops.fleet.plugins.module_utils._local.provisioning import provisioning_line
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import recipe
from ansible_collections.gitops.fleet.plugins.module_utils._local.released import offers


def test_a_cache_that_cannot_be_written_is_no_reason_for_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_given: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setenv("FLEET_RELEASES", "https://127.0.0.1:1")
    monkeypatch.setattr(offers.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(offers, "write_file", read_only)
    with pytest.raises(FleetError) as refused:
        provisioning_line([recipe("etcd")], tmp_path)
    assert refused.value.code == "unwritable-folder" and f"{tmp_path} cannot be written" in refused.value.message


@pytest.fixture
def no_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def kept(cache: Path, go: str) -> None:
    """A build of etcd by another Go."""
    etcd = recipe("etcd")
    folder = cache / f"etcd-{etcd.version}-0123456789ab"
    folder.mkdir(parents=True)
    for name in etcd.names:
        (folder / name).write_text("binary")
    write_manifest(etcd, folder, {"GOVERSION": go})


@pytest.mark.parametrize("releases", ["off", "https://127.0.0.1:1"])
def test_without_go_a_build_by_another_one_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_go: None, releases: str
) -> None:
    monkeypatch.setenv("FLEET_RELEASES", releases)
    kept(tmp_path / "cache", "go1.20")
    assert provisioning_line([recipe("etcd")], tmp_path / "cache") == "The binaries are in the cache."
    others = provisioning_line([recipe("etcd"), recipe("karpenter")], tmp_path / "cache")
    assert "build of karpenter" in others and "install Go first" in others


def test_without_go_and_a_whole_build_go_is_asked_for(tmp_path: Path, no_go: None) -> None:
    kept(tmp_path / "cache", "go1.20")
    (tmp_path / "cache" / f"etcd-{recipe('etcd').version}-0123456789ab" / "etcd").write_text("another")
    assert "install Go first" in provisioning_line([recipe("etcd")], tmp_path / "cache")


@pytest.mark.parametrize("setting", ["off", " off ", "OFF"])
def test_release_files_that_are_switched_off_are_the_reason_of_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_go: None, setting: str
) -> None:
    monkeypatch.setenv("FLEET_RELEASES", setting)
    assert "(FLEET_RELEASES is off)" in provisioning_line([recipe("etcd")], tmp_path)


def test_no_word_of_a_cache_that_others_may_write_to_is_told(tmp_path: Path, no_go: None) -> None:
    """What is noted there of a server would be printed as it is."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / ".no-releases").write_text("https://\n\x1b]0;title\x07")
    cache.chmod(0o777)
    with pytest.raises(FleetError) as refused:
        provisioning_line([recipe("etcd")], cache)
    assert refused.value.code == "unsafe-folder"
