# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records files that a disk, a crash or a hand has damaged: an answer, or an error with the way out, always."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
import typing as t
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite_rows import stored_of
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import any_json, gone_wrong
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MC, BINDING = "MemberCluster", "ClusterResourceBinding"
CANARY = "canary"
RANDOM = st.randoms(use_true_random=False)


def record(kind: str, name: str, **spec: t.Any) -> Record:
    metadata = {"name": name, "labels": {"team": "a"}, "annotations": {"note": CANARY}}
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": metadata, "spec": spec}


def fill(path: Path) -> None:
    records = SqliteRecords(path, lambda: NOW)
    for number in range(20):
        records.create(record(MC, f"m{number}", heartbeatPeriodSeconds=60))
        records.create(record(BINDING, f"b{number}", targetCluster=f"m{number}", state="Bound"))
        records.event(MC, f"m{number}", "Normal", "Joined", CANARY, NOW)
    records.acquire("placement/web", "me", 60)
    records.keep_secret("digest-key", b"x" * 32)
    records.close()


class Content(bytes):
    def __repr__(self) -> str:
        return "the good file"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Content:
    path = tmp_path_factory.mktemp("good") / "records.db"
    fill(path)
    return Content(path.read_bytes())


def everything(records: SqliteRecords) -> list[t.Callable[[], t.Any]]:
    """All that can be done with records, what reads first."""
    mine = record(MC, "m3", heartbeatPeriodSeconds=5)
    return [
        lambda: records.get(MC, "m3"),
        lambda: records.list(MC),
        lambda: records.list(BINDING, {"team": "a"}),
        records.leases,
        lambda: records.events(MC, "m3"),
        lambda: records.secret("digest-key"),
        lambda: records.create(record(MC, "new")),
        lambda: records.replace({**mine, "metadata": (records.get(MC, "m3") or mine)["metadata"]}),
        lambda: records.delete(MC, "m4"),
        lambda: records.renew(records.acquire("placement/web", "me", 60)),
        lambda: records.release(records.acquire("placement/other", "me", 60)),
        lambda: records.event(MC, "m3", "Normal", "Read", "read", NOW),
        lambda: records.keep_secret("digest-key", b"y"),
    ]


def codes(path: Path) -> set[str]:
    """How all of it ends. Each error has words that help, and nothing of what is in the file."""
    records, found, alone = SqliteRecords(path, lambda: NOW), set(), not is_open(path)
    records._file._busy_seconds = 0.01
    kept = []
    for action in everything(records):
        try:
            action()
        except FleetError as error:
            kept.append(error)
            found.add(error.code)
            assert error.where == str(path) and (error.hint or not error.code.startswith("records-"))
            assert CANARY not in str(error) and "Traceback" not in str(error)
    records.close()
    assert not (alone and is_open(path)), "whoever keeps an error keeps the file open, and locked"
    return found


def is_open(path: Path) -> bool:
    return any(each.exists() and each.samefile(path) for each in Path("/proc/self/fd").iterdir())


@contextlib.contextmanager
def damaged_file(content: bytes) -> t.Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.db"
        path.write_bytes(content)
        yield path


def test_a_whole_file_does_all_of_it(good: bytes) -> None:
    with damaged_file(good) as path:
        assert codes(path) == set()


@given(rng=RANDOM)
def test_bytes_that_flipped(good: bytes, rng: Random) -> None:
    content = bytearray(good)
    for _time in range(rng.choice((1, 3, 30))):
        # The head of each page says what the rest of it means.
        start = rng.randrange(0, len(content), 4096) if rng.random() < 0.5 else None
        place = rng.randrange(len(content)) if start is None else start + rng.randrange(100)
        content[place] = rng.randrange(256)
    with damaged_file(bytes(content)) as path:
        codes(path)


