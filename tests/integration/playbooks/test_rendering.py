# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files in examples/rendering as they are: overrides and envelopes, planned in a pull request, checked, applied."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from playing import HERE, ROOT, Fleet, Player, given

EXAMPLES = ROOT / "examples" / "rendering"
RBAC, WORK = "/apis/rbac.authorization.k8s.io/v1", "/apis/apps/v1/namespaces/app/deployments"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def on(fleet: Fleet, cluster: str, path: str) -> dict[str, t.Any]:
    with KubeClient(connection_from_kubeconfig(Path(fleet.admin), cluster)) as client:
        return client.get(path)


def test_the_examples_of_overrides_and_envelopes(play: Player, fleet: Fleet) -> None:
    """Production differs from the others, and nothing else does (D4-64)."""
    records = given(play.folder, fleet, fleet.admin)["records"]
    for cluster, env in (("east", "prod"), ("west", "dev")):
        asked = {"kubeconfig": fleet.admin, "pattern": cluster, "labels": {"env": env}}
        play("gitops.fleet.join", records=records, **asked).clean()
    play("gitops.fleet.facts", records=records).clean()
    files = {"records": records, "placements": str(EXAMPLES), "resources": str(EXAMPLES)}
    told = play("gitops.fleet.plan", "-v", **files, render="east", write_plan="plan.json", write_markdown="plan.md")
    assert "overridden, on one cluster (east):" in told.clean().output and '"image": "nginx:1.20.0"' in told.output
    assert "does not get ConfigMap app/debug" in (play.folder / "plan.md").read_text().replace("&#45;", "-")
    (plan,) = json.loads((play.folder / "plan.json").read_text())["placements"]
    assert [each["clusters"] for each in plan["renderings"]] == [["east"], ["west"]]
    try:
        assert play("gitops.fleet.apply", "--check", **files).clean().changed == 1
        applied = play("gitops.fleet.apply", **files, approved_plan="plan.json", facts="facts.json", max_idle=0)
        assert applied.clean().changed == 1
        looks = {name: on(fleet, name, f"{WORK}/my-deployment") for name in ("east", "west")}
        assert {name: each["metadata"]["labels"]["cluster-name"] for name, each in looks.items()} == {
            "east": "east",
            "west": "west",
        }
        images = [each["spec"]["template"]["spec"]["containers"][0]["image"] for each in looks.values()]
        assert images == ["nginx:1.20.0", "nginx:1.14.2"]
        assert [each["spec"]["replicas"] for each in looks.values()] == [3, 1]
        roles = [on(fleet, name, f"{RBAC}/clusterroles/secret-reader")["rules"][0]["verbs"] for name in looks]
        assert roles == [["get", "watch"], ["get", "watch", "list"]]
        maps = [on(fleet, name, "/api/v1/namespaces/app/configmaps")["items"] for name in looks]
        assert ["debug" in [one["metadata"]["name"] for one in each] for each in maps] == [False, True]
        for name in looks:
            assert on(fleet, name, f"{WEBHOOKS}/guard") and on(fleet, name, f"{RBAC}/clusterroles/pod-reader")
            assert on(fleet, name, "/api/v1/namespaces/app/resourcequotas/few")["spec"]["hard"] == {"pods": "10"}
        assert play("gitops.fleet.apply", **files, max_idle=0).clean().changed == 0
    finally:
        play(HERE / "end.yml", records=records, names=["app"]).clean()
