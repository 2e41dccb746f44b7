# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files that verbs are given to read and to write."""

from __future__ import annotations

import json
import os
import shlex
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import NodeFacts
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    FactsSnapshot,
    snapshot_digest,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    AgentIdentity,
    MemberCluster,
    MemberClusterSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import (
    approved_plan,
    drift_file,
    facts_file,
    path_option,
    prices_file,
    refuse_unwritable,
    write_file,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.events import events_file

NOW = datetime(2026, 1, 15, 13, tzinfo=UTC)
READERS = (("facts", lambda path: facts_file(path, NOW)), ("prices", prices_file), ("plan", approved_plan))


def refusal(function: t.Callable[..., object], *arguments: object) -> FleetError:
    with pytest.raises(FleetError) as caught:
        function(*arguments)
    return caught.value


def events(path: str) -> None:
    with events_file(path, print):
        pass


@pytest.mark.parametrize(
    ("playbook", "option", "read"), [("facts", "dest", facts_file), ("drift", "result_file", drift_file)]
)
def test_the_command_that_writes_a_missing_file_can_be_pasted_for_that_very_path(
    playbook: str, option: str, read: t.Any
) -> None:
    """A path with a space would be two words behind the ``=`` of Ansible's -e."""
    for path, given in (
        ("/none/look.json", f"{option}=/none/look.json"),
        ("/none/my look.json", json.dumps({option: "/none/my look.json"})),
    ):
        words = shlex.split(refusal(read, path, NOW).hint)
        assert words[:4] == ["ansible-playbook", f"gitops.fleet.{playbook}", "-e", given]


@pytest.mark.parametrize(
    "path", ["/a/{{ lookup('pipe', 'id') }}", "{%x%}", "{#", "#jinja2:variable_start_string:'[['\n[[ x ]]"]
)
def test_a_path_that_ansible_would_take_for_a_template_is_in_no_command(path: str) -> None:
    assert path_option("dest", path) == "-e dest=PATH"


def test_facts_are_known_by_the_digest_of_their_file_with_their_nodes_and_without(tmp_path: Path) -> None:
    """As those that were just captured are: the plan of one is the plan of the other."""
    held = NodeFacts(name="n1", pool="blue")
    metadata = ObjectMeta(name="m1")
    spec = MemberClusterSpec(identity=AgentIdentity(kind="User", name="agent"))
    member = MemberCluster(metadata=metadata, spec=spec)
    captured = FactsSnapshot(captured_at=NOW, members=(member,), nodes={"m1": (held,)})
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(write_snapshot(captured), indent=1))
    known = snapshot_digest(captured)
    for for_plan in (True, False):
        found = facts_file(str(path), NOW, for_plan=for_plan)
        assert snapshot_digest(found) == known and found.nodes == ({} if for_plan else captured.nodes)
    path.write_text(json.dumps({**write_snapshot(captured), "nodes": {"m1": [{"name": "n2"}]}}))
    assert snapshot_digest(facts_file(str(path), NOW, for_plan=True)) != known


@pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _read in READERS])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing", "name"])
def test_what_is_no_file_is_missing_and_never_waited_for(tmp_path: Path, name: str, read: t.Any, kind: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    error = refusal(read, "a\0b" if kind == "name" else str(path))
    assert error.code == f"{name}-missing" and error.message.startswith("the file cannot be read: ")


@pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _read in READERS])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is no JSON"),
        (b"\xff\xfe\xff", "is no JSON"),
        (b"[" * 200_000, "is no JSON: it is nested too deep"),
        (b'{"a": ' * 200_000, "is no JSON: it is nested too deep"),
        (b'{"a": NaN}', "is no JSON: there is no number NaN"),
        (b'{"a": -Infinity}', "is no JSON: there is no number -Infinity"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "is no JSON"),
        (b"[]", ""),
        (b"null", ""),
        (b'"text"', ""),
        (b'{"a": 1e400}', "is no JSON: there is no number 1e400"),
        (b'{"a": -1e999}', "is no JSON: there is no number -1e999"),
    ],
)
def test_what_is_no_such_document_is_invalid(tmp_path: Path, name: str, read: t.Any, content: bytes, words: str):
    """F22, F25"""
    path = tmp_path / "file"
    path.write_bytes(content)
    error = refusal(read, str(path))
    assert error.code == f"{name}-invalid" and words in error.message and str(path) in error.where


def test_a_text_is_written_whatever_is_in_it(tmp_path: Path) -> None:
    """A server may give half a character in its JSON, which no encoding has."""
    path = tmp_path / "new" / "plan.md"
    write_file(str(path), "a\ud800b\U0001f600\n")
    assert path.read_text(encoding="utf-8") == "a?b\U0001f600\n"


@pytest.mark.parametrize("writes", [lambda path: write_file(path, "x"), events, refuse_unwritable])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "name", "below"])
def test_what_is_no_file_is_not_written(tmp_path: Path, writes: t.Any, kind: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3)) if os.getuid() == 0 else os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "below":
        path.write_text("no folder")
    error = refusal(writes, {"name": "a\0b", "below": str(path / "a")}.get(kind, str(path)))
    assert error.code == "unwritable-file" and error.hint
    assert path.is_file() == (kind == "below")


@pytest.mark.parametrize("writes", [lambda path: write_file(path, "x"), events, refuse_unwritable])
@pytest.mark.parametrize("folder", ["a\0b", "a\ud800b"])
def test_a_folder_that_cannot_have_its_name_is_not_made(tmp_path: Path, writes: t.Any, folder: str) -> None:
    error = refusal(writes, str(tmp_path / folder / "deeper" / "file"))
    assert error.code == "unwritable-file" and "no file can have this name" in error.message and error.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", ["out.json", "./out.json", "a/../out.json", "linked/out.json"])
def test_two_options_do_not_name_one_file(tmp_path: Path, other: str) -> None:
    """One of both would be lost, and nobody told so."""
    (tmp_path / "a").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path)
    error = refusal(refuse_unwritable, str(tmp_path / "out.json"), None, str(tmp_path / other))
    assert error.code == "unwritable-file" and "the same file" in error.message and error.hint
    (tmp_path / "link.json").symlink_to("out.json")
    refuse_unwritable(str(tmp_path / "out.json"), str(tmp_path / "link.json"), "", "", None)  # the link is replaced


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F24"""
    path = tmp_path / "plan.json"
    write_file(str(path), "old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    error = refusal(write_file, str(path), "new")
    assert "No space left on device" in error.message
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
