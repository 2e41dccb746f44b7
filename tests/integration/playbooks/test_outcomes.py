# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan that brakes stop, or that finds too few clusters, says so, and fails a pipeline that wants it to."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
from playing import HERE, Fleet, Played, Player, given

PLACEMENT = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ClusterResourcePlacement",
    "metadata": {"name": "few"},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "few"}}
SELECTED = [{"group": "", "version": "v1", "kind": "Namespace", "name": "few"}]


def outcome(played: Played) -> dict[str, t.Any]:
    """What the last task gives back as ``fleet``; shown with -v, or where it fails."""
    found = re.findall(r'"fleet": (\{.*?\})', played.output)
    return dict(json.loads(found[-1]))


def files(folder: Path, policy: dict[str, t.Any]) -> dict[str, t.Any]:
    for name, document in (
        ("placements", PLACEMENT | {"spec": {"resourceSelectors": SELECTED, "policy": policy}}),
        ("resources", NAMESPACE),
    ):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "few.json").write_text(json.dumps(document))
    return {"placements": "placements", "resources": "resources"}


@pytest.fixture
def records(play: Player, fleet: Fleet) -> dict[str, t.Any]:
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    return {"records": values["records"]}


def test_a_plan_that_finds_too_few_clusters_is_unfulfilled_and_fails_where_asked(
    play: Player, records: dict[str, t.Any]
):
    values = records | files(play.folder, {"placementType": "PickN", "numberOfClusters": 3})
    facts = {"facts": "read"}
    assert outcome(play("gitops.fleet.plan", "-v", **values, **facts).clean()) == {
        "outcome": "unfulfilled",
        "code": "unfulfilled",
        "resume_at": "",
    }
    strict = play("gitops.fleet.plan", **values, **facts, fail_on=["stopped", "unfulfilled"])
    assert strict.code == 2 and "few: 2 of 3 clusters that the policy asks for" in strict.output
    other = play("gitops.fleet.plan", "-v", **values, **facts, fail_on=["stopped"])
    assert other.code == 0
    try:
        applied = play("gitops.fleet.apply", **values, fail_on=["unfulfilled"])
        assert applied.code == 2 and outcome(applied)["outcome"] == "unfulfilled"
        assert '"changed": true' in applied.output, "two clusters got it"
        again = play("gitops.fleet.apply", "-v", **values).clean()
        assert outcome(again)["outcome"] == "unfulfilled" and again.changed == 0
    finally:
        play(HERE / "end.yml", **records, names=["few"]).clean()


def test_a_plan_that_a_brake_stops_is_stopped_and_fails_where_asked(play: Player, records: dict[str, t.Any]):
    both = {"placementType": "PickN", "numberOfClusters": 2}
    play("gitops.fleet.apply", **records, **files(play.folder, both)).clean()
    try:
        none = records | {"facts": "read"} | files(play.folder, {"placementType": "PickN", "numberOfClusters": 0})
        for name, flags in (("plan", ()), ("apply", ("--check",))):
            stopped = play(f"gitops.fleet.{name}", "-v", *flags, **none).clean()
            assert outcome(stopped) == {"outcome": "stopped", "code": "brake-max-removals", "resume_at": ""}
            assert play(f"gitops.fleet.{name}", *flags, **none, fail_on=["stopped"]).code == 2
        refused = play("gitops.fleet.apply", **none)
        assert refused.code == 2 and outcome(refused)["outcome"] == "stopped"
    finally:
        play(HERE / "end.yml", **records, names=["few"]).clean()


def test_what_a_run_would_do_is_printed_by_a_check(play: Player, driven: dict[str, t.Any]):
    values = {"records": driven["records"], "updates": str(HERE / "manifests" / "updates")}
    values["drivers"] = {"command": {"begin": ["true"]}}
    told = play("gitops.fleet.update", "--check", **values).clean()
    assert told.changed == 1
    for text in ("run web-136: ControlPlaneOnly to 1.36.3, rings", "digest sha256:", "gate before", "east", "west"):
        assert text in told.output, told.output
