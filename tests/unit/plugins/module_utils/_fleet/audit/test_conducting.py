# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who conducts testifies when the first act is begun, and when it ends; who finds nothing to do leaves no trace."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import (
    BEGUN,
    DONE,
    ENDED,
    RUN_CONDUCTED,
    WAITING,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit import evidence
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.conducting import AttestedTelling
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)


@dataclass(frozen=True)
class State:
    flying: tuple[str, ...] = ()
    left: tuple[str, ...] = ("m1", "m2")


@dataclass
class Heard:
    """A telling that keeps what it hears."""

    heard: list[str] = field(default_factory=list)

    def say(self, text: str, /) -> None:
        self.heard.append(text)

    def begin(self, _state: State, _now: datetime) -> None:
        self.heard.append("begin")

    def stored(self, _state: State, _now: datetime) -> None:
        self.heard.append("stored")

    def waiting(self, _state: State, _until: datetime | None, _now: datetime) -> None:
        self.heard.append("waiting")

    def end(self, _state: State, why: str, _now: datetime) -> None:
        self.heard.append(why)


@dataclass
class Conducted:
    telling: AttestedTelling[State]
    records: SqliteRecords
    heard: list[str]

    def specs(self) -> list[Record]:
        found = sorted(self.records.list("AuditEntry"), key=lambda each: str(each["metadata"]["name"]))
        return [each["spec"] for each in found]


@pytest.fixture
def conducted(tmp_path: Path) -> t.Iterator[Conducted]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    session = Session(records=records, hub=None, holder="r", clock=lambda: NOW, environ={"USER": "ann"})
    testimony = evidence.Testimony(session, evidence.Deed(action=RUN_CONDUCTED, kind="UpdateRun", name="1-31"))
    inner = Heard()
    telling = AttestedTelling[State](
        inner, testimony, lambda state: state.flying, lambda state: state.left, lambda _state: (DONE, "all done")
    )
    yield Conducted(telling, records, inner.heard)
    records.close()


def test_it_is_told_before_the_first_act_begins_and_on_whom(conducted: Conducted) -> None:
    state = State()
    conducted.telling.begin(state, NOW)
    conducted.telling.stored(state, NOW)
    assert conducted.specs() == []
    conducted.telling.stored(replace(state, flying=("m1",)), NOW)
    (begun,) = conducted.specs()
    assert (begun["phase"], begun["members"]) == (BEGUN, ["m1", "m2"])


def test_however_many_acts_there_are_it_begins_and_ends_once(conducted: Conducted) -> None:
    conducted.telling.begin(State(), NOW)
    for flying in (("m1",), (), ("m2",)):
        conducted.telling.stored(State(flying, ()), NOW)
    conducted.telling.end(State((), ()), "settled", NOW)
    conducted.telling.end(State((), ()), "settled", NOW)
    assert [each["phase"] for each in conducted.specs()] == [BEGUN, ENDED]
    assert (conducted.specs()[1]["outcome"], conducted.specs()[1]["message"]) == (DONE, "all done")


def test_one_that_does_not_end_waits_and_says_for_what(conducted: Conducted) -> None:
    conducted.telling.begin(State(), NOW)
    conducted.telling.stored(State(("m1",)), NOW)
    conducted.telling.end(State(), "a gate is not open", NOW)
    assert (conducted.specs()[1]["outcome"], conducted.specs()[1]["message"]) == (WAITING, "a gate is not open")


def test_who_finds_nothing_to_do_leaves_no_trace(conducted: Conducted) -> None:
    for why in ("settled", "a gate is not open"):
        conducted.telling.begin(State(), NOW)
        conducted.telling.end(State(), why, NOW)
    assert conducted.specs() == []


def test_an_end_that_no_act_preceded_is_told_too(conducted: Conducted) -> None:
    """All were skipped, for example."""
    conducted.telling.begin(State(), NOW)
    conducted.telling.end(State(left=()), "settled", NOW)
    assert [each["phase"] for each in conducted.specs()] == [BEGUN, ENDED]


def test_what_became_of_versions_is_told_of_those_that_it_was_begun_on(conducted: Conducted) -> None:
    conducted.telling.versions = lambda _state: {"m0": "m0: 1.34.1", "m2": "m2: 1.35.4 -> 1.36.3", "m1": "m1: 1.36.3"}
    conducted.telling.begin(State(), NOW)
    conducted.telling.stored(State(("m1",)), NOW)
    conducted.telling.end(State(left=()), "settled", NOW)
    begun, ended = conducted.specs()
    assert "versions" not in begun and ended["versions"] == ["m2: 1.35.4 -> 1.36.3", "m1: 1.36.3"]


def test_people_hear_all_that_they_heard_before(conducted: Conducted) -> None:
    conducted.telling.say("a line")
    conducted.telling.begin(State(), NOW)
    conducted.telling.stored(State(), NOW)
    conducted.telling.waiting(State(), None, NOW)
    conducted.telling.end(State(), "settled", NOW)
    assert conducted.heard == ["a line", "begin", "stored", "waiting", "settled"]
