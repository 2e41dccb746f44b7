# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Entries are written once, say what was done in fields that every hub takes, and stop nothing."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import (
    APPLIED,
    BEGUN,
    ENDED,
    EVICTED,
    JOINED,
    MOST_MEMBERS,
    MOST_TEXT,
    PARTIAL,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit import evidence
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.evidence import Deed, attested
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 25, 20, 12, 58, tzinfo=UTC)
DEED = Deed(action=APPLIED, kind="ClusterResourcePlacement", name="web", members=("m1", "m2"))
STEERING = "\x1b]0;x\x07\n::error::all is lost \u202e##vso[task.complete]"


class Refusing(SqliteRecords):
    """Takes no entries, as a hub whose role was not renewed."""

    def create(self, document: Record, *args: t.Any, **more: t.Any) -> Record:
        raise FleetError("forbidden", "cannot create resource auditentries", "hub")


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


@pytest.fixture
def session(records: SqliteRecords) -> Session:
    return Session(records=records, hub=None, holder="runner-1", clock=lambda: NOW, environ={"USER": "ann"})


def specs(session: Session) -> list[Record]:
    """In the order of their names, each as the kind's own rules take it."""
    found = sorted(session.records.list("AuditEntry"), key=lambda each: str(each["metadata"]["name"]))
    for each in found:
        assert not read(each, strict=True).findings
    return [each["spec"] for each in found]


def test_an_act_of_a_single_write_has_one_entry(session: Session) -> None:
    evidence.testify(session, DEED)
    assert specs(session) == [
        {
            "at": "2026-11-25T20:12:58Z",
            "by": "ann",
            "holder": "runner-1",
            "action": APPLIED,
            "object": {"kind": "ClusterResourcePlacement", "name": "web"},
            "members": ["m1", "m2"],
            "memberCount": 2,
            "outcome": "done",
        }
    ]


def test_an_act_by_steps_has_two_and_the_second_names_the_first(session: Session) -> None:
    with attested(session, DEED):
        pass
    first, second = specs(session)
    assert (first["phase"], second["phase"], second["outcome"]) == (BEGUN, ENDED, "done")
    assert second["entry"] in {each["metadata"]["name"] for each in session.records.list("AuditEntry")}


def test_the_first_is_there_before_anything_is_done(session: Session) -> None:
    """So that an act that is killed leaves a trace."""
    with attested(session, DEED):
        assert [each["phase"] for each in specs(session)] == [BEGUN]


def test_one_that_fails_says_why_and_the_error_goes_on(session: Session) -> None:
    with pytest.raises(FleetError), attested(session, DEED):
        raise FleetError("unreachable", "nobody answers", "m1")
    assert specs(session)[-1]["outcome"] == "failed" and "nobody answers" in specs(session)[-1]["message"]


def test_a_word_of_its_own_at_the_end_is_kept(session: Session) -> None:
    with attested(session, DEED) as testimony:
        testimony.end(PARTIAL, "m2 is away", ("m1",))
    last = specs(session)[-1]
    assert (last["outcome"], last["message"], last["members"]) == (PARTIAL, "m2 is away", ["m1"])
    assert len(specs(session)) == 2


def test_what_only_looks_leaves_no_trace(session: Session) -> None:
    with attested(session, DEED, write=False):
        pass
    evidence.Testimony(session, DEED).end()
    assert specs(session) == []


def test_acts_of_one_second_keep_their_order(session: Session) -> None:
    evidence.testify(session, Deed(action=JOINED, kind="MemberCluster", name="m1"))
    evidence.testify(session, Deed(action=EVICTED))
    assert [each["action"] for each in specs(session)] == [JOINED, EVICTED]


def test_an_object_in_a_namespace_has_it_in_a_field_of_its_own(session: Session) -> None:
    evidence.testify(session, Deed(action=APPLIED, kind="ResourcePlacement", name="team/web"))
    assert specs(session)[0]["object"] == {"kind": "ResourcePlacement", "name": "web", "namespace": "team"}


def test_of_many_members_the_first_are_named_and_all_are_counted(session: Session) -> None:
    evidence.testify(session, Deed(action=EVICTED, members=tuple(f"m{number}" for number in range(MOST_MEMBERS + 20))))
    assert len(specs(session)[0]["members"]) == MOST_MEMBERS and specs(session)[0]["memberCount"] == MOST_MEMBERS + 20


