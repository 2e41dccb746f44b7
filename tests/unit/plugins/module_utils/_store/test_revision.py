# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._store.revision import (
    asked_git,
    fetch_command,
    is_descendant,
    source_revision,
)

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *IDENTITY, "-C", str(folder), *arguments]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "web.yaml").write_text(text)
    git(folder, "add", "web.yaml")
    git(folder, "commit", "-qm", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_the_commit_that_is_checked_out(checkout: Path) -> None:
    head = commit(checkout, "1")
    (checkout / "below").mkdir()
    assert source_revision(checkout) == source_revision(checkout / "below") == head


def test_unknown_is_empty(tmp_path: Path, checkout: Path) -> None:
    assert source_revision(checkout) == ""  # no commit yet
    (tmp_path / "plain").mkdir()
    assert source_revision(tmp_path / "plain", {"GIT_CEILING_DIRECTORIES": "x", "PATH": os.environ["PATH"]}) == ""
    assert source_revision(tmp_path / "absent") == source_revision("/tmp/\0x") == ""
    assert source_revision(checkout, {"PATH": "/nonexistent"}) == ""
    assert is_descendant(checkout, "a" * 40, "b" * 40, {"PATH": "/nonexistent"}) is None


def test_git_variables_of_the_caller_do_not_lead_elsewhere(checkout: Path, tmp_path: Path) -> None:
    head = commit(checkout, "1")
    assert source_revision(checkout, {**os.environ, "GIT_DIR": str(tmp_path)}) == head


def test_descent(checkout: Path) -> None:
    first, second = commit(checkout, "1"), commit(checkout, "2")
    git(checkout, "checkout", "-q", "-b", "side", first)
    side = commit(checkout, "3")
    assert is_descendant(checkout, first, second) is True
    assert is_descendant(checkout, first, first) is True
    assert is_descendant(checkout, second, first) is False
    assert is_descendant(checkout, second, side) is False
    assert is_descendant(checkout, "0" * 40, side) is None


@pytest.mark.parametrize("word", ["", "HEAD", "--output=x", "main", "A" * 40])
def test_only_whole_commit_names_are_asked_about(checkout: Path, word: str) -> None:
    head = commit(checkout, "1")
    assert is_descendant(checkout, word, head) is None
    assert is_descendant(checkout, head, word) is None


def test_a_shallow_clone_knows_its_limits(checkout: Path, tmp_path: Path) -> None:
    first, second = commit(checkout, "1"), commit(checkout, "2")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{checkout}", "shallow")
    shallow = tmp_path / "shallow"
    assert source_revision(shallow) == second
    assert is_descendant(shallow, first, second) is None
    assert is_descendant(shallow, second, second) is True


def test_a_command_in_the_configuration_of_the_checkout_is_not_run(checkout: Path, tmp_path: Path) -> None:
    commit(checkout, "1")
    git(checkout, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    asked_git(checkout, None, "status", "--porcelain")
    source_revision(checkout)
    assert not (tmp_path / "ran").exists()


def test_the_command_that_brings_the_missing_history(tmp_path: Path, checkout: Path) -> None:
    first = commit(checkout, "1")
    commit(checkout, "2")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{checkout}", str(tmp_path / "a clone"))
    assert fetch_command(tmp_path / "a clone", first) == f"git -C '{tmp_path}/a clone' fetch --unshallow"
    assert fetch_command(checkout, "f" * 40) == f"git -C {checkout} fetch origin {'f' * 40}"
    for foreign in ("main; rm -rf ~", "--upload-pack=./evil", "$(evil)", ""):
        assert fetch_command(checkout, foreign) == f"git -C {checkout} fetch origin"
