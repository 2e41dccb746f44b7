# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""From a context of a kubeconfig, in a file or a Secret (``context-missing``, ``kubeconfig-invalid``), or from inside a
pod, to a Connection: login, impersonation (``as``), what a Secret must not name, notes on what is not checked; the
names of contexts; which proxy leads to a server (``NO_PROXY``).

Users with a plugin or an auth provider are handed to ``external_credentials``.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from ..._core.errors import FleetError, Problem
from ..files import read_file, with_home
from .connection import (
    MAX_TOKEN,
    PROXY_SCHEMES,
    Connection,
    Credential,
    CredentialSource,
    TokenFile,
    foreign_problem,
    is_loopback,
    without_userinfo,
)
from .external_credentials import AuthProvider, ExecPlugin
from .kubeconfig import (
    Entry,
    Kubeconfig,
    kubeconfig_from_document,
    read_kubeconfig,
)

MAX_PEM = 10_000_000  # bytes; the authorities that operating systems trust have a quarter of a megabyte
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Basic:
    """User name and password, as a source of credentials."""

    username: str
    password: str = field(repr=False)

    def get(self) -> Credential:
        """The credential with the header ``Basic``; halves of characters, which no server knows, are sent as they
        are."""
        pair = base64.b64encode(f"{self.username}:{self.password}".encode(errors="surrogatepass")).decode()
        return Credential(authorization=f"Basic {pair}")

    def renew(self, refused: Credential) -> Credential | None:
        """Always None: there is no other."""
        return None


def contexts(path: str | Path) -> tuple[str, ...]:
    """Names of all contexts of a kubeconfig, sorted, also of those whose cluster or user is not there. FleetError as of
    ``read_kubeconfig``."""
    return tuple(sorted(read_kubeconfig(path).contexts))


def connection_from_kubeconfig(path: str | Path, context: str = "") -> Connection:
    """The connection of a context; of ``current-context`` if none is named. FleetError ``kubeconfig-missing``,
    ``context-missing`` (with the contexts there are), ``kubeconfig-invalid`` (all that cannot be read of that context
    at once, else all that cannot be sent, ``credentials-invalid`` for the token among it), ``missing-library``."""
    return _connection(read_kubeconfig(path), context, trusted=True)


def connection_from_document(document: t.Any, context: str = "", where: str = "") -> Connection:
    """The connection of a context of a kubeconfig that came as a document, such as one in a Secret; of
    ``current-context`` if none is named. ``where`` is for messages.

    Whoever can write that Secret must not be able to run a command here or to read a file of this machine, so a cluster
    or user that names either is refused (FleetError ``kubeconfig-invalid``), but for a file beside its ``-data``, which
    nobody reads; so are servers that are not https, and addresses that no server of a cluster has. ``context-missing``
    and ``credentials-invalid`` as of ``connection_from_kubeconfig``.
    """
    return _connection(kubeconfig_from_document(document, where or "kubeconfig"), context, trusted=False)


def connection_in_cluster(environ: t.Mapping[str, str] | None = None, account: Path = _ACCOUNT) -> Connection:
    """The API server of the cluster that this process runs in, as its service account, whose token is read from its
    file at each use. FleetError ``kubeconfig-missing`` outside of a cluster or without the account's ``ca.crt``,
    ``credentials-missing`` without its token, ``kubeconfig-invalid`` and ``credentials-invalid`` as of a Connection."""
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        text = "this process does not run in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set"
        raise FleetError("kubeconfig-missing", text, "in-cluster", "name a kubeconfig instead")
    try:
        ca = read_file(account / "ca.crt", MAX_PEM)
    except OSError as error:
        text = f"{account}/ca.crt cannot be read: {error.strerror}"
        raise FleetError("kubeconfig-missing", text, "in-cluster", "does the pod mount its service account?") from None
    host = f"[{host}]" if ":" in host else host
    source = TokenFile(account / "token")
    source.get()
    return Connection(f"https://{host}:{port}", ca=ca, credentials=source, name="in-cluster")


