# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A real API server with authorities in our hands, and a scripted one for what no real server will do on request."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import server_readiness
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import get_binaries
from authority import Authority, new_key
from misbehaving import Script

ADMIN_TOKEN = "canary-token-of-the-admin"
USERS = ("reader", "applier", "almost", "nobody")


@dataclass(frozen=True)
class Server:
    """The real API server: accepts client certificates of ``authority``; ``USERS`` log in with ``token-<user>``."""

    url: str
    authority: Authority

    def connection(self, **changes: t.Any) -> Connection:
        given: dict[str, t.Any] = {"server": self.url, "ca": self.authority.pem, "token": ADMIN_TOKEN, "name": "real"}
        return Connection(**{**given, **changes})

    def client(self, **changes: t.Any) -> KubeClient:
        return KubeClient(self.connection(**changes))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority("kube-tests")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> t.Iterator[Server]:
    binaries = get_binaries(("etcd", "kube-apiserver"), "1.36")
    folder = tmp_path_factory.mktemp("server")
    etcd, port = free_port(), free_port()
    real = Server(f"https://127.0.0.1:{port}", authority)
    started = [
        _start(folder, "etcd", [str(binaries["etcd"].path), *_etcd_flags(folder, etcd, free_port())]),
        _start(folder, "api", [str(binaries["kube-apiserver"].path), *_flags(folder, etcd, port, authority)]),
    ]
    try:
        _wait(real, started[-1], folder)
        yield real
    finally:
        for process in reversed(started):
            _end(process)


def _start(folder: Path, name: str, command: list[str]) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(300)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _etcd_flags(folder: Path, port: int, peer: int) -> list[str]:
    url = f"http://127.0.0.1:{port}"
    return [
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
        "--unsafe-no-fsync",
    ]


def _flags(folder: Path, etcd: int, port: int, authority: Authority) -> list[str]:
    files = {"ca.crt": authority.pem}
    files["api.crt"], files["api.key"] = authority.issue("api", hosts=("127.0.0.1", "kubernetes.default.svc"))
    files["accounts.key"] = new_key()
    rows = [f'{ADMIN_TOKEN},admin,1,"system:masters"', *(f"token-{user},{user},{user}-uid," for user in USERS)]
    files["tokens.csv"] = "\n".join(rows).encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder}/accounts.key",
        f"--service-account-signing-key-file={folder}/accounts.key",
        f"--client-ca-file={folder}/ca.crt",
        f"--tls-cert-file={folder}/api.crt",
        f"--tls-private-key-file={folder}/api.key",
        f"--token-auth-file={folder}/tokens.csv",
    ]


def _wait(real: Server, process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + 300
    with real.client() as client:
        while time.monotonic() < end and process.poll() is None:
            try:
                if server_readiness(client):
                    return
            except FleetError:
                pass
            time.sleep(0.1)
    raise AssertionError((folder / "api.log").read_text()[-3000:])


@pytest.fixture
def free_address() -> str:
    """Loopback, and a port where nothing listens."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def admin(server: Server) -> t.Iterator[KubeClient]:
    with server.client() as client:
        yield client


@pytest.fixture
def script() -> t.Iterator[Script]:
    """A tiny HTTP server that does as it is told: for faults that a real API server cannot be brought to."""
    with Script().serving() as told:
        yield told
