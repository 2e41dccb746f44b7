# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files that wait, never end, lead elsewhere or do not fit on the disk."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube import files
from ansible_collections.gitops.fleet.plugins.module_utils._kube.files import (
    open_to_append,
    read_file,
    real_path,
    refuse_special,
    write_file,
)

LIMIT = 1000


def special(kind: str, folder: Path) -> Path:
    """A path that no reader may wait or read on for."""
    path = folder / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "dangling":
        path.symlink_to(folder / "nothing")
    elif kind == "folder":
        path.mkdir()
    else:
        path = folder / "device"
        path.symlink_to(kind)
    return path


SPECIAL = {
    "fifo": "it is a pipe, not a file",
    "socket": "it is a socket, not a file",
    "/dev/zero": "it is a device, not a file",
    "/dev/tty": "it is a device, not a file",
    "/dev/full": "it is a device, not a file",
    "loop": os.strerror(errno.ELOOP),
    "dangling": os.strerror(errno.ENOENT),
    "folder": "it is a folder",
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("links", [0, 2])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str, links: int) -> None:
    path = special(kind, tmp_path)
    for number in range(links):
        link = tmp_path / f"link{number}"
        link.symlink_to(path)
        path = link
    with pytest.raises(OSError) as caught:
        read_file(path, LIMIT)
    assert caught.value.strerror == SPECIAL[kind]


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("a\0b", "\udcff\ud800"):
        for refuses in (
            lambda path: read_file(path, LIMIT),
            lambda path: write_file(path, b""),
            open_to_append,
            refuse_special,
        ):
            with pytest.raises(OSError) as caught:
                refuses(str(tmp_path / name))
            assert caught.value.strerror == "no file can have this name"


def test_what_cannot_be_told_is_not_taken_for_absent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert files.is_there(tmp_path / "file") and files.is_there(tmp_path)
    assert not files.is_there(tmp_path / "none") and not files.is_there(tmp_path / "file" / "below")
    with pytest.raises(OSError):
        files.is_there(tmp_path / ("long" * 100))


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for size in (0, 1, LIMIT):
        path.write_bytes(b"x" * size)
        assert read_file(path, LIMIT) == b"x" * size
    os.truncate(path, 1 << 40)  # a hole: nothing of it may be taken into memory
    with pytest.raises(OSError) as caught:
        read_file(path, LIMIT)
    assert (caught.value.errno, caught.value.strerror) == (errno.EFBIG, "it has more than 1000 bytes")


def test_a_file_without_a_size_that_never_ends(tmp_path: Path) -> None:
    """The page map of a process counts as a regular file of no bytes."""
    link = tmp_path / "link"
    link.symlink_to("/proc/self/pagemap")
    assert link.stat().st_size == 0
    with pytest.raises(OSError) as caught:
        read_file(link, 8 * LIMIT - 1)  # it gives eight bytes at a time
    assert caught.value.errno == errno.EFBIG


def test_a_file_that_grows_faster_than_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    monkeypatch.setattr(files, "_CHUNK", 10)
    read = os.read

    def growing(handle: int, count: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"x" * 2 * count)
        return read(handle, count)

    monkeypatch.setattr(os, "read", growing)
    with pytest.raises(OSError) as caught:
        read_file(path, LIMIT)
    assert caught.value.errno == errno.EFBIG


def test_a_pipe_that_takes_the_place_of_the_file_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    opens = os.open

    def swapped(name: t.Any, *rest: t.Any, **more: t.Any) -> int:
        path.unlink()
        os.mkfifo(path)
        return opens(name, *rest, **more)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(OSError) as caught:
        read_file(path, LIMIT)
    assert caught.value.strerror == "it is a pipe, not a file"


