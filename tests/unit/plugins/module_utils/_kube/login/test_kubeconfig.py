# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where a kubeconfig lies that somebody else names."""

from __future__ import annotations

import threading
import typing as t
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login import kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.kubeconfig import local_path, read_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel

ENVIRON = {"HOME": "/home/anna", "CI_PROJECT_DIR": "/builds/fleet", "TOKEN": "canary", "HTTPS_PROXY": "http://a:b@c"}


@pytest.mark.parametrize(
    "written, meant",
    [
        ("$HOME/.kube/config", "/home/anna/.kube/config"),
        ("${CI_PROJECT_DIR}/east", "/builds/fleet/east"),
        ("/etc/$TOKEN", "/etc/$TOKEN"),
        ("/etc/${TOKEN}x", "/etc/${TOKEN}x"),
        ("$HTTPS_PROXY", "$HTTPS_PROXY"),
        ("$WORKSPACE/east", "$WORKSPACE/east"),
        ("~/east", "/home/anna/east"),
        ("", ""),
    ],
)
def test_variables_that_say_where_things_are(written: str, meant: str) -> None:
    """Whoever may write FleetMembers does not read the runner's secrets out of a path."""
    assert local_path(written, ENVIRON) == meant


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was parsed. The first waits for a moment in which threads that do not wait for it would begin too."""
    found: list[str] = []
    real, others = kubeconfig.parse_yaml, threading.Event()

    def parse(text: str | bytes, where: str) -> t.Any:
        found.append(where)
        if len(found) > 1:
            others.set()
        others.wait(0.2)
        return real(text, where)

    monkeypatch.setattr(kubeconfig, "parse_yaml", parse)
    return found


def test_threads_that_ask_at_once_parse_a_file_once(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "config"
    path.write_text("contexts: [{name: east, context: {cluster: east}}]", encoding="utf-8")
    answers = in_parallel({str(number): partial(read_kubeconfig, path) for number in range(32)}, 32)
    assert parsed == [str(path)] and all(list(t.cast(t.Any, each).contexts) == ["east"] for each in answers.values())


def test_a_file_that_was_replaced_is_parsed_again(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "config"
    for name in ("east", "west"):
        path.with_suffix(".new").write_text(f"contexts: [{{name: {name}, context: {{}}}}]", encoding="utf-8")
        path.with_suffix(".new").replace(path)
        assert list(read_kubeconfig(path).contexts) == [name]
    assert len(parsed) == 2
