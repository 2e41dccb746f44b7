# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Specs that people give are recorded, whoever records at the same time."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.given import record_specs
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

KIND, NAME = "FleetMaintenance", "standard"
Other = t.Callable[["InBetween"], None]


def maintenance(freeze: str) -> t.Any:
    spec = {"freezes": [{"name": freeze, "start": "2026-12-01", "end": "2026-12-02"}]}
    manifest = {"apiVersion": "gitops.fleet/v1alpha1", "kind": KIND, "metadata": {"name": NAME}, "spec": spec}
    return read(manifest, "file.yml", False).object


class InBetween(SqliteRecords):
    """Records in which the next ones of ``others`` write between our look and our own writes."""

    others: t.ClassVar[list[Other]] = []

    def _meanwhile(self) -> None:
        if self.others:
            self.others.pop(0)(self)

    def create(self, *given: t.Any, **more: t.Any) -> t.Any:
        self._meanwhile()
        return super().create(*given, **more)

    def replace(self, *given: t.Any, **more: t.Any) -> t.Any:
        self._meanwhile()
        return super().replace(*given, **more)


def giving(freeze: str) -> Other:
    return lambda records: t.cast(None, record_specs(records, [maintenance(freeze)], True))


def with_status(records: InBetween) -> None:
    there = records.get(KIND, NAME)
    assert there is not None
    records.replace({**there, "status": {"observed": len(records.others)}})


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[InBetween]:
    made = InBetween(tmp_path / "records.db", lambda: datetime(2026, 1, 2, tzinfo=UTC))
    yield made
    made.close()


def recorded(records: InBetween) -> t.Any:
    there = records.get(KIND, NAME)
    return there and there["spec"]["freezes"][0]["name"]


def test_what_is_new_or_another_is_recorded_and_what_is_there_is_not(records: InBetween) -> None:
    assert record_specs(records, [maintenance("a")], False) and recorded(records) is None
    assert record_specs(records, [maintenance("a")], True) and recorded(records) == "a"
    assert not record_specs(records, [maintenance("a")], True)
    assert record_specs(records, [maintenance("b")], True) and recorded(records) == "b"


@pytest.mark.parametrize("before", [None, "z"])
def test_two_who_record_the_same_at_once_are_both_through(records: InBetween, before: str | None) -> None:
    """D3-83: two ticks that begin at the same second."""
    if before:
        record_specs(records, [maintenance(before)], True)
    records.others[:] = [giving("a")]
    assert record_specs(records, [maintenance("a")], True) and recorded(records) == "a" and not records.others


@pytest.mark.parametrize(("before", "code"), [(None, "already-exists"), ("z", "conflict")])
def test_another_spec_of_that_very_moment_is_not_written_over(
    records: InBetween, before: str | None, code: str
) -> None:
    if before:
        record_specs(records, [maintenance(before)], True)
    records.others[:] = [giving("b")]
    with pytest.raises(FleetError) as error:
        record_specs(records, [maintenance("a")], True)
    assert error.value.code == code and recorded(records) == "b"


def test_what_is_written_beside_it_holds_nobody_up(records: InBetween) -> None:
    record_specs(records, [maintenance("z")], True)
    records.others[:] = [with_status, lambda _records: None, with_status]
    assert record_specs(records, [maintenance("a")], True) and recorded(records) == "a"
    there = records.get(KIND, NAME)
    assert there is not None and there["status"], "and is kept"
