# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lasting evidence of what is done: one AuditEntry before an act begins and one when it has ended, or one for an act of
a single write; its fields (who, members, digests, ``reason``, ``revision``), hidden and cut. It is for people: nothing
is decided by it, and what cannot be written is told, and stops nothing."""

from __future__ import annotations

import contextlib
import itertools
import re
import typing as t
import uuid
from dataclasses import dataclass, field, replace

from ..._core.cluster.silence import SILENT
from ..._core.errors import FleetError
from ..._core.foreign import in_line
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.audit.audit_entry import (
    BEGUN,
    DIGEST,
    DONE,
    ENDED,
    FAILED,
    MOST_MEMBERS,
    MOST_TEXT,
    REVISION,
)
from ..._core.values.instants import SECONDS, write_compact, write_time
from ..._kube.login.known_secrets import SHOWN
from ..session import Session
from .actor import user

KIND = "AuditEntry"
UNKNOWN = "unknown"
# Those of one process that stand in one second keep their order.
_NUMBERS = itertools.count(1)
_CUT = 40
_DIGEST, _REVISION = re.compile(DIGEST), re.compile(REVISION)


@dataclass(frozen=True, kw_only=True)
class Deed:
    """What is done (``action``, a word of the history), to what: an object of ``kind``, with its ``name`` as records
    have it (``namespace/name`` in a namespace), empty where ``members`` name several. ``digest`` is that of the plan or
    run which is carried out, ``approved`` the digest that had been approved, ``reason`` what people said (empty: that
    of the session), ``revision`` the commit that it came from, ``message`` a sentence for people, ``versions`` a text
    for each upgraded member."""

    action: str
    kind: str = ""
    name: str = ""
    members: t.Sequence[str] = ()
    digest: str = ""
    approved: str = ""
    reason: str = ""
    revision: str = ""
    message: str = ""
    versions: t.Sequence[str] = ()


def testify(session: Session, deed: Deed) -> None:
    """Writes the entry of an act of a single write, which has been done. Texts are cut and secrets hidden. An entry
    that cannot be written is told once in a session, and not raised."""
    _write_entry(session, deed, outcome=DONE)


@dataclass
class Testimony:
    """The evidence of one act by steps: ``begin`` before it begins, ``end`` when it has ended. Each is written once, if
    it can be, as of ``testify``; without ``begin`` there is no end. ``deed`` may be made more exact in between."""

    session: Session
    deed: Deed
    begun: bool = False
    _entry: str = field(default="", init=False)
    _ended: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Writes the entry that it begins; nothing if it has begun."""
        if not self.begun:
            self.begun = True
            self._entry = _write_entry(self.session, self.deed, phase=BEGUN)

    def end(
        self,
        outcome: str = DONE,
        message: str = "",
        members: t.Sequence[str] | None = None,
        versions: t.Sequence[str] = (),
    ) -> None:
        """Writes the entry that it has ended, and what it came to; nothing if it has not begun, or has ended.
        ``members`` are those that it was done on in the end (None: those of the deed). ``versions`` as of ``Deed``."""
        if self.begun and not self._ended:
            self._ended = True
            names = self.deed.members if members is None else members
            deed = replace(self.deed, message=message, members=names, versions=versions)
            _write_entry(self.session, deed, phase=ENDED, entry=self._entry, outcome=outcome)


@contextlib.contextmanager
def attested(session: Session, deed: Deed, *, write: bool = True) -> t.Iterator[Testimony]:
    """The testimony of an act that begins now, if anything is to ``write``; else no entry is written. It ends as done,
    unless its end was told before; a FleetError ends it as failed, and is raised on; after any other exception its end
    is not written."""
    testimony = Testimony(session, deed)
    if write:
        testimony.begin()
    with failing(testimony):
        yield testimony
    testimony.end()


@contextlib.contextmanager
def failing(testimony: Testimony) -> t.Iterator[None]:
    """While entered, a FleetError ends what has begun as failed, and is raised on."""
    try:
        yield
    except FleetError as error:
        testimony.end(FAILED, str(error.problems[0]) if error.problems else error.message)
        raise


def _write_entry(session: Session, deed: Deed, *, outcome: str = "", phase: str = "", entry: str = "") -> str:
    """Writes an entry, and gives its name; empty if it could not be written, which is told once in a session."""
    try:
        at = session.clock()
        name = f"{write_compact(at)}-{next(_NUMBERS) % 10000:04d}-{uuid.uuid4().hex[:8]}"
        spec = _spec(session, deed) | {
            "at": write_time(at, SECONDS),
            "outcome": outcome,
            "phase": phase,
            "entry": entry,
        }
        session.records.create(
            {
                "apiVersion": FLEET_API,
                "kind": KIND,
                "metadata": {"name": name},
                "spec": {key: each for key, each in spec.items() if each},
            }
        )
        return name
    except FleetError as error:
        text = f"no evidence of this is kept (AuditEntry {deed.action}): {error.message}"
        if session.once.setdefault("no evidence", text) is text:
            session.say(f"warning: {text}")
        return ""


def _spec(session: Session, deed: Deed) -> dict[str, t.Any]:
    """Who, what and of what, as an entry has it: texts without secrets and cut to their fields, at most MOST_MEMBERS
    members with the number of all, and what is no digest or revision left empty."""
    namespace, _slash, name = deed.name.rpartition("/")
    about = {"kind": deed.kind, "name": _text(name, 253), "namespace": _text(namespace, 63)}
    return {
        "by": _text(_who(session), 512) or UNKNOWN,
        "holder": _text(session.holder, 512),
        "action": deed.action,
        "object": {key: each for key, each in about.items() if each},
        "members": [_text(each, 253) for each in deed.members[:MOST_MEMBERS]],
        "memberCount": len(deed.members),
        "versions": [_text(each, MOST_TEXT) for each in deed.versions[:MOST_MEMBERS]],
        "digest": _digest(deed.digest),
        "approvedDigest": _digest(deed.approved),
        "reason": _text(deed.reason or session.reason, MOST_TEXT),
        "revision": deed.revision if _REVISION.match(deed.revision) else "",
        "message": _text(deed.message, MOST_TEXT),
    }


def _who(session: Session) -> str:
    """Asked for once in a session, unless a hub does not answer. One that does not say who we are, or refuses to, keeps
    no entry from being written: UNKNOWN."""
    if "who" not in session.once:
        try:
            session.once["who"] = user(session)
        except FleetError as error:
            if error.code in SILENT:
                return UNKNOWN
            session.once["who"] = UNKNOWN
    return session.once["who"]


def _text(text: str, most: int) -> str:
    """The text as part of a line, without secrets, cut to ``most`` characters."""
    found = in_line(SHOWN.without_secrets(text), most - _CUT if len(text) > most else most)
    return found if len(found) <= most else found[:most]


def _digest(text: str) -> str:
    """The digest in lower case; empty for what is none."""
    found = text.strip().lower()
    return found if _DIGEST.match(found) else ""
