# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which snapshot a roll back goes to, and from which checkouts the Secrets of it come."""

from __future__ import annotations

import os
import subprocess
import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.cleaning import cleaned
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.history import KeptSnapshot, RolledBack
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import object_hash, sealed
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.snapshots import resource_hash
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.roll_back import (
    RollBack,
    _chosen,
    content_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.digest_key import digest_key
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
LOGIN = """apiVersion: v1
kind: Secret
metadata: {name: login, namespace: b}
data: {word: YQ==}
"""
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "login", "namespace": "b"},
    "data": {"word": "YQ=="},
}


def kept(index: int, back: int | None = None, **more: t.Any) -> KeptSnapshot:
    manifests = more.get("manifests", (OBJECT,))
    return KeptSnapshot(
        name=f"web-{index}",
        index=index,
        hash=resource_hash(map(object_hash, manifests)),
        manifests=manifests,
        rolled_back=None if back is None else RolledBack(index=back),
    )


def altered(snapshot: KeptSnapshot) -> KeptSnapshot:
    return replace(snapshot, hash="other")


@pytest.mark.parametrize(
    ("snapshots", "to", "chosen"),
    [
        ((kept(0), kept(1), kept(2)), None, 1),
        ((kept(0), kept(1), kept(2)), 0, 0),
        ((kept(0), kept(1), kept(2, 0)), None, 2),
        ((kept(0), kept(1), kept(2, 0)), 0, 2),
        ((kept(0), kept(1), kept(2, 0)), 1, 1),
        ((kept(0), kept(1), altered(kept(2, 0))), 0, 0),
        ((kept(0), kept(1), altered(kept(2, 0))), None, 0),
    ],
)
def test_a_roll_back_that_was_made_stays_what_it_is(
    snapshots: tuple[KeptSnapshot, ...], to: int | None, chosen: int
) -> None:
    """Also where somebody has altered what is recorded of it: the content that it goes to is kept beside it."""
    assert _chosen("web", snapshots, to).index == chosen


@pytest.mark.parametrize(
    ("snapshots", "to", "code"),
    [
        ((), None, "no-such-snapshot"),
        ((kept(0),), None, "no-such-snapshot"),
        ((kept(0), kept(1)), 2, "no-such-snapshot"),
        ((altered(kept(0)), kept(1)), 0, "snapshot-not-whole"),
        ((kept(0), kept(1), altered(kept(2, 0))), 2, "snapshot-not-whole"),
        ((kept(1), altered(kept(2, 0))), None, "snapshot-not-whole"),
        ((altered(kept(0)), kept(1), altered(kept(2, 0))), 0, "snapshot-not-whole"),
    ],
)
def test_what_is_not_kept_whole_is_refused(snapshots: tuple[KeptSnapshot, ...], to: int | None, code: str) -> None:
    with pytest.raises(FleetError) as refused:
        _chosen("web", snapshots, to)
    assert refused.value.code == code


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-C", str(folder), *arguments]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.strip()


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: datetime(2026, 1, 15, tzinfo=UTC))
    with Session(records=records, holder="h") as opened:
        yield opened


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "login.yml").write_text(LOGIN)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_secret_is_found_in_any_of_the_folders_that_an_apply_is_given(
    session: Session, checkout: Path, tmp_path: Path
) -> None:
    """One that is no checkout, or one of something else, hides nothing that stands in another."""
    source = f"git:{git(checkout, 'rev-parse', 'HEAD')}"
    snapshot = kept(0, manifests=(sealed(cleaned(SECRET), digest_key(session.records), source),))
    other = tmp_path / "other"
    other.mkdir()
    for folders in ((checkout,), (other, checkout), (checkout, other)):
        asked = RollBack(checkouts=tuple(map(str, folders)))
        (found,) = content_of(session, "web", snapshot, asked)
        assert found.manifest["data"] == SECRET["data"]
    (checkout / "login.yml").unlink()
    git(checkout, "commit", "-q", "-am", "second")
    gone = f"git:{git(checkout, 'rev-parse', 'HEAD')}"
    snapshot = kept(0, manifests=(sealed(cleaned(SECRET), digest_key(session.records), gone),))
    for folders, code in (((checkout,), "secret-gone"), ((checkout, other), "revision-gone")):
        with pytest.raises(FleetError) as refused:
            content_of(session, "web", snapshot, RollBack(checkouts=tuple(map(str, folders))))
        assert (refused.value.code, "Secret b/login" in str(refused.value)) == (code, True)