@dataclass(frozen=True)
class _EntryReader:
    """Takes values out of one entry and gathers what is wrong with them."""

    entry: Entry
    place: str
    trusted: bool
    problems: list[Problem]

    def wrong(self, name: str, message: str, hint: str = "") -> None:
        """Notes a problem with what has this name in the entry."""
        self.problems.append(Problem("kubeconfig-invalid", message, f"{self.place} {name}", hint))

    def text(self, name: str) -> str:
        """The text of this name; empty where there is none, or something else, which is noted."""
        value = self.entry.value.get(name)
        if value is not None and not isinstance(value, str):
            self.wrong(name, "is not a text")
            return ""
        return value or ""

    def flag(self, name: str) -> bool:
        """Whether the value of this name is true; what is neither true nor false is noted."""
        value = self.entry.value.get(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "is neither true nor false")
        return value is True

    def file(self, name: str) -> Path | None:
        """The path that is named there; None where there is none, or it must not be named, which is noted."""
        value = self.text(name)
        if not value:
            return None
        if not self.trusted:
            self.wrong(name, "a kubeconfig in a Secret must not name files of this machine", f"use {name}-data")
            return None
        return self.entry.base / with_home(value, os.environ)

    def content(self, name: str, most: int) -> bytes:
        """What the file holds that is named there; empty without one, or if it cannot be read, which is noted."""
        path = self.file(name)
        try:
            return read_file(path, most) if path else b""
        except OSError as error:
            self.wrong(name, f"the file {path} cannot be read: {error.strerror}")
            return b""

    def pem(self, name: str) -> bytes:
        """``<name>-data`` (base64) or, as in kubectl only without it, the content of the file ``<name>``; empty without
        either, and for what cannot be read, which is noted."""
        data = self.text(f"{name}-data")
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError):
                self.wrong(f"{name}-data", "is not base64")
                return b""
        return self.content(name, MAX_PEM)

    def command(self, name: str) -> t.Mapping[str, t.Any] | None:
        """The section of this name (``exec``, ``auth-provider``); None where there is none, or it is wrong or must not
        be there, which is noted."""
        value = self.entry.value.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.wrong(name, "is not a mapping")
            return None
        if not self.trusted:
            text = "a kubeconfig in a Secret must not name commands or logins for this machine to use"
            self.wrong(name, text, "use a token or a client certificate")
            return None
        return value


def _connection(config: Kubeconfig, context: str, trusted: bool) -> Connection:
    """The connection of the context, or of ``current-context``. FleetError as of ``connection_from_kubeconfig``."""
    name = context or config.current
    found = config.contexts.get(name)
    if found is None:
        known = ", ".join(sorted(config.contexts)) or "none"
        text = f"there is no context {name!r}" if name else "no context is named and current-context is not set"
        raise FleetError("context-missing", text, config.where, f"contexts in this kubeconfig: {known}")
    problems: list[Problem] = []
    cluster = _part(config, config.clusters, name, "cluster", trusted, problems)
    user = _part(config, config.users, name, "user", trusted, problems)
    connection = _build(cluster, user, name) if cluster and user else None
    if problems or connection is None:
        raise FleetError.of(problems)
    return connection


def _part(
    config: Kubeconfig, table: t.Mapping[str, Entry], context: str, kind: str, trusted: bool, problems: list[Problem]
) -> _EntryReader | None:
    """The cluster or the user (``kind``) of a context that ``config`` has, to be read; one without a user is anonymous.
    None, and a problem, where it is not there."""
    name = config.contexts[context].value.get(kind)
    place = f"{config.where} context {context!r}"
    if kind == "user" and not name:
        return _EntryReader(Entry({}, Path()), place, trusted, problems)
    if not isinstance(name, str) or name not in table:
        text = f"there is no {kind} {name!r}" if name and isinstance(name, str) else f"the context names no {kind}"
        problems.append(Problem("kubeconfig-invalid", text, place))
        return None
    return _EntryReader(table[name], f"{config.where} {kind} {name!r}", trusted, problems)


