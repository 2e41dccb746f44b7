# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A first start without Go: a cluster whose binaries are downloaded, from a server on loopback that has our own builds
under the names that the publishers give theirs."""

from __future__ import annotations

import hashlib
import os
import sys
import tarfile
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import get_binaries
from ansible_collections.gitops.fleet.plugins.module_utils._local.recipes import kubernetes_recipe, recipe
from ansible_collections.gitops.fleet.plugins.module_utils._local.released import publishers
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._local.released.release_server import serving
from playing import Player

ETCD, KUBERNETES = recipe("etcd"), kubernetes_recipe("1.36")


def files(folder: Path) -> dict[str, bytes | Path]:
    """What the publishers of a cluster's binaries offer for this machine, with their sums."""
    built = get_binaries([*ETCD.names, *KUBERNETES.names], "1.36")
    found: dict[str, bytes | Path] = {}
    for file in (each for one in (ETCD, KUBERNETES) for each in publishers.release_files(one, os.uname().machine)):
        ((name, inside),) = file.binaries.items()
        path = built[name].path
        if inside:
            path = folder / file.name
            with tarfile.open(path, "w:gz", compresslevel=1) as archive:
                archive.add(built[name].path, inside)
        found[file.place] = path
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        found[file.sums] = f"{digest}  {file.name}\n".encode()
    return found


def test_a_cluster_is_made_of_release_files_without_go(
    play: Player, local_cluster_factory: t.Any, tmp_path: Path
) -> None:
    ports = local_cluster_factory.ports
    values = {"folder": str(tmp_path), "ports": f"{ports.first}-{ports.last}"}
    with serving() as server:
        server.files |= files(tmp_path)
        environ = {
            "FLEET_RELEASES": server.base,
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "NO_PROXY": "127.0.0.1",
        }
        try:
            made = play("local_cluster", environ=environ, **values).clean()
            asked = len(server.asked)
            assert play("local_cluster", environ=environ, **values).clean().changed == 0
        finally:
            play("local_cluster", environ=environ, state="absent", **values).clean()
        assert made.changed == 1 and "building" not in made.output
        assert "downloading kube-apiserver of 1" in made.output and "every sum is right" in made.output
        assert len(server.asked) == asked
