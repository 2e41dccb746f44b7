# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members of a real fleet that turn hostile: a server of ours stands before each real one."""

from __future__ import annotations

import contextlib
import sys
import typing as t
from pathlib import Path

import pytest
from authority import Authority
from misbehaving import Misbehaving
from small_fleet import Server

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "playbooks")]

Turned = t.Callable[[Server, Path, str], Misbehaving]


@pytest.fixture(scope="session")
def made_up_authority() -> Authority:
    return Authority("hostile")


@pytest.fixture
def turned(tmp_path: Path, made_up_authority: Authority) -> t.Iterator[Turned]:
    """A server that stands before a real one: what it is, where the kubeconfig that leads there is written, and with
    which token."""
    with contextlib.ExitStack() as stack:

        def turn(server: Server, kubeconfig: Path, token: str) -> Misbehaving:
            before = Misbehaving(server.client, made_up_authority)
            folder = tmp_path / f"before-{kubeconfig.name}"
            folder.mkdir()
            stack.enter_context(before.serving(folder))
            before.kubeconfig(kubeconfig, token)
            return before

        yield turn
