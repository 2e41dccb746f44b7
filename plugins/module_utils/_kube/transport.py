# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""HTTP and TLS connections to API servers: pools, proxies, headers, time limits, when a server's certificate ends;
failures of connections, certificates and time-outs as ApiErrors; ``urllib3`` is imported here alone
(``missing-library``)."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import typing as t
from datetime import datetime
from urllib.parse import urlsplit

from .._core.errors import FleetError
from .errors import ApiError
from .login.connection import Connection, proxy_authorization, without_userinfo
from .login.connection_notes import CONNECTION_NOTES
from .login.expiry import shown_until

try:
    import urllib3
    from urllib3 import exceptions as failures
except ImportError:
    urllib3 = None  # type: ignore[assignment]

# As client-go's: what stands between drops a connection without a word that was silent for minutes, and tells us so by
# a reset when we write next.
_ALIVE = ((socket.SOL_SOCKET, "SO_KEEPALIVE", 1), (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30))
# From OpenSSL's x509_vfy.h.
_EXPIRED, _NOT_YET_VALID, _OTHER_HOST, _OTHER_ADDRESS = 10, 9, 62, 64


class Unanswered(ApiError):
    """The server ended a connection before it answered: it may have read the request, or not."""


def pool(
    connection: Connection,
    context: ssl.SSLContext | None,
    size: int,
    met: t.Callable[[datetime], None] = lambda _ends: None,
) -> t.Any:
    """A pool of connections to one server, safe for many threads, that keeps ``size`` of them, with a sign of life
    after 30 s of silence where the system can; more at once are opened and not kept. ``context`` is None for plain
    HTTP. ``met`` is told when the server's certificate ends, at each new connection on which it was checked.

    What people are to be told of the connection goes to ``CONNECTION_NOTES``; urllib3's own warning of an insecure one
    is silenced in this process. FleetError ``missing-library``, for a SOCKS proxy without PySocks too,
    ``kubeconfig-invalid`` for a URL that urllib3 cannot read."""
    if urllib3 is None:
        raise FleetError("missing-library", "the Python library urllib3 is not installed", hint="pip install urllib3")
    CONNECTION_NOTES.add(connection)
    alive = [(level, getattr(socket, name), value) for level, name, value in _ALIVE if hasattr(socket, name)]
    usual = urllib3.connection.HTTPConnection.default_socket_options
    options: dict[str, t.Any] = {"maxsize": size, "retries": False, "socket_options": [*usual, *alive]}
    if context is not None:
        options["ssl_context"] = context
        if connection.insecure:  # people are told by ``CONNECTION_NOTES``: by name, and once
            urllib3.disable_warnings(failures.InsecureRequestWarning)
        if connection.tls_server_name:
            options["server_hostname"] = connection.tls_server_name
    make = _proxied if connection.proxy else _direct
    try:
        made = make(connection, options)
    except failures.LocationParseError:
        text = "its server or proxy-url is no URL that can be connected to"
        raise FleetError("kubeconfig-invalid", text, connection.where, "write it as https://host:port") from None
    parts: dict[str, t.Any] = {"response_class": _TimedResponse}
    if context is not None and not connection.insecure:
        parts["connect"] = _telling(made.ConnectionCls.connect, met)
    made.ConnectionCls = type("TimedConnection", (made.ConnectionCls,), parts)
    return made


def _telling(connect: t.Callable[[t.Any], None], met: t.Callable[[datetime], None]) -> t.Callable[[t.Any], None]:
    """``connect`` of a connection, that tells ``met`` afterwards when the server's certificate ends, if known."""

    def connected(self: t.Any) -> None:
        """Connects, and tells ``met``."""
        connect(self)
        ends = shown_until(self.sock)
        if ends is not None:
            met(ends)

    return connected


def _direct(connection: Connection, options: dict[str, t.Any]) -> t.Any:
    """A pool of ``urllib3`` straight to the server."""
    return urllib3.connection_from_url(connection.server, **options)


