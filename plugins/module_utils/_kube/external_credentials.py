# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Credentials that another program gives: exec plugins and auth providers, by way of the ``kubernetes`` package.

The package costs 0.2 s to import, so it is imported when the first such user is met. Its process-wide default
configuration is never used: with threads it leads to the wrong cluster. Nothing that a plugin prints is shown, for it
may hold a token.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import signal
import threading
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from .._core.errors import FleetError
from .connection import Credential, bearer
from .expiry import certificate_ends, token_ends

PLUGIN_SECONDS = 60.0
_EARLY = timedelta(minutes=1)
_AT_ONCE = threading.BoundedSemaphore(8)


@dataclass
class _Slot:
    """Credentials of one command; its lock keeps a thousand clusters with the same command from starting it each."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    credential: Credential | None = None


_slots: dict[str, _Slot] = {}
_slots_lock = threading.Lock()


def _slot(key: str) -> _Slot:
    with _slots_lock:
        return _slots.setdefault(key, _Slot())


def _good(credential: Credential | None) -> bool:
    if credential is None:
        return False
    return credential.expires is None or datetime.now(UTC) < credential.expires - _EARLY


def _from_slot(key: str, make: t.Callable[[], Credential], refused: Credential | None = None) -> Credential:
    """What is in the slot, if it is good and not what was refused; otherwise made anew, by one thread."""
    slot = _slot(key)
    held = slot.credential
    if held is not None and held != refused and _good(held):
        return held
    with slot.lock:
        if slot.credential is None or slot.credential == refused or not _good(slot.credential):
            slot.credential = make()
        return slot.credential


@dataclass(frozen=True)
class ExecPlugin:
    """A command that prints an ExecCredential (client.authentication.k8s.io/v1 and v1beta1)."""

    config: str = field(repr=False)  # JSON of the kubeconfig's exec section: the key in the cache
    cluster: str = field(repr=False)
    folder: Path
    place: str

    @classmethod
    def of(cls, config: t.Mapping[str, t.Any], cluster: t.Mapping[str, t.Any], folder: Path, place: str) -> ExecPlugin:
        told = dict(cluster) if config.get("provideClusterInfo") else {}
        return cls(
            json.dumps(_started(config, folder), sort_keys=True), json.dumps(told, sort_keys=True), folder, place
        )

    @property
    def command(self) -> str:
        return str(json.loads(self.config)["command"])

    def get(self) -> Credential:
        return _from_slot(self._key, self._run)

    def renew(self, refused: Credential) -> Credential | None:
        fresh = _from_slot(self._key, self._run, refused)
        return None if fresh == refused else fresh

    @property
    def _key(self) -> str:
        return f"{self.config}\n{self.cluster}\n{self.folder}"

    def _run(self) -> Credential:
        status = _Run(self).status()
        token, cert = status.get("token"), status.get("clientCertificateData")
        if not isinstance(token or "", str) or not isinstance(cert or "", str) or not (token or cert):
            raise self.failed("gave neither a token nor a client certificate")
        if cert and not isinstance(status.get("clientKeyData"), str):
            raise self.failed("gave a client certificate without its key")
        pem = (cert or "").encode()
        authorization = bearer(token or "")
        ends = _moment(status.get("expirationTimestamp")) or certificate_ends(pem) or token_ends(authorization)
        return Credential(authorization, pem, (status.get("clientKeyData") or "").encode() if cert else b"", ends)

    def failed(self, what: str) -> FleetError:
        return FleetError(
            "credentials-plugin",
            f"the credential plugin {self.command} {what}",
            self.place,
            "run kubectl with this context to see what the plugin says; it is not shown here, for it may hold a token",
        )


def _started(config: t.Mapping[str, t.Any], folder: Path) -> dict[str, t.Any]:
    """As in kubectl, a command with a slash in it is relative to the kubeconfig, any other is looked up in PATH."""
    command = str(config["command"])
    return {**config, "command": str(folder / command) if "/" in command else command}


class _Run:
    """One call of a plugin. The package's provider waits without end, so it does that in a thread of its own."""

    def __init__(self, plugin: ExecPlugin) -> None:
        self._plugin = plugin
        self._status: t.Any = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def status(self) -> t.Mapping[str, t.Any]:
        _kubernetes(self._plugin.place)
        with _AT_ONCE:
            self._thread.start()
            self._thread.join(PLUGIN_SECONDS)
            if self._thread.is_alive():
                self._end_child()
                raise self._plugin.failed(f"gave no answer within {PLUGIN_SECONDS:g} s")
        if self._error is not None:
            raise self._plugin.failed(_reason(self._error))
        if not isinstance(self._status, dict):
            raise self._plugin.failed("gave an answer without a status")
        return self._status

    def _work(self) -> None:
        plugin = self._plugin
        try:
            self._status = _provider(plugin).run()
        except Exception as error:  # noqa: BLE001  # told to the caller by status()
            self._error = error

    def _end_child(self) -> None:
        """Ends the process that our thread started, and no other; Linux tells which it is."""
        children = Path(f"/proc/self/task/{self._thread.native_id}/children")
        try:
            pids = [int(pid) for pid in children.read_text().split()]
        except OSError:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
            self._thread.join(1.0)
            if not self._thread.is_alive():
                return


