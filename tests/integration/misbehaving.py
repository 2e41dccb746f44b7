# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""HTTP servers that do as they are told, for what no real API server can be brought to.

``Script`` answers in a fixed order. ``Misbehaving`` stands before a real API server, passes everything on, and
misbehaves where a rule says so.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import ssl
import threading
import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient, Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from authority import Authority

PATIENT = Timeouts()


class Request(BaseHTTPRequestHandler):
    """One request; ``body`` is what came with it. Steps write the answer by its methods."""

    protocol_version = "HTTP/1.1"
    body = b""

    def __init__(self, do: Step, *arguments: t.Any) -> None:
        self._do = do
        super().__init__(*arguments)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            super().handle()

    def do(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._do(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

    def log_message(self, *_arguments: object) -> None:
        pass


Step = t.Callable[[Request], None]


@contextlib.contextmanager
def serving(do: Step, certificate: tuple[Path, Path] | None = None) -> Iterator[int]:
    """The port of a server whose every request is handed to ``do``; with TLS if there is a certificate and its key."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Request, do))
    httpd.daemon_threads = True
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield int(httpd.server_address[1])
    finally:
        httpd.shutdown()
        httpd.server_close()


@dataclass
class Script:
    """Answers in the order of ``steps``, the last one for ever; ``asked`` is what came in: method, path, headers."""

    url: str = ""
    steps: list[Step] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def client(self, timeout: Timeouts = PATIENT, **changes: t.Any) -> KubeClient:
        """A client whose waits are noted instead of waited for."""
        return KubeClient(Connection(server=self.url, name="scripted", **changes), timeout, sleep=self.waits.append)

    @contextlib.contextmanager
    def serving(self) -> Iterator[Script]:
        with serving(self._do) as port:
            self.url = f"http://127.0.0.1:{port}"
            yield self

    def _do(self, request: Request) -> None:
        self.asked.append((request.command, request.path, dict(request.headers)))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        step(request)


@dataclass
class Misbehaving:
    """Before ``real``, as its administrator, whoever asks. ``rules`` are steps by a pattern for ``METHOD path?query``;
    the first that matches is carried out instead. Connections are encrypted, so that clients show their tokens."""

    real: KubeClient
    authority: Authority
    url: str = ""
    rules: dict[str, Step] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[Misbehaving]:
        files = (folder / "served.crt", folder / "served.key")
        for file, pem in zip(files, self.authority.issue("served", hosts=("127.0.0.1",)), strict=True):
            file.write_bytes(pem)
        with serving(self._do, files) as port:
            self.url = f"https://127.0.0.1:{port}"
            yield self

    def kubeconfig(self, path: Path, token: str) -> Path:
        """Writes a kubeconfig that leads here, with a token that this server does not look at."""
        ca = base64.b64encode(self.authority.pem).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority-data": ca}}],
            "users": [{"name": "u", "user": {"token": token}}],
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def _do(self, request: Request) -> None:
        line = f"{request.command} {request.path}"
        self.asked.append((line, dict(request.headers)))
        step = next((step for pattern, step in self.rules.items() if re.search(pattern, line)), None)
        (step or self.passed_on)(request)

    def passed_on(self, request: Request) -> None:
        answer = self.real_answer(request)
        respond(request, answer.data, answer.status, answer.content_type, Date=answer.date_header)

    def changed(self, change: t.Callable[[t.Any], t.Any]) -> Step:
        """The real answer, after ``change`` was done to its JSON; what it gives back is sent, bytes as they are.

        What is no JSON is passed on.
        """

        def step(request: Request) -> None:
            found = self.real_answer(request)
            if "json" not in found.content_type:
                respond(request, found.data, found.status, found.content_type)
                return
            made = change(json.loads(found.data))
            respond(request, made if isinstance(made, bytes) else json.dumps(made).encode(), found.status)

        return step

    def real_answer(self, request: Request) -> t.Any:
        body = json.loads(request.body) if request.body else None
        kind = request.headers.get("Content-Type")
        accept = request.headers.get("Accept", "application/json")
        return self.real.send(request.command, request.path, body, None, kind, accept, range(300, 600))


def respond(
    request: Request, data: bytes, status: int = 200, content_type: str = "application/json", **headers: str
) -> None:
    headers.setdefault("Content-Length", str(len(data)))
    if "length" in headers:
        headers["Content-Length"] = headers.pop("length")
    request.send_response(status)
    request.send_header("Content-Type", content_type)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(data)


def answer(document: t.Any, status: int = 200, content_type: str = "application/json", **headers: str) -> Step:
    """A whole answer: JSON, or bytes as they are."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return lambda request: respond(request, data, status, content_type, **headers)


def status(code: int, reason: str, message: str = "", **headers: str) -> Step:
    return answer(failure(code, reason, message), code, **headers)


def failure(code: int, reason: str, message: str = "", **more: t.Any) -> dict[str, t.Any]:
    """A Status of the API machinery."""
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, **more}


def listing(kind: str, items: t.Any, token: str = "", **metadata: t.Any) -> dict[str, t.Any]:
    """A page of a list."""
    marks = {"resourceVersion": "7", **({"continue": token} if token else {}), **metadata}
    return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": marks, "items": items}


def dripping(seconds: float = 0.02, body: bytes = b" ") -> Step:
    """A byte now and then, each soon enough for a timeout that looks at single reads only."""

    def step(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", "1000")
        request.end_headers()
        for _piece in range(1000):
            request.wfile.write(body)
            request.wfile.flush()
            time.sleep(seconds)

    return step


def raw(data: bytes, seconds: float = 0.0, times: int = 1) -> Step:
    """Bytes as they are, ``times`` over, in place of an answer; then the connection ends."""

    def step(request: Request) -> None:
        request.close_connection = True
        for _piece in range(times):
            request.wfile.write(data)
            request.wfile.flush()
            time.sleep(seconds)

    return step
