# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Credentials that another program gives, kept in memory until they end (``credentials-plugin``): exec plugins, and
auth providers by way of the ``kubernetes`` package.

The package is slow to import, so that waits until the first such user is met. Its process-wide default configuration is
never used: with threads it leads to the wrong cluster. Nothing that a plugin prints is shown, for it may hold a token.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
import os
import sys
import threading
import time
import typing as t
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..._core.errors import FleetError
from ..._core.values.instants import SECONDS, parse_time, write_time
from ..parallel import in_parallel
from .connection import Credential, bearer
from .expiry import certificate_ends, token_ends
from .kubeconfig import as_json
from .plugin_run import PluginFailed, run_plugin

PLUGIN_SECONDS, FAILED_SECONDS = 60.0, 10.0
_EARLY = timedelta(minutes=1)
_AUTHORITIES = ("idp-certificate-authority", "idp-certificate-authority-data")
_NEVER = datetime.max.replace(tzinfo=UTC)
_EXTENSION = "client.authentication.k8s.io/exec"
_USED = ("apiVersion", "args", "env", "interactiveMode")
_AT_ONCE = threading.BoundedSemaphore(8)


@dataclass
class _Slot:
    """Credentials of one command; its lock keeps a thousand clusters with the same command from starting it each, and
    so does its ``failure`` for ``FAILED_SECONDS``."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: tuple[Credential, datetime] | None = None  # with when to ask again
    failure: FleetError | None = None
    failed_at: float = 0.0
    same: Credential | None = None  # refused, and given again at ``same_at``
    same_at: float = 0.0


_slots: dict[str, _Slot] = {}
_slots_lock = threading.Lock()


def _slot(key: str) -> _Slot:
    """The slot of that key in this process, made when it is first asked for."""
    with _slots_lock:
        return _slots.setdefault(key, _Slot())


def _kept(credential: Credential) -> tuple[Credential, datetime]:
    """The credential that was made now, and when to ask again: a minute before it expires, or when half of what is left
    of it is over, if that is later: plugins have caches, and give the same one in its last minute too."""
    made, ends = datetime.now(UTC), credential.expires or _NEVER
    return credential, ends if ends <= made else max(ends - _EARLY, made + (ends - made) / 2)


def _good(slot: _Slot, refused: Credential | None) -> Credential | None:
    """What is in the slot, unless it is to be asked for again, or is the one ``refused``."""
    credential, until = slot.kept or (None, _NEVER)
    return credential if credential != refused and datetime.now(UTC) < until else None


def _from_slot(key: str, place: str, make: t.Callable[[], Credential], refused: Credential | None = None) -> Credential:
    """What is in the slot, if it is good and not what was refused; otherwise made anew, by one thread. For
    ``FAILED_SECONDS`` a FleetError of ``make`` is that of all who ask, for their own ``place``, and what was refused
    and made again is given."""
    slot = _slot(key)
    if (held := _good(slot, refused)) is not None:
        return held
    with slot.lock:
        if (held := _good(slot, refused)) is not None:
            return held
        if slot.failure is not None and time.monotonic() < slot.failed_at + FAILED_SECONDS:
            raise FleetError.of([replace(each, where=place) for each in slot.failure.problems])
        slot.failure = None
        if refused is not None and refused == slot.same and time.monotonic() < slot.same_at + FAILED_SECONDS:
            return refused
        try:
            made = make()
        except FleetError as error:
            slot.failure, slot.failed_at = error, time.monotonic()
            raise
        slot.kept = _kept(made)
        if made == refused:
            slot.same, slot.same_at = made, time.monotonic()
        return made


@dataclass(frozen=True)
class ExecPlugin:
    """A command that prints an ExecCredential (client.authentication.k8s.io/v1 and v1beta1). What it printed is kept in
    memory, for all users with the same command, folder and, as far as it is told, cluster, until a minute before it
    expires, at least for half of its time; without end where it does not tell one."""

    config: str = field(repr=False)  # JSON of the kubeconfig's exec section: the key in the cache
    cluster: str = field(repr=False)
    folder: Path
    place: str

    @classmethod
    def of(cls, config: t.Mapping[str, t.Any], cluster: t.Mapping[str, t.Any], folder: Path, place: str) -> ExecPlugin:
        """``config`` is the user's ``exec``, which names its ``command`` and ``apiVersion``; ``args`` and ``env``, if
        any, have their form; ``cluster`` is the cluster's entry, which the plugin is told only if it wants to be;
        ``folder`` is that of the kubeconfig, ``place`` is for messages. Nothing is run."""
        told = cluster if config.get("provideClusterInfo") else {}
        return cls(json.dumps(_used_section(config, folder)), json.dumps(as_json(told)), folder, place)

    @property
    def command(self) -> str:
        """The program: a name, or its path, from the folder of the kubeconfig if it is relative."""
        return str(json.loads(self.config)["command"])

    def get(self) -> Credential:
        """What the plugin printed last, while that is good; else it is run, for at most ``PLUGIN_SECONDS``. FleetError
        ``credentials-plugin``, also for ``FAILED_SECONDS`` after it failed; ``credentials-invalid`` for a token that is
        none."""
        return _from_slot(self._key, self.place, self._run)

    def renew(self, refused: Credential) -> Credential | None:
        """Other credentials than the refused ones: the plugin is run again, unless it was since; None if it gives the
        refused ones. FleetError as of ``get``."""
        fresh = _from_slot(self._key, self.place, self._run, refused)
        return None if fresh == refused else fresh

    @property
    def _key(self) -> str:
        """What its credentials are kept under."""
        return f"{self.config}\n{self.cluster}\n{self.folder}"

    def _run(self) -> Credential:
        """Runs the plugin; the credential that it printed, with the end that it, its certificate or its token tells.
        FleetError as of ``get``."""
        status = self._status()
        token, cert = status.get("token"), status.get("clientCertificateData")
        if not isinstance(token or "", str) or not isinstance(cert or "", str) or not (token or cert):
            raise self.failed("gave neither a token nor a client certificate")
        if cert and not isinstance(status.get("clientKeyData"), str):
            raise self.failed("gave a client certificate without its key")
        pem = (cert or "").encode(errors="replace")
        authorization = bearer(token or "")
        ends = _moment(status.get("expirationTimestamp")) or certificate_ends(pem) or token_ends(authorization)
        key = (status.get("clientKeyData") or "").encode(errors="replace") if cert else b""
        return Credential(authorization, pem, key, ends)

    def _status(self) -> t.Mapping[str, t.Any]:
        """Runs the plugin, with at most seven others at a time; ``status`` of the ExecCredential that it printed.
        FleetError ``credentials-plugin`` for anything else."""
        config = json.loads(self.config)
        if config.get("interactiveMode") == "Always":
            raise self.failed("wants a terminal (interactiveMode: Always), and there is none here")
        environ = dict(os.environ) | {row["name"]: row["value"] for row in config.get("env") or ()}
        environ["KUBERNETES_EXEC_INFO"] = _exec_info(config, json.loads(self.cluster))
        command = [self.command, *(config.get("args") or ())]
        try:
            with _AT_ONCE:
                answer = json.loads(run_plugin(command, environ, self.folder, PLUGIN_SECONDS))
        except PluginFailed as error:
            raise self.failed(str(error)) from None
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
            raise self.failed("did not print an ExecCredential")
        if answer.get("apiVersion") != config["apiVersion"]:
            raise self.failed("answers in another version of the protocol than the kubeconfig asks for")
        if not isinstance(answer.get("status"), dict):
            raise self.failed("gave an answer without a status")
        return t.cast("t.Mapping[str, t.Any]", answer["status"])

    def failed(self, what: str) -> FleetError:
        """The FleetError ``credentials-plugin``, given back, that says ``what`` the plugin did wrong."""
        return FleetError(
            "credentials-plugin",
            f"the credential plugin {self.command} {what}",
            self.place,
            "run kubectl with this context to see what the plugin says; it is not shown here, for it may hold a token",
        )


def _used_section(config: t.Mapping[str, t.Any], folder: Path) -> dict[str, t.Any]:
    """What of the section counts. As in kubectl, a command with a slash in it is relative to the kubeconfig, any other
    is looked up in PATH."""
    command = str(config["command"])
    used = {name: as_json(config[name]) for name in _USED if config.get(name)}
    return {**used, "command": str(folder / command) if "/" in command else command}


def _exec_info(config: t.Mapping[str, t.Any], cluster: t.Mapping[str, t.Any]) -> str:
    """KUBERNETES_EXEC_INFO, as JSON, with the cluster unless that is empty; plugins know its extension for them as
    ``config``."""
    spec: dict[str, t.Any] = {"interactive": False}
    if cluster:
        rows = cluster.get("extensions")
        listed = rows if isinstance(rows, list) else []
        meant = [row for row in listed if isinstance(row, dict) and row.get("name") == _EXTENSION]
        spec["cluster"] = {**cluster, **({"config": meant[0].get("extension")} if meant else {})}
    return json.dumps({"apiVersion": config["apiVersion"], "kind": "ExecCredential", "spec": spec})


def _moment(text: t.Any) -> datetime | None:
    """The instant, aware, in UTC; None for what is none."""
    try:
        return parse_time(str(text))
    except ValueError:
        return None


@dataclass(frozen=True)
class AuthProvider:
    """The older way, ``auth-provider`` (oidc, gcp). A refreshed token is kept in memory; the file is not written."""

    user: dict[str, t.Any] = field(repr=False, hash=False)
    key: str = field(repr=False)
    place: str

    @classmethod
    def of(cls, config: t.Mapping[str, t.Any], place: str) -> AuthProvider:
        """``config`` is the user's ``auth-provider``, ``place`` is for messages. Nothing is asked for yet. FleetError
        ``missing-library``."""
        if importlib.util.find_spec("kubernetes") is None:  # before anything is begun that would need it in the end
            raise _no_kubernetes(place)
        user = {"auth-provider": _with_authorities(copy.deepcopy(dict(config)))}
        return cls(user, json.dumps(as_json(config)), place)

    def get(self) -> Credential:
        """The token that is kept, while it is good; else the package is asked. FleetError ``credentials-plugin``,
        ``credentials-expired``, ``missing-library``, ``no-workers`` (it is asked in a thread), the same again for
        ``FAILED_SECONDS``."""
        return _from_slot(self.key, self.place, self._load)

    def renew(self, refused: Credential) -> Credential | None:
        """As ``ExecPlugin.renew``, by way of the package; errors as of ``get``."""
        fresh = _from_slot(self.key, self.place, self._load, refused)
        return None if fresh == refused else fresh

    def _load(self) -> Credential:
        """Asks the package for a token, which may log in to the issuer. FleetError as of ``get``,
        ``credentials-plugin`` also for a provider that would run a command."""
        if _command_of(self.user["auth-provider"]):
            text = "the auth provider names a command, and such commands are not run"
            raise FleetError("credentials-plugin", text, self.place, "kubectl runs none since 1.26; use an exec plugin")
        kube_config, configuration = _kubernetes(self.place)
        # No server and no CA are given, so that the package has nothing to write to temporary files.
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"insecure-skip-tls-verify": False}}],
            "users": [{"name": "u", "user": self.user}],
        }

        def asked() -> str:
            """The header that the package puts together."""
            kube_config.load_kube_config_from_dict(document, client_configuration=configuration, persist_config=False)
            return str(configuration.api_key.get("BearerToken") or "")

        authorization = self._in_time(asked)
        if not authorization:
            raise FleetError("credentials-plugin", "the auth provider gave no token", self.place, "log in again")
        ends = token_ends(authorization)
        if ends is not None and ends <= datetime.now(UTC):
            text = f"the token of the auth provider expired at {write_time(ends, SECONDS)} and could not be renewed"
            raise FleetError("credentials-expired", text, self.place, "log in again")
        return Credential(authorization, expires=ends)

    def _in_time(self, ask: t.Callable[[], str]) -> str:
        """What ``ask`` gives, which is left alone after ``PLUGIN_SECONDS``: the package waits for an issuer without
        end. FleetError ``credentials-plugin`` then, and for whatever its libraries raise, which may hold the token;
        ``no-workers``."""

        def told() -> str | Exception:
            """What is given, or the exception."""
            try:
                return ask()
            except Exception as error:  # noqa: BLE001  # told by its type alone
                return error

        found = in_parallel({self.place: told}, deadline=PLUGIN_SECONDS)[self.place]
        if isinstance(found, str):
            return found
        why = f"no answer within {PLUGIN_SECONDS:g} s" if isinstance(found, FleetError) else type(found).__name__
        text = f"the auth provider gave no token ({why})"
        raise FleetError("credentials-plugin", text, self.place, "log in again, or use an exec plugin")


def _command_of(provider: t.Mapping[str, t.Any]) -> t.Any:
    """The command that the auth provider would run; None or empty if there is none."""
    config = provider.get("config")
    return config.get("cmd-path") if isinstance(config, dict) else None


def _with_authorities(provider: dict[str, t.Any]) -> dict[str, t.Any]:
    """The provider itself, changed: without an authority of its own the package would speak to the issuer unverified,
    so the system's are named in it then, or those that come with the package."""
    config = provider.get("config")
    if isinstance(config, dict) and not any(config.get(each) for each in _AUTHORITIES):
        import ssl

        for each in _AUTHORITIES:
            config.pop(each, None)
        config[_AUTHORITIES[0]] = ssl.get_default_verify_paths().cafile or importlib.import_module("certifi").where()
    return provider


def _no_kubernetes(place: str) -> FleetError:
    """The FleetError ``missing-library``, given back."""
    text = "a credential plugin of the older form auth-provider needs the Python library kubernetes"
    return FleetError("missing-library", text, place, f"{sys.executable} -m pip install kubernetes")


def _kubernetes(place: str) -> tuple[t.Any, t.Any]:
    """The package's kubeconfig module and a new configuration of our own. FleetError ``missing-library``."""
    try:
        client = importlib.import_module("kubernetes.client")
        kube_config = importlib.import_module("kubernetes.config.kube_config")
    except ImportError:
        raise _no_kubernetes(place) from None
    return kube_config, type.__call__(client.Configuration)
