# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What can happen to a records file: foreign, newer, older, read-only, full disk, locked, moved, damaged."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._store import sqlite_file
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

MC = "MemberCluster"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def opened(path: Path) -> SqliteRecords:
    return SqliteRecords(path, lambda: NOW)


def member(name: str = "one", note: str = "") -> Record:
    metadata = {"name": name, "annotations": {"note": note}}
    return {"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": MC, "metadata": metadata, "spec": {}}


def code_of(function: t.Callable[..., object], *arguments: object) -> str:
    with pytest.raises(FleetError) as caught:
        function(*arguments)
    return caught.value.code


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.db"


@pytest.fixture
def filled(path: Path) -> Path:
    records = opened(path)
    records.create(member())
    records.close()
    return path


def test_a_lease_lasts_from_when_the_file_is_ours_however_long_others_wrote(filled: Path) -> None:
    """Of its seconds those were lost that the lock was waited for, and one that had expired meanwhile was refused."""
    asked: list[str] = []

    def clock() -> datetime:
        with contextlib.closing(sqlite3.connect(filled, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
                asked.append("while others may write")
            except sqlite3.OperationalError:
                asked.append("while the file is ours")
        return NOW

    SqliteRecords(filled, clock).acquire("run/a", "me", 60)
    assert asked == ["while the file is ours"]


def test_reading_makes_no_file(path: Path) -> None:
    records = opened(path)
    assert (records.get(MC, "one"), records.list(MC), records.leases(), records.secret("x")) == (None, (), (), b"")
    assert records.events(MC, "one") == ()
    assert not path.exists()


def test_the_first_write_makes_folder_and_file_for_this_user_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / ".gitops-fleet" / "records.db"
    before = os.umask(0)
    try:
        opened(path).create(member())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_pipe_in_the_place_of_the_gitignore_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / ".gitops-fleet"
    folder.mkdir()
    os.mkfifo(folder / ".gitignore")
    reader = os.open(folder / ".gitignore", os.O_RDONLY | os.O_NONBLOCK)  # without one it would be waited for here
    try:
        assert code_of(opened(folder / "records.db").create, member()) == "records-unreadable"
        assert not (folder / "records.db").exists()
    finally:
        os.close(reader)


def test_a_reader_sees_what_another_opening_makes_later(path: Path) -> None:
    reader = opened(path)
    assert reader.get(MC, "one") is None
    made = opened(path).create(member())
    assert reader.get(MC, "one") == made


def test_an_empty_file_that_a_crash_left_is_taken(path: Path) -> None:
    path.touch()
    assert opened(path).list(MC) == ()
    assert opened(path).create(member())


@pytest.mark.parametrize("content", ["other database", "text"])
def test_a_foreign_file_is_refused_and_left_as_it_is(path: Path, content: str) -> None:
    if content == "text":
        path.write_text("these are my notes, and not a database\n" * 100)
    else:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()
        connection.close()
    before = path.read_bytes()
    assert code_of(opened(path).list, MC) == "records-not-ours"
    assert code_of(opened(path).create, member()) == "records-not-ours"
    assert path.read_bytes() == before


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert code_of(opened(tmp_path).list, MC) == "records-unreadable"
    assert code_of(opened(tmp_path).create, member()) == "records-unreadable"


def test_a_newer_schema_is_refused(filled: Path) -> None:
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = filled.read_bytes()
    assert code_of(opened(filled).list, MC) == "records-too-new"
    assert code_of(opened(filled).create, member("two")) == "records-too-new"
    assert filled.read_bytes() == before


def test_an_older_schema_is_brought_up_to_date(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = ("ALTER TABLE records ADD COLUMN colour TEXT", "UPDATE records SET colour = 'red'")
    monkeypatch.setattr(sqlite_file, "STEPS", (*sqlite_file.STEPS, step))
    assert len(opened(filled).list(MC)) == 1
    connection = sqlite3.connect(filled)
    assert connection.execute("SELECT colour FROM records").fetchall() == [("red",)]
    assert connection.execute("PRAGMA user_version").fetchone() == (len(sqlite_file.STEPS),)


def test_a_step_that_fails_leaves_the_older_schema(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sqlite_file.STEPS
    monkeypatch.setattr(sqlite_file, "STEPS", (*before, ("DELETE FROM records", "no SQL at all")))
    assert code_of(opened(filled).list, MC) == "records-unreadable"
    monkeypatch.setattr(sqlite_file, "STEPS", before)
    assert len(opened(filled).list(MC)) == 1


def test_a_damaged_file_is_told_apart(filled: Path) -> None:
    data = bytearray(filled.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    filled.write_bytes(bytes(data))
    assert code_of(opened(filled).list, MC) == "records-damaged"


def test_a_file_that_another_keeps_locked_is_busy(filled: Path) -> None:
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    records = opened(filled)
    records._file._busy_seconds = 0.01
    assert code_of(records.create, member("two")) == "records-busy"
    holder.execute("ROLLBACK")
    assert records.create(member("two"))


def test_a_file_moved_away_while_in_use_loses_no_write_in_silence(filled: Path) -> None:
    records = opened(filled)
    records.list(MC)
    filled.rename(filled.with_suffix(".old"))
    assert code_of(records.create, member("two")) == "records-unreadable"
    assert opened(filled.with_suffix(".old")).get(MC, "two") is None


def test_a_file_replaced_while_in_use_loses_no_write_in_silence(filled: Path) -> None:
    records = opened(filled)
    records.list(MC)
    copy = shutil.copyfile(filled, filled.with_suffix(".copy"))
    copy.rename(filled)
    assert code_of(records.create, member("two")) == "records-unreadable"
    assert opened(filled).get(MC, "two") is None


def test_what_an_emptied_journal_holds_is_taken_for_nothing(filled: Path) -> None:
    """It stays beside the file. One whose file was put back from a copy has nothing to undo."""
    copy = shutil.copyfile(filled, filled.with_suffix(".copy"))
    records = opened(filled)
    records.create(member("two"))
    records.close()
    assert Path(f"{filled}-journal").stat().st_size
    copy.replace(filled)
    assert [each["metadata"]["name"] for each in opened(filled).list(MC)] == ["one"]


def _as_nobody(path: Path, what: t.Callable[[SqliteRecords], object]) -> str:
    """What ``what`` gives, or its code, in a child that is not root: one whom permissions bind."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            answer = _answer(path, what)
        except BaseException as error:  # noqa: BLE001  # the parent shows it
            answer = repr(error)
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def _answer(path: Path, what: t.Callable[[SqliteRecords], object]) -> str:
    try:
        return str(what(opened(path)))
    except FleetError as error:
        return error.code


def reads(records: SqliteRecords) -> int:
    return len(records.list(MC))


def writes(records: SqliteRecords) -> str:
    return str(records.create(member("two"))["metadata"]["name"])


@pytest.fixture
def shared(filled: Path) -> t.Iterator[Path]:
    """A copy that anybody may reach."""
    folder = Path("/var/tmp") / f"gitops-fleet-test-{os.getpid()}"
    folder.mkdir(mode=0o755)
    copy = folder / "records.db"
    shutil.copy(filled, copy)
    yield copy
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_read_only_file_is_read_and_not_written(shared: Path, folder_mode: int) -> None:
    """F24"""
    shared.chmod(0o444)
    shared.parent.chmod(folder_mode)
    before = shared.read_bytes()
    assert _as_nobody(shared, reads) == "1"
    assert _as_nobody(shared, writes) == "records-read-only"
    assert shared.read_bytes() == before


def test_a_read_only_folder_is_read_only_too(shared: Path) -> None:
    """F24: the journal beside the file cannot be made."""
    shared.chmod(0o666)
    shared.parent.chmod(0o555)
    assert _as_nobody(shared, reads) == "1"
    assert _as_nobody(shared, writes) == "records-read-only"
    assert _as_nobody(shared.parent / "new.db", reads) == "0"
    assert _as_nobody(shared.parent / "new" / "new.db", writes) == "records-read-only"


def test_a_file_that_may_not_be_read_is_an_error_and_not_empty(shared: Path) -> None:
    shared.chmod(0o000)
    assert _as_nobody(shared, reads) == "records-unreadable"


def test_a_full_disk_loses_nothing(path: Path) -> None:
    """F24, with SQLite's own limit on pages in place of the disk's."""
    records = opened(path)
    first = records.create(member())
    assert records._file.connection is not None
    records._file.connection.execute("PRAGMA max_page_count = 20")
    assert code_of(records.create, member("two", "x" * 500_000)) == "records-disk-full"
    assert code_of(records.replace, first | {"spec": {"note": "x" * 500_000}}) == "records-disk-full"
    assert records.list(MC) == (first,)
    assert opened(path).list(MC) == (first,)
    records._file.connection.execute("PRAGMA max_page_count = 1000000")
    assert records.create(member("two", "x" * 500_000))


@pytest.fixture
def small_disk(tmp_path: Path) -> t.Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_really_full_loses_nothing(small_disk: Path) -> None:
    """F24"""
    records = opened(small_disk / "records.db")
    kept = []
    with pytest.raises(FleetError) as caught:
        for n in range(100):
            kept += [records.create(member(f"m{n:03}", "x" * 20_000))]
    assert caught.value.code == "records-disk-full"
    assert 5 < len(kept) < 30
    assert records.list(MC) == tuple(kept)
    records.close()
    assert opened(small_disk / "records.db").list(MC) == tuple(kept)
    space = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(b"x" * (space.f_bavail * space.f_frsize))
    assert code_of(opened(small_disk / "new.db").create, member()) == "records-disk-full"
    (small_disk / "filler").unlink()
    assert opened(small_disk / "records.db").create(member("small"))


def grows(records: SqliteRecords) -> str:
    """Until the limit on file sizes stops it; gives the code and how many records there are then."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    made = 0
    try:
        for n in range(100):
            records.create(member(f"m{n:03}", "x" * 20_000))
            made += 1
    except FleetError as error:
        assert len(records.list(MC)) == made + 1
        return error.code
    return "no limit"


def test_a_limit_on_file_sizes_loses_nothing(shared: Path) -> None:
    """F24"""
    shared.chmod(0o666)
    shared.parent.chmod(0o777)
    assert _as_nobody(shared, grows) == "records-disk-error"
    assert len(opened(shared).list(MC)) > 5


def test_after_close_it_opens_again(filled: Path) -> None:
    records = opened(filled)
    records.close()
    assert len(records.list(MC)) == 1
    records.close()
    records.close()
