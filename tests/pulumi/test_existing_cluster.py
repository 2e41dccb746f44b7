# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters that are there, and do not serve: with an HTTP server in their place that has only one answer."""

from __future__ import annotations

import http.server
import json
import threading
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

from fleet_pulumi.existing_cluster import ExistingClusterProvider


class Refusing(http.server.BaseHTTPRequestHandler):
    """``status`` is that of each answer."""

    status = 503

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_given: t.Any) -> None:
        pass


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        document = {
            "contexts": [{"name": "a", "context": {"cluster": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "current-context": "a",
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(document))
        yield str(tmp_path / "kubeconfig")
        server.shutdown()


def test_one_that_answers_with_an_error_of_its_own_keeps_what_it_told(kubeconfig: str, monkeypatch: pytest.MonkeyPatch):
    asked: dict[str, t.Any] = {"kubeconfig": kubeconfig, "context": "", "skip_unreachable": True}
    provider, before = ExistingClusterProvider(), {**asked, "version": "1.35.4", "labels": {}}
    assert provider.read("id", before).outs == before
    with pytest.raises(FleetError, match="503"):
        provider.read("id", {**before, "skip_unreachable": False})
    monkeypatch.setattr(Refusing, "status", 401)
    with pytest.raises(FleetError, match="unauthorized"):
        provider.read("id", before)
