# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A file that is larger than any that is published; why a server is out of reach, without what nobody is to see."""

from __future__ import annotations

import errno
import http.client
import io
import resource
import urllib.error
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local.released import downloads
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._local.released.release_server import serving


def test_what_is_too_large_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each later call would end in the same way, also once the right file is there."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(downloads, "_MOST", 1000)
    part = tmp_path / "a.part"
    part.write_bytes(b"x" * 500)
    with serving() as server:

        def download() -> None:
            downloads.download(
                "a",
                part,
                downloads.Server(server.base),
                lambda path: path.read_bytes() == b"y" * 900,
                lambda _line: None,
            )

        server.files["a"] = b"y" * 3000
        with pytest.raises(FleetError) as refused:
            download()
        assert refused.value.code == "release-damaged" and not part.exists()
        server.files["a"] = b"y" * 900
        download()
    assert part.stat().st_size == 900


def test_a_disk_that_is_full_at_the_end_of_a_file_is_not_taken_for_damage_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes a part of what is written, and refuses only what comes behind that."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with serving() as server:
        server.files["a"] = b"y" * 900
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
        try:
            with pytest.raises(FleetError) as refused:
                downloads.download(
                    "a", tmp_path / "a.part", downloads.Server(server.base), lambda _path: False, lambda _line: None
                )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.code == "unwritable-folder"


def test_a_disk_that_is_full_as_the_file_is_closed_is_none_of_the_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network file systems keep what is written, and tell of it then."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)

    class Full(io.FileIO):
        def close(self) -> None:
            super().close()
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloads.os, "fdopen", lambda handle, *_mode, **_options: Full(handle, "wb"))
    with serving() as server:
        server.files["a"] = b"y" * 900
        with pytest.raises(FleetError) as refused:
            downloads.download(
                "a", tmp_path / "a.part", downloads.Server(server.base), lambda _path: False, lambda _line: None
            )
    assert refused.value.code == "unwritable-folder" and "No space left" in refused.value.message


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (TimeoutError(), "TimeoutError"),
        (urllib.error.URLError(TimeoutError()), "TimeoutError"),
        (urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")), "Connection refused"),
        (urllib.error.URLError("it passes on"), "it passes on"),
        (http.client.IncompleteRead(b""), "IncompleteRead(0 bytes read)"),
    ],
)
def test_an_error_without_a_text_is_named(error: Exception, why: str) -> None:
    assert downloads._unreachable("dl.k8s.io", error).message == f"dl.k8s.io cannot be reached: {why}"


@pytest.mark.parametrize(
    "proxy", ["http:/ada:not-for-logs@proxy:1", "http://ada:no@proxy:not-for-logs/x@y", "http://" + "a" * 64]
)
@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY"])
def test_a_proxy_that_is_none_is_not_shown_with_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str, variable: str
) -> None:
    """And whoever goes on to a file is told as whoever asks for its sum."""
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, proxy)
    publisher = downloads.Server()
    for ask in (
        lambda: downloads.fetch_text("dl.example.com/a", publisher),
        lambda: downloads.ask_size("dl.example.com/a", publisher),
        lambda: downloads.download(
            "dl.example.com/a", tmp_path / "a", publisher, lambda _path: False, lambda _line: None
        ),
    ):
        with pytest.raises(FleetError) as refused:
            ask()
        assert refused.value.code == "release-unreachable"
        assert "not-for-logs" not in str(refused.value) and "HTTPS_PROXY" in refused.value.message
