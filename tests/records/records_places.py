# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where records are in a test, the clock they go by, and a record to put there."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record, Records


@dataclass
class Watch:
    """A clock that is set by hand. It starts at the present: an API server has a clock of its own."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Place:
    """Where records are, and as many openings of it as a test wants; ``options`` open it in another process too."""

    options: dict[str, t.Any]
    watch: Watch = field(default_factory=Watch)
    opened: list[Records] = field(default_factory=list)

    def open(self) -> Records:
        records = open_records(self.options, {}, self.watch)
        self.opened.append(records)
        return records

    @property
    def json(self) -> str:
        return json.dumps(self.options)


def member(name: str = "one", labels: t.Mapping[str, str] | None = None, **changes: t.Any) -> Record:
    """A MemberCluster with every field that has a default spelled out, so that no store adds any."""
    spec = {
        "identity": {"kind": "User", "name": "fleet", "apiGroup": "x", "namespace": "y"},
        "heartbeatPeriodSeconds": 60,
    }
    metadata: dict[str, t.Any] = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    kind = KINDS["MemberCluster"]
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec} | changes
