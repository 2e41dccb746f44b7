# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of local clusters ask an API server."""

from __future__ import annotations

import contextlib
import json
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig

Open = t.Callable[[str | Path], t.ContextManager[KubeClient]]


@contextlib.contextmanager
def _open(kubeconfig: str | Path) -> Iterator[KubeClient]:
    with KubeClient(connection_from_kubeconfig(kubeconfig)) as client:
        yield client


@pytest.fixture
def open_client() -> Open:
    return _open


@pytest.fixture
def edit_state() -> t.Callable[[str, t.Callable[[dict[str, t.Any]], object]], None]:
    """Change the state file of a cluster behind the supervisor's back."""

    def edit(folder: str, change: t.Callable[[dict[str, t.Any]], object]) -> None:
        path = Path(folder) / "state.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return edit


@pytest.fixture
def eventually() -> t.Callable[[t.Callable[[], bool]], None]:
    def wait(holds: t.Callable[[], bool]) -> None:
        end = time.monotonic() + 300
        while not holds():
            assert time.monotonic() < end, "still not so after 60 s"
            time.sleep(0.1)

    return wait