@given(rng=RANDOM)
def test_pages_that_were_lost(good: bytes, rng: Random) -> None:
    """Cut off, zeroed, doubled or in each other's place, as after a crash of the machine."""
    pages = [good[start : start + 4096] for start in range(0, len(good), 4096)]
    for _time in range(rng.randrange(1, 4)):
        one, other = rng.randrange(len(pages)), rng.randrange(len(pages))
        pages[one] = rng.choice((b"\0" * 4096, b"\xff" * 4096, pages[other], bytes(reversed(pages[one]))))
    content = b"".join(pages)
    with damaged_file(content[: rng.choice((len(content), rng.randrange(len(content))))]) as path:
        codes(path)


@pytest.mark.parametrize("size", [1, 15, 16, 99, 100, 101, 4095, 4096, 4097, 12_288])
def test_a_file_that_was_cut(good: bytes, size: int) -> None:
    with damaged_file(good[:size]) as path:
        assert codes(path) <= {"records-not-ours", "records-damaged"} != set()


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE records SET document = ''",
        "UPDATE records SET document = '[' || document || ']'",
        "UPDATE records SET document = x'80ff63616e617279'",
        "UPDATE records SET document = CAST(x'80ff63616e617279' AS TEXT)",
        "UPDATE records SET document = 5",
        "UPDATE records SET document = replace(document, 'MemberCluster', 'Secret')",
        "UPDATE records SET document = replace(document, '\"m3\"', '\"m5\"')",
        'UPDATE records SET document = replace(document, \'"resourceVersion":"\', \'"resourceVersion":"canary\')',
        'UPDATE records SET document = replace(document, \'"uid":"\', \'"uid":7,"u":"\')',
        "UPDATE records SET document = replace(document, '\"generation\":1', '\"generation\":true')",
        'UPDATE records SET document = replace(document, \'"labels":{\', \'"labels":[],"x":{\')',
        'UPDATE records SET document = replace(document, \'"spec":{\', \'"spec":[{"canary":1}],"x":{\')',
        "UPDATE records SET document = (SELECT replace(hex(zeroblob(50000)), '00', '['))",
        'UPDATE records SET document = replace(document, \'"team":"a"\', \'"team":"b"\')',
        "UPDATE leases SET epoch = 'canary'",
        "UPDATE leases SET seconds = 'canary'",
        "UPDATE leases SET seconds = 9000000000000000000",
        "UPDATE leases SET epoch = 9223372036854775807",
        "UPDATE leases SET acquired = 'canary'",
        "UPDATE leases SET renewed = '2026-01-01T00:00:00'",
        "UPDATE leases SET holder = x'80'",
        "UPDATE events SET at = 'canary'",
        "UPDATE meta SET value = 'canary' WHERE name = 'revision'",
        "UPDATE meta SET value = 'canary' WHERE name != 'revision'",
        "UPDATE meta SET value = -1 WHERE name = 'revision'",
        "UPDATE meta SET value = 999999999999999999 WHERE name = 'revision'",
        "UPDATE meta SET value = 9223372036854775807 WHERE name = 'revision'",
        "DELETE FROM meta",
        "DROP TABLE records",
        "DROP TABLE labels",
        "DROP INDEX labelled",
        "ALTER TABLE leases RENAME COLUMN holder TO canary",
        "ALTER TABLE records ADD COLUMN canary",
        "CREATE TRIGGER t BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'canary'); END",
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "DROP TABLE events; CREATE VIEW events AS SELECT 1 AS id, 'canary' AS at",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'canary'",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 9999",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE type = 'index'",
    ],
)
def test_what_a_hand_has_changed(good: bytes, attack: str) -> None:
    with damaged_file(good) as path:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(attack)
            connection.commit()
        assert codes(path) == {"records-damaged"}


def test_a_record_is_named(good: bytes) -> None:
    with damaged_file(good) as path:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE records SET document = '{}' WHERE name = 'm3'")
            connection.commit()
        with pytest.raises(FleetError) as caught:
            SqliteRecords(path, lambda: NOW).list(MC)
        assert caught.value.message == "the record MemberCluster/m3 is damaged: it is of another kind or version"
        assert "recover" in caught.value.hint


