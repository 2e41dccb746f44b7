# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What may be disrupted now, asked of real API servers: with Karpenter and without, windows, the file for plans."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.budget_info import (
    BudgetQuestion,
    BudgetReport,
    budget_report,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import node_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.budgets_text import budgets_text
from karpenter_members import (
    CLAIMS,
    NODES,
    POOLS,
    claimed,
    gone,
    install,
    pool,
)
from small_fleet import Document, Fleet, Server

OURS = "gitops.fleet/v1alpha1"
WORKDAYS = {"nodes": "0", "schedule": "0 8 * * 1-5", "duration": "9h"}
# A Wednesday in winter, nine in the morning in Vienna.
NOON = "2026-01-14T08:00:00Z"


def rotation(**spec: t.Any) -> Document:
    return {"apiVersion": OURS, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": spec}


def asked(fleet: Fleet, *definitions: Document, **wish: t.Any) -> BudgetReport:
    return budget_report(fleet.session(), BudgetQuestion(given=node_manifests((), definitions), **wish))


@pytest.fixture
def karpenter(node_server: Server) -> t.Iterator[Server]:
    """Four nodes of a pool of Karpenter's, one of them on its way out; the pool has a budget for work days."""
    install(node_server)
    pool(node_server, "kp", [{"nodes": "50%"}, {**WORKDAYS, "reasons": ["Drifted"]}])
    names = [f"kp-{number}" for number in range(4)]
    for number, name in enumerate(names):
        claimed(node_server, name, "kp", leaving=number == 0)
        # A node that says nothing of itself counts as lost soon, and at once where another had its name before.
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}
        node_server.patch(f"{NODES}/{name}/status", {"status": {"conditions": [ready]}})
    yield node_server
    for name in names:
        gone(node_server, f"{CLAIMS}/{name}")
        gone(node_server, f"{NODES}/{name}")
    gone(node_server, f"{POOLS}/kp")


def test_each_pool_and_reason_has_its_sum_its_budget_and_its_openings(node_fleet: Fleet, karpenter: Server) -> None:
    """D0-59, D0-60, D0-62, D0-64, D0-79 against servers; a member without Karpenter is no error."""
    blue = rotation(nodes={"byLabel": "pool=blue"}, budgets=[{"nodes": "25%"}])
    found = asked(node_fleet, blue, now=NOON, zone="Europe/Vienna", reading=ReadingWish(pods=False))
    assert found.snapshot.problems == ()
    rows = {(each.pool.member, each.pool.name, each.reason): each for each in found.answers}
    assert sorted({key[:2] for key in rows}) == [("m1", "blue"), ("n1", "blue"), ("n1", "kp")]
    assert rows["n1", "blue", "Drifted"].allowance.text == "12 nodes count, limit 3 (25% of 12 nodes is 3) = 3"
    assert rows["m1", "blue", "Drifted"].blocks[-1] == "the pool has no node that counts"
    empty, drifted = rows["n1", "kp", "Empty"], rows["n1", "kp", "Drifted"]
    assert empty.allowed == 1 and "kp-0 is being deleted" in empty.allowance.text
    assert drifted.allowed == 0 and drifted.allowance.answer.binding == (1,)
    data = drifted.as_dict(found.zone)
    assert data["binding_budgets"] == [2]
    assert data["next_change"]["at"] == "2026-01-14T17:00:00Z" and "18:00 CET" in data["next_change"]["local"]
    assert data["openings"][0]["start"] == "2026-01-14T17:00:00Z"
    assert data["openings"][0]["end"] == "2026-01-15T08:00:00Z"
    text = budgets_text(found.answers, found.zone, week=True)
    assert max(map(len, text)) <= 80
    assert any(line.startswith("  Wed 01-14") and "2" in line and "." in line for line in text), "\n".join(text)


def test_freezes_and_budgets_of_the_fleet_hold_our_own_verbs(node_fleet: Fleet, karpenter: Server) -> None:
    freeze = {"name": "year-end", "start": "2026-01-12", "end": "2026-01-16", "timeZone": "Europe/Vienna"}
    budgets = [{"name": "one", "members": "1"}, {"name": "few", "nodes": "1"}]
    spec = {"freezes": [freeze], "budgets": budgets}
    standard = {"apiVersion": OURS, "kind": "FleetMaintenance", "metadata": {"name": "standard"}, "spec": spec}
    found = asked(node_fleet, standard, rotation(), now=NOON)
    held = {each.pool.member: each.held for each in found.answers}
    assert [text.partition(" ends")[0] for text in held["n1"][:1]] == ["freeze year-end"]
    assert "until 2026-01-16T23:00:00Z" in held["n1"][0]
    assert [text.split(":")[0] for text in held["n1"][1:]] == ["budget few of FleetMaintenance standard"]
    assert any("nodes of n1 are disrupted" in text for text in held["m1"])


def test_the_file_gives_the_same_answers_without_any_member(node_fleet: Fleet, karpenter: Server) -> None:
    blue = rotation(nodes={"byLabel": "pool=blue"})
    live = asked(node_fleet, blue, now=NOON, reading=ReadingWish(keep=True))
    path = node_fleet.folder / "nodes.json"
    path.write_text(live.file)
    node_fleet.cut("n1", "m1")
    offline = asked(node_fleet, blue, now=NOON, snapshot=str(path))
    assert [each.as_dict(live.zone) for each in offline.answers] == [each.as_dict(live.zone) for each in live.answers]
    document = json.loads(path.read_text())
    assert "managedFields" not in path.read_text() and document["kind"] == "nodes"
    with pytest.raises(FleetError) as error:
        asked(node_fleet, blue)
    assert {each.code for each in error.value.problems} == {"unreachable"}


def test_what_cannot_be_answered_is_said(node_fleet: Fleet) -> None:
    with pytest.raises(FleetError) as error:
        asked(node_fleet, pools=("nobodys",))
    assert error.value.code == "no-such-pool"
    with pytest.raises(FleetError) as error:
        asked(node_fleet, zone="Europe/Viena")
    assert error.value.code == "unknown-time-zone"
    with pytest.raises(FleetError) as error:
        asked(node_fleet, reading=ReadingWish(names=("m9",)))
    assert error.value.code == "no-such-member"
