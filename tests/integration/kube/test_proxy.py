# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Through a proxy to a real API server, and against a balancer that asks for certificates; both tiny, made here."""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import ssl
import threading
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError


class Tunnel(socketserver.StreamRequestHandler):
    """CONNECT for one user, and nothing else."""

    allowed = base64.b64encode(b"me:pass word").decode()

    def handle(self):
        target = self.rfile.readline().split()[1].decode()
        headers = {}
        while line := self.rfile.readline().strip().decode():
            name, _colon, value = line.partition(": ")
            headers[name.lower()] = value
        if headers.get("proxy-authorization") != f"Basic {self.allowed}":
            self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        host, _colon, port = target.partition(":")
        with socket.create_connection((host, int(port))) as out:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            threading.Thread(target=pump, args=(out, self.connection), daemon=True).start()
            pump(self.connection, out)


def pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)


@pytest.fixture
def proxy():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as tcp:
        tcp.daemon_threads = True
        tcp.block_on_close = False
        threading.Thread(target=tcp.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"127.0.0.1:{tcp.server_address[1]}"
        tcp.shutdown()


def test_a_server_is_reached_through_a_proxy(server, proxy):
    with server.client(proxy=f"http://me:pass%20word@{proxy}") as client:
        assert client.get("/version")["major"] == "1"


def test_the_authority_is_held_to_through_a_proxy(server, proxy, authority):
    other = type(authority)("another").pem
    with server.client(proxy=f"http://me:pass%20word@{proxy}", ca=other) as client, pytest.raises(ApiError) as caught:
        client.get("/version")
    assert caught.value.code == "certificate"


def test_a_proxy_that_refuses_is_named_without_its_password(server, proxy, free_address):
    for address in (f"http://me:canary@{proxy}", f"http://me:canary@{free_address}"):
        with server.client(proxy=address) as client, pytest.raises(ApiError) as caught:
            client.get("/version")
        assert caught.value.code == "unreachable"
        assert f"the proxy http://{address.partition('@')[2]}" in caught.value.message
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize(("ends", "known", "code"), [(-1, True, "credentials-expired"), (1, False, "unauthorized")])
def test_a_client_certificate_may_be_refused_in_the_handshake(server, authority, tmp_path, ends, known, code):
    """F27: by a load balancer that checks it; the API server itself answers with 401."""
    cert, key = authority.issue("balancer", hosts=("127.0.0.1",))
    (tmp_path / "pem").write_bytes(cert + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    issuer = authority if known else type(authority)("another")
    cert, key = issuer.issue("me", ends=timedelta(hours=ends))
    with socket.create_server(("127.0.0.1", 0)) as plain:
        threading.Thread(target=shake_hands, args=(plain, context), daemon=True).start()
        url = f"https://127.0.0.1:{plain.getsockname()[1]}"
        with server.client(server=url, client_cert=cert, client_key=key) as client, pytest.raises(ApiError) as caught:
            client.post("/api/v1/namespaces", {})
    assert caught.value.code == code


def shake_hands(plain, context):
    while True:
        try:
            connection, _address = plain.accept()
        except OSError:
            return
        tls = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with contextlib.suppress(OSError):
            tls.do_handshake()
        with contextlib.suppress(OSError), socket.socket(fileno=tls.detach()) as raw:
            raw.settimeout(1)  # read to the end: closed with bytes unread, the alert would be lost in a reset
            while raw.recv(65536):
                pass
