# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The SQLite file of records: made, recognised, migrated, locked; copies for reading alone (``records-copy``); what can
go wrong with it, in our words (``records-busy``, ``records-disk-full``, ``records-read-only``, ``records-too-new``,
``records-not-ours``).

A rollback journal, not a write-ahead log: it works on network file systems, notices that the file was moved away under
it, and a disk that is full or a process that is killed leaves the last committed state. Emptied, the journal stays
beside the file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import typing as t
from pathlib import Path

from .._core.errors import FleetError
from .._kube.files import open_to_append, refuse_special
from .sqlite_rows import WAY_OUT, damaged

APPLICATION_ID = 0x67666C74  # "gflt"
COPY_ID = 0x67666370  # "gfcp"; another, so that versions that know no copies do not write to one
_HEADER = 100  # bytes
_KEPT_JOURNAL = 1 << 20  # bytes
BUSY_SECONDS = 10.0
# One step for each schema number that was ever released: step n makes schema n + 1 out of schema n.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
        "INSERT INTO meta VALUES ('revision', 0)",
        """CREATE TABLE records (kind TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL,
           PRIMARY KEY (kind, name))""",
        """CREATE TABLE labels (kind TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
           PRIMARY KEY (kind, name, key)) WITHOUT ROWID""",
        "CREATE INDEX labelled ON labels (kind, key, value, name)",
        """CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch INTEGER NOT NULL,
           acquired TEXT NOT NULL, renewed TEXT NOT NULL, seconds INTEGER NOT NULL)""",
        """CREATE TABLE events (id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
           type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL)""",
        "CREATE INDEX journal ON events (kind, name, id)",
    ),
)
# What only a damaged file makes SQLite say: we break no constraint, and 0 is said of a text that is none.
_DAMAGE = (0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG)


class RecordsFile:
    """One open file. Reading a file that does not exist finds nothing and makes nothing; the first write makes it. One
    transaction at a time: other threads wait, and the same thread must not begin one within another."""

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        """Opens and makes nothing yet; ``busy_seconds`` is how long to wait for the locks of others."""
        self.path = path
        self._busy_seconds = busy_seconds
        self._lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def reading(self) -> t.Iterator[sqlite3.Connection | None]:
        """A transaction with one consistent view of the file; None if there is none yet, or it is empty. Waits for
        others as ``writing`` does. FleetError with the codes of ``SqliteRecords``, and ``invalid`` for a name that is
        no Unicode."""
        with self._lock, self._our_errors():
            connection = self._present()
            if connection is None:
                yield None
                return
            with _transaction(connection, "BEGIN"):
                yield connection

    @contextlib.contextmanager
    def writing(self) -> t.Iterator[sqlite3.Connection]:
        """A transaction that is committed at the end, and undone as a whole if anything is raised in it; the file, with
        its folder, is made if there is none. Waits up to ``busy_seconds`` for others. FleetError as of ``reading``, and
        ``records-copy``."""
        with self._lock, self._our_errors():
            connection = self._opened()
            if is_copy(connection):
                raise copy_refused(str(self.path))
            with _transaction(connection, "BEGIN IMMEDIATE"):
                yield connection

    def close(self) -> None:
        """Closes the file, beside which the emptied journal stays; it is opened again at its next use."""
        with self._lock:
            if self.connection is not None:
                self.connection.close()
            self.connection = None

    def _present(self) -> sqlite3.Connection | None:
        """The connection; None if nothing is open and there is no file, or an empty one. OSError for what is no regular
        file, and errors as of ``_opened``. The lock is held."""
        if self.connection is None:
            self._refuse_special()
            if not self.path.exists() or self.path.stat().st_size == 0:
                return None
        return self._opened()

    def _opened(self) -> sqlite3.Connection:
        """The connection, opened if it is not, the file made if there is none. FleetError ``records-damaged`` for one
        that is cut off within its header; OSError, and the rest as of ``_connected``. The lock is held."""
        if self.connection is None:
            self._refuse_special()
            _make(self.path)
            if 0 < self.path.stat().st_size < _HEADER:
                raise damaged("the records file is cut off", str(self.path))  # SQLite would take some for empty ones
            self.connection = self._connected()
        return self.connection

    def _refuse_special(self) -> None:
        """Raises OSError where the file, or one that SQLite keeps beside it, is no regular file: SQLite would wait for
        a pipe."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            refuse_special(f"{self.path}{suffix}")

    def _connected(self) -> sqlite3.Connection:
        """A new connection to the file, whose schema is brought to ours. FleetError as of ``_bring_up_to_date``;
        sqlite3.Error."""
        connection = sqlite3.connect(
            self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA trusted_schema = OFF")
            _bring_up_to_date(connection, str(self.path))
            # The rollback journal is emptied by one synced write; to remove its file takes twice as long as a commit.
            connection.execute("PRAGMA journal_mode = PERSIST")
            connection.execute(f"PRAGMA journal_size_limit = {_KEPT_JOURNAL}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _our_errors(self) -> t.Iterator[None]:
        """Raises FleetError in place of errors of SQLite, the disk and texts that are no Unicode; all else stays what
        it is."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except UnicodeEncodeError:
            raise FleetError("invalid", "no record has such a name", str(self.path)) from None
        except UnicodeDecodeError:  # of a message of SQLite itself
            raise damaged("the records file is damaged", str(self.path)) from None
        except sqlite3.Error as error:
            raise _in_our_words(error, self.path) from None
        except OSError as error:
            raise _os_error(error, self.path) from None


