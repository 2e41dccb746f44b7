# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the fleet by the playbook status, and reports with and without what a look for drift has found."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from playing import HERE, Fleet, Player, given

MANIFESTS = HERE / "manifests"
FILES = {"placements": str(MANIFESTS / "placements"), "resources": str(MANIFESTS / "resources")}
SETTINGS = "/api/v1/namespaces/shop/configmaps/settings"


def words(output: str) -> str:
    return " ".join(output.split())


def report(play: Player, records: dict[str, t.Any], **given: t.Any) -> tuple[dict[str, t.Any], str, str]:
    """The data of a report, what was printed, and its Markdown."""
    dest = play.folder / "report"
    done = play("gitops.fleet.report", **records, dest=str(dest), **given).clean()
    return json.loads((dest / "report.json").read_text()), words(done.output), (dest / "report.md").read_text()


def meddle(fleet: Fleet) -> None:
    with KubeClient(connection_from_kubeconfig(fleet.admin, "east")) as client:
        body, manager = {"data": {"color": "black"}}, {"fieldManager": "somebody"}
        client.request("PATCH", SETTINGS, body, manager, "application/merge-patch+json")


def test_drift_is_told_as_of_the_look_and_not_at_all_without_one(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    records = {"records": values["records"]}
    drift = str(play.folder / "drift.json")
    try:
        facts = str(play.folder / "facts.json")
        play("gitops.fleet.facts", **records, dest=facts).clean()
        planned = play("gitops.fleet.plan", **records, **FILES, facts=facts).clean()
        assert "a first apply reaches all 2 clusters at once" in words(planned.output)
        play("gitops.fleet.apply", **records, **FILES).clean()
        meddle(fleet)

        data, printed, comment = report(play, records)
        assert data["driftKnown"]["objects"] is None and data["drift"] == []
        unseen = "not looked since an apply, 20"
        assert unseen in printed and unseen in comment and "0 objects" not in printed
        assert all(each["drift"]["objects"] is None for each in data["clusters"])

        found = play("gitops.fleet.drift", **records, **FILES, result_file=drift)
        told = words(found.output)
        assert found.code == 2 and "1 cluster drifted (east)" in told and "try again" not in told
        assert "to repair what drifted (it writes): ansible-playbook gitops.fleet.apply" in told
        looked = json.loads(Path(drift).read_text())["observed_at"]
        data, printed, comment = report(play, records, drift=drift)
        assert f"1 object drifted, looked at {looked}" in printed
        assert {each["name"]: each["drift"]["objects"] for each in data["clusters"]} == {"east": 1, "west": 0}
        (row,) = data["drift"]
        assert (row["cluster"], row["path"], row["live"], row["placed"], row["seen"], row["looked"]) == (
            "east", ".data.color", "black", "blue", looked, True,
        )  # fmt: skip
        assert f"1 object drifted, looked at {looked}".replace("-", "&#45;") in comment or looked in comment

        status = play("gitops.fleet.status", **records).clean().output
        head, _table, below = status.partition("PLACEMENT")
        assert "2 clusters: 2 ready" in head and "drift: not looked since an apply, 20" in words(head)
        assert "to see here what drifted: ansible-playbook gitops.fleet.drift" in words(head)
        assert "shop" in below and "Available" in below and ", as of 20" in words(below)

        status = words(play("gitops.fleet.status", **records, drift=drift).clean().output)
        assert f"drift: 1 object drifted, looked at {looked}" in status and "not looked since" not in status
        assert f"1 object drifted, looked at {looked}: ConfigMap shop/settings" in status
        assert "to see here what drifted" not in status

        applied = str(play.folder / "applied.json")
        play("gitops.fleet.apply", **records, **FILES, result_file=applied).clean()
        refused = play("gitops.fleet.report", **records, dest=str(play.folder / "no"), drift=applied)
        assert refused.code == 2 and "this is the result of an apply" in words(refused.output)
        for name in ("report", "status"):
            missing = play(f"gitops.fleet.{name}", **records, drift=str(play.folder / "none.json"))
            assert missing.code == 2 and "drift-missing" in missing.output
        assert play("gitops.fleet.drift", **records, **FILES, result_file=drift).clean().changed == 0
        data, printed, _comment = report(play, records, drift=drift)
        assert data["driftKnown"]["objects"] == 0 and "0 objects drifted, looked at" in printed
    finally:
        ends = {"names": "shop", "max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        play("gitops.fleet.end", **records, **ends).clean()
    last = words(play("gitops.fleet.status", **records).clean().output)
    assert "2 clusters: 2 ready" in last and "drift:" not in last and "no placement is recorded" in last


def test_before_anything_is_known_status_says_so(play: Player, fleet: Fleet):
    records = given(play.folder, fleet, fleet.admin)["records"]
    told = play("gitops.fleet.status", records=records).clean().output
    assert "no cluster is recorded in" in words(told) and "no placement is recorded" in words(told)
