# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one placement asks the records for, besides its own records."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from types import SimpleNamespace

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.barred import barred_clusters
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease


class NamesAndLeases:
    """Records of which whole members cannot be read: with 1,000 of them each placement would read 1,000 again."""

    def names(self, kind: str) -> frozenset[str]:
        return frozenset({"here", "leaving"}) if kind == "FleetMember" else frozenset()

    def leases(self) -> tuple[Lease, ...]:
        now = datetime.now(UTC)
        return (Lease("leaving/leaving", "ann", 1, now, now, 60),)


def test_who_is_in_the_fleet_is_known_by_names_alone() -> None:
    """F6: what is written to a member that has left, or is leaving, would be lost."""
    clusters = [SimpleNamespace(cluster=name, cause="") for name in ("gone", "here", "leaving")] + [
        SimpleNamespace(cluster="left", cause="left-the-fleet")
    ]
    found = barred_clusters(t.cast(t.Any, NamesAndLeases()), t.cast(t.Any, SimpleNamespace(clusters=clusters)))
    assert {name: problem.code for name, problem in found.items()} == {
        "gone": "not-a-member",
        "leaving": "member-leaving",
    }
