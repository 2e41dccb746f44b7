# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who may say what an operation runs: nobody but this user, by files or by folders."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import detached
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import FAILED, UNKNOWN
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import intent_reference, machine

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

REQUEST = detached.Request(member="east", argv=("/bin/true",), environ={"PATH": "/bin"}, cwd=Path("/"), files={})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of one operation; not there yet, but that of all operations is, for others to write to."""
    operations = tmp_path / "operations"
    operations.mkdir()
    operations.chmod(0o777)
    return operations / "run-1.east.1"


def write(folder: Path, name: str, document: object) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / name).write_text(json.dumps(document))


def gone(private: str, folder: Path) -> Path:
    """An operation whose process is gone without a result, and that file of it is private."""
    write(folder, "process.json", {"pid": 2**22 + 1, "started": "x/1", "here": machine()})
    write(folder, "request.json", {"private": [private], "member": "east"})
    return folder


def test_nothing_is_begun_where_others_may_write(folder: Path) -> None:
    """They could put a folder of theirs in place of that of the operation."""
    with pytest.raises(FleetError) as refused:
        detached.start(folder, REQUEST)
    assert refused.value.code == "unsafe-folder" and f"chmod go-w {folder.parent}" in refused.value.hint
    assert list(folder.parent.iterdir()) == []


def test_no_intent_names_a_folder_that_others_may_write_to(folder: Path) -> None:
    with pytest.raises(FleetError) as refused:
        intent_reference(folder.parent)
    assert refused.value.code == "unsafe-folder" and list(folder.parent.iterdir()) == []


@pytest.mark.parametrize("which", ["all operations", "the operation"])
def test_what_others_may_have_written_is_no_end_and_removes_nothing(folder: Path, which: str) -> None:
    folder.parent.chmod(0o777 if which == "all operations" else 0o700)
    gone("extra.yml", folder)
    write(folder, "extra.yml", {})
    write(folder, "result.json", {"rc": 0})
    folder.chmod(0o700 if which == "all operations" else 0o770)
    progress = detached.look(folder)
    assert progress.state == UNKNOWN and "others may write to it" in progress.message
    assert (folder / "extra.yml").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_folder_of_another_user_is_no_operation_of_ours(folder: Path) -> None:
    folder.parent.chmod(0o700)
    write(gone("extra.yml", folder), "result.json", {"rc": 0})
    os.chown(folder, 65534, 65534)
    with pytest.raises(FleetError) as refused:
        detached.start(folder, REQUEST)
    assert refused.value.code == "unsafe-folder" and "belongs to user 65534" in refused.value.message
    assert detached.look(folder).state == UNKNOWN


@pytest.mark.parametrize("name", ["{}/victim", "../victim"])
def test_no_file_elsewhere_is_private_to_an_operation(folder: Path, name: str) -> None:
    """A request that was altered has nothing removed but what is beside it."""
    folder.parent.chmod(0o700)
    victim = folder.parent / "victim"
    victim.write_text("kept")
    assert detached.look(gone(name.format(folder.parent), folder)).state == FAILED
    assert victim.exists()
