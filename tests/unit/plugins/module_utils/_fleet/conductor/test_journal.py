# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a conductor knows of its machine is read again only where somebody else has written."""

from __future__ import annotations

import copy
import typing as t
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.journal import Journal

Document = dict[str, t.Any]


class OneRecord:
    """Records with one document, of which every reader gets a copy."""

    def __init__(self) -> None:
        self.document: Document = {"metadata": {"name": "web", "resourceVersion": "1"}, "status": {"done": 0}}

    def get(self, _kind: str, _name: str) -> Document:
        return copy.deepcopy(self.document)

    def replace(self, document: Document, _lease: object) -> Document:
        version = str(int(self.document["metadata"]["resourceVersion"]) + 1)
        self.document = {**document, "metadata": {**document["metadata"], "resourceVersion": version}}
        return copy.deepcopy(self.document)


class CountingBook:
    """The state is how much is done; it counts how often a document was read."""

    name, kind, uid = "web", "UpdateRun", ""

    def __init__(self) -> None:
        self.read_so_far = 0

    def read(self, document: Document) -> int:
        self.read_so_far += 1
        return int(document["status"]["done"])

    def written(self, document: Document, state: int, _epoch: int) -> Document:
        return {**document, "status": {"done": state}}

    def remember(self) -> None:
        """Nothing is remembered."""

    def epoch(self) -> int:
        return 1

    def gone(self) -> FleetError:
        return FleetError("run-deleted", "it was deleted", self.name)


def test_what_was_read_or_stored_is_not_read_again() -> None:
    records, book = OneRecord(), CountingBook()
    lease = t.cast(t.Any, SimpleNamespace(epoch=1))
    journal = Journal[int](t.cast(t.Any, records), t.cast(t.Any, book), lease)
    journal.load()
    journal.note(lambda done: max(done, 1))
    assert journal.store(journal.state, in_flight=False)
    journal.load()
    assert (journal.state, book.read_so_far) == (1, 1)
    records.document["status"]["done"] = 7
    journal.note(lambda done: max(done, 2))
    journal.load()
    assert (journal.state, book.read_so_far) == (7, 2)


def test_one_that_was_deleted_and_made_again_under_its_name_is_another():
    records = OneRecord()
    records.document["metadata"]["uid"] = "first"
    lease = t.cast(t.Any, SimpleNamespace(epoch=1))
    journal = Journal[int](t.cast(t.Any, records), t.cast(t.Any, CountingBook()), lease)
    journal.load()
    records.document["metadata"] |= {"uid": "second", "resourceVersion": "7"}
    with pytest.raises(FleetError) as refused:
        journal.load()
    assert refused.value.code == "run-deleted" and journal.state == 0
