# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet of simulated members in one process of its own: built, started, counted, and always ended.

The program below ``members/`` plays the API servers. It listens on loopback, on a port of the system's choice, and ends
when this process does, however that happens: its standard input is a pipe whose other end is here.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import subprocess
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).resolve().parent / "members"
BUILT = ROOT / ".cache" / "bench"
BUILD = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# As long as the token of a service account; each member has another.
TOKEN = "e" * 836


@dataclass(frozen=True)
class Counts:
    """Requests since counting began. ``verbs`` are Kubernetes' own, with ``apply`` for server-side apply."""

    requests: int = 0
    connections: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    verbs: t.Mapping[str, int] = field(default_factory=dict)
    resources: t.Mapping[str, int] = field(default_factory=dict)
    codes: t.Mapping[str, int] = field(default_factory=dict)
    members: t.Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def most(self) -> int:
        """Requests of the member that got most."""
        return max(self.members.values(), default=0)

    def by_verb(self) -> str:
        return ", ".join(f"{count:,} {verb}" for verb, count in sorted(self.verbs.items()))


@dataclass(frozen=True)
class Members:
    """Running members. ``server`` is the URL that the names of members are appended to."""

    server: str
    names: tuple[str, ...]
    authority: str = ""
    certificate: str = ""
    key: str = ""

    def url(self, name: str) -> str:
        return f"{self.server}/{name}"

    def counts(self) -> Counts:
        found = json.loads(self._ask("/stats"))
        found["bytes_in"], found["bytes_out"] = found.pop("bytesIn"), found.pop("bytesOut")
        return Counts(**found)

    def count_anew(self) -> None:
        self._ask("/stats", "POST")

    def reset(self) -> None:
        """All members are as they were at first."""
        self._ask("/reset", "POST")

    def _ask(self, path: str, method: str = "GET") -> bytes:
        context = None
        if self.authority:
            import ssl

            context = ssl.create_default_context(cadata=self.authority)
        with urlopen(Request(self.server + path, method=method), context=context) as answer:
            return t.cast(bytes, answer.read())

    def kubeconfig(self, path: Path, certificates: bool = False) -> Path:
        """One file with a context for each member, laid out as kubectl writes it.

        Users show a token, or with ``certificates`` a client certificate. Every cluster has a token and an authority of
        its own, as in a real fleet: the same certificate below a comment that differs, so that it is not read once.
        """
        pair = f"    client-certificate-data: {_base64(self.certificate)}\n    client-key-data: {_base64(self.key)}\n"
        clusters, contexts, users = [], [], []
        for name in self.names:
            authority = ""
            if self.authority:
                authority = f"    certificate-authority-data: {_base64(f'# {name}{chr(10)}{self.authority}')}\n"
            clusters.append(f"- cluster:\n{authority}    server: {self.url(name)}\n  name: {name}\n")
            contexts.append(f"- context:\n    cluster: {name}\n    user: {name}-admin\n  name: {name}\n")
            token = f"    token: {TOKEN}{hashlib.sha256(name.encode()).hexdigest()}\n"
            shown = pair if certificates else token
            users.append(f"- name: {name}-admin\n  user:\n{shown}")
        parts = ["apiVersion: v1\nclusters:\n", *clusters, "contexts:\n", *contexts]
        parts += [f"current-context: {self.names[0]}\nkind: Config\npreferences: {{}}\nusers:\n", *users]
        path.write_text("".join(parts), encoding="utf-8")
        return path


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@contextlib.contextmanager
def members(
    count: int = 1000,
    nodes: int = 30,
    pods: int = 300,
    delay_ms: int = 0,
    tls: bool = True,
    namespaces: t.Sequence[str] = NAMESPACES,
    controllers: bool = True,
    lean: bool = False,
) -> Iterator[Members]:
    """Members that answer. ``delay_ms`` is the round trip in milliseconds; other options are those of the program."""
    options = {
        "members": count,
        "nodes": nodes,
        "pods": pods,
        "delay": f"{delay_ms}ms",
        "tls": str(tls).lower(),
        "namespaces": ",".join(namespaces),
        "controllers": str(controllers).lower(),
        "lean": str(lean).lower(),
    }
    command = [str(program()), *(f"-{name}={value}" for name, value in options.items())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, f"{command} ended with {process.wait()}"
        told = json.loads(line)
        told["names"] = tuple(told.pop("members"))
        yield Members(**told)
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        finally:
            process.kill()
            process.stdout.close()


def program() -> Path:
    """The program, built once for each content of its source and version of Go."""
    environ = os.environ | BUILD
    go = subprocess.run(["go", "version"], capture_output=True, check=True, env=environ).stdout
    digest = hashlib.sha256(go)
    for file in sorted(SOURCE.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    built = BUILT / f"members-{digest.hexdigest()[:16]}"
    if not built.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        making = built.with_name(f".{built.name}.{os.getpid()}")
        flags = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
        subprocess.run(["go", "build", *flags, "-o", str(making), "."], cwd=SOURCE, env=environ, check=True)
        making.replace(built)
    return built
