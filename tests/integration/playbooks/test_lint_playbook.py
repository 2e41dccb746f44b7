# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook ``gitops.fleet.lint`` as a pipeline runs it: exit code, text, reports."""

from __future__ import annotations

import json

import pytest
from playing import HERE, ROOT, Player

LINT = "gitops.fleet.lint"
SAMPLES = ROOT / "tests" / "data" / "lint"


@pytest.mark.parametrize(
    ("manifests", "strict", "code"),
    [
        (str(HERE / "manifests" / "placements"), True, 0),
        (str(SAMPLES / "placement_older_property.yml"), False, 0),
        (str(SAMPLES / "placement_older_property.yml"), True, 2),
        ([str(SAMPLES / "placement_fixed.yml"), str(SAMPLES / "placement_hole.yml")], False, 2),
        ("nowhere", False, 2),
    ],
)
def test_errors_fail_the_playbook_and_strict_counts_warnings(play: Player, manifests, strict, code):
    done = play(LINT, manifests=manifests, strict=strict, environ={"CI": "true"})
    assert done.code == code, done.output
    assert done.changed == 0
    assert "Traceback" not in done.output


def test_all_samples_in_one_run_with_reports(play: Player):
    reports = {"write_json": "build/lint.json", "write_sarif": "build/lint.sarif"}
    done = play(LINT, manifests=str(SAMPLES), **reports)
    assert done.code == 2
    data = json.loads((play.folder / "build" / "lint.json").read_text())
    log = json.loads((play.folder / "build" / "lint.sarif").read_text())
    assert len(log["runs"][0]["results"]) == len(data["findings"]) == sum(data["counts"].values()) > 50
    assert f"{data['counts']['error']} errors" in done.output
    assert not any("336h" in json.dumps(each) for each in data["mended"]), "what disrupts is not done without consent"
    play(LINT, manifests=str(SAMPLES), consent=True, **reports)
    data = json.loads((play.folder / "build" / "lint.json").read_text())
    assert any("336h" in json.dumps(each) for each in data["mended"])
