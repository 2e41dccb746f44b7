# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A server of release files on loopback, which can be told to do what servers on the way to a publisher do."""

from __future__ import annotations

import contextlib
import http.server
import threading
import typing as t
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class ReleaseServer:
    """``files`` by path, or where they are on the disk; ``refused`` are the statuses of paths that are refused.

    ``cut`` maps a path to the bytes after which the connection ends, once for each entry;
    ``asked`` are the requests, with the range that was asked for."""

    files: dict[str, bytes | Path] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    cut: dict[str, list[int]] = field(default_factory=dict)
    ranges: bool = True
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    base: str = ""


@contextlib.contextmanager
def serving() -> t.Iterator[ReleaseServer]:
    """It listens while the block runs."""
    told = ReleaseServer()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(told)) as server:
        told.base = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()


def _handler(told: ReleaseServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            place = self.path.lstrip("/")
            if "://" in self.path:  # as a proxy is asked
                place = self.path.split("/", 3)[3]
            asked = self.headers.get("Range") or ""
            told.asked.append((self.command, place, asked))
            content = told.files.get(place)
            if content is None or place in told.refused:
                self.send_error(told.refused.get(place, 404))
                return
            if isinstance(content, Path):
                content = content.read_bytes()
            begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked and told.ranges else 0
            if begin and begin >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            if self.command == "HEAD":
                return
            end = told.cut[place].pop(0) if told.cut.get(place) else len(content)
            self.wfile.write(content[begin:end])

        def log_message(self, format: str, *args: t.Any) -> None:
            """Nothing is logged."""

    return Handler
