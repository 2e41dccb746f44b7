# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How one API server is reached, and as whom: connection, credentials, a bearer token also out of a file
(``credentials-missing``); checked for what cannot be sent (``credentials-invalid``) and for addresses that no server of
a cluster has. Nothing here opens a connection."""

from __future__ import annotations

import base64
import ipaddress
import re
import socket
import typing as t
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from ..._core.errors import FleetError, Problem
from ..files import read_file

MAX_TOKEN = 100_000  # bytes; servers take no header that is longer than a megabyte
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
# A password may hold an @ as it is; and before an @ that stands where no URL has one, a password may stand, too.
_USERINFO = re.compile(r"^([A-Za-z][\w+.-]*://)?(?:[^/?#]*@|.*@)", re.DOTALL)


def without_userinfo(url: str) -> str:
    """The URL without the ``user:password@`` it may carry, or all before an ``@`` that stands elsewhere; fit to be
    shown, but for passwords in its query."""
    return _USERINFO.sub(r"\1", url)


@dataclass(frozen=True)
class Credential:
    """What is shown to the API server. ``authorization`` is the whole header value; ``expires`` is aware, or None where
    it is not known."""

    authorization: str = field(default="", repr=False)
    client_cert: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    expires: datetime | None = None


class CredentialSource(t.Protocol):
    """Where credentials come from. Both functions may be called from many threads, and may take as long as a program
    that is asked. Errors do not show what is secret."""

    def get(self) -> Credential:
        """Credentials believed to be good now, kept ones or new; asked before each request, so mostly kept. They may be
        empty, and are sent so. FleetError ``credentials-...``, ``missing-library``, ``no-workers`` where there are
        none."""

    def renew(self, refused: Credential) -> Credential | None:
        """Others than those just refused by the server, which another thread may have got since; None where only the
        refused ones are to be had. FleetError as of ``get``."""


@dataclass(frozen=True)
class TokenFile:
    """A bearer token in a file, read at each use: the kubelet replaces projected tokens while a process runs."""

    path: Path

    def get(self) -> Credential:
        """The token that is in the file now; no header for an empty file. FleetError ``credentials-missing`` if it
        cannot be read, is no text or has more than ``MAX_TOKEN`` bytes; ``credentials-invalid`` as of ``bearer``."""
        try:
            token = read_file(self.path, MAX_TOKEN).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise FleetError(
                "credentials-missing",
                f"the token file {self.path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}",
                hint="the kubeconfig names it; make it readable for this user",
            ) from None
        return Credential(authorization=bearer(token, str(self.path)))

    def renew(self, refused: Credential) -> Credential | None:
        """The token that is in the file now; None if it is the refused one. FleetError as of ``get``."""
        fresh = self.get()
        return None if fresh == refused else fresh


def bearer(token: str, where: str = "") -> str:
    """The Authorization header, empty for an empty token. FleetError ``credentials-invalid`` for what is not printable
    ASCII: HTTP libraries would show it in their own error."""
    if not _is_header(token):
        raise FleetError(
            "credentials-invalid",
            "the token holds line breaks or characters that no token has",
            where,
            hint="see how the token got into the kubeconfig or the token file",
        )
    return f"Bearer {token}" if token else ""


def proxy_authorization(proxy: str) -> str:
    """The header by which an HTTP proxy is shown the user and the password in its URL, percent-decoded to bytes, as
    kubectl and curl do; empty for one without a user. ValueError for what is no URL."""
    url = urlsplit(proxy)
    if url.username is None:
        return ""
    pair = b":".join(map(unquote_to_bytes, (url.username, url.password or "")))
    return f"Basic {base64.b64encode(pair).decode()}"


def _is_host(name: str) -> bool:
    """Whether that can be the name of a host, or its address: TLS and DNS raise errors of their own for others."""
    try:
        whole = b"\0" not in name.encode("idna") and bool(name)
        return whole and ("%" not in name or ":" in name)  # but as the zone of an IPv6 address
    except UnicodeError:
        return False


def _is_header(text: str) -> bool:
    """Whether the text can be sent as a header's value: printable ASCII, or empty."""
    return text.isascii() and text.isprintable()


