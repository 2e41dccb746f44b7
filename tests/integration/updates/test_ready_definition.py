# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ready definition as users give it to the playbook, beside a program that stands in for ``az``."""

from __future__ import annotations

import json
import sys

from conducting import ROOT, Plays
from update_fleet import TARGET, UpdateFleet

STAND_IN = ROOT / "tests/unit/plugins/module_utils/_fleet/drivers/clouds/stand_ins/az.py"


def test_the_playbook_takes_a_definition_with_settings_of_its_members(fleet: UpdateFleet, plays: Plays) -> None:
    fleet.file_members(a="v1.35.4")
    pool = {"name": "blue", "count": 1, "mode": "User", "provisioningState": "Succeeded"}
    pool |= {"currentOrchestratorVersion": "1.35.4", "nodeImageVersion": "AKSUbuntu-2204gen2containerd-202601.12.0"}
    cluster = {
        "resourceGroup": "rg-a",
        "kubernetesVersion": "1.35.4",
        "currentKubernetesVersion": "1.35.4",
        "provisioningState": "Succeeded",
        "agentPoolProfiles": [pool],
    }
    cloud = fleet.folder / "cloud.json"
    cloud.write_text(json.dumps({"clusters": {"aks-a": cluster}, "refusals": []}))
    program = fleet.folder / "az"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    environ = {"PATH": f"{fleet.folder}:{plays.environ()['PATH']}", "AZURE_CONFIG_DIR": str(fleet.folder)}
    drivers = {
        "command": {
            "definition": "az_aks",
            "settings": {"resource_group": "rg-{member}", "interval": 1},
            "members": {"a": {"name": "aks-a"}},
        }
    }
    fleet.write()
    given = fleet.variables(drivers=drivers, interval=1, max_idle=0)
    ended = plays.start("gitops.fleet.update", environ=environ, **given).code(0)
    assert ended.fleet["outcome"] == "done", ended.output
    assert json.loads(cloud.read_text())["clusters"]["aks-a"]["currentKubernetesVersion"] == TARGET
    unfit = plays.start(
        "gitops.fleet.update", environ=environ, **{**given, "drivers": {"command": {"definition": "x"}}}
    )
    assert "value of definition must be one of: az_aks, eksctl, gcloud" in " ".join(unfit.code(2).output.split())
