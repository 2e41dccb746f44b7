# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider of local clusters, called as the engine calls it: what it refuses, and what of it is in a state."""

from __future__ import annotations

import base64
import os
import pickletools
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import made_for
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from pulumi.dynamic.dynamic import serialize_provider

from fleet_pulumi import local_cluster as code
from fleet_pulumi.local_cluster import LocalClusterProvider

NAME = "pulumi-east"
Properties = dict[str, t.Any]


def test_of_another_name_or_elsewhere_it_is_another_cluster(wanted: Properties, tmp_path: Path):
    provider = LocalClusterProvider()
    for change in ({"name": "pulumi-west"}, {"root": str(tmp_path)}):
        found = provider.diff("id", wanted, {**wanted, **change})
        assert (found.changes, found.replaces) == (True, list(change))
        assert found.delete_before_replace is True


@pytest.mark.parametrize(
    ("change", "code_"),
    [
        ({"version": "latest"}, "bad-version"),
        ({"version": "1.20"}, "unknown-version"),
        ({"nodes": [{"pool": "a", "count": 2.0}]}, "bad-profile"),
        ({"ports": "many"}, "bad-port-range"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(wanted: Properties, change: Properties, code_: str):
    failures = LocalClusterProvider().check({}, {**wanted, **change}).failures
    assert code_ in failures[0].reason
    assert cluster.status(Path(wanted["root"]), NAME).state == "absent"


OURS, THEIRS = "stack dev of project ours/fleet in /srv/ours", "stack dev of project theirs/fleet in /srv/theirs"


def test_a_cluster_that_was_made_for_another_stack_of_the_name_is_neither_taken_nor_deleted(wanted: Properties):
    """Its folder is that of both, for it has the name of the stack."""
    provider, folder = LocalClusterProvider(), Path(wanted["root"], wanted["name"])
    made_for.claim(folder.parent, folder.name, THEIRS)
    ours = {**wanted, "owner": OURS}
    (failure,) = provider.check({}, ours).failures
    assert "cluster-of-others" in failure.reason and f"was made for {THEIRS}" in failure.reason
    with pytest.raises(FleetError, match="cluster-of-others"):
        provider.create(ours)
    with pytest.raises(FleetError, match="cluster-of-others"):
        provider.update("id", wanted, ours)
    for ours_by_its_state in (ours, wanted):  # also one of a state that is older than marks
        assert provider.read("id", ours_by_its_state).id == ""
        with pytest.raises(FleetError, match="cluster-of-others"):
            provider.delete("id", ours_by_its_state)
    assert (folder / "fleet").read_text() == f"{THEIRS}\n"
    provider.delete("id", {**wanted, "owner": THEIRS})
    assert not folder.exists()


@pytest.mark.parametrize(
    ("mark", "old", "new", "asked"),
    [
        (OURS, OURS, "stack dev of project ours/fleet in /srv/moved", "stack dev of project ours/fleet in /srv/moved"),
        (OURS, OURS, "stack dev of project ours/fleet", OURS),
        (OURS, "", OURS, OURS),
        ("", "", OURS, OURS),
    ],
    ids=["the state was moved", "a run was not told where it is", "a run was killed", "there were no marks then"],
)
def test_a_stack_knows_its_own_clusters_again(wanted: Properties, mark: str, old: str, new: str, asked: str):
    root, olds = Path(wanted["root"]), {**wanted, "owner": old} if old else {}
    if mark:
        made_for.claim(root, NAME, mark)
    else:
        (root / NAME).mkdir(parents=True)
    found = LocalClusterProvider().check(olds, {**wanted, "owner": new})
    assert (found.failures, found.inputs["owner"]) == ([], asked)
    made_for.claim(root, NAME, asked, old)
    assert (root / NAME / "fleet").read_text() == f"{asked}\n"


def test_the_state_of_a_stack_names_the_class_and_holds_no_code():
    """Neither another Python nor an edit of the provider is a difference, and a stack can always be deleted."""
    pickled = base64.b64decode(serialize_provider(LocalClusterProvider()))
    words = {argument for _op, argument, _place in pickletools.genops(pickled) if isinstance(argument, str)}
    assert words == {"fleet_pulumi.local_cluster", "LocalClusterProvider"} and len(pickled) < 200


def test_a_process_of_its_own_finds_the_collection(wanted: Properties):
    """As the engine starts it: in the folder of the program, with nothing installed; ``check`` comes first."""
    folder = Path(code.__file__).parents[1]
    asked = {**wanted, "version": "latest"}
    refused = f"LocalClusterProvider().check({{}}, {asked!r}).failures[0].reason"
    script = f"from fleet_pulumi.local_cluster import LocalClusterProvider; print({refused})"
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ANSIBLE_COLLECTIONS_PATH")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=600)
    assert "bad-version" in done.stdout, done.stderr
