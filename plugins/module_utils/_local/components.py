# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The programs of a local control plane (etcd, kube-apiserver, kwok, Karpenter ...), by profile: arguments, environment
variables, ports and files that each is started with; audit policy, audit log, token file; all on loopback only."""

from __future__ import annotations

import hashlib
import json
import typing as t
from pathlib import Path

from .ports import HOST

# In the order of starting; they are stopped the other way round.
PROFILES: t.Mapping[str, tuple[str, ...]] = {
    "api": ("etcd", "kube-apiserver"),
    "control": ("etcd", "kube-apiserver", "kube-controller-manager"),
    "fleet": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"),
    "karpenter": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "karpenter"),
}
# Those whose pods run, on simulated nodes.
WITH_NODES = tuple(name for name, programs in PROFILES.items() if "kwok" in programs)
# The users of ports.USERS that each one listens for.
LISTENS: t.Mapping[str, tuple[str, ...]] = {
    "etcd": ("etcd", "etcd-peer"),
    "kube-apiserver": ("kube-apiserver",),
    "kube-controller-manager": ("kube-controller-manager",),
    "kube-scheduler": ("kube-scheduler",),
    "kwok": ("kwok",),
    "karpenter": ("karpenter",),
}
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    # One line per request, at its end.
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class Options(t.NamedTuple):
    """What of a specification changes arguments. ``tokens`` is the content of the token file, ``stages`` are kwok's."""

    profile: str
    audit: bool = False
    tokens: str = ""
    stages: tuple[Path, ...] = ()


def arguments(name: str, folder: Path, ports: t.Mapping[str, int], options: Options) -> tuple[str, ...]:
    """The arguments behind the program's path, of a component of ``PROFILES``. ``ports`` are by the users of
    ``LISTENS``, of which Karpenter's may be missing. KeyError for another name or port that is missing."""
    if name == "etcd":
        return _etcd(folder, ports)
    if name == "kube-apiserver":
        return _apiserver(folder, ports, options)
    if name == "kube-controller-manager":
        return _controller_manager(folder, ports)
    if name == "kube-scheduler":
        return _scheduler(folder, ports)
    if name == "karpenter":
        return _karpenter(ports)
    if name == "kwok":
        return _kwok(folder, ports, options)
    raise KeyError(name)


def environment(name: str, folder: Path) -> dict[str, str]:
    """Variables that the program needs beside those that every component gets: for Karpenter, which has no option for
    it, its login."""
    return {"KUBECONFIG": str(folder / "karpenter.kubeconfig")} if name == "karpenter" else {}


def files(folder: Path, options: Options) -> dict[Path, bytes]:
    """Files that the arguments name and that follow from the options, audit policy and token file: by path, what is to
    be in each; nothing is written."""
    found = {}
    if options.audit:
        found[audit_policy(folder)] = json.dumps(_AUDIT_POLICY).encode()
    if options.tokens:
        found[_token_file(folder, options)] = options.tokens.encode()
    return found


def audit_policy(folder: Path) -> Path:
    """Where a cluster's audit policy lies below its folder."""
    return folder / "audit-policy.json"


def audit_log(folder: Path) -> Path:
    """Where a cluster's audit log lies below its folder: one JSON object a line (``audit.k8s.io/v1`` Event)."""
    return folder / "logs" / "audit.log"


def _token_file(folder: Path, options: Options) -> Path:
    """Where the users with tokens are, below the cluster's folder; the name has a digest of the content."""
    # The API server reads it only when it starts: other content is another argument, and so a restart.
    return folder / f"tokens-{hashlib.sha256(options.tokens.encode()).hexdigest()[:8]}.csv"


def _etcd(folder: Path, ports: t.Mapping[str, int]) -> tuple[str, ...]:
    """Arguments of etcd. With fsync, unlike throw-away clusters elsewhere: the data outlive kill -9 and upgrades."""
    pki, client, peer = folder / "pki", f"https://{HOST}:{ports['etcd']}", f"https://{HOST}:{ports['etcd-peer']}"
    return (
        "--name=default",
        f"--data-dir={folder / 'data'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--client-cert-auth=true",
        f"--trusted-ca-file={pki / 'ca.crt'}",
        f"--cert-file={pki / 'etcd.crt'}",
        f"--key-file={pki / 'etcd.key'}",
        "--peer-client-cert-auth=true",
        f"--peer-trusted-ca-file={pki / 'ca.crt'}",
        f"--peer-cert-file={pki / 'etcd.crt'}",
        f"--peer-key-file={pki / 'etcd.key'}",
        "--log-level=warn",
    )