def is_copy(connection: sqlite3.Connection) -> bool:
    """Whether the file is a copy of records, for reading alone. sqlite3.Error."""
    return _number(connection, "PRAGMA application_id") == COPY_ID


def copy_refused(where: str, told: str = "") -> FleetError:
    """The FleetError ``records-copy``, given back, of whoever would write to a copy of records; ``told`` is what it is
    a copy of, in words."""
    text = f"these records are a copy{told and ' ' + told}, which is only read"
    return FleetError("records-copy", text, where, "give the records themselves; a copy is enough for check mode")


def make_tables(connection: sqlite3.Connection, application: int) -> None:
    """Makes our tables in an empty database, which is to be known as ``application``. sqlite3.Error."""
    _step_up(connection, 0)
    connection.execute(f"PRAGMA application_id = {application}")


def _step_up(connection: sqlite3.Connection, schema: int) -> None:
    """Brings tables of this schema to ours. sqlite3.Error."""
    for step in STEPS[schema:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(STEPS)}")


def _make(path: Path) -> None:
    """Makes an empty file for this user only, and its folder, if missing. A folder called ``.gitops-fleet`` keeps
    itself out of Git. OSError."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.name == ".gitops-fleet":
        _ignore(path.parent / ".gitignore")
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _ignore(file: Path) -> None:
    """Writes a .gitignore for all of its folder where it is missing or empty; never through a link, which a checkout
    may bring. OSError, also for a pipe, which would be waited for."""
    if file.is_symlink() or (file.exists() and file.stat().st_size):
        return
    with open(open_to_append(file), "a", encoding="ascii") as opened:
        opened.write("*\n")


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> t.Iterator[None]:
    """Committed at its end, rolled back if anything is raised in it or by the commit; the connection is in none before.
    sqlite3.Error."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _bring_up_to_date(connection: sqlite3.Connection, where: str) -> None:
    """Brings an older schema, and an empty file, to ours. FleetError ``records-not-ours``, ``records-too-new``, or
    ``records-damaged`` for one of ours with other tables; sqlite3.Error."""
    with _transaction(connection, "BEGIN"):  # one view, so that a file that another is making is not taken as foreign
        schema = _schema(connection, where)
        if schema == len(STEPS):
            _refuse_other_tables(connection, where)
            return
    with _transaction(connection, "BEGIN EXCLUSIVE"):
        schema = _schema(connection, where)  # asked again: another process may have been faster
        if schema:
            _step_up(connection, schema)
        else:
            make_tables(connection, APPLICATION_ID)


def _refuse_other_tables(connection: sqlite3.Connection, where: str) -> None:
    """FleetError ``records-damaged`` unless the file has our tables alone: what is there besides, a trigger above all,
    would be carried out by SQLite as we write. sqlite3.Error."""
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        make_tables(ours, APPLICATION_ID)
        wanted = _tables(ours)
    if _tables(connection) != wanted:
        raise damaged("the tables of the records file are not those that we make", where)