def test_a_file_is_written_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_file(path, b"one")
    assert path.read_bytes() == b"one"
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("umask", "mode", "there", "gets"),
    [
        (0o022, 0o644, None, 0o644),
        (0o000, 0o644, None, 0o644),
        (0o077, 0o644, None, 0o600),
        (0o000, 0o600, None, 0o600),
        (0o022, 0o644, 0o600, 0o600),
        (0o022, 0o644, 0o666, 0o644),
        (0o022, 0o644, 0o440, 0o440),
    ],
)
def test_nobody_gets_more_rights_than_before(tmp_path: Path, umask: int, mode: int, there: int, gets: int) -> None:
    path = tmp_path / "plan.json"
    if there is not None:
        path.touch()
        path.chmod(there)
    before = os.umask(umask)
    try:
        write_file(path, b"x", mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == gets


def test_no_link_that_waits_there_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one with the target's name, nor those with the names that a file in the making could be given."""
    victim, folder = tmp_path / "victim", tmp_path / "out"
    victim.write_bytes(b"theirs")
    folder.mkdir()
    target = folder / "plan.json"
    for name in ("plan.json", "plan.json.part", ".plan.json.part", f".plan.json.{os.getpid()}.tmp"):
        (folder / name).symlink_to(victim)
    write_file(target, b"ours")
    assert victim.read_bytes() == b"theirs"
    assert not target.is_symlink() and target.read_bytes() == b"ours"
    # Even if the name could be foreseen.
    monkeypatch.setattr("secrets.token_hex", lambda _bytes: "known")
    (folder / ".gitops-fleet.known.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(target, b"more")
    assert (victim.read_bytes(), target.read_bytes()) == (b"theirs", b"ours")


def test_a_folder_that_is_exchanged_meanwhile_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it happens in the folder that was opened first."""
    folder, aside, theirs = tmp_path / "out", tmp_path / "aside", tmp_path / "theirs"
    folder.mkdir()
    theirs.mkdir()
    (theirs / "plan.json").write_bytes(b"theirs")
    fsync = os.fsync

    def exchanged(handle: int) -> None:
        if not aside.exists():
            folder.rename(aside)
            folder.symlink_to(theirs)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", exchanged)
    write_file(folder / "plan.json", b"ours")
    assert (theirs / "plan.json").read_bytes() == b"theirs"
    assert (aside / "plan.json").read_bytes() == b"ours"


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    path = special(kind, tmp_path)
    for attempt in (lambda: write_file(path, b"x"), lambda: open_to_append(path)):
        with pytest.raises(OSError) as caught:
            attempt()
        assert caught.value.strerror == SPECIAL[kind]
    assert list(tmp_path.iterdir()) == [path] and not path.is_file()


def test_appending_does_not_follow_a_link(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "events"
    victim.touch()
    link.symlink_to(victim)
    with pytest.raises(OSError) as caught:
        open_to_append(link)
    assert caught.value.errno == errno.ELOOP
    os.close(open_to_append(victim))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"old")

    def full(_handle: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        write_file(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """F24"""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    try:
        path = disk / "plan.json"
        write_file(path, b"old")
        with pytest.raises(OSError) as caught:
            write_file(path, b"x" * 1_000_000)
        assert caught.value.errno == errno.ENOSPC
        assert path.read_bytes() == b"old" and list(disk.iterdir()) == [path]
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_behind_all_links_and_for_what_no_file_can_be_called_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    assert real_path(str(tmp_path / "link")) == os.path.realpath(tmp_path / "file")
    for name in ("a\0b", "~\ud800"):
        assert real_path(name) == name


@pytest.mark.parametrize(
    ("path", "environ", "found"),
    [
        ("~", {"HOME": "/h"}, "/h"),
        ("~/a/~", {"HOME": "/h"}, "/h/a/~"),
        ("a/~/b", {"HOME": "/h"}, "a/~/b"),
        ("~nobody-of-that-name/a", {"HOME": "/h"}, "~nobody-of-that-name/a"),
        ("~/a\0b", {}, None),
    ],
)
def test_the_home_is_the_one_that_is_named(path: str, environ: dict[str, str], found: str | None) -> None:
    assert files.with_home(path, environ) == (os.path.expanduser(path) if found is None else found)


@pytest.mark.parametrize(
    ("named", "found"),
    [({"XDG_STATE_HOME": "/srv/x"}, "/srv/x"), ({}, "/home/ada/.local/state"),
     ({"XDG_STATE_HOME": ""}, "/home/ada/.local/state"), ({"XDG_STATE_HOME": "x"}, "/home/ada/.local/state"),
     ({"XDG_STATE_HOME": "./x"}, "/home/ada/.local/state"), ({"XDG_STATE_HOME": "~/x"}, "/home/ada/.local/state")],
)  # fmt: skip
def test_a_folder_of_the_user_does_not_depend_on_where_we_are(named: dict[str, str], found: str) -> None:
    """XDG Base Directory Specification: relative paths are invalid, and are to be ignored."""
    assert files.user_folder("XDG_STATE_HOME", "~/.local/state", {"HOME": "/home/ada", **named}) == found