class _TimedResponse(http.client.HTTPResponse):
    """A response that has the read timeout as a whole, headers included: otherwise a server that sends a byte now and
    then, or ``100 Continue`` without end, would hold us for ever."""

    def __init__(self, sock: t.Any, *arguments: t.Any, **named: t.Any) -> None:
        super().__init__(t.cast(t.Any, _Until(sock)), *arguments, **named)

    def begin(self) -> None:
        """As the base class, which reads status line and headers; urllib3's HeaderParsingError for damaged ones."""
        super().begin()
        # urllib3 would log them, as they came, and go on.
        urllib3.util.response.assert_header_parsing(self.msg)


class _Until(io.RawIOBase):
    """A socket's bytes until its timeout has passed, counted from now."""

    def __init__(self, sock: t.Any) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        limit = sock.gettimeout()
        self._end = None if limit is None else time.monotonic() + limit

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A buffered reader of these bytes, whatever the mode: what ``http.client`` asks a socket for."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: t.Any) -> int | None:
        """The next bytes; sets the socket's timeout to what is left. TimeoutError once that is nothing."""
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                raise TimeoutError("the time for the whole answer is over")
            self._socket.settimeout(left)
        return t.cast("int | None", self._raw.readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


def _proxied(connection: Connection, options: dict[str, t.Any]) -> t.Any:
    """A pool of ``urllib3`` by way of the connection's proxy (HTTP or SOCKS), with the user and password in its URL.
    FleetError ``missing-library`` for SOCKS without PySocks."""
    proxy = urlsplit(connection.proxy)
    if proxy.scheme.startswith("socks"):
        try:
            from urllib3.contrib.socks import SOCKSProxyManager
        except ImportError:
            raise FleetError(
                "missing-library",
                "a SOCKS proxy needs the Python library PySocks",
                connection.where,
                "pip install PySocks",
            ) from None
        return SOCKSProxyManager(connection.proxy, **options).connection_from_url(connection.server)
    shown = proxy_authorization(connection.proxy)
    headers = {"proxy-authorization": shown} if shown else None
    place = proxy._replace(netloc=proxy.netloc.rpartition("@")[2]).geturl()
    manager = urllib3.ProxyManager(place, proxy_headers=headers, **options)
    return manager.connection_from_url(connection.server)


def timeouts(connect: float, read: float) -> t.Any:
    """Limits for connecting, and for the whole of an answer (``_TimedResponse``), both in seconds. Needs ``urllib3``,
    which ``pool`` asks for."""
    return urllib3.Timeout(connect=connect, read=read)


def header_dict(pairs: t.Iterable[tuple[str, str]]) -> t.Any:
    """Headers for a request, of which some may repeat, as Impersonate-Group does. Needs ``urllib3``, which ``pool``
    asks for."""
    headers = urllib3.HTTPHeaderDict()
    for name, value in pairs:
        headers.add(name, value)
    return headers


def is_failure(error: Exception) -> bool:
    """Whether this, raised by a request, is a fault of the way to the server, and not of this program. Needs
    ``urllib3``, which ``pool`` asks for."""
    return isinstance(error, (failures.HTTPError, OSError))


def as_api_error(error: Exception, connection: Connection, answering: bool) -> ApiError:
    """Our error for one for which ``is_failure`` is true, given back: ``unreachable``, ``timeout``, ``certificate``,
    ``credentials-expired`` or ``unauthorized`` for a client certificate, ``bad-answer``; ``Unanswered`` for all else
    before the answer had begun (``answering``). Passwords of a proxy are left out."""
    where, server = connection.where, connection.server
    if isinstance(error, failures.ProxyError):
        proxy = without_userinfo(connection.proxy)
        return ApiError(
            "unreachable",
            f"the proxy {proxy} did not lead to {server}: {_cause(error)}",
            where,
            "see proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY",
        )
    if isinstance(error, (failures.SSLError, ssl.SSLError)):
        return _tls_error(_innermost(error), connection)
    if isinstance(error, failures.NameResolutionError):
        return ApiError(
            "unreachable", f"the host name of {server} is not known", where, "see DNS, VPN and the kubeconfig"
        )
    if isinstance(error, failures.NewConnectionError):
        return ApiError(
            "unreachable",
            f"{server} cannot be reached: {_cause(error)}",
            where,
            "is the cluster running, and the network or VPN up?",
        )
    if isinstance(error, failures.ConnectTimeoutError):
        return ApiError(
            "timeout",
            f"{server} did not accept a connection in time",
            where,
            "a firewall, a VPN that is down, or a stopped cluster",
        )
    if isinstance(error, (failures.ReadTimeoutError, TimeoutError)):
        return ApiError("timeout", f"{server} did not answer in time", where, "is the API server overloaded?")
    if isinstance(error, failures.HeaderParsingError) or _is_no_http(_innermost(error)):
        return ApiError("bad-answer", f"{server} does not speak HTTP as API servers do", where, "is the port right?")
    if answering or isinstance(error, (failures.IncompleteRead, failures.DecodeError)):
        return ApiError("bad-answer", f"the answer of {server} broke off", where, "try again; see what lies between")
    return Unanswered(
        "unreachable",
        f"{server} closed the connection without an answer: {_cause(error)}",
        where,
        "try again; is something other than an API server listening there?",
    )


def _is_no_http(error: BaseException) -> bool:
    """Whether something came that is no HTTP."""
    return isinstance(error, http.client.HTTPException) and not isinstance(
        error, (http.client.RemoteDisconnected, http.client.IncompleteRead)
    )


def _innermost(error: BaseException) -> BaseException:
    """The error at the end of the chain in which each is the last argument of the one before."""
    while error.args and isinstance(error.args[-1], BaseException):
        error = error.args[-1]
    return error


def _cause(error: BaseException) -> str:
    """Why a connection failed, for a message: the system's words, ``no connection``, or the name of the error's type;
    never the text of the error."""
    inner = error.__cause__ or error.__context__ or _innermost(error)
    inner = _innermost(inner)
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror.lower()
    if isinstance(inner, (failures.NewConnectionError, failures.NameResolutionError)):
        return "no connection"
    return type(inner).__name__


def _tls_error(error: BaseException, connection: Connection) -> ApiError:
    """The error for a failed TLS handshake: ``certificate``; ``credentials-expired`` or ``unauthorized`` where the
    server refused ours, ``bad-answer`` where it speaks no TLS."""
    where, server = connection.where, connection.server
    if isinstance(error, ssl.SSLCertVerificationError):
        message, hint = _verification(error, server)
        return ApiError("certificate", message, where, hint)
    reason = str(getattr(error, "reason", "") or "")
    if "ALERT_CERTIFICATE_EXPIRED" in reason:
        return ApiError("credentials-expired", f"{server} refused the client certificate: it has expired", where)
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return ApiError("unauthorized", f"{server} refused the client certificate", where)
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return ApiError("bad-answer", f"{server} does not speak TLS", where, "wrong port, or http instead of https?")
    text = reason.replace("_", " ").lower() or "no common ground"
    return ApiError("certificate", f"the TLS handshake with {server} failed: {text}", where)


def _verification(error: ssl.SSLCertVerificationError, server: str) -> tuple[str, str]:
    """Message and hint for a server's certificate that was not accepted."""
    if error.verify_code in (_OTHER_HOST, _OTHER_ADDRESS):
        return (
            f"the certificate of {server} is for another name",
            "reach it by a name in the certificate, or set tls-server-name in the kubeconfig",
        )
    if error.verify_code == _EXPIRED:
        return f"the certificate of {server} has expired", "renew the API server's serving certificate"
    if error.verify_code == _NOT_YET_VALID:
        return f"the certificate of {server} is not valid yet", "compare the clocks of this machine and the server"
    return (
        f"the certificate of {server} was not issued by the authority in the kubeconfig ({error.verify_message})",
        "certificate-authority-data belongs to another cluster, or the cluster was made anew",
    )
