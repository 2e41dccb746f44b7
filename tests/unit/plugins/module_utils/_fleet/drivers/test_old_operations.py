# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which operations are removed, and that none of them is begun again."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import detached, old_operations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    IN_PROGRESS,
    SUCCEEDED,
    UNKNOWN,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import BEGUN, intent_reference
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.old_operations import (
    remove_old,
    remove_unbegun_private,
    tidy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local import processes

COLLECTIONS = Path(__file__).resolve().parents[6] / ".cache" / "collections"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.fixture
def operations(tmp_path: Path) -> Path:
    return tmp_path / "operations"


def begun(folder: Path, script: str = "true", member: str = "") -> Path:
    request = detached.Request(
        member=member or folder.name,
        argv=("/bin/sh", "-c", script),
        environ={"PATH": os.environ["PATH"]},
        cwd=Path("/"),
        files={},
    )
    detached.start(folder, request)
    return folder


def ended(folder: Path, told: bool = True) -> Path:
    end = time.monotonic() + 120
    while not (folder / "result.json").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    if told:
        assert detached.look(folder).state == SUCCEEDED
    return folder


def aged(folder: Path, days: float) -> None:
    """As if all of it had happened so many days ago."""
    at = time.time() - days * 86400
    for each in folder.iterdir():
        os.utime(each, (at, at))


def names(operations: Path) -> list[str]:
    return sorted(each.name for each in operations.iterdir())


def test_what_was_told_long_ago_goes_when_the_next_one_begins(operations: Path):
    for name, days in (("old", 91), ("young", 89)):
        aged(ended(begun(operations / name)), days)
    old_operations._looked.clear()
    begun(operations / "new")
    assert names(operations) == [BEGUN, ".id", "new", "young"]
    ended(operations / "new")


def test_not_every_beginning_looks_at_all_that_are_kept(operations: Path, monkeypatch: pytest.MonkeyPatch):
    """Of a thousand members each would look at what a thousand others have begun in three months."""
    now, looked = 1000.0, list[Path]()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for name in ("remove_old", "remove_unbegun_private"):
        monkeypatch.setattr(old_operations, name, looked.append)
    tidy(operations)
    now += 59.0
    tidy(operations)
    assert looked == [operations] * 2
    tidy(operations / "other")
    now += 1.0
    tidy(operations)
    assert looked == [operations, operations, operations / "other", operations / "other", operations, operations]


def test_what_is_gone_is_not_begun_again(operations: Path):
    intent = intent_reference(operations)
    aged(ended(begun(operations / "old")), 91)
    remove_old(operations)
    assert names(operations) == [BEGUN, ".id"]
    assert detached.look(operations / "old", intent).state == UNKNOWN
    with pytest.raises(FleetError) as refused:
        begun(operations / "old")
    assert refused.value.code == "begun-before"


def test_an_end_that_nobody_was_told_is_kept(operations: Path):
    """To look for others at work on a member, before one is begun, tells nobody."""
    folder = ended(begun(operations / "run-1.east.1", member="east"), told=False)
    ended(begun(operations / "run-2.east.1", member="east"))
    aged(folder, 400)
    remove_old(operations)
    assert detached.look(folder).state == SUCCEEDED


def test_what_goes_on_is_never_removed(operations: Path):
    folder = begun(operations / "long", "sleep 60")
    aged(folder, 400)
    try:
        remove_old(operations)
        assert detached.look(folder).state == IN_PROGRESS
    finally:
        processes.stop(processes.processes_marked(str(folder)), grace=1)


def test_what_is_no_operation_or_whose_name_is_not_kept_stays(operations: Path, tmp_path: Path):
    (operations / "mine").mkdir(parents=True)
    aged(ended(begun(tmp_path / "elsewhere" / "one")), 400)
    (operations / "link").symlink_to(tmp_path / "elsewhere" / "one")
    aged(ended(begun(operations / "nameless")), 400)
    (operations / BEGUN / "nameless").unlink()
    (operations / BEGUN / "link").touch()
    remove_old(operations)
    assert names(operations) == [BEGUN, ".id", "link", "mine", "nameless"]


def test_what_was_left_half_removed_goes_too(operations: Path):
    (operations / ".going-1").mkdir(parents=True)
    (operations / ".going-1" / "output.log").touch()
    remove_old(operations)
    assert names(operations) == []


def test_one_that_cannot_be_looked_at_or_removed_keeps_no_other(operations: Path, monkeypatch: pytest.MonkeyPatch):
    """As a folder of another user, or one that another runner has just removed."""
    folders = [ended(begun(operations / name)) for name in ("closed", "gone", "old")]
    for each in folders:
        aged(each, 91)
    is_file, rename = Path.is_file, Path.rename

    def closed(path: Path) -> bool:
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return is_file(path)

    def gone(path: Path, target: Path) -> Path:
        if path.name == "gone":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return rename(path, target)

    monkeypatch.setattr(Path, "is_file", closed)
    monkeypatch.setattr(Path, "rename", gone)
    (operations / ".going-1").mkdir()
    remove_old(operations)
    assert names(operations) == [BEGUN, ".id", "closed", "gone"]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import detached
real = detached.write_private
def killed(path, content):
    real(path, content)
    if path.name == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
detached.write_private = killed
files = {"extra": "s3cret", "kept": "1"}
request = detached.Request(
    member="east", argv=("true",), environ={}, cwd=Path("/"), files=files, private=("extra",)
)
detached.start(Path(sys.argv[2]), request)
"""


@pytest.mark.parametrize("after", ["extra", "kept", "killed"])
def test_what_is_private_does_not_stay_for_good_where_nobody_came_to_begin_it(operations: Path, after: str):
    """Whoever was to begin it was killed once its files, or its name, were written, and the run never goes on."""
    folder = operations / "killed"
    command = [sys.executable, "-c", KILLED, str(COLLECTIONS), str(folder), after]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert (folder / "extra").exists()
    ended(begun(operations / "soon"))
    assert (folder / "extra").exists(), "it may be begun in this very moment"
    aged(folder, 2)
    old_operations._looked.clear()
    ended(begun(operations / "late"))
    assert not (folder / "extra").exists() and (folder / "kept").exists() == (after != "extra")
    ended(begun(folder))
    assert detached.look(folder).state == SUCCEEDED


def test_what_is_private_to_one_that_goes_on_stays(operations: Path):
    folder = begun(operations / "long", "sleep 60")
    request = json.loads((folder / "request.json").read_text())
    (folder / "request.json").write_text(json.dumps({**request, "private": ["extra", "../extra", 1]}))
    (folder / "extra").touch()
    aged(folder, 400)
    try:
        remove_unbegun_private(operations)
        assert (folder / "extra").exists()
    finally:
        processes.stop(processes.processes_marked(str(folder)), grace=1)


def test_without_a_folder_there_is_nothing_to_remove(operations: Path):
    remove_old(operations)
    remove_unbegun_private(operations)
    assert not operations.exists()