def _build(cluster: _EntryReader, user: _EntryReader, context: str) -> Connection | None:
    """The connection; None if anything was noted as wrong. FleetError of a Connection, and ``missing-library``."""
    server = cluster.text("server")
    if not server:
        cluster.wrong("server", "the cluster has no server", "write it as https://host:port")
    ca = cluster.pem("certificate-authority")
    proxy = cluster.text("proxy-url")
    if not cluster.trusted:
        _check_foreign(cluster, server, proxy)
    token, source = _identity(user, cluster)
    insecure, tls_name = cluster.flag("insecure-skip-tls-verify"), cluster.text("tls-server-name")
    fields: dict[str, t.Any] = {
        "server": server.rstrip("/"),
        "ca": ca or None,
        "insecure": insecure,
        "tls_server_name": tls_name,
        "proxy": proxy or proxy_for(server, os.environ),
        "client_cert": user.pem("client-certificate"),
        "client_key": user.pem("client-key"),
        "token": token,
        "credentials": source,
        "impersonate": _impersonation(user),
        "name": context,
        "notes": tuple(_notes(server, insecure, "" if cluster.trusted else tls_name)),
    }
    if cluster.problems:
        return None
    return Connection(**fields)


def _check_foreign(cluster: _EntryReader, server: str, proxy: str) -> None:
    """Notes a server or proxy that a kubeconfig in a Secret must not send us to: services of this machine or its
    network that are no API servers."""
    for name, url, schemes in (("server", server, ("https",)), ("proxy-url", proxy, PROXY_SCHEMES)):
        try:
            problem = foreign_problem(url, schemes) if url else ""
        except ValueError:
            continue  # the connection says so
        if problem:
            text = f"{without_userinfo(url)!r:.200} {problem}, and stands in a Secret"
            cluster.wrong(name, text, "such a server can be named in a kubeconfig of this machine")


def _notes(server: str, insecure: bool, foreign_name: str) -> t.Iterator[str]:
    """What people are to be told of a connection: that it is not encrypted (unless it stays on this machine), or else
    not checked; and ``foreign_name``, if it is checked for that."""
    if server.lower().startswith("http://") and not is_loopback(server):
        yield "the connection is not encrypted: whoever is on the way reads and changes everything (server is http://)"
    elif insecure:
        yield "its certificate is not checked: anybody on the way can pose as it (insecure-skip-tls-verify)"
    if foreign_name:
        yield f"its certificate is checked for {foreign_name!r:.200}, as the Secret says (tls-server-name)"


def _identity(user: _EntryReader, cluster: _EntryReader) -> tuple[str, CredentialSource | None]:
    """Token, or where credentials come from (both empty: neither); in kubectl's order: token file, token, plugin, auth
    provider, password. Other clients have other orders, so that a login by commands is judged also where it stands
    behind a token. FleetError ``missing-library`` for an auth provider."""
    file, token = user.file("tokenFile"), user.text("token")
    plugin, provider = user.command("exec"), user.command("auth-provider")
    if file:
        user.content("tokenFile", MAX_TOKEN)
        return "", TokenFile(file)
    if token:
        return token, None
    if plugin is not None:
        return "", _plugin(plugin, user, cluster)
    if provider is not None:
        return "", AuthProvider.of(provider, user.place)
    username, password = user.text("username"), user.text("password")
    return "", Basic(username, password) if username and password else None


