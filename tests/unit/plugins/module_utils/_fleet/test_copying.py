# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A copy of records holds what they hold, is read and never written, and takes the place of nothing else."""

from __future__ import annotations

import json
import sqlite3
import stat
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.copying import write_copy
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.overrides import (
    LoadedOverrides,
    with_overrides_on_hub,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import (
    Session,
    copied_words,
    open_session,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import CopyOrigin, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords, copy_of

MC = "MemberCluster"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = NOW + timedelta(hours=50, minutes=3)


def session_of(path: Path, now: datetime = NOW, *, writes: bool = False) -> Session:
    return open_session({"records": {"path": str(path)}, "holder": "me"}, {}, writes=writes, clock=lambda: now)


def member(name: str, **labels: str) -> Record:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": MC, "metadata": metadata, "spec": {}}


def refused(code: str) -> t.ContextManager[object]:
    return pytest.raises(FleetError, match=rf"\[{code}\]")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Records with two members, a lease that is held, a line of the journal and a secret."""
    path = tmp_path / "records.db"
    with session_of(path, writes=True) as session:
        session.records.create(member("east", env="prod"))
        session.records.create(member("west", env="test"))
        session.records.acquire("placement/web", "someone", 300)
        session.journal(MC, "east", "Joined", "it has joined")
        session.records.keep_secret("digest-key", b"canary")
    return path


@pytest.fixture
def copy(records: Path, tmp_path: Path) -> Path:
    path = tmp_path / "fleet.db"
    with session_of(records) as session:
        write_copy(session, str(path))
    return path


def test_a_copy_holds_objects_and_leases_as_they_were(records: Path, copy: Path) -> None:
    with session_of(records) as session, session_of(copy) as copied:
        assert copied.records.list(MC) == session.records.list(MC)
        assert [each["metadata"]["name"] for each in copied.records.list(MC, {"env": "prod"})] == ["east"]
        assert copied.records.names(MC) == {"east", "west"}
        assert copied.records.leases() == session.records.leases() != ()


def test_a_copy_has_no_journal_and_no_secret(copy: Path) -> None:
    with session_of(copy) as copied:
        assert copied.records.events(MC, "east") == () and copied.records.secret("digest-key") == b""
    assert b"canary" not in copy.read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


WRITES: dict[str, t.Callable[[SqliteRecords], object]] = {
    "create": lambda records: records.create(member("north")),
    "replace": lambda records: records.replace(records.list(MC)[0]),
    "delete": lambda records: records.delete(MC, "east"),
    "acquire": lambda records: records.acquire("placement/web", "someone", 300),
    "renew": lambda records: records.renew(records.leases()[0]),
    "release": lambda records: records.release(records.leases()[0]),
    "event": lambda records: records.event(MC, "east", "Normal", "Seen", "it was seen", NOW),
    "keep_secret": lambda records: records.keep_secret("digest-key", b"another"),
}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_written_to_a_copy(copy: Path, write: str) -> None:
    before = copy.read_bytes()
    with session_of(copy) as copied:
        assert isinstance(copied.records, SqliteRecords)
        with refused("records-copy"):
            WRITES[write](copied.records)
    assert copy.read_bytes() == before


def test_a_verb_that_writes_is_refused_before_it_does_anything(copy: Path, records: Path) -> None:
    with pytest.raises(FleetError) as caught:
        session_of(copy, LATER, writes=True)
    assert caught.value.code == "records-copy"
    assert f"a copy of {records}, made at 2026-01-02T03:04:05Z, 50 h ago, which is only read" in str(caught.value)


def test_it_is_told_what_a_copy_is_of_and_how_old(copy: Path, records: Path) -> None:
    with session_of(copy, LATER) as copied, session_of(records) as session:
        assert copied.origin_place == session.origin_place == session.records.place == str(records)
        assert copied_words(copied.records, LATER) == f"of {records}, made at 2026-01-02T03:04:05Z, 50 h ago"
        assert copied_words(copied.records, NOW) == f"of {records}, made at 2026-01-02T03:04:05Z"
        assert copied_words(session.records, LATER) == ""


def test_a_copy_of_a_copy_is_as_old_as_that(copy: Path, records: Path, tmp_path: Path) -> None:
    with session_of(copy, LATER) as copied:
        write_copy(copied, str(tmp_path / "second.db"))
        write_copy(copied, str(copy))
    for path in (copy, tmp_path / "second.db"):
        with session_of(path) as second:
            assert second.records.origin == CopyOrigin(place=str(records), at=NOW)
            assert second.records.names(MC) == {"east", "west"}


def test_an_earlier_copy_is_replaced_and_an_empty_file_filled(records: Path, copy: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    with session_of(records, LATER, writes=True) as session:
        session.records.create(member("north"))
        for path in (copy, empty):
            write_copy(session, str(path))
            with session_of(path) as copied:
                assert copied.records.names(MC) == {"east", "north", "west"}


@pytest.mark.parametrize("there", ["the records", "other records", "a text", "a link to the records"])
def test_a_copy_takes_the_place_of_nothing_else(records: Path, tmp_path: Path, there: str) -> None:
    path = tmp_path / "there"
    if there == "the records":
        path = records
    elif there == "other records":
        with session_of(path, writes=True) as other:
            other.records.create(member("mine"))
    elif there == "a text":
        path.write_text("notes")
    else:
        path.symlink_to(records)
    before = path.read_bytes()
    with session_of(records) as session:
        with refused("unwritable-file"):
            write_copy(session, str(path))
        assert session.records.names(MC) == {"east", "west"}
    assert path.read_bytes() == before


def test_records_that_are_not_there_are_not_copied(tmp_path: Path) -> None:
    with session_of(tmp_path / "mistyped.db") as session, refused("no-records"):
        write_copy(session, str(tmp_path / "fleet.db"))
    assert list(tmp_path.iterdir()) == []


def test_records_that_are_empty_are_not_copied(tmp_path: Path, copy: Path) -> None:
    """A first write that was interrupted: a good copy would give way to one of nothing."""
    (tmp_path / "empty.db").touch()
    before = copy.read_bytes()
    with session_of(tmp_path / "empty.db") as session, refused("no-records"):
        write_copy(session, str(copy))
    assert copy.read_bytes() == before


def test_a_record_that_no_reader_takes_is_named_and_not_copied(records: Path) -> None:
    with session_of(records) as session:
        (first, *_others) = session.records.list(MC)
        bare = {key: each for key, each in first.items() if key != "spec"}
        hub = SimpleNamespace(origin=None, place="hub", list=lambda kind: [bare] if kind == MC else [], leases=tuple)
        with refused("invalid"):
            copy_of(t.cast(t.Any, hub), NOW)


def test_placements_are_not_planned_from_the_copy_of_a_hubs_records(copy: Path, records: Path) -> None:
    """Overrides that lie on the hub would be left out, and the plan would not be that of the apply."""
    written = LoadedOverrides()
    with session_of(copy) as copied, session_of(records) as session:
        assert with_overrides_on_hub(written, copied) is with_overrides_on_hub(written, session) is written
    with sqlite3.connect(copy) as connection:
        told = json.dumps(["hub https://10.0.0.1", "2026-01-02T03:04:05Z"]).encode()
        connection.execute("UPDATE meta SET value = ? WHERE name = 'copy'", (told,))
    connection.close()
    with session_of(copy) as copied, refused("records-copy"):
        with_overrides_on_hub(written, copied)


@pytest.mark.parametrize("told", [b"", b"{}", b'["a"]', b'["a", 5]', b'["a", "yesterday"]', "text", 7, None])
def test_a_copy_that_does_not_say_of_what_is_damaged_and_still_not_written(copy: Path, told: t.Any) -> None:
    with sqlite3.connect(copy) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'copy'")
        if told is not None:
            connection.execute("INSERT INTO meta VALUES ('copy', ?)", (told,))
    connection.close()
    with session_of(copy) as copied:
        with refused("records-damaged"):
            _ = copied.records.origin
        with refused("records-copy"):
            copied.records.create(member("north"))
        assert copied_words(copied.records, NOW) == ""


def test_an_older_copy_stays_one_when_its_tables_are_brought_up_to_date(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ansible_collections.gitops.fleet.plugins.module_utils._store import sqlite_file

    monkeypatch.setattr(sqlite_file, "STEPS", (*sqlite_file.STEPS, ("CREATE TABLE more (name TEXT)",)))
    with session_of(copy) as copied:
        assert copied.records.names(MC) == {"east", "west"}
        with refused("records-copy"):
            copied.records.create(member("north"))


def test_where_the_records_are_is_kept_as_text(copy: Path) -> None:
    with sqlite3.connect(copy) as connection:
        row = connection.execute("SELECT value FROM meta WHERE name = 'copy'").fetchone()
    connection.close()
    assert json.loads(row[0])[1] == "2026-01-02T03:04:05Z"
