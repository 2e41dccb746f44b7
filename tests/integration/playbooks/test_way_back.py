# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A staged run that waits for a cluster which never comes right says so, and the command that it prints goes back."""

from __future__ import annotations

import json
import re
import shlex
import typing as t
from pathlib import Path

from playing import Fleet, Player, given

API = "placement.kubernetes-fleet.io/v1beta1"
RINGS = {"east": "canary", "west": "prod"}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "back"}}


def made(kind: str, name: str, **spec: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


PLACEMENT = made(
    "ClusterResourcePlacement",
    "back",
    resourceSelectors=[{"group": "", "version": "v1", "kind": "Namespace", "name": "back"}],
    strategy={"type": "External"},
)
STRATEGY = made(
    "ClusterStagedUpdateStrategy",
    "rings",
    stages=[{"name": each, "labelSelector": {"matchLabels": {"ring": each}}} for each in RINGS.values()],
)
LABELS = {"app": "web"}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "back"},
    "spec": {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": "web:2"}]}},
    },
}


def test_the_way_back_is_typed_as_it_is_printed(play: Player, fleet: Fleet) -> None:
    """A Deployment that nothing makes available comes with the second version. The run that has brought it loses its
    cluster to the one that goes back."""
    records = {"records": given(play.folder, fleet, fleet.admin)["records"]}
    for cluster, ring in RINGS.items():
        asked = {"kubeconfig": fleet.admin, "pattern": cluster, "labels": {"ring": ring}}
        play("gitops.fleet.join", **records, **asked).clean()
    try:
        assert "Succeeded" in rolled_out(play, records, "back-1")
        late = rolled_out(play, records, "back-2", WEB)
        words = " ".join(late.split())
        assert "back-2 Running east in flight since " in words and "east in flight since " in words.split("canary")[-1]
        assert "Deployment back/web" in words and "making progress" not in words
        listed = " ".join(play("gitops.fleet.status", **records).clean().output.split())
        assert "0/2 clusters; east in flight since " in listed, listed
        (command,) = re.findall("to go back to snapshot 0, by a new run: ansible-playbook (.*)", late)
        back = play(*shlex.split(command)).clean()
        assert re.search("back-2-back +Succeeded", back.output) and "snapshot 0" in back.output
        lost = play("gitops.fleet.staged_update", **records, run="back-2", max_idle=0)
        told = " ".join(lost.output.split())
        assert lost.code == 2 and "run back-2-back of the same placement has begun since" in told
        assert "to see run back-2-back, which has begun after it at " in told and "once more" not in told
        assert "to go back" not in lost.output, "all of it is back already"
    finally:
        lifted = {"max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        play("gitops.fleet.end", **records, names=["back"], **lifted)


def rolled_out(play: Player, records: dict[str, t.Any], run: str, *resources: dict[str, t.Any]) -> str:
    """What the staged run of that name prints, typed as the apply before it says. It gives the namespace and these
    resources, from a folder of its own."""
    folder = Path(f"{play.folder}/it's {run}")
    folder.mkdir()
    wanted = made("ClusterStagedUpdateRun", run, placementName="back", stagedRolloutStrategyName="rings")
    documents = (PLACEMENT, STRATEGY, wanted, NAMESPACE, *resources)
    (folder / "all.yml").write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")
    applied = play("gitops.fleet.apply", **records, placements=str(folder), resources=str(folder)).clean()
    (command,) = re.findall("to give it to its clusters: (ansible-playbook .*)", applied.output)
    assert f" -e run={run} " in command
    return play(*shlex.split(command)[1:], "-e", "max_idle=0").clean().output