@given(data=st.data())
def test_a_row_with_another_document(good: bytes, data: st.DataObject) -> None:
    with damaged_file(good) as path:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            question = "SELECT document FROM records WHERE kind = ? AND name = 'm3'"
            document = json.loads(connection.execute(question, (MC,)).fetchone()[0])
            other = data.draw(any_json() | gone_wrong(document))
            connection.execute("UPDATE records SET document = ? WHERE name = 'm3'", (json.dumps(other),))
            connection.commit()
        assert codes(path) <= {"records-damaged"}


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_at_once(good: bytes, suffix: str, kind: str) -> None:
    with damaged_file(good) as path:
        other = path.with_name(path.name + suffix)
        other.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(other)
        elif kind == "device":
            other.symlink_to("/dev/zero")
        else:
            other.mkdir()
        assert codes(path) == {"records-unreadable"}


def test_leavings_of_another_journal(good: bytes) -> None:
    """Whoever opened the file with a write-ahead log and was killed leaves it beside the file."""
    with damaged_file(good) as path:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("UPDATE leases SET holder = 'you'")
            connection.commit()
            leavings = {name: Path(f"{path}{name}").read_bytes() for name in ("", "-wal", "-shm")}
        for name, content in leavings.items():
            Path(f"{path}{name}").write_bytes(content)
        records = SqliteRecords(path, lambda: NOW)
        assert [each.holder for each in records.leases()] == ["you"]
        records.close()
        for name, content in leavings.items():
            Path(f"{path}{name}").write_bytes(content if name != "-wal" else content[: len(content) // 2] + b"x" * 999)
        codes(path)
        Path(f"{path}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\xff" * 5000)
        codes(path)


def test_a_lease_for_ever_is_held(good: bytes) -> None:
    with damaged_file(good) as path:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE leases SET renewed = '9999-12-31T23:59:59Z'")
            connection.commit()
        with pytest.raises(FleetError) as caught:
            SqliteRecords(path, lambda: NOW).acquire("placement/web", "you", 60)
        assert caught.value.code == "lease-held"


def test_a_file_that_another_keeps_locked(good: bytes) -> None:
    with damaged_file(good) as path, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        assert codes(path) == {"records-busy"}


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "x" * 1_000_000])
def test_names_that_no_record_has(good: bytes, name: str) -> None:
    with damaged_file(good) as path:
        records = SqliteRecords(path, lambda: NOW)
        for action in (
            lambda: records.get(MC, name),
            lambda: records.list(MC, {name: name}),
            lambda: records.delete(MC, name),
            lambda: records.create(record(MC, name)),
            lambda: records.acquire(name, name, 5),
            lambda: records.event(MC, name, name, name, name, NOW),
            lambda: records.events(MC, name),
        ):
            with contextlib.suppress(FleetError):
                action()


def test_what_is_damaged_after_it_was_read_is_refused_all_the_same(tmp_path: Path) -> None:
    """A record is judged once, but only as long as its text is the same; each reader has a copy of its own."""
    path = tmp_path / "records.db"
    fill(path)
    records = SqliteRecords(path, lambda: NOW)
    before = records.list(MC)
    before[0]["metadata"]["name"] = "changed by a reader"
    assert [each["metadata"]["name"] for each in records.list(MC)] == sorted(f"m{number}" for number in range(20))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        wrong = "REPLACE(document, '\"heartbeatPeriodSeconds\": 60', '\"heartbeatPeriodSeconds\": [60]')"
        compact = wrong.replace(": ", ":")
        for change in (wrong, compact):
            connection.execute(f"UPDATE records SET document = {change} WHERE name = 'm3'")
        connection.commit()
    for read in (lambda: records.list(MC), lambda: records.get(MC, "m3")):
        with pytest.raises(FleetError) as refused:
            read()
        assert refused.value.code == "records-damaged" and "MemberCluster/m3" in str(refused.value)
    assert records.get(MC, "m4")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "-1e999"])
def test_a_number_without_end_is_none(number: str) -> None:
    document = json.dumps(record(MC, "m1")).replace('"spec": {}', f'"spec": {{"cost": {number}}}')
    with pytest.raises(FleetError) as refused:
        stored_of(MC, "m1", document, "here")
    assert refused.value.code == "records-damaged" and "it is no JSON" in refused.value.message