@dataclass(frozen=True)
class Connection:
    """One API server as one user.

    ``server`` is its URL and may have a path. ``ca`` holds PEM certificates; None means the system's. ``insecure``
    checks no certificate; ``tls_server_name`` is the name it is checked for in place of the URL's; ``proxy`` is a URL,
    empty for none. ``client_cert`` and ``client_key`` are PEM bytes. ``token`` is a bearer token; ``credentials`` takes
    its place where credentials change while we run. ``impersonate`` holds header pairs. ``name`` is what messages call
    the cluster. ``notes`` are what people are told when the connection is used. FleetError ``kubeconfig-invalid`` or
    ``credentials-invalid`` for values that cannot be sent, all at once.
    """

    server: str
    ca: bytes | None = field(default=None, repr=False)
    insecure: bool = False
    tls_server_name: str = ""
    proxy: str = field(default="", repr=False)
    client_cert: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    credentials: CredentialSource | None = field(default=None, repr=False)
    impersonate: tuple[tuple[str, str], ...] = ()
    name: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """FleetError with all that cannot be sent, as of the class."""
        found = tuple(self._problems())
        if found:
            raise FleetError.of(found)

    def _problems(self) -> t.Iterator[Problem]:
        """What cannot be sent: server, proxy, name for TLS, token, headers of impersonation."""
        for what, url, problem, form in (
            ("server", self.server, _server_problem(self.server), "https://host:port"),
            ("proxy-url", self.proxy, _proxy_problem(self.proxy), "http://host:port or socks5://host:port"),
        ):
            if problem:
                shown = without_userinfo(url)
                text = f"{what} {shown!r:.200} {problem}"
                yield Problem("kubeconfig-invalid", text, self.name or f"{shown:.200}", f"write it as {form}")
        if self.tls_server_name and not _is_host(self.tls_server_name):
            text = f"tls-server-name {self.tls_server_name!r:.200} is no name that a certificate can be for"
            yield Problem("kubeconfig-invalid", text, self.where, "write the name of a host, such as api.example.com")
        try:
            bearer(self.token, self.where)
        except FleetError as error:
            yield from error.problems
        for name, value in self.impersonate:
            if not _is_header(name + value):
                text = f"{name} cannot be sent as an HTTP header"
                yield Problem("kubeconfig-invalid", text, self.where, "use printable ASCII in as, as-groups, as-uid")

    @property
    def where(self) -> str:
        """What messages call this cluster: its ``name``, or the URL of the server where it has none."""
        return self.name or self.server


def is_loopback(server: str) -> bool:
    """Whether the server is on this machine, as far as its URL says; what is no URL is not."""
    try:
        host = urlsplit(server).hostname or ""
    except ValueError:
        return False
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def foreign_problem(url: str, schemes: t.Container[str]) -> str:
    """Why a URL that came from others must not be connected to, as the rest of a sentence; empty if it may be. A host
    name is not looked up; ``schemes`` are in lower case, and can be iterated. ValueError if it is no URL.

    Most services of clouds that give away secrets of a machine (metadata) have link-local addresses, and speak no TLS.
    """
    parts = urlsplit(url)
    address = _address(parts.hostname or "")
    if parts.scheme not in schemes:
        return f"does not begin with {' or '.join(f'{each}://' for each in sorted(t.cast(t.Iterable[str], schemes)))}"
    if address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified):
        return "has an address that no server of a cluster has"
    return ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, in any form that the system's resolver takes (``0xa9fea9fe``), IPv4 in IPv6 as IPv4;
    None for a name."""
    host = host.partition("%")[0].rstrip(".")
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        try:
            found = ipaddress.ip_address(socket.inet_aton(host))
        except (OSError, ValueError):
            return None
    return getattr(found, "ipv4_mapped", None) or found


def _proxy_problem(proxy: str) -> str:
    """Why that is no proxy we can use, as the rest of a sentence; empty if it is one, or none is given."""
    if not proxy:
        return ""
    try:
        url = urlsplit(proxy)
        url.port  # noqa: B018  # raises for a port that is none
    except ValueError:
        return "is not a URL"
    good = url.scheme in PROXY_SCHEMES and _is_host(url.hostname or "") and _is_header(proxy) and " " not in proxy
    return "" if good else "is not the URL of a proxy"


def _server_problem(server: str) -> str:
    """Why that is no server we can use, as the rest of a sentence; empty if it is one."""
    try:
        url = urlsplit(server)
        url.port  # noqa: B018  # raises for a port that is none
    except ValueError:
        return "is not a URL"
    if not _is_header(server) or " " in server:
        return "holds characters that no URL has"
    if url.scheme not in ("https", "http") or not _is_host(url.hostname or ""):
        return "is not an http or https URL with a host"
    if url.username is not None or url.query or url.fragment:
        return "has a user, a query or a fragment"
    return ""