def _apiserver(folder: Path, ports: t.Mapping[str, int], options: Options) -> tuple[str, ...]:
    """Arguments of the API server."""
    pki = folder / "pki"
    made = [
        f"--etcd-servers=https://{HOST}:{ports['etcd']}",
        f"--etcd-cafile={pki / 'ca.crt'}",
        f"--etcd-certfile={pki / 'apiserver-etcd.crt'}",
        f"--etcd-keyfile={pki / 'apiserver-etcd.key'}",
        f"--bind-address={HOST}",
        # Without a default route no address would be found to advertise, and there is nobody to advertise it to.
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports['kube-apiserver']}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--cert-dir={pki}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki / 'sa.pub'}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        "--profiling=false",
    ]
    if options.profile == "api":
        # Nobody makes the service accounts that this plugin would wait for.
        made.append("--disable-admission-plugins=ServiceAccount")
    if options.tokens:
        made.append(f"--token-auth-file={_token_file(folder, options)}")
    if options.audit:
        made += [
            f"--audit-policy-file={audit_policy(folder)}",
            f"--audit-log-path={audit_log(folder)}",
            "--audit-log-maxsize=100",
            "--audit-log-maxbackup=1",
        ]
    return tuple(made)


def _controller_manager(folder: Path, ports: t.Mapping[str, int]) -> tuple[str, ...]:
    """Arguments of the controller manager, which signs certificates by the cluster's CA."""
    pki = folder / "pki"
    return (
        *_common_arguments(folder, "controller-manager", ports["kube-controller-manager"]),
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        "--use-service-account-credentials=true",
        # At its first start it makes an account for each of its controllers; at the default 20 a second that takes 4 s.
        "--kube-api-qps=200",
        "--kube-api-burst=300",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
    )


def _scheduler(folder: Path, ports: t.Mapping[str, int]) -> tuple[str, ...]:
    """Arguments of the scheduler: its kubeconfig and port."""
    return _common_arguments(folder, "scheduler", ports["kube-scheduler"])


def _common_arguments(folder: Path, identity: str, port: int) -> tuple[str, ...]:
    """Arguments that controller manager and scheduler have in common, with the kubeconfig of ``identity``."""
    login = folder / f"{identity}.kubeconfig"
    return (
        f"--kubeconfig={login}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        # One process: nobody to elect against, and a restart need not wait for a lease to end.
        "--leader-elect=false",
        "--profiling=false",
    )


def _kwok(folder: Path, ports: t.Mapping[str, int], options: Options) -> tuple[str, ...]:
    """Arguments of kwok, which keeps all nodes ready, by the Stage files of the options."""
    return (
        f"--kubeconfig={folder / 'kwok.kubeconfig'}",
        *(f"--config={stage}" for stage in options.stages),
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        f"--server-address={HOST}:{ports['kwok']}",
    )


def _karpenter(ports: t.Mapping[str, int]) -> tuple[str, ...]:
    """Arguments of Karpenter; its port is 0 where the cluster has none for it yet."""
    return (
        # Metrics are told there, on loopback. A cluster that has never had the profile has no port for it yet.
        f"--metrics-port={ports.get('karpenter', 0)}",
        # Nobody asks for its health: any free port, or two of them on one machine would want the same.
        "--health-probe-port=0",
        # One process: nobody to elect against, and a restart need not wait for a lease to end.
        "--disable-leader-election=true",
        # For twice that time a node that was made for a pod is not looked at: here all pods come within a moment.
        "--batch-max-duration=5s",
        # Off by default, and then pools that say how many nodes they have (replicas) would never get one.
        "--feature-gates=StaticCapacity=true",
    )
