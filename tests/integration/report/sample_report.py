# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report of the sample fleet: its recorded placements, and of one of them what is planned."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.showing import plain_json
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.page import report_page
from sample_fleet import placement, pools, sample_fleet, update_run
from sample_runs import rotation, staged_run

CANARY = "canary-of-a-secret"
CHANGED = "ingress"
SUPPOSED = {"gone": ["prod-southindia-4"], "change": {"prod-eastus-3": {"taints": [{"key": "service"}]}}}


@dataclass(frozen=True)
class Made:
    """A report as a file, and its data."""

    path: Path
    data: t.Mapping[str, t.Any]


def made(folder: Path, foreign: str) -> Made:
    sample = sample_fleet(folder, foreign=foreign)
    update_run(sample, foreign)
    staged_run(sample, foreign)
    rotation(sample, foreign)
    manifests = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CHANGED}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "namespace": CHANGED},
            "stringData": {"a": CANARY},
        },
    ]
    wanted = placement(2)
    wanted["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3, "maxSurge": 1}}
    src = sample.file("placement.json", wanted)
    resources = sample.file("resources.json", *manifests)
    asked = {"pools": (pools(sample, foreign),), "supposed": SUPPOSED}
    planned = sample.overview(src=(src,), resources=(resources,), **asked).as_dict()
    whole = sample.overview(**asked).as_dict()
    # The recorded placements, and of one of them what is planned.
    rows = {each["name"]: each for each in whole["placements"]}
    changed = next(each for each in planned["placements"] if each["name"] == CHANGED)
    shift = len(whole["reasons"])
    whole["reasons"] += planned["reasons"]
    rows[CHANGED] = {**changed, "why": [each + shift for each in changed["why"]]}
    told = json.dumps({**whole, "place": "records.db", "placements": list(rows.values())})
    data = plain_json(json.loads(told.replace(f"{folder}/", "fleet/")))
    path = folder / "report.html"
    path.write_text(report_page(data), encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(data))
    sample.records.close()
    return Made(path, data)
