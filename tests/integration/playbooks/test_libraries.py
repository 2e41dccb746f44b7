# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python package that is not installed is asked for before anything is begun, with the line that installs it."""

from __future__ import annotations

import typing as t

from playing import ROOT, Played, Player

# Python runs this at its start; nothing that is named is to be found then.
SITE = """
import sys


class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("urllib3", "cryptography", "kubernetes"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Nowhere())
"""


def without_libraries(play: Player, playbook: str, **given: t.Any) -> Played:
    (play.folder / "site").mkdir(exist_ok=True)
    (play.folder / "site" / "sitecustomize.py").write_text(SITE)
    return play(playbook, environ={"PYTHONPATH": str(play.folder / "site")}, **given)


def test_all_that_is_missing_is_named_at_once_and_nothing_was_made(play: Player):
    refused = without_libraries(play, "gitops.fleet.local_up", local_root=str(play.folder / "clusters"))
    assert refused.code == 2 and "-m pip install urllib3 cryptography" in refused.output
    assert "Traceback" not in refused.output and not (play.folder / "clusters").exists()


def test_what_is_done_without_servers_needs_none(play: Player):
    samples = str(ROOT / "tests" / "data" / "lint" / "deployment_boolean.yml")
    assert "wrong-type" in without_libraries(play, "gitops.fleet.lint", manifests=samples).output
    assert without_libraries(play, "gitops.fleet.status").clean()
    refused = without_libraries(play, "gitops.fleet.status", records={"type": "hub", "kubeconfig": "hub.json"})
    assert refused.code == 2 and "-m pip install urllib3" in refused.output
