# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What stands between us and a real API server in the hands of a test: it lets requests through, holds them, cuts the
connection, or answers in the server's place."""

from __future__ import annotations

import json
import os
import threading
import time
import typing as t
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from small_fleet import Server

Rule = t.Callable[[str, str], t.Any]
CUT = "cut"


class _Everything:
    def __contains__(self, _status: object) -> bool:
        return True


class Gateway:
    """``rule`` is asked about every request (method and path): None lets it through, CUT ends the connection, a status
    (or status and headers) is the answer. It may also wait. ``seen`` are the requests that were let through. Its clock
    is ``ahead`` of the server's.
    """

    def __init__(self, server: Server) -> None:
        self.rule: Rule = lambda _method, _path: None
        self.seen: list[tuple[str, str]] = []
        self.ahead = timedelta(0)
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def serve(self) -> None:
                gateway._serve(server, self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # names of http.server

            def log_message(self, *_arguments: t.Any) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.rule = lambda _method, _path: CUT
        self._http.shutdown()
        self._http.server_close()

    def kubeconfig(self, path: Path) -> Path:
        """A kubeconfig of one context that leads through here."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "gateway",
            "clusters": [{"name": "gateway", "cluster": {"server": f"http://127.0.0.1:{self._http.server_port}"}}],
            "users": [{"name": "gateway", "user": {}}],
            "contexts": [{"name": "gateway", "context": {"cluster": "gateway", "user": "gateway"}}],
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def talks_to(self, pid: int, parent: int) -> bool:
        """Whether a connection leads here that the process has made itself, and not got from its parent."""
        rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        there = f":{self._http.server_port:04X}"
        ours = {f"socket:[{row[9]}]" for row in rows if row[2].endswith(there)}
        return bool(ours & (_opened(pid) - _opened(parent)))

    def _serve(self, server: Server, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        where = urlsplit(request.path)
        wish = self.rule(request.command, where.path)
        if wish == CUT:
            request.close_connection = True
            request.connection.close()
            return
        if wish is not None:
            status, headers = wish if isinstance(wish, tuple) else (wish, {})
            _answer(request, status, json.dumps(_status(status)).encode(), headers)
            return
        found = server.client.send(
            request.command,
            where.path,
            json.loads(body) if body else None,
            dict(parse_qsl(where.query)),
            request.headers.get("Content-Type"),
            request.headers.get("Accept") or "application/json",
            expect=_Everything(),
        )
        self.seen.append((request.command, where.path))
        date = format_datetime((found.date or datetime.now(UTC)) + self.ahead, usegmt=True)
        _answer(request, found.status, found.data, {"Content-Type": found.content_type, "Date": date})


def _opened(pid: int) -> set[str]:
    return {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()}


def _answer(request: BaseHTTPRequestHandler, status: int, data: bytes, headers: t.Mapping[str, str]) -> None:
    request.send_response_only(status)
    for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(data))}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(data)


def _status(code: int) -> dict[str, t.Any]:
    reason = {409: "Conflict", 429: "TooManyRequests", 503: "ServiceUnavailable"}.get(code, "")
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no"}


def until(ready: t.Callable[[], object], seconds: float = 300) -> None:
    """Returns once it is so."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.02)
