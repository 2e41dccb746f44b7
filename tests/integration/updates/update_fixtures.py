# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub with our definitions for the whole folder; empty records and playbooks in a folder of every test."""

from __future__ import annotations

import itertools
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install, not_established
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS

sys.path.insert(0, str(Path(__file__).parent))

from conducting import Plays
from update_fleet import LEASES, UpdateFleet, empty

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def hub_with_kinds(hub: LocalOutcome) -> LocalOutcome:
    names = [f"{each.plural}.{each.group}" for each in KINDS.values()]
    with KubeClient(connection_from_kubeconfig(hub.kubeconfig)) as client:
        install(client, write=True)
        end = time.monotonic() + 300
        while not_established(client, names) or not all(each is True for each in _served(client).values()):
            assert time.monotonic() < end, "the kinds are not served in time"
            time.sleep(0.1)
    return hub


def _served(client: KubeClient) -> dict[str, t.Any]:
    """Side by side: the first request for a new kind takes an API server a second."""
    return in_parallel({name: _asked(client, kind.path()) for name, kind in KINDS.items()})


def _asked(client: KubeClient, path: str) -> t.Callable[[], bool]:
    return lambda: client.send("GET", path, expect=(404,)).status == 200


@pytest.fixture
def fleet(tmp_path: Path, hub_with_kinds: LocalOutcome, local_cluster_factory: t.Any) -> t.Iterator[UpdateFleet]:
    with KubeClient(connection_from_kubeconfig(hub_with_kinds.kubeconfig)) as client:
        empty(client, [*(each.path() for each in KINDS.values()), LEASES])
    made = UpdateFleet(tmp_path, hub_with_kinds, local_cluster_factory, next(_numbers))
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def plays(tmp_path: Path) -> t.Iterator[Plays]:
    made = Plays(tmp_path)
    yield made
    made.end()
