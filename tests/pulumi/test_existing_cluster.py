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


class Telling(Refusing):
    """Tells a version and which cluster it is; it has no nodes, and ``forbids`` questions below a path."""

    uid, forbids = "0b6c3ad2-0000-4000-8000-000000000001", "/none"

    def do_GET(self) -> None:
        told: dict[str, t.Any] = {"gitVersion": "v1.36.3", "items": [], "metadata": {"uid": self.uid}}
        body = json.dumps(told).encode()
        self.send_response(403 if self.path.startswith(self.forbids) else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_another_cluster_is_not_taken_for_the_one_that_the_stack_has_made_objects_in(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch
):
    """A row that leads elsewhere: its objects would count as there, and later be deleted where others have them."""
    monkeypatch.setattr(Refusing, "do_GET", Telling.do_GET)
    for name in ("uid", "forbids"):
        monkeypatch.setattr(Refusing, name, getattr(Telling, name), raising=False)
    wanted: dict[str, t.Any] = {"kubeconfig": kubeconfig, "context": "", "skip_unreachable": False}
    provider = ExistingClusterProvider()
    outs = provider.create(wanted).outs
    assert outs == {**wanted, "version": "1.36.3", "labels": {}, "uid": Telling.uid}
    by_another_way = {**wanted, "context": "a"}
    assert provider.update("id", outs, by_another_way).outs == {**outs, "context": "a"}
    before_there_were_uids = {key: value for key, value in outs.items() if key != "uid"}
    assert provider.diff("id", before_there_were_uids, wanted).changes is True

    monkeypatch.setattr(Refusing, "uid", other := Telling.uid.replace("0001", "0002"))
    for asked in (wanted, by_another_way):
        with pytest.raises(FleetError, match="another cluster answers"):
            provider.diff("id", outs, asked)
        with pytest.raises(FleetError, match="other-cluster"):
            provider.update("id", outs, asked)
    anew = provider.read("id", outs).outs
    assert anew == {**outs, "uid": other} and provider.diff("id", anew, wanted).changes is False

    monkeypatch.setattr(Refusing, "forbids", "/api/v1/namespaces")
    assert provider.diff("id", outs, wanted).changes is False, "it may not be asked"
