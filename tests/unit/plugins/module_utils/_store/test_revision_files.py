# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files of an earlier commit, of checkouts that may be made by others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._store import revision_files
from ansible_collections.gitops.fleet.plugins.module_utils._store.documents_in_files import Document, read_documents
from ansible_collections.gitops.fleet.plugins.module_utils._store.revision_files import files_of

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *IDENTITY, "-C", str(folder), *arguments]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.strip()


def commit(folder: Path, **files: str | bytes) -> str:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_files_are_as_they_were_and_the_checkout_stays(checkout: Path) -> None:
    first = commit(checkout, a__one_yaml="1", a__two_json="", b_yml="b", a__notes_txt="no")
    commit(checkout, a__one_yaml="2")
    (checkout / "a" / "one.yaml").write_text("3")
    assert files_of(checkout, first) == [("a/one.yaml", "1"), ("a/two.json", ""), ("b.yml", "b")]
    assert files_of(checkout / "a", first) == [("one.yaml", "1"), ("two.json", "")]
    assert files_of(checkout / "a" / "one.yaml", first) == [("one.yaml", "1")]
    assert (checkout / "a" / "one.yaml").read_text() == "3"


def test_what_an_apply_reads_of_a_folder_is_read_again_and_nothing_else(checkout: Path) -> None:
    for name in (".hidden/a.yaml", "below/.hidden/b.yaml", ".hidden/below/c.yaml", "below/.d.yaml", "e.yaml"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(f"name: {name}\n")
    head = commit(checkout)
    for folder in (checkout, checkout / ".hidden"):
        applied = [each.value["name"] for each in read_documents([folder]) if isinstance(each, Document)]
        again = [text for _file, text in files_of(folder, head) or ()]
        assert sorted(again) == sorted(f"name: {name}\n" for name in applied) and len(applied) == 2
    named = checkout / "below" / ".hidden" / "b.yaml"
    assert files_of(named, head) == [("b.yaml", "name: below/.hidden/b.yaml\n")]


def test_a_file_that_is_named_counts_whatever_its_suffix(checkout: Path) -> None:
    """An apply reads it too; a roll back said that its revision does not hold its Secrets."""
    head = commit(checkout, a_yaml="1", settings="name: settings")
    applied = [each.value for each in read_documents([checkout / "settings"]) if isinstance(each, Document)]
    assert applied == [{"name": "settings"}]
    assert files_of(checkout / "settings", head) == [("settings", "name: settings")]
    assert files_of(checkout, head) == [("a.yaml", "1")]


def test_where_git_cannot_tell_the_answer_is_none(checkout: Path, tmp_path: Path) -> None:
    head = commit(checkout, a_yaml="1")
    assert files_of(checkout, "f" * 40) is None
    assert files_of(checkout, "HEAD") is None and files_of(checkout, "--help") is None
    assert files_of(tmp_path, head) is None and files_of(tmp_path / "absent" / "below", head) is None
    assert files_of(checkout, head, {"PATH": "/nonexistent"}) is None


def test_links_and_what_is_no_text_are_left_out(checkout: Path) -> None:
    os.symlink("/etc/passwd", checkout / "link.yaml")
    head = commit(checkout, a_yaml="1", odd_yaml=b"\xff\xfe\x00")
    assert files_of(checkout, head) == [("a.yaml", "1")]


def test_no_filter_of_the_checkout_is_run_and_nothing_is_fetched(checkout: Path, tmp_path: Path) -> None:
    """F23: a checkout may come from others, with its configuration."""
    mark = tmp_path / "ran"
    head = commit(checkout, a_yaml="1")
    (checkout / ".gitattributes").write_text("*.yaml filter=evil diff=evil\n")
    for name in ("filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "core.sshCommand"):
        git(checkout, "config", name, f"touch {mark}; cat")
    assert files_of(checkout, head) == [("a.yaml", "1")] and not mark.exists()
    clone = tmp_path / "clone"
    git(checkout, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{checkout}", str(clone))
    assert files_of(clone, head) is None


def test_more_than_can_be_held_is_not_read(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = commit(checkout, a_yaml="1" * 50, b_yaml="2" * 60)
    monkeypatch.setattr(revision_files, "MAX_BYTES", 55)
    assert files_of(checkout, head) == [("a.yaml", "1" * 50)]
    monkeypatch.setattr(revision_files, "MAX_BYTES", 100)
    monkeypatch.setattr(revision_files, "MOST_BYTES", 100)
    assert files_of(checkout, head) is None


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "a\0b/web.yaml"])
def test_git_tells_nothing_of_what_no_file_can_be_called(checkout: Path, name: str) -> None:
    assert files_of(checkout / name, "a" * 40) is None