def _tables(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Type, name and SQL (its white space made one) of all that is in the schema, but for what SQLite makes by
    itself."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
    own = (row for row in rows if not str(row[1]).startswith("sqlite_"))  # its own statistics, after ANALYZE
    return [(kind, name, " ".join(str(sql).split())) for kind, name, sql in own]


def _schema(connection: sqlite3.Connection, where: str) -> int:
    """The number of the file's schema, 0 for an empty file. FleetError ``records-not-ours`` or ``records-too-new``;
    sqlite3.Error."""
    application, schema = (_number(connection, f"PRAGMA {each}") for each in ("application_id", "user_version"))
    known = application in (APPLICATION_ID, COPY_ID)
    if not known and (application or schema or _number(connection, "SELECT count(*) FROM sqlite_master")):
        raise _not_ours(where)
    if schema > len(STEPS):
        raise FleetError(
            "records-too-new",
            f"these records have schema {schema}; this version of gitops.fleet knows schemas up to {len(STEPS)}",
            where,
            "use the version of gitops.fleet that wrote them, or a newer one",
        )
    return schema


def _number(connection: sqlite3.Connection, question: str) -> int:
    """The one number that the question has as its answer. sqlite3.Error."""
    return int(connection.execute(question).fetchone()[0])


def _not_ours(where: str) -> FleetError:
    """The FleetError ``records-not-ours``, given back and not raised."""
    return FleetError(
        "records-not-ours",
        "this file is not a records file of gitops.fleet; it was left as it is",
        where,
        f"give another path for the records; if it was one: {WAY_OUT}",
    )


def _in_our_words(error: sqlite3.Error, path: Path) -> FleetError:
    """The FleetError for an error of SQLite, given back and not raised; ``records-unreadable`` with SQLite's own words
    for what is not known."""
    code, where = getattr(error, "sqlite_errorcode", 0), str(path)
    kind = code & 0xFF
    if code == sqlite3.SQLITE_READONLY_DBMOVED or (code == sqlite3.SQLITE_IOERR_FSTAT and not path.exists()):
        return FleetError(
            "records-unreadable",
            "the records file was moved or removed while it was in use",
            where,
            "put it back; nothing was written since",
        )
    if kind == sqlite3.SQLITE_FULL:
        return FleetError(
            "records-disk-full",
            "the disk is full: nothing was written, what was recorded before is kept",
            where,
            "make room on this disk and start again",
        )
    if kind == sqlite3.SQLITE_CANTOPEN and not os.access(path, os.R_OK):
        return FleetError(
            "records-unreadable",
            "the records file cannot be read by this user",
            where,
            "give this user permission to read and write it",
        )
    if kind == sqlite3.SQLITE_READONLY or (kind == sqlite3.SQLITE_CANTOPEN and not os.access(path.parent, os.W_OK)):
        return _read_only(where)
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return FleetError("records-busy", "another process keeps the records file locked", where, "try again")
    if kind == sqlite3.SQLITE_NOTADB:
        return _not_ours(where)
    if kind in _DAMAGE or (kind == sqlite3.SQLITE_ERROR and str(error).startswith("no such ")):
        return damaged("the records file is damaged", where)
    if kind == sqlite3.SQLITE_IOERR:
        return FleetError(
            "records-disk-error",
            "the disk refused to read or write the records file (a quota, a limit on file sizes, or a fault)",
            where,
            "nothing was written; what was recorded before is kept",
        )
    return FleetError("records-unreadable", f"the records file cannot be used: {error}", where, WAY_OUT)


def _os_error(error: OSError, path: Path) -> FleetError:
    """The FleetError for an error of the disk, given back and not raised."""
    where = str(path)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return _read_only(where)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FleetError(
            "records-disk-full",
            "the disk is full: the records file could not be made",
            where,
            "make room on this disk and start again",
        )
    return FleetError(
        "records-unreadable",
        f"the records file cannot be used: {error.strerror or 'unknown cause'}",
        where,
        "give another path for the records",
    )


def _read_only(where: str) -> FleetError:
    """The FleetError ``records-read-only``, given back and not raised."""
    return FleetError(
        "records-read-only",
        "the records file, or the folder it is in, cannot be written",
        where,
        "give this user write permission, or another path for the records",
    )
