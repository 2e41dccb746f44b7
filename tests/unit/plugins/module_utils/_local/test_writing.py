# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A disk that is full, or may only be read, and keys that have gone: whatever is written, it is told in one way."""

from __future__ import annotations

import errno
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube import files
from ansible_collections.gitops.fleet.plugins.module_utils._local import (
    certificates,
    converge,
    kubeconfigs,
    private,
    state,
    upgrades,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import Binary
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import USERS
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import recipe
from ansible_collections.gitops.fleet.plugins.module_utils._local.released import offers
from ansible_collections.gitops.fleet.plugins.module_utils._local.released.downloads import Server
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

NOW = datetime(2026, 1, 1, tzinfo=UTC)
INTENT = upgrades.Intent("i", "v1.35.4", "v1.36.3")
STATE = state.State("a", {user: 21000 + at for at, user in enumerate(USERS)})
BINARIES = {name: Binary(name, Path("/none"), "1.36.3") for name in ("etcd", "kube-apiserver")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster's, with its keys."""
    folder = tmp_path / "a"
    folder.mkdir()
    certificates.make_pki(folder / "pki", "a")
    return folder


def offered(root: Path) -> offers.ReleaseOffer:
    return offers.ReleaseOffer(recipe("etcd"), (), Server("http://127.0.0.1:1"), root / "etcd-release")


WRITES: dict[str, t.Callable[[Path], object]] = {
    "keys": lambda folder: certificates.make_pki(folder / "other", "a"),
    "a certificate": lambda folder: certificates.sign(folder / "pki", certificates.KARPENTER),
    "a kubeconfig": lambda folder: kubeconfigs.write_kubeconfig(
        folder / "kubeconfig", "a", "https://a", folder / "pki"
    ),
    "all kubeconfigs": lambda folder: kubeconfigs.write_merged(folder / "all", [("a", "https://a", folder / "pki")]),
    "files": lambda folder: converge._write_files(ClusterSpec("a", audit=True), folder, STATE, BINARIES),
    "a state": lambda folder: state.save(folder, STATE),
    "an intent": lambda folder: upgrades.intend(folder, "v1.35.4", "v1.36.3"),
    "an upgrade": lambda folder: upgrades.log_upgrade(folder.parent, "a", "op", INTENT, NOW),
    "a note on a server": lambda folder: offers._let_rest(offered(folder), "why"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_full_disk_is_told_as_a_folder_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(*_given: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for module in (private, offers):
        monkeypatch.setattr(module, "write_file", full)
    monkeypatch.setattr(upgrades, "open_to_append", full)
    with pytest.raises(FleetError) as refused:
        WRITES[name](folder)
    assert refused.value.code == "unwritable-folder" and "No space left" in refused.value.message


def test_a_folder_of_downloads_that_cannot_be_put_in_its_place_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_given: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "rename", read_only)
    with pytest.raises(FleetError) as refused:
        offers.install_release(offered(tmp_path), lambda _text: None)
    assert refused.value.code == "unwritable-folder"


@pytest.mark.parametrize("damage", ["gone", "empty"])
def test_keys_that_have_gone_are_told(folder: Path, damage: str) -> None:
    for name in ("ca.crt", "admin.key"):
        (folder / "pki" / name).unlink()
        if damage == "empty" and name == "ca.crt":
            (folder / "pki" / name).touch()
    for call in (WRITES["a certificate"], WRITES["a kubeconfig"]):
        with pytest.raises(FleetError) as refused:
            call(folder)
        assert refused.value.code == "state-unreadable"


@pytest.mark.parametrize("content", [b"token", b"token,user,uid\n", b"\xff", b'"'])
def test_users_that_cannot_be_read_are_told(folder: Path, content: bytes) -> None:
    files.write_file(folder / "tokens-1.csv", content)
    with pytest.raises(FleetError) as refused:
        converge.recorded_spec(folder, STATE, "1.36")
    assert refused.value.code == "state-unreadable"