def _provider(plugin: ExecPlugin) -> t.Any:
    module: t.Any = importlib.import_module("kubernetes.config.kube_config")
    cluster = json.loads(plugin.cluster)
    node = module.ConfigNode("cluster", cluster) if cluster else None
    return module.ExecProvider(module.ConfigNode("exec", json.loads(plugin.config)), str(plugin.folder), node)


def _reason(error: Exception) -> str:
    """Why a plugin failed, without a word of what it printed."""
    if isinstance(error, FileNotFoundError):
        return "is not installed"
    if isinstance(error, OSError):
        return f"cannot be started: {error.strerror}"
    text = str(error)
    if text.startswith("exec: process returned "):
        return "failed with exit code " + text.removeprefix("exec: process returned ").split(".")[0].strip()
    if "api version" in text:
        return "answers in another version of the protocol than the kubeconfig asks for"
    return "did not print an ExecCredential"


def _moment(text: t.Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True)
class AuthProvider:
    """The older way, ``auth-provider`` (oidc, gcp). A refreshed token is kept in memory; the file is not written."""

    user: dict[str, t.Any] = field(repr=False, hash=False)
    key: str = field(repr=False)
    place: str

    @classmethod
    def of(cls, config: t.Mapping[str, t.Any], place: str) -> AuthProvider:
        user = {"auth-provider": _with_authorities(copy.deepcopy(dict(config)))}
        return cls(user, json.dumps(config, sort_keys=True, default=str), place)

    def get(self) -> Credential:
        return _from_slot(self.key, self._load)

    def renew(self, refused: Credential) -> Credential | None:
        fresh = _from_slot(self.key, self._load, refused)
        return None if fresh == refused else fresh

    def _load(self) -> Credential:
        kube_config, configuration = _kubernetes(self.place)
        # No server and no CA are given, so that the package has nothing to write to temporary files.
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"insecure-skip-tls-verify": False}}],
            "users": [{"name": "u", "user": self.user}],
        }
        authorization = ""
        try:
            kube_config.load_kube_config_from_dict(document, client_configuration=configuration, persist_config=False)
            authorization = str(configuration.api_key.get("BearerToken") or "")
        except Exception as error:  # noqa: BLE001  # whatever its libraries raise, and with the token in it
            text = f"the auth provider gave no token ({type(error).__name__})"
            raise FleetError("credentials-plugin", text, self.place, "log in again, or use an exec plugin") from None
        if not authorization:
            raise FleetError("credentials-plugin", "the auth provider gave no token", self.place, "log in again")
        ends = token_ends(authorization)
        if ends is not None and ends <= datetime.now(UTC):
            text = f"the token of the auth provider expired at {ends:%Y-%m-%dT%H:%M:%SZ} and could not be renewed"
            raise FleetError("credentials-expired", text, self.place, "log in again")
        return Credential(authorization, expires=ends)


def _with_authorities(provider: dict[str, t.Any]) -> dict[str, t.Any]:
    """Without an authority of its own the package would speak to the issuer unverified; the system's are given then."""
    config = provider.get("config")
    if isinstance(config, dict) and not {"idp-certificate-authority", "idp-certificate-authority-data"} & config.keys():
        import ssl

        config["idp-certificate-authority"] = ssl.get_default_verify_paths().cafile or ""
    return provider


def _kubernetes(place: str) -> tuple[t.Any, t.Any]:
    """The package's kubeconfig module and a configuration of our own."""
    try:
        client = importlib.import_module("kubernetes.client")
        kube_config = importlib.import_module("kubernetes.config.kube_config")
    except ImportError:
        raise FleetError(
            "missing-library", "credential plugins need the Python library kubernetes", place, "pip install kubernetes"
        ) from None
    return kube_config, type.__call__(client.Configuration)