def test_what_people_wrote_is_a_part_of_one_line_and_steers_nothing(session: Session) -> None:
    evidence.testify(session, Deed(action=EVICTED, kind="X", name=STEERING, members=(STEERING,), reason=STEERING))
    (spec,) = specs(session)
    for each in (spec["reason"], spec["object"]["name"], *spec["members"]):
        assert each.isprintable() and "::error::" not in each and "##vso[" not in each


def test_a_template_in_a_reason_stays_the_text_it_is(session: Session) -> None:
    evidence.testify(session, Deed(action=EVICTED, reason="{{ lookup('pipe', 'id') }}"))
    assert specs(session)[0]["reason"] == "{{ lookup('pipe', 'id') }}"


@pytest.mark.parametrize("letter", ["x", "\x1b", "\U000e0041"])
def test_a_text_without_end_is_cut_to_its_field(session: Session, letter: str) -> None:
    long = letter * 50_000
    evidence.testify(session, Deed(action=EVICTED, kind="X", name=long, reason=long, message=long, members=(long,)))
    (spec,) = specs(session)
    assert len(spec["reason"]) <= MOST_TEXT and len(spec["message"]) <= MOST_TEXT
    assert len(spec["object"]["name"]) <= 253 and len(spec["members"][0]) <= 253


def test_no_secret_that_was_shown_to_a_server_is_kept(session: Session) -> None:
    SHOWN.add("canary-of-a-token-in-evidence")
    evidence.testify(
        session,
        Deed(action=EVICTED, reason="with canary-of-a-token-in-evidence", message="canary-of-a-token-in-evidence"),
    )
    assert "canary-of-a-token-in-evidence" not in str(specs(session))


def test_why_the_verb_was_called_is_told_of_all_that_it_does_unless_a_deed_has_a_reason(session: Session) -> None:
    told = replace(session, reason="CHG-7")
    with attested(told, DEED):
        evidence.testify(told, Deed(action=EVICTED, reason="ticket 8"))
    assert [each["reason"] for each in specs(session)] == ["CHG-7", "ticket 8", "CHG-7"]


def test_what_is_no_digest_and_no_commit_is_left_out(session: Session) -> None:
    evidence.testify(session, Deed(action=EVICTED, digest="all of it", approved=" ABCDEF012345 ", revision="v1.0"))
    (spec,) = specs(session)
    assert spec["approvedDigest"] == "abcdef012345" and "digest" not in spec and "revision" not in spec


def test_what_cannot_be_kept_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    refusing = Refusing(tmp_path / "r.db", lambda: NOW)
    session = Session(records=refusing, hub=None, holder="r", clock=lambda: NOW, say=said.append, environ={"USER": "a"})
    with attested(session, DEED) as testimony:
        evidence.testify(session, DEED)
    refusing.close()
    assert testimony.begun and len(said) == 1
    assert said[0].startswith("warning: no evidence of this is kept (AuditEntry Applied): cannot create")


def test_a_hub_that_does_not_say_who_we_are_keeps_no_entry_from_being_written(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_session: Session) -> str:
        raise FleetError("forbidden", "it does not say", "hub")

    monkeypatch.setattr(evidence, "user", nobody)
    evidence.testify(session, DEED)
    assert specs(session)[0]["by"] == "unknown"


def test_who_it_is_is_asked_for_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Session] = []
    monkeypatch.setattr(evidence, "user", lambda session: asked.append(session) or "ann")
    evidence.testify(session, DEED)
    evidence.testify(session, DEED)
    assert len(asked) == 1


def test_where_nothing_says_who_it_is_the_account_of_the_process_is_told(records: SqliteRecords) -> None:
    session = Session(records=records, hub=None, holder="r", clock=lambda: NOW, environ={})
    evidence.testify(session, DEED)
    assert specs(session)[0]["by"]


@pytest.mark.parametrize(("code", "times"), [("forbidden", 1), ("not-found", 1), ("bad-answer", 1), ("timeout", 3)])
def test_a_hub_that_does_not_say_who_we_are_is_asked_once_and_one_that_was_silent_again(
    session: Session, monkeypatch: pytest.MonkeyPatch, code: str, times: int
) -> None:
    asked = []

    def refused(_session: Session) -> str:
        asked.append(code)
        raise FleetError(code, "no", "hub")

    monkeypatch.setattr(evidence, "user", refused)
    for _each in range(3):
        evidence.testify(session, DEED)
    assert [each["by"] for each in specs(session)] == ["unknown"] * 3 and len(asked) == times
