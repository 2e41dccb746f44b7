# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kubeconfig of all clusters of a root, while clusters of it come and go."""

from __future__ import annotations

import json
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local import kubeconfigs, state
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange

KEYS = ("ca.crt", "admin.crt", "admin.key")


def made(root: Path, name: str) -> None:
    state.make(root, name, PortRange(20000, 20999))
    (root / name / "pki").mkdir()
    for file in KEYS:
        (root / name / "pki" / file).write_text(f"{file} of {name}")


def contexts(root: Path) -> list[str]:
    return [each["name"] for each in json.loads((root / "kubeconfig").read_text())["contexts"]]


def test_a_cluster_without_all_its_keys_is_not_in_it_yet(tmp_path: Path) -> None:
    for name in ("east", "west"):
        made(tmp_path, name)
    (tmp_path / "west" / "pki" / "admin.key").unlink()
    kubeconfigs.merge_kubeconfigs(tmp_path)
    assert contexts(tmp_path) == ["east"]


def test_a_cluster_whose_keys_must_not_be_looked_at_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are made and removed all the same."""
    for name in ("east", "west"):
        made(tmp_path, name)
    look = kubeconfigs.has_keys

    def forbidden(pki: Path) -> bool:
        if pki.parent.name == "west":
            raise PermissionError
        return look(pki)

    monkeypatch.setattr(kubeconfigs, "has_keys", forbidden)
    kubeconfigs.merge_kubeconfigs(tmp_path)
    assert contexts(tmp_path) == ["east"]


def test_no_cluster_goes_while_its_keys_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("east", "west"):
        made(tmp_path, name)
    removal = threading.Thread(target=state.remove, args=(tmp_path, "west"))
    write = kubeconfigs.write_merged

    def slow(*arguments: t.Any) -> bool:
        removal.start()
        removal.join(0.2)
        return write(*arguments)

    monkeypatch.setattr(kubeconfigs, "write_merged", slow)
    kubeconfigs.merge_kubeconfigs(tmp_path)
    assert contexts(tmp_path) == ["east", "west"]
    removal.join(300)
    monkeypatch.undo()
    kubeconfigs.merge_kubeconfigs(tmp_path)
    assert contexts(tmp_path) == ["east"]