def _plugin(config: t.Mapping[str, t.Any], user: _EntryReader, cluster: _EntryReader) -> ExecPlugin | None:
    """The plugin of an ``exec`` section; None if anything was noted as wrong, here or before."""
    command, version = config.get("command"), config.get("apiVersion")
    args, env = config.get("args") or [], config.get("env") or []
    if not isinstance(command, str) or not command:
        user.wrong("exec.command", "is not set")
    if not isinstance(version, str) or not version.startswith("client.authentication.k8s.io/"):
        user.wrong("exec.apiVersion", "is not client.authentication.k8s.io/v1 or v1beta1")
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        user.wrong("exec.args", "is not a list of texts")
    if not isinstance(env, list) or not all(isinstance(e, dict) and _are_texts(e, "name", "value") for e in env):
        user.wrong("exec.env", "is not a list of name and value, both texts", "put numbers and dates in quotes")
    return None if user.problems else ExecPlugin.of(config, cluster.entry.value, user.entry.base, user.place)


def _impersonation(user: _EntryReader) -> tuple[tuple[str, str], ...]:
    """``as``, ``as-uid``, ``as-groups`` and ``as-user-extra`` as the headers that the API server reads; none at all if
    groups or extra have another form, which is noted."""
    pairs = [("Impersonate-User", user.text("as")), ("Impersonate-Uid", user.text("as-uid"))]
    groups, extra = user.entry.value.get("as-groups") or [], user.entry.value.get("as-user-extra") or {}
    if not _is_texts(groups) or not isinstance(extra, dict) or not all(map(_is_texts, (list(extra), *extra.values()))):
        user.wrong("as-groups", "as-groups is a list of texts and as-user-extra a mapping of such lists")
        return ()
    pairs += [("Impersonate-Group", group) for group in groups]
    pairs += [(f"Impersonate-Extra-{_header_key(key)}", value) for key, values in extra.items() for value in values]
    return tuple((name, value) for name, value in pairs if value)


def _are_texts(row: t.Mapping[t.Any, t.Any], *names: str) -> bool:
    """Whether all of these names have texts in the row."""
    return all(isinstance(row.get(name), str) for name in names)


def _is_texts(value: t.Any) -> bool:
    """Whether that is a list of texts; an empty one is."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _header_key(key: str) -> str:
    """As client-go writes it: what the name of a header cannot hold is percent-encoded, and so is the percent sign."""
    return quote(key, safe="!#$&'*+-.^_`|~")


def proxy_for(server: str, environ: t.Mapping[str, str]) -> str:
    """URL of the proxy by HTTPS_PROXY, or HTTP_PROXY for a server without TLS, and NO_PROXY (names, addresses and, as
    for kubectl, networks), in capitals or not; ``http://`` stands before one without a scheme. Empty for none, always
    for the local host, and for a server that is no URL."""
    try:
        url = urlsplit(server)
        host, port = url.hostname or "", url.port
    except ValueError:
        return ""
    if host == "localhost" or host == "::1" or host.startswith("127."):
        return ""
    proxies = _proxies(environ)
    address = f"{host}:{port}" if port else host
    # What kubectl reads there besides: *.example.com for .example.com, and networks.
    direct = re.sub(r"(^|,)\s*\*(?=\.)", r"\1", proxies.get("no", ""))
    if proxy_bypass_environment(address, {**proxies, "no": direct}) or _is_in_network(host, direct):
        return ""
    proxy = proxies.get(url.scheme, "")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_in_network(host: str, no_proxy: str) -> bool:
    """Whether the host is an address in one of the networks (``10.0.0.0/8``) of NO_PROXY; Python knows none there."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for each in filter(lambda each: "/" in each, no_proxy.split(",")):
        try:
            if address in ipaddress.ip_network(each.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


def _proxies(environ: t.Mapping[str, str]) -> dict[str, str]:
    """By scheme in lower case, and ``no``, what the environment has as ``<scheme>_proxy``, in capitals or not."""
    if environ is os.environ:
        return getproxies_environment()
    return {k.lower().removesuffix("_proxy"): v for k, v in environ.items() if k.lower().endswith("_proxy")}
