# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A real API server that can be stopped and started again, for records on a hub."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import get_binaries
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

TOKENS = {"admin": "canary-token-of-the-admin", "reader": "canary-token-of-the-reader"}


class ApiServer:
    """etcd and kube-apiserver on loopback. Data and address stay the same over ``stop`` and ``start``."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._binaries = folder, get_binaries(("etcd", "kube-apiserver"), "1.36")
        self._etcd, self._peer, self._port = _free_port(), _free_port(), _free_port()
        self.url = f"https://127.0.0.1:{self._port}"
        self.kubeconfig = folder / "kubeconfig.json"
        self._certificate = folder / "certs" / "apiserver.crt"  # kube-apiserver makes it, and signs it itself
        self._processes: list[subprocess.Popen[bytes]] = []
        key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (folder / "accounts.key").write_bytes(key)
        (folder / "tokens.csv").write_text(
            f'{TOKENS["admin"]},admin,1,"system:masters"\n{TOKENS["reader"]},reader,2,""\n', encoding="ascii"
        )
        self.kubeconfig.write_text(json.dumps(self._kubeconfig()), encoding="ascii")

    def client(self, user: str = "admin") -> KubeClient:
        return KubeClient(Connection(server=self.url, ca=self._certificate.read_bytes(), token=TOKENS[user]))

    def start(self) -> None:
        url = f"http://127.0.0.1:{self._etcd}"
        self._run(
            "etcd",
            self._binaries["etcd"].path,
            f"--data-dir={self._folder}/etcd",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls=http://127.0.0.1:{self._peer}",
        )
        key = f"{self._folder}/accounts.key"
        self._run(
            "api",
            self._binaries["kube-apiserver"].path,
            f"--etcd-servers={url}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self._folder}/certs",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={self._folder}/tokens.csv",
        )
        self._wait()

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def _run(self, name: str, *command: str | Path) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(part) for part in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self._processes.append(process)

    def _wait(self) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end and self._processes[-1].poll() is None:
            try:
                with self.client() as client:
                    if client.send("GET", "/readyz", accept="*/*").data == b"ok":
                        return
            except (FleetError, FileNotFoundError):
                pass
            time.sleep(0.1)
        raise AssertionError((self._folder / "api.log").read_text()[-3000:])

    def _kubeconfig(self) -> dict[str, object]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin",
            "clusters": [
                {"name": "hub", "cluster": {"server": self.url, "certificate-authority": str(self._certificate)}}
            ],
            "users": [{"name": name, "user": {"token": token}} for name, token in TOKENS.items()],
            "contexts": [{"name": name, "context": {"cluster": "hub", "user": name}} for name in TOKENS],
        }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
